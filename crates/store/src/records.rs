//! Rows decoded into the engine's structs. Each select list stands beside the function that reads it, because columns
//! are read by number.

use crate::documents::DocumentVersion;
use crate::sql::Row;
use crate::workspace::{Origin, Versioned};
use crate::{StoreError, codec};
use engine::batch::{IterationRow, NotificationRow, RunRow};
use engine::blob::Hash;
use engine::facts::evidence::RunOutcome;
use engine::ids::RunId;
use engine::run::{Kind, ScopeKind, Status, StopReason};
use engine::time::Timestamp;
use engine::workspace::{ActorRecord, Document, Edge, Entry, Project, Task, TaskState};

pub(crate) fn time(row: &Row, column: usize) -> Result<Timestamp, StoreError> {
    row.int(column).map(Timestamp)
}

pub(crate) fn optional_time(row: &Row, column: usize) -> Result<Option<Timestamp>, StoreError> {
    Ok(row.optional_int(column)?.map(Timestamp))
}

pub(crate) fn number(row: &Row, column: usize) -> Result<u64, StoreError> {
    Ok(row.int(column)?.unsigned_abs())
}

pub(crate) fn hash(row: &Row, column: usize) -> Result<Hash, StoreError> {
    let bytes = row.bytes(column)?;
    bytes.try_into().map(Hash).map_err(|_| StoreError::Unusable("a stored hash has the wrong length".into()))
}

/// A value of an enum that is stored under its JSON name.
pub(crate) fn named<T: serde::de::DeserializeOwned>(row: &Row, column: usize) -> Result<T, StoreError> {
    word(row, column, |text| serde_json::from_value(text.into()).ok())
}

/// A value of an enum by its stored name. A newer version may have stored a name that this one does not know.
fn word<T>(row: &Row, column: usize, parse: fn(&str) -> Option<T>) -> Result<T, StoreError> {
    let text = row.text(column)?;
    parse(text).ok_or_else(|| {
        StoreError::Unusable(format!("the database has the value \"{text}\", which this version does not know"))
    })
}

pub(crate) fn origin(row: &Row, run: usize, seq: usize) -> Result<Origin, StoreError> {
    let run_id: Option<RunId> = row.optional_parse(run)?;
    Ok(Origin { run_id, seq: row.optional_int(seq)?.map(i64::unsigned_abs) })
}

/// Reads `kind`, `tables::RUN_FIXED`, `tables::RUN_CHANGING` and the columns that only some kinds have.
pub(crate) fn run(row: &Row) -> Result<RunRow, StoreError> {
    Ok(RunRow {
        kind: word(row, 0, Kind::parse)?,
        id: row.parse(1)?,
        owner: row.parse(2)?,
        objective: row.text(3)?.to_owned(),
        scope: word(row, 4, ScopeKind::parse)?,
        project_ids: row.json(5)?,
        workspace_project_id: row.parse(6)?,
        created_at: time(row, 7)?,
        status: word(row, 9, Status::parse)?,
        activity: row.text(10)?.to_owned(),
        stop_reason: row.optional_text(11)?.map(|_| word(row, 11, StopReason::parse)).transpose()?,
        stop_detail: row.optional_text(12)?.map(str::to_owned),
        iteration: u32::try_from(row.int(13)?).unwrap_or_default(),
        budgets: row.json(14)?,
        metrics: row.json(15)?,
        plan: row.json(16)?,
        questions: row.json(17)?,
        workspace_document_id: row.optional_parse(18)?,
        report: row.json(19)?,
        running: None,
        model: row.text(20)?.to_owned(),
        warnings: row.json(21)?,
        started_at: optional_time(row, 22)?,
        updated_at: time(row, 23)?,
        ended_at: optional_time(row, 24)?,
        last_seq: number(row, 25)?,
        head: hash(row, 26)?,
        paused_nodes: Vec::new(),
        provider_wait: row.optional_text(27)?.map(|_| row.json(27)).transpose()?,
        success_criteria: row.json(28)?,
        outcome: row.optional_text(29)?.map(|_| word(row, 29, RunOutcome::parse)).transpose()?,
        root_node_id: row.optional_parse(30)?,
        agent: row.optional_text(31)?.map(str::to_owned),
        agent_id: row.optional_parse(32)?,
        max_steps: row.optional_int(33)?.map(|steps| u32::try_from(steps).unwrap_or_default()),
        agents: row.optional_text(34)?.map(|_| row.json(34)).transpose()?.unwrap_or_default(),
    })
}

/// Reads `tables::ITERATION`.
pub(crate) fn iteration(row: &Row) -> Result<IterationRow, StoreError> {
    Ok(IterationRow {
        run_id: row.parse(0)?,
        iteration: u32::try_from(row.int(1)?).unwrap_or_default(),
        status: row.text(2)?.to_owned(),
        summary: row.text(3)?.to_owned(),
        progress: row.int(4)? != 0,
        metrics: row.json(5)?,
        artifacts: row.json(6)?,
        running: None,
        started_at: time(row, 7)?,
        ended_at: optional_time(row, 8)?,
    })
}

pub(crate) const NOTIFICATION: &str =
    "SELECT run_id, seq, owner, kind, title, body, question_id, at FROM notifications";
pub(crate) const NOTIFICATION_COLUMNS: &str = "run_id, seq, owner, kind, title, body, question_id, at";

pub(crate) fn notification(row: &Row) -> Result<NotificationRow, StoreError> {
    Ok(NotificationRow {
        run_id: row.parse(0)?,
        seq: number(row, 1)?,
        owner: row.parse(2)?,
        kind: row.text(3)?.to_owned(),
        title: row.text(4)?.to_owned(),
        body: row.text(5)?.to_owned(),
        question_id: row.optional_parse(6)?,
        at: time(row, 7)?,
    })
}

pub(crate) const PROJECT: &str =
    "SELECT id, title, description, props, version, created_at, updated_at, made_run, made_seq FROM onto_projects";

pub(crate) fn project(row: &Row) -> Result<Project, StoreError> {
    Ok(Project {
        id: row.parse(0)?,
        title: row.text(1)?.to_owned(),
        description: row.text(2)?.to_owned(),
        props: row.json(3)?,
        version: row.int(4)?,
        created_at: time(row, 5)?,
        updated_at: time(row, 6)?,
    })
}

/// Only the row of a document says who changed it last. Nothing reads the actor of the other entities, so it is
/// `Platform`.
pub(crate) fn versioned_project(row: &Row) -> Result<Versioned<Project>, StoreError> {
    let made = origin(row, 7, 8)?;
    Ok(Versioned { entity: project(row)?, made, changed: made, actor: engine::actor::Actor::Platform })
}

pub(crate) const DOCUMENT: &str = "SELECT id, project_id, title, type_key, content, props, version, created_at, updated_at, \
    made_run, made_seq, run_id, seq, actor FROM onto_documents";
/// The same without the content, which lists do not show.
/// Of a scratchpad every entry is a new version.
pub(crate) const LISTED_DOCUMENT: &str = "SELECT id, project_id, title, type_key, '' AS content, props, version + (SELECT COUNT(*) FROM onto_document_entries e \
    WHERE e.document_id = onto_documents.id) AS version, created_at, updated_at FROM onto_documents";

pub(crate) fn document(row: &Row) -> Result<Document, StoreError> {
    Ok(Document {
        id: row.parse(0)?,
        project_id: row.parse(1)?,
        title: row.text(2)?.to_owned(),
        type_key: row.text(3)?.to_owned(),
        content: row.text(4)?.to_owned(),
        props: row.json(5)?,
        version: row.int(6)?,
        created_at: time(row, 7)?,
        updated_at: time(row, 8)?,
    })
}

pub(crate) fn versioned_document(row: &Row) -> Result<Versioned<Document>, StoreError> {
    Ok(Versioned {
        entity: document(row)?,
        made: origin(row, 9, 10)?,
        changed: origin(row, 11, 12)?,
        actor: codec::parse_actor(row.text(13)?)?,
    })
}

pub(crate) const VERSION: &str = "SELECT version, title, body, run_id, seq, at FROM onto_document_versions";

pub(crate) fn version(row: &Row) -> Result<DocumentVersion, StoreError> {
    let Origin { run_id, seq } = origin(row, 3, 4)?;
    Ok(DocumentVersion {
        version: row.int(0)?,
        title: row.text(1)?.to_owned(),
        content: codec::unpack(row.bytes(2)?)?,
        run_id,
        seq,
        at: time(row, 5)?,
    })
}

pub(crate) fn current_version(kept: Versioned<Document>) -> DocumentVersion {
    DocumentVersion {
        version: kept.entity.version,
        title: kept.entity.title,
        content: kept.entity.content,
        run_id: kept.changed.run_id,
        seq: kept.changed.seq,
        at: kept.entity.updated_at,
    }
}

pub(crate) const ENTRY: &str =
    "SELECT document_id, position, key, markdown, run_id, seq, created_at FROM onto_document_entries";

pub(crate) fn entry(row: &Row) -> Result<Entry, StoreError> {
    let Origin { run_id, seq } = origin(row, 4, 5)?;
    Ok(Entry {
        document_id: row.parse(0)?,
        position: row.int(1)?,
        key: row.text(2)?.to_owned(),
        markdown: row.text(3)?.to_owned(),
        run_id,
        seq,
        created_at: time(row, 6)?,
    })
}

pub(crate) const TASK: &str = "SELECT id, project_id, title, description, state, props, version, created_at, updated_at, made_run, made_seq FROM onto_tasks";

pub(crate) fn task(row: &Row) -> Result<Task, StoreError> {
    Ok(Task {
        id: row.parse(0)?,
        project_id: row.parse(1)?,
        title: row.text(2)?.to_owned(),
        description: row.text(3)?.to_owned(),
        state: word(row, 4, TaskState::parse)?,
        props: row.json(5)?,
        version: row.int(6)?,
        created_at: time(row, 7)?,
        updated_at: time(row, 8)?,
    })
}

pub(crate) fn versioned_task(row: &Row) -> Result<Versioned<Task>, StoreError> {
    let made = origin(row, 9, 10)?;
    Ok(Versioned { entity: task(row)?, made, changed: made, actor: engine::actor::Actor::Platform })
}

pub(crate) const EDGE: &str =
    "SELECT id, project_id, src, dst, rel, props, created_at, made_run, made_seq FROM onto_edges";

pub(crate) fn edge(row: &Row) -> Result<Edge, StoreError> {
    Ok(Edge {
        id: row.parse(0)?,
        project_id: row.parse(1)?,
        src: row.parse(2)?,
        dst: row.parse(3)?,
        rel: row.text(4)?.to_owned(),
        props: row.json(5)?,
        created_at: time(row, 6)?,
    })
}

pub(crate) fn versioned_edge(row: &Row) -> Result<Versioned<Edge>, StoreError> {
    let made = origin(row, 7, 8)?;
    Ok(Versioned { entity: edge(row)?, made, changed: made, actor: engine::actor::Actor::Platform })
}

pub(crate) const ACTOR: &str = "SELECT id, kind, handle, name, created_at FROM actors";

pub(crate) fn actor(row: &Row) -> Result<ActorRecord, StoreError> {
    let kind = serde_json::from_value(row.text(1)?.into());
    Ok(ActorRecord {
        id: row.parse(0)?,
        kind: kind.map_err(|error| StoreError::Unusable(format!("a stored actor cannot be read: {error}")))?,
        handle: row.text(2)?.to_owned(),
        name: row.text(3)?.to_owned(),
        created_at: time(row, 4)?,
    })
}
