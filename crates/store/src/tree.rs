//! A tree's own projections as statements: its nodes, their plans and their artifacts.

use crate::rows::{json, optional_time, time};
use crate::sql::{Statement, Value, id, optional_id};
use crate::tables::{ARTIFACT, NODE, NODE_CHANGES, PLAN, insert};
use engine::batch::{ArtifactRow, NodeRow, PlanRow, Rows};
use std::sync::LazyLock;

pub fn statements(rows: &Rows) -> Vec<Statement> {
    let mut statements = Vec::new();
    if let Some(root) = rows.nodes.iter().find(|node| node.ordinal == 0) {
        let sql = "UPDATE tree_agent_runs SET root_node_id = ?1 WHERE id = ?2";
        statements.push(Statement::new(sql, vec![id(root.id), id(root.run_id)]));
    }
    let mut write = |sql: &'static LazyLock<String>, values: Vec<Vec<Value>>| {
        if !values.is_empty() {
            statements.push(Statement::many(sql.as_str(), values));
        }
    };
    write(&UPSERT_NODE, rows.nodes.iter().map(node).collect());
    write(&INSERT_PLAN, rows.plans.iter().map(plan).collect());
    write(&UPSERT_ARTIFACT, rows.artifacts.iter().map(artifact).collect());
    statements
}

static UPSERT_NODE: LazyLock<String> = LazyLock::new(|| upsert("tree_agent_nodes", NODE, NODE_CHANGES));
static INSERT_PLAN: LazyLock<String> =
    LazyLock::new(|| insert("tree_agent_plans", PLAN, " ON CONFLICT (id) DO NOTHING"));
static UPSERT_ARTIFACT: LazyLock<String> = LazyLock::new(|| upsert("tree_agent_artifacts", ARTIFACT, "is_primary"));

/// A row that is there already becomes what it is now. Columns that never change are left alone, and so their indexes.
fn upsert(table: &str, columns: &str, changes: &str) -> String {
    let set = changes.split(',').map(str::trim).map(|column| format!("{column} = excluded.{column}"));
    insert(table, columns, &format!(" ON CONFLICT (id) DO UPDATE SET {}", set.collect::<Vec<_>>().join(", ")))
}

fn number(number: u32) -> Value {
    Value::from(i64::from(number))
}

fn node(row: &NodeRow) -> Vec<Value> {
    vec![
        id(row.id),
        id(row.run_id),
        number(row.ordinal),
        optional_id(row.parent_node_id),
        Value::from(row.title.as_str()),
        Value::from(row.reason.as_str()),
        json(&row.success_criteria),
        number(row.band_index),
        number(row.step_index),
        Value::from(row.step_id.clone()),
        number(row.depth),
        Value::from(row.status.name()),
        Value::from(row.role_state.name()),
        Value::from(row.message.clone()),
        Value::from(i64::from(row.paused)),
        number(row.generation),
        optional_id(row.retry_of),
        id(row.scratchpad_doc_id),
        Value::from(row.scratchpad_tail.as_str()),
        optional_id(row.outcome.map(|outcome| outcome.name())),
        Value::from(row.error.clone()),
        Value::from(i64::from(row.retryable)),
        json(&row.result),
        json(&row.metrics),
        json(&row.own_metrics),
        optional_time(row.started_at),
        optional_time(row.ended_at),
        time(row.created_at),
        time(row.updated_at),
    ]
}

fn plan(row: &PlanRow) -> Vec<Value> {
    vec![id(row.id), id(row.run_id), id(row.node_id), number(row.version), json(&row.plan_json), time(row.created_at)]
}

fn artifact(row: &ArtifactRow) -> Vec<Value> {
    let payload = row.json_payload.as_ref().map(ToString::to_string);
    vec![
        id(row.id),
        id(row.run_id),
        id(row.node_id),
        Value::from(row.artifact_type.name()),
        optional_id(row.document_id),
        Value::from(payload),
        Value::Bytes(row.content.map(|content| content.hash.0.to_vec())),
        Value::from(row.content.map(|content| u64::from(content.bytes))),
        Value::from(i64::from(row.is_primary)),
        Value::from(row.label.as_str()),
        time(row.created_at),
    ]
}
