//! What one call can reach: the library within the run's scope as it is now, and ids for new things. Unknown and forbidden get
//! the same answer, so that no answer reveals what exists elsewhere.

use super::arguments::{Arguments, list};
use super::{ActionError, refuse};
use engine::effect::{EffectId, RunContext, ToolCall};
use engine::ids::{self, ActorId, DocumentId, EdgeId, ProjectId, TaskId};
use engine::workspace::{Document, Edge, Mutation, Project, Scope, Task};
use runtime::ports::{DocumentFilter, EdgeFilter, Library, Slice, TaskFilter};
use serde_json::Value;
use uuid::Uuid;

/// How many valid ids an error lists.
const MAX_IDS_LISTED: usize = 10;

pub(super) struct ToolContext<'a> {
    pub library: &'a dyn Library,
    pub scope: &'a Scope,
    pub run: &'a RunContext,
    call: &'a ToolCall,
    effect: &'a EffectId,
}

/// Something an edge can join.
pub(super) struct Entity {
    pub title: String,
    pub project_id: ProjectId,
}

impl<'a> ToolContext<'a> {
    pub(super) fn new(
        library: &'a dyn Library,
        run: &'a RunContext,
        call: &'a ToolCall,
        effect: &'a EffectId,
    ) -> ToolContext<'a> {
        ToolContext { library, scope: &run.scope, run, call, effect }
    }

    pub(super) fn arguments(&self) -> &'a Value {
        &self.call.arguments
    }

    /// Properties that everything created by this call gets.
    pub(super) fn stamp(&self) -> &'a Value {
        &self.call.props
    }

    /// The subagent that makes this call, in a part of a run.
    pub(super) fn agent(&self) -> Option<ActorId> {
        self.call.agent
    }

    /// Derived from the run, the effect and the time of the call. A mutation commits with its outcome or not at all, so an attempt
    /// that is repeated at another time cannot create the same thing twice.
    pub(super) fn mint<T: From<Uuid>>(&self, nth: u8) -> T {
        ids::derive(self.run.now, &[self.run.run_id.0.as_bytes(), self.effect.0.as_bytes(), &[nth]]).into()
    }

    /// The owner, when the run may use all of the owner's projects.
    pub(super) fn global_owner(&self) -> Option<ActorId> {
        match self.scope {
            Scope::Actor(owner) => Some(*owner),
            Scope::Platform | Scope::Within(..) | Scope::OnBehalf { .. } => None,
        }
    }

    /// The project named in the arguments, if any, checked to be in scope.
    pub(super) async fn requested_project(&self, arguments: &Arguments) -> Result<Option<ProjectId>, ActionError> {
        match arguments.id("project_id") {
            Some(id) => self.project(id).await.map(|project| Some(project.id)),
            None => Ok(None),
        }
    }

    /// The project for something new: the one named, or the run's own. Checked to be in scope and not full.
    pub(super) async fn target_project(&self, arguments: &Arguments) -> Result<ProjectId, ActionError> {
        let id = match arguments.id("project_id") {
            Some(id) => id,
            None => self.home_project(arguments).await?,
        };
        let project = self.project(id).await?;
        match self.library.has_room(id).await? {
            true => Ok(id),
            false => refuse(format!(
                "project \"{}\" is full: it has as many documents and tasks as a project may have; change an existing one, or use another project",
                project.title
            )),
        }
    }

    /// A run has one. A call outside a run uses the project of the parent document, or has to name one.
    async fn home_project(&self, arguments: &Arguments) -> Result<ProjectId, ActionError> {
        match (self.run.home_project, arguments.id("parent_document_id")) {
            (home, _) if !home.0.is_nil() => Ok(home),
            (_, Some(parent)) => self.document(parent).await.map(|parent| parent.project_id),
            (_, None) => refuse(format!(
                "missing argument `project_id`: expected the project it goes into; projects that may be used here: {}",
                self.usable_projects().await?
            )),
        }
    }

    async fn usable_projects(&self) -> Result<String, ActionError> {
        Ok(list(self.library.projects(self.scope, None, MAX_IDS_LISTED).await?.iter().map(|project| project.id)))
    }

    pub(super) async fn project(&self, id: ProjectId) -> Result<Project, ActionError> {
        if let Some(project) = self.library.project(self.scope, id).await? {
            return Ok(project);
        }
        let valid = self.usable_projects().await?;
        refuse(match self.scope {
            Scope::Within(_, projects) if !projects.contains(&id) => {
                format!("project {id} is outside the scope; projects in scope: {valid}")
            }
            _ => format!("project {id} not found; projects that may be used here: {valid}"),
        })
    }

    pub(super) async fn document(&self, id: DocumentId) -> Result<Document, ActionError> {
        if let Some(document) = self.library.document(self.scope, id).await? {
            return Ok(document);
        }
        let filter = DocumentFilter { limit: MAX_IDS_LISTED, ..DocumentFilter::default() };
        let newest = self.library.documents(self.scope, filter).await?;
        Err(not_found("document", id.0, newest.iter().map(|document| document.id.0)))
    }

    pub(super) async fn task(&self, id: TaskId) -> Result<Task, ActionError> {
        if let Some(task) = self.library.task(self.scope, id).await? {
            return Ok(task);
        }
        let filter = TaskFilter { limit: MAX_IDS_LISTED, ..TaskFilter::default() };
        let newest = self.library.tasks(self.scope, filter).await?;
        Err(not_found("task", id.0, newest.iter().map(|task| task.id.0)))
    }

    pub(super) async fn edge(&self, id: EdgeId) -> Result<Edge, ActionError> {
        if let Some(edge) = self.library.edge(self.scope, id).await? {
            return Ok(edge);
        }
        let of_run = EdgeFilter { run_id: Some(self.run.run_id), ..EdgeFilter::default() };
        let made_here = self.library.edges(self.scope, of_run, Slice::first(MAX_IDS_LISTED)).await?;
        Err(not_found("edge", id.0, made_here.iter().map(|edge| edge.id.0)))
    }

    /// A document, a task or a project, whichever has this id.
    pub(super) async fn entity(&self, id: Uuid) -> Result<Entity, ActionError> {
        if let Some(document) = self.library.document(self.scope, DocumentId(id)).await? {
            return Ok(Entity { title: document.title, project_id: document.project_id });
        }
        if let Some(task) = self.library.task(self.scope, TaskId(id)).await? {
            return Ok(Entity { title: task.title, project_id: task.project_id });
        }
        if let Some(project) = self.library.project(self.scope, ProjectId(id)).await? {
            return Ok(Entity { title: project.title, project_id: project.id });
        }
        refuse(format!(
            "{id} not found among the documents, tasks and projects in scope; \
             list_documents, list_tasks and list_projects give valid ids"
        ))
    }

    /// The edge from a new thing to its parent, or else to the document this call works for.
    pub(super) async fn link_under(
        &self,
        arguments: &Arguments,
        child: Uuid,
        home: ProjectId,
        rel: &str,
    ) -> Result<Option<Mutation>, ActionError> {
        let src = match arguments.id("parent_document_id") {
            Some(parent) => Some(self.document(parent).await?.id),
            None => self.call.home_document,
        };
        let (id, rel, props) = (self.mint(1), rel.to_owned(), self.stamp().clone());
        Ok(src.map(|src| Mutation::Link { id, project_id: home, src: src.0, dst: child, rel, props }))
    }
}

fn not_found(what: &str, id: Uuid, known: impl Iterator<Item = Uuid>) -> ActionError {
    let known = list(known.take(MAX_IDS_LISTED));
    let offer = if known.is_empty() { format!("there is no {what} yet") } else { format!("newest valid ids: {known}") };
    ActionError::Refused(format!("{what} {id} not found in scope; {offer}"))
}

/// Refuses a change that is based on an older version.
pub(super) fn check_version(what: &str, given: Option<i64>, current: i64) -> Result<(), ActionError> {
    match given {
        Some(version) if version != current => refuse(format!(
            "stale version: this {what} is at version {current}, you gave version {version}; read it again and \
             repeat the change on its current content"
        )),
        _ => Ok(()),
    }
}

/// Cuts a list that was read with one item more than `limit`, and tells whether there is more.
pub(super) fn page<T>(mut found: Vec<T>, limit: usize) -> (Vec<T>, bool) {
    let more = found.len() > limit;
    found.truncate(limit);
    (found, more)
}
