//! Documents, tasks, projects and the edges between them: what tools read and change, and whose
//! authority they do it with. Records here are what every store returns; the SQL is not known here.

use crate::actor::{Actor, ActorKind};
use crate::ids::{ActorId, DocumentId, EdgeId, LessonId, NodeId, ProjectId, RunId, TaskId};
use crate::time::Timestamp;
use crate::words::words;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a query may see. Every query takes a scope; rows outside it are treated as absent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The platform's own work: rebuild, recovery, doctor. Never given to a tool or a request.
    Platform,
    /// Everything this actor is a member of at the moment of the query.
    Actor(ActorId),
    /// The same, narrowed to some projects.
    Within(ActorId, Vec<ProjectId>),
    /// A subagent: what it and its owner are both members of, in the lesser of their roles.
    OnBehalf { agent: ActorId, owner: ActorId },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActorRecord {
    pub id: ActorId,
    pub kind: ActorKind,
    pub handle: String,
    pub name: String,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Project {
    pub id: ProjectId,
    pub title: String,
    pub description: String,
    pub props: Value,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Project {
    /// Whether a run made it for itself, and nobody has described it anew.
    pub fn is_run_workspace(&self) -> bool {
        let run = self.description.strip_prefix(WORKSPACE_OF_RUN);
        let of_run = |props: &serde_json::Map<String, Value>| props.values().any(|id| id.as_str() == run);
        run.is_some() && self.props.as_object().is_some_and(of_run)
    }
}

/// A scratchpad's `content` is its entries joined; any other document has one of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub id: DocumentId,
    pub project_id: ProjectId,
    pub title: String,
    pub type_key: String,
    pub content: String,
    pub props: Value,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Document {
    /// The platform's own documents carry a role; only the platform writes them.
    pub fn is_platform(&self) -> bool {
        self.props.get(DOC_ROLE).is_some_and(|role| !role.is_null())
    }
}

words! {
    TaskState {
        Todo = "todo",
        InProgress = "in_progress",
        Blocked = "blocked",
        Done = "done",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub project_id: ProjectId,
    pub title: String,
    pub description: String,
    pub state: TaskState,
    pub props: Value,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// `src` and `dst` are ids of documents, tasks or projects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    pub id: EdgeId,
    pub project_id: ProjectId,
    pub src: uuid::Uuid,
    pub dst: uuid::Uuid,
    pub rel: String,
    pub props: Value,
    pub created_at: Timestamp,
}

/// One entry of a scratchpad; `key` is unique within its document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub document_id: DocumentId,
    pub position: i64,
    pub key: String,
    pub markdown: String,
    pub run_id: Option<RunId>,
    pub seq: Option<u64>,
    pub created_at: Timestamp,
}

/// A change to the workspace. Ids are given, so that applying it twice is detected; versions are
/// compared, so that nobody's edit is lost.
#[derive(Clone, Debug, PartialEq)]
pub enum Mutation {
    CreateProject {
        id: ProjectId,
        title: String,
        description: String,
        props: Value,
        owner: ActorId,
    },
    UpdateProject {
        id: ProjectId,
        expected_version: i64,
        title: Option<String>,
        description: Option<String>,
        props: Option<Value>,
    },
    CreateDocument {
        id: DocumentId,
        project_id: ProjectId,
        title: String,
        type_key: String,
        content: String,
        props: Value,
    },
    /// `props` is merged key by key. `expected_version: None` is for the platform's own documents, which nobody else writes.
    UpdateDocument {
        id: DocumentId,
        expected_version: Option<i64>,
        title: Option<String>,
        content: Option<String>,
        props: Option<Value>,
    },
    CreateTask {
        id: TaskId,
        project_id: ProjectId,
        title: String,
        description: String,
        state: TaskState,
        props: Value,
    },
    UpdateTask {
        id: TaskId,
        expected_version: i64,
        title: Option<String>,
        description: Option<String>,
        state: Option<TaskState>,
        props: Option<Value>,
    },
    Link {
        id: EdgeId,
        project_id: ProjectId,
        src: uuid::Uuid,
        dst: uuid::Uuid,
        rel: String,
        props: Value,
    },
    Unlink {
        id: EdgeId,
    },
    /// A new version of a subagent's scratchpad; the ones before it stay. `based_on` is what its author had read.
    WriteScratchpad {
        agent: ActorId,
        content: String,
        based_on: i64,
        /// The step of the run that wrote it; a reflection is none.
        step: Option<u32>,
    },
    /// Something a subagent learned, pending; `iteration` and `branch_id`, or `node_id`, say where.
    AddLesson {
        id: LessonId,
        agent: ActorId,
        text: String,
        iteration: Option<u32>,
        branch_id: Option<String>,
        node_id: Option<NodeId>,
    },
    /// Those of them that are pending, as far as there is room, are added to the newest version of its scratchpad.
    PromoteLessons {
        agent: ActorId,
        lessons: Vec<LessonId>,
    },
    DismissLesson {
        id: LessonId,
    },
}

/// A mutation with its provenance: who, and at which event of which run.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub mutation: Mutation,
    pub actor: Actor,
    pub seq: u64,
}

/// How the description of a project begins that a run made for itself; the run's id follows.
pub const WORKSPACE_OF_RUN: &str = "Workspace of run ";
/// The property that marks the platform's own documents.
pub const DOC_ROLE: &str = "doc_role";
pub const DOCUMENT_HAS_DOCUMENT: &str = "document_has_document";
pub const DOCUMENT_HAS_TASK: &str = "document_has_task";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Named {
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub id: uuid::Uuid,
    pub title: String,
}

/// What one call, iteration or run created and changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Artifacts {
    pub created_documents: Vec<Named>,
    pub updated_documents: Vec<Named>,
    pub created_tasks: Vec<Named>,
    pub updated_tasks: Vec<Named>,
    pub created_edges: Vec<Named>,
}

impl Mutation {
    /// The whole text this change gives to that document.
    pub fn text_of(&self, document: DocumentId) -> Option<&str> {
        match self {
            Mutation::CreateDocument { id, content, .. } if *id == document => Some(content),
            Mutation::UpdateDocument { id, content, .. } if *id == document => content.as_deref(),
            _ => None,
        }
    }
}

impl Artifacts {
    pub fn is_empty(&self) -> bool {
        self == &Artifacts::default()
    }

    pub fn extend(&mut self, other: &Artifacts) {
        fn add(into: &mut Vec<Named>, from: &[Named]) {
            for named in from {
                if !into.iter().any(|known| known.id == named.id) {
                    into.push(named.clone());
                }
            }
        }
        add(&mut self.created_documents, &other.created_documents);
        add(&mut self.updated_documents, &other.updated_documents);
        add(&mut self.created_tasks, &other.created_tasks);
        add(&mut self.updated_tasks, &other.updated_tasks);
        add(&mut self.created_edges, &other.created_edges);
    }

    /// Drops all but the newest `limit` of each list; returns how many were dropped.
    pub fn retain_newest(&mut self, limit: usize) -> usize {
        let lists = [
            &mut self.created_documents,
            &mut self.updated_documents,
            &mut self.created_tasks,
            &mut self.updated_tasks,
            &mut self.created_edges,
        ];
        lists.into_iter().map(|list| list.drain(..list.len().saturating_sub(limit)).len()).sum()
    }

    /// The artifacts of a set of mutations; `title_of` names entities that are only changed.
    pub fn of(mutations: &[Mutation]) -> Artifacts {
        let mut found = Artifacts::default();
        for mutation in mutations {
            match mutation {
                Mutation::CreateDocument { id, title, .. } => {
                    found.created_documents.push(Named { id: id.0, title: title.clone() })
                }
                Mutation::UpdateDocument { id, title, .. } => {
                    found.updated_documents.push(Named { id: id.0, title: title.clone().unwrap_or_default() });
                }
                Mutation::CreateTask { id, title, .. } => {
                    found.created_tasks.push(Named { id: id.0, title: title.clone() })
                }
                Mutation::UpdateTask { id, title, .. } => {
                    found.updated_tasks.push(Named { id: id.0, title: title.clone().unwrap_or_default() });
                }
                Mutation::Link { id, rel, .. } => found.created_edges.push(Named { id: id.0, title: rel.clone() }),
                Mutation::CreateProject { .. }
                | Mutation::UpdateProject { .. }
                | Mutation::Unlink { .. }
                | Mutation::WriteScratchpad { .. }
                | Mutation::AddLesson { .. }
                | Mutation::PromoteLessons { .. }
                | Mutation::DismissLesson { .. } => {}
            }
        }
        found
    }
}
