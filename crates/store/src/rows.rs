//! The statements that write events and projections: a run's row, iterations, entries of scratchpads, notifications.
//! The engine computes the rows; this module must not compute anything about a run.

use crate::sql::{Statement, Value, id, optional_id};
use crate::tables::{self, ITERATION};
use engine::batch::{IterationRow, Rows, RunRow};
use engine::ids::RunId;
use engine::time::Timestamp;
use engine::workspace::ActorRecord;
use runtime::search_terms as terms;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::LazyLock;

pub(crate) fn json(value: &impl Serialize) -> Value {
    Value::from(serde_json::to_string(value).unwrap_or_else(|_| "null".into()))
}

pub(crate) fn time(at: Timestamp) -> Value {
    Value::from(at.0)
}

pub(crate) fn optional_time(at: Option<Timestamp>) -> Value {
    Value::from(at.map(|at| at.0))
}

pub(crate) fn actor(actor: &ActorRecord) -> Statement {
    let kind = serde_json::to_value(actor.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned));
    let values = vec![
        id(actor.id),
        Value::from(kind.unwrap_or_default()),
        Value::from(actor.handle.as_str()),
        Value::from(actor.name.as_str()),
        time(actor.created_at),
    ];
    let sql =
        "INSERT INTO actors (id, kind, handle, name, created_at) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
    Statement::new(sql, values)
}

/// How much of the run's row a batch changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Created,
    /// The status, limits, questions or report may have changed.
    Changed,
    /// Only counters and the position in the log have changed.
    Working,
}

pub(crate) fn projections(rows: &Rows, stage: Stage) -> Vec<Statement> {
    let mut statements = match stage {
        Stage::Created => insert_run(&rows.run),
        Stage::Changed => vec![update_run(&rows.run, &tables::UPDATE_RUN, changing_values(&rows.run))],
        Stage::Working => vec![update_run(&rows.run, &tables::UPDATE_WORKING_RUN, working_values(&rows.run))],
    };
    statements.extend(iterations(&rows.iterations));
    statements.extend(crate::tree::statements(rows));
    statements.extend(crate::agents::steps(&rows.steps));
    statements.extend(entries(rows));
    statements.extend(notifications(rows));
    statements
}

fn insert_run(run: &RunRow) -> Vec<Statement> {
    let mut values = vec![
        id(run.id),
        id(run.owner),
        Value::from(run.objective.as_str()),
        Value::from(run.scope.name()),
        json(&run.project_ids),
        id(run.workspace_project_id),
        time(run.created_at),
        Value::from(terms::index(&[&run.objective])),
    ];
    values.extend(changing_values(run));
    let mut statements = vec![Statement::new(tables::INSERT_RUN.of(run.kind), values)];
    let projects: Vec<_> = run.project_ids.iter().map(|project| vec![id(run.id), id(project)]).collect();
    if !projects.is_empty() {
        statements.push(Statement::many(
            "INSERT INTO run_projects (run_id, project_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            projects,
        ));
    }
    if let Some(agent) = &run.agent {
        let sql = "UPDATE agent_task_runs SET agent = ?1, agent_id = ?2, max_steps = ?3 WHERE id = ?4";
        let max_steps = Value::from(run.max_steps.map(i64::from));
        statements.push(Statement::new(
            sql,
            vec![Value::from(agent.as_str()), optional_id(run.agent_id), max_steps, id(run.id)],
        ));
    }
    if !run.agents.is_empty() {
        let sql = format!("UPDATE {} SET agents = ?1 WHERE id = ?2", tables::tables(run.kind).runs);
        statements.push(Statement::new(sql, vec![json(&run.agents), id(run.id)]));
    }
    statements
}

fn update_run(run: &RunRow, sql: &'static tables::PerKind, mut values: Vec<Value>) -> Statement {
    values.push(id(run.id));
    Statement::new(sql.of(run.kind), values)
}

fn working_values(run: &RunRow) -> Vec<Value> {
    vec![
        Value::from(run.activity.as_str()),
        Value::from(i64::from(run.iteration)),
        json(&run.metrics),
        json(&run.plan),
        optional_id(run.workspace_document_id),
        time(run.updated_at),
        Value::from(run.last_seq),
        Value::from(run.head.0.to_vec()),
        Value::from(run.provider_wait.as_ref().and_then(|wait| serde_json::to_string(wait).ok())),
    ]
}

fn changing_values(run: &RunRow) -> Vec<Value> {
    vec![
        Value::from(run.status.name()),
        Value::from(run.activity.as_str()),
        Value::from(run.stop_reason.map(|reason| reason.name().to_owned())),
        Value::from(run.stop_detail.clone()),
        Value::from(i64::from(run.iteration)),
        json(&run.budgets),
        json(&run.metrics),
        json(&run.plan),
        json(&run.questions),
        optional_id(run.workspace_document_id),
        json(&run.report),
        Value::from(run.model.as_str()),
        json(&run.warnings),
        optional_time(run.started_at),
        time(run.updated_at),
        optional_time(run.ended_at),
        Value::from(run.last_seq),
        Value::from(run.head.0.to_vec()),
        Value::from(run.provider_wait.as_ref().and_then(|wait| serde_json::to_string(wait).ok())),
        json(&run.success_criteria),
        Value::from(run.outcome.map(|outcome| outcome.name().to_owned())),
    ]
}

static UPSERT_ITERATION: LazyLock<String> = LazyLock::new(|| {
    let upsert = " ON CONFLICT (run_id, iteration) DO UPDATE SET status = excluded.status, summary = excluded.summary, \
        progress = excluded.progress, metrics = excluded.metrics, artifacts = excluded.artifacts, ended_at = excluded.ended_at";
    tables::insert("homework_run_iterations", ITERATION, upsert)
});

fn iterations(iterations: &[IterationRow]) -> Vec<Statement> {
    let row = |row: &IterationRow| {
        let values = vec![
            id(row.run_id),
            Value::from(i64::from(row.iteration)),
            Value::from(row.status.as_str()),
            Value::from(row.summary.as_str()),
            Value::from(i64::from(row.progress)),
            json(&row.metrics),
            json(&row.artifacts),
            time(row.started_at),
            optional_time(row.ended_at),
        ];
        // One statement per row: PostgreSQL refuses an upsert that touches the same row twice, and two rows of a batch
        // may be of the same iteration.
        Statement::new(UPSERT_ITERATION.as_str(), values)
    };
    iterations.iter().map(row).collect()
}

/// The position of each entry in its document. It is computed from the seq of the entry's event, so that a rebuild
/// gives the same position. Entries of one event are numbered in their order; there is room for a thousand.
fn entry_positions(rows: &Rows) -> Vec<i64> {
    let mut made: HashMap<(RunId, u64), i64> = HashMap::new();
    let position = |entry: &engine::batch::EntryRow| {
        let index = made.entry((entry.run_id, entry.seq)).or_default();
        *index += 1;
        (entry.seq as i64).saturating_mul(1000).saturating_add(*index - 1)
    };
    rows.entries.iter().map(position).collect()
}

fn entries(rows: &Rows) -> Option<Statement> {
    let sql = "INSERT INTO onto_document_entries (document_id, position, key, markdown, run_id, seq, created_at) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING";
    let row = |(entry, position): (&engine::batch::EntryRow, i64)| {
        vec![
            id(entry.document_id),
            Value::from(position),
            Value::from(entry.key.as_str()),
            Value::from(entry.markdown.as_str()),
            id(entry.run_id),
            Value::from(entry.seq),
            time(entry.at),
        ]
    };
    let values: Vec<_> = rows.entries.iter().zip(entry_positions(rows)).map(row).collect();
    (!values.is_empty()).then(|| Statement::many(sql, values))
}

fn notifications(rows: &Rows) -> Option<Statement> {
    let sql = "INSERT INTO notifications (run_id, seq, owner, kind, title, body, question_id, at) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING";
    let row = |row: &engine::batch::NotificationRow| {
        vec![
            id(row.run_id),
            Value::from(row.seq),
            id(row.owner),
            Value::from(row.kind.as_str()),
            Value::from(row.title.as_str()),
            Value::from(row.body.as_str()),
            optional_id(row.question_id),
            time(row.at),
        ]
    };
    let values: Vec<_> = rows.notifications.iter().map(row).collect();
    (!values.is_empty()).then(|| Statement::many(sql, values))
}
