//! What each mutation does to the workspace, and when it conflicts. `changes` loads the entities that a batch touches,
//! applies the batch here, and writes the revisions. This module must not know SQL.

mod lessons;

use crate::lessons::Lesson;
use engine::actor::Actor;
use engine::ids::{ActorId, DocumentId, EdgeId, LessonId, ProjectId, RunId, TaskId};
use engine::time::Timestamp;
use engine::workspace::{Change, Document, Edge, Mutation, Project, Task};
use runtime::agents::PadVersion;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// The event that made a change. Both fields are empty when a person made it outside any run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    pub run_id: Option<RunId>,
    pub seq: Option<u64>,
}

impl Origin {
    pub(crate) fn of(run: Option<RunId>, seq: u64) -> Origin {
        Origin { run_id: run, seq: run.map(|_| seq) }
    }
}

/// An entity with the events that made it and changed it last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Versioned<T> {
    pub entity: T,
    pub made: Origin,
    pub changed: Origin,
    pub actor: Actor,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace {
    pub projects: BTreeMap<ProjectId, Versioned<Project>>,
    pub documents: BTreeMap<DocumentId, Versioned<Document>>,
    pub tasks: BTreeMap<TaskId, Versioned<Task>>,
    pub edges: BTreeMap<EdgeId, Versioned<Edge>>,
    /// The newest version of each scratchpad.
    pub pads: BTreeMap<ActorId, PadVersion>,
    pub lessons: BTreeMap<LessonId, Lesson>,
}

/// The effect of a change on one entity. `from` is the version before it, and guards the update.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Revision {
    ProjectMade(Versioned<Project>, ActorId),
    ProjectChanged {
        from: i64,
        to: Versioned<Project>,
    },
    DocumentMade(Versioned<Document>),
    DocumentChanged {
        from: Box<Versioned<Document>>,
        to: Versioned<Document>,
    },
    TaskMade(Versioned<Task>),
    TaskChanged {
        from: i64,
        to: Versioned<Task>,
    },
    Linked(Versioned<Edge>),
    Unlinked(EdgeId),
    ScratchpadWritten(ActorId, PadVersion),
    LessonAdded(Lesson),
    /// The new version of the scratchpad, and the lessons in it.
    LessonsPromoted {
        agent: ActorId,
        pad: PadVersion,
        lessons: Vec<Lesson>,
    },
    LessonDismissed(Lesson),
}

/// The entity that did not have the expected version, or existed already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict(pub Uuid);

/// The ids of the entities that a batch of changes reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    pub projects: BTreeSet<ProjectId>,
    pub documents: BTreeSet<DocumentId>,
    pub tasks: BTreeSet<TaskId>,
    pub edges: BTreeSet<EdgeId>,
    pub pads: BTreeSet<ActorId>,
    pub lessons: BTreeSet<LessonId>,
}

impl Touched {
    pub(crate) fn by(changes: &[Change]) -> Touched {
        let mut touched = Touched::default();
        for change in changes {
            let _new = match &change.mutation {
                Mutation::CreateProject { id, .. } | Mutation::UpdateProject { id, .. } => touched.projects.insert(*id),
                Mutation::CreateDocument { id, .. } | Mutation::UpdateDocument { id, .. } => {
                    touched.documents.insert(*id)
                }
                Mutation::CreateTask { id, .. } | Mutation::UpdateTask { id, .. } => touched.tasks.insert(*id),
                Mutation::Link { id, .. } | Mutation::Unlink { id } => touched.edges.insert(*id),
                Mutation::WriteScratchpad { agent, .. } => touched.pads.insert(*agent),
                Mutation::AddLesson { id, .. } | Mutation::DismissLesson { id } => touched.lessons.insert(*id),
                Mutation::PromoteLessons { agent, lessons } => {
                    touched.lessons.extend(lessons);
                    touched.pads.insert(*agent)
                }
            };
        }
        touched
    }

    /// Leaves out the entities that the changes create. They should not exist, so reading them first would find
    /// nothing; the insert is guarded, and when it is refused the caller reads them after all.
    pub(crate) fn without_created(changes: &[Change]) -> Touched {
        let mut touched = Touched::by(changes);
        for change in changes {
            match &change.mutation {
                Mutation::CreateProject { id, .. } => drop(touched.projects.remove(id)),
                Mutation::CreateDocument { id, .. } => drop(touched.documents.remove(id)),
                Mutation::CreateTask { id, .. } => drop(touched.tasks.remove(id)),
                Mutation::Link { id, .. } => drop(touched.edges.remove(id)),
                Mutation::AddLesson { id, .. } => drop(touched.lessons.remove(id)),
                _ => {}
            }
        }
        touched
    }
}

impl Workspace {
    /// Applies one change. `None` when the same event made it before.
    pub(crate) fn apply(
        &mut self,
        change: &Change,
        run: Option<RunId>,
        at: Timestamp,
    ) -> Result<Option<Revision>, Conflict> {
        let stamp = Stamp { origin: Origin::of(run, change.seq), actor: change.actor, at };
        match &change.mutation {
            Mutation::CreateProject { .. } | Mutation::UpdateProject { .. } => {
                self.apply_to_project(&change.mutation, &stamp)
            }
            Mutation::CreateDocument { .. } | Mutation::UpdateDocument { .. } => {
                self.apply_to_document(&change.mutation, &stamp)
            }
            Mutation::CreateTask { .. } | Mutation::UpdateTask { .. } => self.apply_to_task(&change.mutation, &stamp),
            Mutation::Link { id, project_id, src, dst, rel, props } => {
                let (rel, props) = (rel.clone(), props.clone());
                let made = Edge { id: *id, project_id: *project_id, src: *src, dst: *dst, rel, props, created_at: at };
                Ok(stamp.make(&mut self.edges, *id, id.0, made)?.map(Revision::Linked))
            }
            Mutation::WriteScratchpad { agent, content, based_on, step } => {
                expect(self.pads.get(agent).map_or(0, |pad| pad.version), Some(*based_on), agent.0)?;
                let pad = self.write_pad(*agent, content.clone(), *step, &stamp);
                Ok(Some(Revision::ScratchpadWritten(*agent, pad)))
            }
            Mutation::AddLesson { .. } | Mutation::PromoteLessons { .. } | Mutation::DismissLesson { .. } => {
                self.apply_to_lessons(&change.mutation, &stamp)
            }
            Mutation::Unlink { id } => Ok(self.edges.remove(id).map(|_| Revision::Unlinked(*id))),
        }
    }

    fn apply_to_project(&mut self, mutation: &Mutation, stamp: &Stamp) -> Result<Option<Revision>, Conflict> {
        match mutation {
            Mutation::CreateProject { id, title, description, props, owner } => {
                let made = Project {
                    id: *id,
                    title: title.clone(),
                    description: description.clone(),
                    props: props.clone(),
                    version: 1,
                    created_at: stamp.at,
                    updated_at: stamp.at,
                };
                let made = stamp.make(&mut self.projects, *id, id.0, made)?;
                Ok(made.map(|project| Revision::ProjectMade(project, *owner)))
            }
            Mutation::UpdateProject { id, expected_version, title, description, props } => {
                let current = self.projects.get_mut(id).ok_or(Conflict(id.0))?;
                let from = current.entity.version;
                expect(from, Some(*expected_version), id.0)?;
                set(&mut current.entity.title, title);
                set(&mut current.entity.description, description);
                merge(&mut current.entity.props, props);
                (current.entity.version, current.entity.updated_at) = (from + 1, stamp.at);
                Ok(Some(Revision::ProjectChanged { from, to: stamp.changed(current) }))
            }
            _ => Ok(None),
        }
    }

    fn apply_to_document(&mut self, mutation: &Mutation, stamp: &Stamp) -> Result<Option<Revision>, Conflict> {
        match mutation {
            Mutation::CreateDocument { id, project_id, title, type_key, content, props } => {
                let made = Document {
                    id: *id,
                    project_id: *project_id,
                    title: title.clone(),
                    type_key: type_key.clone(),
                    content: content.clone(),
                    props: props.clone(),
                    version: 1,
                    created_at: stamp.at,
                    updated_at: stamp.at,
                };
                Ok(stamp.make(&mut self.documents, *id, id.0, made)?.map(Revision::DocumentMade))
            }
            Mutation::UpdateDocument { id, expected_version, title, content, props } => {
                let current = self.documents.get_mut(id).ok_or(Conflict(id.0))?;
                expect(current.entity.version, *expected_version, id.0)?;
                let from = Box::new(current.clone());
                set(&mut current.entity.title, title);
                set(&mut current.entity.content, content);
                merge(&mut current.entity.props, props);
                (current.entity.version, current.entity.updated_at) = (from.entity.version + 1, stamp.at);
                Ok(Some(Revision::DocumentChanged { from, to: stamp.changed(current) }))
            }
            _ => Ok(None),
        }
    }

    fn apply_to_task(&mut self, mutation: &Mutation, stamp: &Stamp) -> Result<Option<Revision>, Conflict> {
        match mutation {
            Mutation::CreateTask { id, project_id, title, description, state, props } => {
                let made = Task {
                    id: *id,
                    project_id: *project_id,
                    title: title.clone(),
                    description: description.clone(),
                    state: *state,
                    props: props.clone(),
                    version: 1,
                    created_at: stamp.at,
                    updated_at: stamp.at,
                };
                Ok(stamp.make(&mut self.tasks, *id, id.0, made)?.map(Revision::TaskMade))
            }
            Mutation::UpdateTask { id, expected_version, title, description, state, props } => {
                let current = self.tasks.get_mut(id).ok_or(Conflict(id.0))?;
                let from = current.entity.version;
                expect(from, Some(*expected_version), id.0)?;
                set(&mut current.entity.title, title);
                set(&mut current.entity.description, description);
                set(&mut current.entity.state, state);
                merge(&mut current.entity.props, props);
                (current.entity.version, current.entity.updated_at) = (from + 1, stamp.at);
                Ok(Some(Revision::TaskChanged { from, to: stamp.changed(current) }))
            }
            _ => Ok(None),
        }
    }
}

/// By whom, at which event and when a change is made.
struct Stamp {
    origin: Origin,
    actor: Actor,
    at: Timestamp,
}

impl Stamp {
    fn make<K: Ord, T: Clone>(
        &self,
        current: &mut BTreeMap<K, Versioned<T>>,
        key: K,
        id: Uuid,
        entity: T,
    ) -> Result<Option<Versioned<T>>, Conflict> {
        match current.get(&key) {
            Some(known) if self.origin.run_id.is_some() && known.made == self.origin => Ok(None),
            Some(_) => Err(Conflict(id)),
            None => {
                let made = Versioned { entity, made: self.origin, changed: self.origin, actor: self.actor };
                current.insert(key, made.clone());
                Ok(Some(made))
            }
        }
    }

    fn changed<T: Clone>(&self, current: &mut Versioned<T>) -> Versioned<T> {
        (current.changed, current.actor) = (self.origin, self.actor);
        current.clone()
    }
}

fn expect(version: i64, expected: Option<i64>, id: Uuid) -> Result<(), Conflict> {
    if expected.is_none_or(|expected| expected == version) { Ok(()) } else { Err(Conflict(id)) }
}

fn set<T: Clone>(field: &mut T, value: &Option<T>) {
    if let Some(value) = value {
        field.clone_from(value);
    }
}

/// Merges the keys of the top level. Keys that the patch does not name stay as they are.
fn merge(props: &mut Value, patch: &Option<Value>) {
    let Some(Value::Object(patch)) = patch else { return };
    if !props.is_object() {
        *props = Value::Object(Default::default());
    }
    if let Value::Object(props) = props {
        props.extend(patch.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn change(mutation: Mutation, seq: u64) -> Change {
        Change { mutation, actor: Actor::Platform, seq }
    }

    fn id() -> Uuid {
        Uuid::from_u128(7)
    }

    fn create() -> Mutation {
        Mutation::CreateDocument {
            id: id().into(),
            project_id: id().into(),
            title: "T".into(),
            type_key: "note".into(),
            content: "one".into(),
            props: json!({"homework_run_id": "r", "tags": {"a": 1}}),
        }
    }

    fn update(expected_version: Option<i64>, props: Value) -> Mutation {
        Mutation::UpdateDocument {
            id: id().into(),
            expected_version,
            title: None,
            content: Some("two".into()),
            props: Some(props),
        }
    }

    #[test]
    fn props_are_merged_key_by_key_and_never_replaced() {
        let mut workspace = Workspace::default();
        workspace.apply(&change(create(), 1), None, Timestamp(1)).unwrap();
        workspace.apply(&change(update(Some(1), json!({"tags": {"b": 2}})), 2), None, Timestamp(2)).unwrap();
        let document = &workspace.documents[&DocumentId(id())].entity;
        assert_eq!(document.props, json!({"homework_run_id": "r", "tags": {"b": 2}}));
        assert_eq!((document.version, document.title.as_str(), document.content.as_str()), (2, "T", "two"));
    }

    #[test]
    fn a_stale_version_conflicts_and_changes_nothing() {
        let mut workspace = Workspace::default();
        workspace.apply(&change(create(), 1), None, Timestamp(1)).unwrap();
        let refused = workspace.apply(&change(update(Some(9), json!({})), 2), None, Timestamp(2));
        assert_eq!(refused, Err(Conflict(id())));
        assert_eq!(workspace.documents[&DocumentId(id())].entity.version, 1);
    }

    #[test]
    fn creating_again_is_nothing_for_the_same_event_and_a_conflict_for_another() {
        let run = Some(RunId(id()));
        let mut workspace = Workspace::default();
        assert!(workspace.apply(&change(create(), 3), run, Timestamp(1)).unwrap().is_some());
        assert_eq!(workspace.apply(&change(create(), 3), run, Timestamp(1)), Ok(None));
        assert_eq!(workspace.apply(&change(create(), 4), run, Timestamp(1)), Err(Conflict(id())));
    }
}
