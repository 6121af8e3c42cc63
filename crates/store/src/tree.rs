//! The projections of a tree: nodes, plans and artifacts, written and read. Whoever sees the run sees its nodes. This
//! module must not compute anything about a tree; the engine does.

use crate::rows::{json, optional_time, time};
use crate::scope::visible_of_run;
use crate::sql::{Row, Statement, Value, equals, id, in_order_made, only, optional_id, page};
use crate::tables::{ARTIFACT, ARTIFACT_CHANGES, NODE, NODE_CHANGES, PLAN, insert};
use crate::{SqlStore, StoreError, records};
use engine::batch::{ArtifactRow, NodeRow, PlanRow, Rows};
use engine::blob::BlobRef;
use engine::ids::{ArtifactId, NodeId, NodeNumber, PlanId, RunId};
use engine::time::Timestamp;
use engine::tree::status::NodeStatus;
use engine::workspace::Scope;
use runtime::ports::Slice;
use std::sync::LazyLock;

pub(crate) fn statements(rows: &Rows) -> Vec<Statement> {
    let mut statements = Vec::new();
    if let Some(root) = rows.nodes.iter().find(|node| node.ordinal == NodeNumber::ROOT) {
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
static UPSERT_ARTIFACT: LazyLock<String> = LazyLock::new(|| upsert("tree_agent_artifacts", ARTIFACT, ARTIFACT_CHANGES));

/// An insert that updates an existing row. It sets only the columns that can change, so that the indexes on the others
/// are not written.
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
        number(row.ordinal.0),
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
        Value::from(row.outcome.map(|outcome| outcome.name().to_owned())),
        Value::from(row.error.clone()),
        Value::from(i64::from(row.retryable)),
        json(&row.result),
        json(&row.metrics),
        json(&row.own_metrics),
        optional_time(row.started_at),
        optional_time(row.ended_at),
        time(row.created_at),
        time(row.updated_at),
        Value::from(row.agent.clone()),
        Value::from(i64::from(row.stale)),
        Value::from(i64::from(row.current)),
        Value::from(row.shortfall.clone()),
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
        Value::from(i64::from(row.stale)),
        Value::from(i64::from(row.current)),
        Value::from(row.title.clone()),
    ]
}

pub(crate) static NODES: LazyLock<String> = LazyLock::new(|| format!("SELECT {NODE} FROM tree_agent_nodes"));
pub(crate) static PLANS: LazyLock<String> = LazyLock::new(|| format!("SELECT {PLAN} FROM tree_agent_plans"));
pub(crate) static ARTIFACTS: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {ARTIFACT} FROM tree_agent_artifacts"));

fn count(row: &Row, column: usize) -> Result<u32, StoreError> {
    Ok(u32::try_from(row.int(column)?).unwrap_or_default())
}

pub(crate) fn read_node(row: &Row) -> Result<NodeRow, StoreError> {
    let words = |column: usize| Ok::<_, StoreError>(row.optional_text(column)?.map(str::to_owned));
    Ok(NodeRow {
        id: row.parse(0)?,
        run_id: row.parse(1)?,
        ordinal: NodeNumber(count(row, 2)?),
        parent_node_id: row.optional_parse(3)?,
        title: row.text(4)?.to_owned(),
        reason: row.text(5)?.to_owned(),
        success_criteria: row.json(6)?,
        band_index: count(row, 7)?,
        step_index: count(row, 8)?,
        step_id: words(9)?,
        depth: count(row, 10)?,
        status: records::named(row, 11)?,
        role_state: records::named(row, 12)?,
        message: words(13)?,
        paused: row.int(14)? != 0,
        generation: count(row, 15)?,
        retry_of: row.optional_parse(16)?,
        scratchpad_doc_id: row.parse(17)?,
        scratchpad_tail: row.text(18)?.to_owned(),
        outcome: row.optional_text(19)?.map(|_| records::named(row, 19)).transpose()?,
        error: words(20)?,
        retryable: row.int(21)? != 0,
        result: row.json(22)?,
        metrics: row.json(23)?,
        own_metrics: row.json(24)?,
        started_at: records::optional_time(row, 25)?,
        ended_at: records::optional_time(row, 26)?,
        created_at: records::time(row, 27)?,
        updated_at: records::time(row, 28)?,
        agent: words(29)?,
        stale: row.int(30)? != 0,
        current: row.int(31)? != 0,
        shortfall: words(32)?,
    })
}

pub(crate) fn read_plan(row: &Row) -> Result<PlanRow, StoreError> {
    Ok(PlanRow {
        id: row.parse(0)?,
        run_id: row.parse(1)?,
        node_id: row.parse(2)?,
        version: count(row, 3)?,
        plan_json: row.json(4)?,
        created_at: records::time(row, 5)?,
    })
}

pub(crate) fn read_artifact(row: &Row) -> Result<ArtifactRow, StoreError> {
    let content = match row.optional_int(7)? {
        Some(bytes) => Some(BlobRef { hash: records::hash(row, 6)?, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) }),
        None => None,
    };
    Ok(ArtifactRow {
        id: row.parse(0)?,
        run_id: row.parse(1)?,
        node_id: row.parse(2)?,
        artifact_type: records::named(row, 3)?,
        document_id: row.optional_parse(4)?,
        json_payload: row.optional_text(5)?.map(|_| row.json(5)).transpose()?,
        content,
        is_primary: row.int(8)? != 0,
        label: row.text(9)?.to_owned(),
        created_at: records::time(row, 10)?,
        stale: row.int(11)? != 0,
        current: row.int(12)? != 0,
        title: row.optional_text(13)?.map(str::to_owned),
    })
}

#[derive(Clone, Copy, Debug, Default)]
pub struct NodeFilter {
    /// Only nodes created after the node with this ordinal.
    pub after: Option<NodeNumber>,
    /// Only nodes with an event of their own at this time or later.
    pub since: Option<Timestamp>,
    pub limit: usize,
}

impl SqlStore {
    /// The nodes of a tree in the order of their creation.
    pub async fn nodes(&self, scope: &Scope, run: RunId, filter: NodeFilter) -> Result<Vec<NodeRow>, StoreError> {
        let mut query = visible_of_run(&NODES, scope, run);
        if let Some(after) = filter.after {
            query.push(" AND ordinal > ").bind(i64::from(after.0));
        }
        if let Some(since) = filter.since {
            query.push(" AND updated_at >= ").bind(since.0);
        }
        query.push(" ORDER BY ordinal LIMIT ").bind(page(filter.limit));
        self.all(query, read_node).await
    }

    pub async fn node(&self, scope: &Scope, run: RunId, node: NodeId) -> Result<Option<NodeRow>, StoreError> {
        self.one(only(visible_of_run(&NODES, scope, run), "id", node), read_node).await
    }

    /// The step and status of each child of a node, in the order of their creation.
    pub async fn children(
        &self,
        scope: &Scope,
        run: RunId,
        parent: NodeId,
    ) -> Result<Vec<(String, NodeStatus)>, StoreError> {
        let query = visible_of_run("SELECT step_id, status FROM tree_agent_nodes", scope, run);
        let mut query = only(query, "parent_node_id", parent);
        query.push(" AND step_id IS NOT NULL ORDER BY ordinal");
        self.all(query, |row| Ok((row.text(0)?.to_owned(), records::named(row, 1)?))).await
    }

    /// The nodes that are paused and have not ended, in the order of their creation.
    pub async fn paused_nodes(&self, scope: &Scope, run: RunId) -> Result<Vec<NodeId>, StoreError> {
        let mut query = visible_of_run("SELECT id FROM tree_agent_nodes", scope, run);
        query.push(
            " AND paused = 1 AND status NOT IN ('completed', 'failed', 'canceled', 'superseded') ORDER BY ordinal",
        );
        self.all(query, |row| row.parse(0)).await
    }

    /// Every version of every plan, or of one node's plan, oldest first.
    pub async fn plans(
        &self,
        scope: &Scope,
        run: RunId,
        node: Option<NodeId>,
        slice: Slice<PlanId>,
    ) -> Result<Vec<PlanRow>, StoreError> {
        let mut query = visible_of_run(&PLANS, scope, run);
        equals(&mut query, "node_id", node.map(id));
        in_order_made(&mut query, "tree_agent_plans", slice);
        self.all(query, read_plan).await
    }

    pub async fn artifacts(
        &self,
        scope: &Scope,
        run: RunId,
        node: Option<NodeId>,
        slice: Slice<ArtifactId>,
    ) -> Result<Vec<ArtifactRow>, StoreError> {
        let mut query = visible_of_run(&ARTIFACTS, scope, run);
        equals(&mut query, "node_id", node.map(id));
        in_order_made(&mut query, "tree_agent_artifacts", slice);
        self.all(query, read_artifact).await
    }
}
