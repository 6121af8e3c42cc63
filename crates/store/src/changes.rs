//! Workspace changes as SQL. It loads the entities that a batch touches, lets `workspace` apply the changes, and writes
//! the revisions. Each update is guarded by the version it was computed from, so an edit made in between is never
//! overwritten. What a change means is decided in `workspace`, not here.

use crate::agents::insert_scratchpad;
use crate::backend::WriteError;
use crate::log::into_store_error;
use crate::members::INSERT_MEMBER;
use crate::sql::{Guard, Query, Row, Statement, Value, id, optional_id};
use crate::tables::insert;
use crate::workspace::{Conflict, Revision, Touched, Versioned, Workspace};
use crate::{SqlStore, StoreError, codec, lessons, records, rows};
use engine::ids::{ActorId, RunId};
use engine::role::Role;
use engine::time::Timestamp;
use engine::workspace::{Change, Document, Edge, Project, Task};
use runtime::ports::AppendError;
use runtime::search_terms as terms;
use std::sync::LazyLock;
use uuid::Uuid;

/// Ids in one `IN` list. A batch rarely touches more than a few entities.
const IDS_AT_ONCE: usize = 200;
/// The most attempts at a person's change. If the entity still changes each time, the person must look at it again.
const TRIES: usize = 4;

impl SqlStore {
    /// Makes a person's changes, outside any run.
    pub async fn change(&self, changes: Vec<Change>) -> Result<(), AppendError> {
        let now = self.now().await?;
        let touched = Touched::by(&changes);
        let mut last = StoreError::Unavailable("the change was not committed".into()).into();
        for _ in 0..TRIES {
            let statements = self.revise(&changes, &touched, None, |_| now).await?;
            match self.backend.write(statements).await {
                Ok(_) => {
                    self.backend.send_hint();
                    return Ok(());
                }
                Err(WriteError::Refused(Guard::Entity(entity))) => last = AppendError::Conflict(entity),
                Err(error) => return Err(into_store_error(error).into()),
            }
        }
        Err(last)
    }

    /// The statements that make `changes`, computed from the entities in `touched` as they are now.
    pub(crate) async fn revise(
        &self,
        changes: &[Change],
        touched: &Touched,
        run: Option<RunId>,
        at: impl Fn(u64) -> Timestamp + Send,
    ) -> Result<Vec<Statement>, AppendError> {
        let mut workspace = self.load(touched).await?;
        let mut statements = Vec::new();
        for change in changes {
            let revision =
                workspace.apply(change, run, at(change.seq)).map_err(|Conflict(id)| AppendError::Conflict(id))?;
            statements.extend(revision.iter().flat_map(statements_of));
        }
        Ok(statements)
    }

    async fn load(&self, touched: &Touched) -> Result<Workspace, StoreError> {
        let mut seen = Workspace::default();
        for row in self.by_ids(records::PROJECT, &touched.projects).await? {
            let kept = records::versioned_project(&row)?;
            seen.projects.insert(kept.entity.id, kept);
        }
        for row in self.by_ids(records::DOCUMENT, &touched.documents).await? {
            let kept = records::versioned_document(&row)?;
            seen.documents.insert(kept.entity.id, kept);
        }
        for row in self.by_ids(records::TASK, &touched.tasks).await? {
            let kept = records::versioned_task(&row)?;
            seen.tasks.insert(kept.entity.id, kept);
        }
        for row in self.by_ids(records::EDGE, &touched.edges).await? {
            let kept = records::versioned_edge(&row)?;
            seen.edges.insert(kept.entity.id, kept);
        }
        if !touched.pads.is_empty() {
            seen.pads = self.newest_pads(&touched.pads).await?;
        }
        for row in self.by_ids(&lessons::LESSON, &touched.lessons).await? {
            let lesson = lessons::read(&row)?;
            seen.lessons.insert(lesson.id, lesson);
        }
        Ok(seen)
    }

    async fn by_ids<'a, T: Copy + Into<Uuid> + 'a>(
        &self,
        select: &str,
        ids: impl IntoIterator<Item = &'a T>,
    ) -> Result<Vec<Row>, StoreError> {
        let ids: Vec<Value> = ids.into_iter().map(|key| id(*key)).collect();
        let mut found = Vec::new();
        for chunk in ids.chunks(IDS_AT_ONCE) {
            let mut query = Query::new(format!("{select} WHERE id IN "));
            found.extend(self.backend.read_inline(query.bind_list(chunk.to_vec()).statement()).await?);
        }
        Ok(found)
    }
}

fn statements_of(revision: &Revision) -> Vec<Statement> {
    match revision {
        Revision::ProjectMade(kept, owner) => {
            let member = vec![id(kept.entity.id), id(owner), Value::from(Role::Owner.name())];
            vec![insert_project(kept, *owner), Statement::new(INSERT_MEMBER, member)]
        }
        Revision::ProjectChanged { from, to } => vec![update_project(*from, &to.entity)],
        Revision::DocumentMade(kept) => vec![insert_document(kept)],
        Revision::DocumentChanged { from, to } => {
            vec![insert_old_version(from), update_document(from.entity.version, to)]
        }
        Revision::TaskMade(kept) => vec![insert_task(kept)],
        Revision::TaskChanged { from, to } => vec![update_task(*from, &to.entity)],
        Revision::Linked(kept) => vec![insert_edge(kept)],
        Revision::ScratchpadWritten(agent, pad) => vec![insert_scratchpad(*agent, pad)],
        Revision::LessonAdded(lesson) => vec![lessons::insert_lesson(lesson)],
        Revision::LessonsPromoted { agent, pad, lessons } => lessons::promote(*agent, pad, lessons),
        Revision::LessonDismissed(lesson) => vec![lessons::settle(lesson)],
        Revision::Unlinked(edge) => vec![Statement::new("DELETE FROM onto_edges WHERE id = ?1", vec![id(edge)])],
    }
}

fn insert_project(kept: &Versioned<Project>, creator: ActorId) -> Statement {
    let project = &kept.entity;
    let values = vec![
        id(project.id),
        Value::from(project.title.as_str()),
        Value::from(project.description.as_str()),
        Value::from(&project.props),
        Value::from(project.version),
        rows::time(project.created_at),
        rows::time(project.updated_at),
        optional_id(kept.made.run_id),
        Value::from(kept.made.seq),
        Value::from(terms::index(&[&project.title, &project.description])),
        id(creator),
    ];
    insert_entity(&INSERT_PROJECT, values, project.id.0)
}

fn update_project(from: i64, project: &Project) -> Statement {
    let sql = "UPDATE onto_projects SET title = ?1, description = ?2, props = ?3, version = ?4, updated_at = ?5, terms = ?6 \
        WHERE id = ?7 AND version = ?8";
    let values = vec![
        Value::from(project.title.as_str()),
        Value::from(project.description.as_str()),
        Value::from(&project.props),
        Value::from(project.version),
        rows::time(project.updated_at),
        Value::from(terms::index(&[&project.title, &project.description])),
        id(project.id),
        Value::from(from),
    ];
    Statement::new(sql, values).guarded(Guard::Entity(project.id.0))
}

fn insert_document(kept: &Versioned<Document>) -> Statement {
    let document = &kept.entity;
    let values = vec![
        id(document.id),
        id(document.project_id),
        Value::from(document.title.as_str()),
        Value::from(document.type_key.as_str()),
        role(document),
        Value::from(&document.props),
        Value::from(document.version),
        rows::time(document.created_at),
        rows::time(document.updated_at),
        optional_id(kept.made.run_id),
        Value::from(kept.made.seq),
        optional_id(kept.changed.run_id),
        Value::from(kept.changed.seq),
        Value::from(codec::actor_text(&kept.actor)),
        Value::from(document.content.as_str()),
        searchable(document),
    ];
    insert_entity(&INSERT_DOCUMENT, values, document.id.0)
}

fn update_document(from: i64, to: &Versioned<Document>) -> Statement {
    let document = &to.entity;
    let sql = "UPDATE onto_documents SET title = ?1, doc_role = ?2, props = ?3, version = ?4, updated_at = ?5, run_id = ?6, seq = ?7, \
        actor = ?8, content = ?9, terms = ?10 WHERE id = ?11 AND version = ?12";
    let values = vec![
        Value::from(document.title.as_str()),
        role(document),
        Value::from(&document.props),
        Value::from(document.version),
        rows::time(document.updated_at),
        optional_id(to.changed.run_id),
        Value::from(to.changed.seq),
        Value::from(codec::actor_text(&to.actor)),
        Value::from(document.content.as_str()),
        searchable(document),
        id(document.id),
        Value::from(from),
    ];
    Statement::new(sql, values).guarded(Guard::Entity(document.id.0))
}

fn insert_old_version(from: &Versioned<Document>) -> Statement {
    let sql = "INSERT INTO onto_document_versions (document_id, version, title, body, actor, run_id, seq, at) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING";
    let values = vec![
        id(from.entity.id),
        Value::from(from.entity.version),
        Value::from(from.entity.title.as_str()),
        Value::from(codec::pack(&from.entity.content)),
        Value::from(codec::actor_text(&from.actor)),
        optional_id(from.changed.run_id),
        Value::from(from.changed.seq),
        rows::time(from.entity.updated_at),
    ];
    Statement::new(sql, values)
}

fn insert_task(kept: &Versioned<Task>) -> Statement {
    let task = &kept.entity;
    let values = vec![
        id(task.id),
        id(task.project_id),
        Value::from(task.title.as_str()),
        Value::from(task.description.as_str()),
        Value::from(task.state.name()),
        Value::from(&task.props),
        Value::from(task.version),
        rows::time(task.created_at),
        rows::time(task.updated_at),
        optional_id(kept.made.run_id),
        Value::from(kept.made.seq),
        Value::from(terms::index(&[&task.title, &task.description])),
    ];
    insert_entity(&INSERT_TASK, values, task.id.0)
}

fn update_task(from: i64, task: &Task) -> Statement {
    let sql = "UPDATE onto_tasks SET title = ?1, description = ?2, state = ?3, props = ?4, version = ?5, updated_at = ?6, terms = ?7 \
        WHERE id = ?8 AND version = ?9";
    let values = vec![
        Value::from(task.title.as_str()),
        Value::from(task.description.as_str()),
        Value::from(task.state.name()),
        Value::from(&task.props),
        Value::from(task.version),
        rows::time(task.updated_at),
        Value::from(terms::index(&[&task.title, &task.description])),
        id(task.id),
        Value::from(from),
    ];
    Statement::new(sql, values).guarded(Guard::Entity(task.id.0))
}

fn insert_edge(kept: &Versioned<Edge>) -> Statement {
    let edge = &kept.entity;
    let values = vec![
        id(edge.id),
        id(edge.project_id),
        id(edge.src),
        id(edge.dst),
        Value::from(edge.rel.as_str()),
        Value::from(&edge.props),
        rows::time(edge.created_at),
        optional_id(kept.made.run_id),
        Value::from(kept.made.seq),
    ];
    insert_entity(&INSERT_EDGE, values, edge.id.0)
}

fn insert_entity(sql: &'static LazyLock<String>, values: Vec<Value>, entity: uuid::Uuid) -> Statement {
    Statement::new(sql.as_str(), values).guarded(Guard::Entity(entity))
}

fn insert_if_absent(table: &str, columns: &str) -> String {
    insert(table, columns, " ON CONFLICT DO NOTHING")
}

static INSERT_PROJECT: LazyLock<String> = LazyLock::new(|| {
    let columns =
        "id, title, description, props, version, created_at, updated_at, made_run, made_seq, terms, created_by";
    insert_if_absent("onto_projects", columns)
});
static INSERT_DOCUMENT: LazyLock<String> = LazyLock::new(|| {
    let columns = "id, project_id, title, type_key, doc_role, props, version, created_at, updated_at, made_run, made_seq, \
        run_id, seq, actor, content, terms";
    insert_if_absent("onto_documents", columns)
});
static INSERT_TASK: LazyLock<String> = LazyLock::new(|| {
    let columns =
        "id, project_id, title, description, state, props, version, created_at, updated_at, made_run, made_seq, terms";
    insert_if_absent("onto_tasks", columns)
});
static INSERT_EDGE: LazyLock<String> = LazyLock::new(|| {
    insert_if_absent("onto_edges", "id, project_id, src, dst, rel, props, created_at, made_run, made_seq")
});

fn role(document: &Document) -> Value {
    let role = document.props.get("doc_role").filter(|role| !role.is_null());
    Value::from(role.map(|role| role.as_str().map_or_else(|| role.to_string(), str::to_owned)))
}

fn searchable(document: &Document) -> Value {
    Value::from(if document.is_platform() {
        String::new()
    } else {
        terms::index(&[&document.title, &document.content])
    })
}
