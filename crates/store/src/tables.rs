//! Which tables a kind of run lives in: the only place that knows. Every kind has runs and events of the
//! same shape under its own names, and parts of its own.

use engine::run::Kind;
use std::sync::LazyLock;

pub(crate) struct Tables {
    pub runs: &'static str,
    /// What else follows from its log, by `run_id`.
    pub parts: &'static [&'static str],
}

pub(crate) const fn tables(kind: Kind) -> Tables {
    match kind {
        Kind::Homework => Tables { runs: "homework_runs", parts: &["homework_run_iterations"] },
        Kind::Tree => {
            Tables { runs: "tree_agent_runs", parts: &["tree_agent_nodes", "tree_agent_plans", "tree_agent_artifacts"] }
        }
        Kind::Task => Tables { runs: "agent_task_runs", parts: &["agent_task_steps"] },
    }
}

/// Whether the table holds logs, or rows that can be computed from them.
pub(crate) fn follows_from_logs(table: &str) -> bool {
    let shared = ["run_commits", "run_projects", "notifications", "onto_document_entries"];
    let own = |kind: &Kind| {
        let tables = tables(*kind);
        tables.runs == table || tables.parts.contains(&table)
    };
    shared.contains(&table) || Kind::ALL.iter().any(own)
}

/// Only a tree has a root, only a task one agent, and the others several to give work to; each says so with the right types.
const fn peculiar(kind: Kind) -> &'static str {
    match kind {
        Kind::Homework => {
            "CAST(NULL AS TEXT) AS root_node_id, CAST(NULL AS TEXT) AS agent, CAST(NULL AS TEXT) AS agent_id, CAST(NULL AS BIGINT) AS max_steps, agents"
        }
        Kind::Tree => {
            "root_node_id, CAST(NULL AS TEXT) AS agent, CAST(NULL AS TEXT) AS agent_id, CAST(NULL AS BIGINT) AS max_steps, agents"
        }
        Kind::Task => "CAST(NULL AS TEXT) AS root_node_id, agent, agent_id, max_steps, CAST(NULL AS TEXT) AS agents",
    }
}

pub(crate) const PART: &str = "run_id, iteration, status, summary, progress, metrics, artifacts, started_at, ended_at";
pub(crate) const NODE: &str = "id, run_id, ordinal, parent_node_id, title, reason, success_criteria, band_index, step_index, step_id, \
    depth, status, role_state, message, paused, generation, retry_of, scratchpad_doc_id, scratchpad_tail, outcome, error, \
    retryable, result, metrics, own_metrics, started_at, ended_at, created_at, updated_at, agent";
pub(crate) const NODE_CHANGES: &str = "status, role_state, message, paused, generation, scratchpad_tail, outcome, error, retryable, \
    result, metrics, own_metrics, started_at, ended_at, updated_at";
pub(crate) const PLAN: &str = "id, run_id, node_id, version, plan_json, created_at";
pub(crate) const ARTIFACT: &str = "id, run_id, node_id, artifact_type, document_id, json_payload, content_hash, content_bytes, is_primary, \
    label, created_at";
pub(crate) const STEP: &str = "run_id, step, action, path, action_name, params, message, thought, ok, summary, result_hash, result_bytes, \
    artifacts, seq, started_at, ended_at";
/// What is set when a run is created and never changes.
pub(crate) const BORN: &str =
    "id, owner, objective, scope, project_ids, success_criteria, workspace_project_id, created_at, terms";
/// What follows from its log.
pub(crate) const FOLLOWS: &str = "status, activity, stop_reason, stop_detail, iteration, budgets, metrics, plan, questions, \
    workspace_document_id, report, model, warnings, started_at, updated_at, ended_at, last_seq, head, provider_wait";

/// The part of it that changes while the run goes on as it is.
pub(crate) const WORKING: &str = "activity, iteration, metrics, plan, workspace_document_id, updated_at, last_seq, head, \
    provider_wait";

/// A statement for each kind's tables, made once.
pub(crate) struct PerKind(LazyLock<Vec<String>>);

impl PerKind {
    pub(crate) fn of(&'static self, kind: Kind) -> &'static str {
        Kind::ALL.iter().position(|known| *known == kind).map_or("", |at| &self.0[at])
    }
}

fn per_kind(sql: impl Fn(Tables) -> String) -> Vec<String> {
    Kind::ALL.iter().map(|kind| sql(tables(*kind))).collect()
}

pub(crate) static INSERT_RUN: PerKind =
    PerKind(LazyLock::new(|| per_kind(|tables| insert(tables.runs, &format!("{BORN}, {FOLLOWS}"), ""))));
/// The values of [`FOLLOWS`], then the run.
pub(crate) static TURN_RUN: PerKind = PerKind(LazyLock::new(|| per_kind(|tables| update(tables.runs, FOLLOWS))));
/// The values of [`WORKING`], then the run.
pub(crate) static WORK_RUN: PerKind = PerKind(LazyLock::new(|| per_kind(|tables| update(tables.runs, WORKING))));

pub(crate) fn insert(table: &str, columns: &str, rest: &str) -> String {
    let places: Vec<String> = (1..=columns.split(',').count()).map(|n| format!("?{n}")).collect();
    format!("INSERT INTO {table} ({columns}) VALUES ({}){rest}", places.join(", "))
}

fn update(table: &str, columns: &str) -> String {
    let set: Vec<String> = columns.split(',').zip(1..).map(|(column, n)| format!("{} = ?{n}", column.trim())).collect();
    format!("UPDATE {table} SET {} WHERE id = ?{}", set.join(", "), set.len() + 1)
}

/// The same select over every kind's table, as one relation.
fn over_all(select: impl Fn(Kind, Tables) -> String) -> String {
    Kind::ALL.iter().map(|kind| select(*kind, tables(*kind))).collect::<Vec<_>>().join(" UNION ALL ")
}

pub(crate) static ALL_RUNS: LazyLock<String> = LazyLock::new(|| {
    over_all(|kind, tables| {
        format!("SELECT '{}' AS kind, {BORN}, {FOLLOWS}, {} FROM {}", kind.name(), peculiar(kind), tables.runs)
    })
});

/// `?1` the run.
pub(crate) static ITERATIONS: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {PART} FROM homework_run_iterations"));
