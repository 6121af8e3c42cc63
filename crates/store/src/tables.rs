//! The tables and columns of runs. Each kind of run has a table of runs and a table of events of the same shape under
//! names of its own, and further projections. Only this module maps a kind to its tables.

use engine::run::Kind;
use std::sync::LazyLock;

pub(crate) struct Tables {
    pub runs: &'static str,
    /// The other projections of this kind; each has a column `run_id`.
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

/// Whether the table holds events or projections. Events are covered by their hash chain, and projections can be
/// rebuilt.
pub(crate) fn follows_from_logs(table: &str) -> bool {
    let shared = ["run_commits", "run_projects", "notifications", "onto_document_entries"];
    let own = |kind: &Kind| {
        let tables = tables(*kind);
        tables.runs == table || tables.parts.contains(&table)
    };
    shared.contains(&table) || Kind::ALL.iter().any(own)
}

/// The columns that only some kinds have. The others select NULL, cast because PostgreSQL wants the same types on both
/// sides of `UNION ALL`.
const fn columns_of_kind(kind: Kind) -> &'static str {
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

pub(crate) const ITERATION: &str =
    "run_id, iteration, status, summary, progress, metrics, artifacts, started_at, ended_at";
pub(crate) const NODE: &str = "id, run_id, ordinal, parent_node_id, title, reason, success_criteria, band_index, step_index, step_id, \
    depth, status, role_state, message, paused, generation, retry_of, scratchpad_doc_id, scratchpad_tail, outcome, error, \
    retryable, result, metrics, own_metrics, started_at, ended_at, created_at, updated_at, agent, is_stale, is_current, \
    shortfall";
pub(crate) const NODE_CHANGES: &str = "status, role_state, message, paused, generation, scratchpad_tail, outcome, error, retryable, \
    result, metrics, own_metrics, started_at, ended_at, updated_at, is_stale, is_current, shortfall";
pub(crate) const PLAN: &str = "id, run_id, node_id, version, plan_json, created_at";
pub(crate) const ARTIFACT: &str = "id, run_id, node_id, artifact_type, document_id, json_payload, content_hash, content_bytes, is_primary, \
    label, created_at, is_stale, is_current, title";
pub(crate) const ARTIFACT_CHANGES: &str = "is_primary, is_stale, is_current";
pub(crate) const STEP: &str = "run_id, step, action, path, action_name, params, message, thought, ok, summary, result_hash, result_bytes, \
    artifacts, seq, started_at, ended_at";
/// The columns of a run that are set when it is created and never change.
pub(crate) const RUN_FIXED: &str = "id, owner, objective, scope, project_ids, workspace_project_id, created_at, terms";
/// The columns of a run that later events may change.
pub(crate) const RUN_CHANGING: &str = "status, activity, stop_reason, stop_detail, iteration, budgets, metrics, plan, questions, \
    workspace_document_id, report, model, warnings, started_at, updated_at, ended_at, last_seq, head, provider_wait, \
    success_criteria, outcome";

/// The part of [`RUN_CHANGING`] that changes while the run's status stays the same. No index has any of these columns,
/// so an update of them writes no index.
pub(crate) const RUN_WORKING: &str = "activity, iteration, metrics, plan, workspace_document_id, updated_at, last_seq, head, \
    provider_wait";

/// A statement for the tables of each kind, formatted once per process.
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
    PerKind(LazyLock::new(|| per_kind(|tables| insert(tables.runs, &format!("{RUN_FIXED}, {RUN_CHANGING}"), ""))));
/// Parameters: the values of [`RUN_CHANGING`], then the run.
pub(crate) static UPDATE_RUN: PerKind = PerKind(LazyLock::new(|| per_kind(|tables| update(tables.runs, RUN_CHANGING))));
/// Parameters: the values of [`RUN_WORKING`], then the run.
pub(crate) static UPDATE_WORKING_RUN: PerKind =
    PerKind(LazyLock::new(|| per_kind(|tables| update(tables.runs, RUN_WORKING))));

pub(crate) fn insert(table: &str, columns: &str, rest: &str) -> String {
    let places: Vec<String> = (1..=columns.split(',').count()).map(|n| format!("?{n}")).collect();
    format!("INSERT INTO {table} ({columns}) VALUES ({}){rest}", places.join(", "))
}

fn update(table: &str, columns: &str) -> String {
    let set: Vec<String> = columns.split(',').zip(1..).map(|(column, n)| format!("{} = ?{n}", column.trim())).collect();
    format!("UPDATE {table} SET {} WHERE id = ?{}", set.join(", "), set.len() + 1)
}

/// The select of every kind, joined by `UNION ALL`.
fn union_all(select: impl Fn(Kind, Tables) -> String) -> String {
    Kind::ALL.iter().map(|kind| select(*kind, tables(*kind))).collect::<Vec<_>>().join(" UNION ALL ")
}

pub(crate) static ALL_RUNS: LazyLock<String> = LazyLock::new(|| {
    union_all(|kind, tables| {
        format!(
            "SELECT '{}' AS kind, {RUN_FIXED}, {RUN_CHANGING}, {} FROM {}",
            kind.name(),
            columns_of_kind(kind),
            tables.runs
        )
    })
});

pub(crate) static ITERATIONS: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {ITERATION} FROM homework_run_iterations"));
