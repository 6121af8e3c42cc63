//! Subagents, the versions of their scratchpads, and the steps of their tasks. It must not know what a subagent may do:
//! actions are stored as they are given.

use crate::log::into_store_error;
use crate::rows::{json, optional_time, time};
use crate::sql::{Guard, Query, Row, Statement, Value, id, optional_id, page};
use crate::tables::{STEP, insert};
use crate::workspace::Origin;
use crate::{SqlStore, StoreError, backend::WriteError, codec, records, rows};
use engine::batch::StepRow;
use engine::blob::BlobRef;
use engine::ids::ActorId;
use engine::time::Timestamp;
use runtime::agents::{AgentRecord, PadVersion};
use runtime::ports::Slice;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

pub(crate) const AGENT: &str = "SELECT g.id, a.handle, a.name, g.owner, g.identity, g.actions, g.model, g.version, g.created_at, g.updated_at \
    FROM agents g JOIN actors a ON a.id = g.id WHERE 1 = 1";
const PAD: &str = "SELECT version, content, actor, run_id, seq, step, at FROM agent_scratchpads WHERE agent_id = ";
const NEWEST: &str = "SELECT version, content, actor, run_id, seq, step, at, agent_id FROM agent_scratchpads p \
    WHERE version = (SELECT MAX(n.version) FROM agent_scratchpads n WHERE n.agent_id = p.agent_id) AND agent_id IN ";
const CHANGE: &str = "UPDATE agents SET identity = ?1, actions = ?2, model = ?3, version = ?4, updated_at = ?5 WHERE id = ?6 AND version = ?7";

pub(crate) fn agent(row: &Row) -> Result<AgentRecord, StoreError> {
    Ok(AgentRecord {
        id: row.parse(0)?,
        handle: row.text(1)?.to_owned(),
        name: row.text(2)?.to_owned(),
        owner: row.parse(3)?,
        identity: row.text(4)?.to_owned(),
        actions: row.json(5)?,
        model: row.optional_text(6)?.map(str::to_owned),
        version: row.int(7)?,
        created_at: Timestamp(row.int(8)?),
        updated_at: Timestamp(row.int(9)?),
    })
}

fn pad(row: &Row) -> Result<PadVersion, StoreError> {
    let Origin { run_id, seq } = records::origin(row, 3, 4)?;
    let content = row.text(1)?.to_owned();
    Ok(PadVersion {
        version: row.int(0)?,
        characters: content.chars().count() as u32,
        content,
        actor: codec::parse_actor(row.text(2)?)?,
        run_id,
        seq,
        step: row.optional_int(5)?.map(|step| u32::try_from(step).unwrap_or_default()),
        at: records::time(row, 6)?,
    })
}

fn insert_agent(agent: &AgentRecord) -> Statement {
    let values = vec![
        id(agent.id),
        id(agent.owner),
        Value::from(agent.identity.as_str()),
        json(&agent.actions),
        Value::from(agent.model.clone()),
        Value::from(agent.version),
        time(agent.created_at),
        time(agent.updated_at),
    ];
    let columns = "id, owner, identity, actions, model, version, created_at, updated_at";
    Statement::new(insert("agents", columns, ""), values)
}

/// Inserts a version. It is guarded: when two writers made the same version, the second is refused.
pub(crate) fn insert_scratchpad(agent: ActorId, pad: &PadVersion) -> Statement {
    let values = vec![
        id(agent),
        Value::from(pad.version),
        Value::from(pad.content.as_str()),
        Value::from(codec::actor_text(&pad.actor)),
        optional_id(pad.run_id),
        Value::from(pad.seq),
        Value::from(pad.step.map(i64::from)),
        time(pad.at),
    ];
    let columns = "agent_id, version, content, actor, run_id, seq, step, at";
    let sql = insert("agent_scratchpads", columns, " ON CONFLICT DO NOTHING");
    Statement::new(sql, values).guarded(Guard::Entity(agent.0))
}

impl SqlStore {
    pub(crate) async fn newest_pads(
        &self,
        agents: &BTreeSet<ActorId>,
    ) -> Result<BTreeMap<ActorId, PadVersion>, StoreError> {
        let mut query = Query::new(NEWEST);
        let found = self.backend.read_inline(query.bind_list(agents.iter().map(id)).statement()).await?;
        found.iter().map(|row| Ok((row.parse(7)?, pad(row)?))).collect()
    }
}

impl SqlStore {
    /// Creates the actor and the subagent in one transaction. A handle that is taken is `Unusable`.
    pub async fn create_agent(&self, agent: AgentRecord) -> Result<(), StoreError> {
        let actor = rows::actor(&agent.actor()).guarded(Guard::Entity(agent.id.0));
        match self.backend.write(vec![actor, insert_agent(&agent)]).await {
            Err(WriteError::Refused(_)) => Err(StoreError::Unusable(format!("the handle {} is taken", agent.handle))),
            written => written.map(drop).map_err(into_store_error),
        }
    }

    /// The subagents of one person, oldest first.
    pub async fn agents(&self, owner: ActorId, slice: Slice<ActorId>) -> Result<Vec<AgentRecord>, StoreError> {
        let mut query = Query::new(AGENT);
        query.push(" AND g.owner = ").bind(id(owner));
        if let Some(after) = slice.after {
            query.push(" AND g.id > ").bind(id(after));
        }
        query.push(" ORDER BY g.id LIMIT ").bind(page(slice.limit));
        self.all(query, agent).await
    }

    /// Sets name, identity, actions and model if the row still has the version `expected`. False when it has another.
    pub async fn change_agent(&self, agent: AgentRecord, expected: i64) -> Result<bool, StoreError> {
        let values = vec![
            Value::from(agent.identity),
            json(&agent.actions),
            Value::from(agent.model),
            Value::from(expected + 1),
            time(agent.updated_at),
            id(agent.id),
            Value::from(expected),
        ];
        let renamed = vec![Value::from(agent.name), id(agent.id)];
        let batch = vec![
            Statement::new(CHANGE, values).guarded(Guard::Entity(agent.id.0)),
            Statement::new("UPDATE actors SET name = ?1 WHERE id = ?2", renamed),
        ];
        match self.backend.write(batch).await {
            Ok(_) => Ok(true),
            Err(WriteError::Refused(_)) => Ok(false),
            Err(error) => Err(into_store_error(error)),
        }
    }

    /// The versions of a scratchpad that are older than `before`, newest first.
    pub async fn scratchpad_versions(
        &self,
        agent: ActorId,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<PadVersion>, StoreError> {
        let mut query = Query::new(PAD);
        query.bind(id(agent));
        if let Some(before) = before {
            query.push(" AND version < ").bind(before);
        }
        query.push(" ORDER BY version DESC LIMIT ").bind(page(limit));
        self.all(query, pad).await
    }
}

static UPSERT_STEP: LazyLock<String> = LazyLock::new(|| {
    let outcome = "ok, summary, result_hash, result_bytes, artifacts, ended_at";
    let set = outcome.split(", ").map(|column| format!("{column} = excluded.{column}")).collect::<Vec<_>>();
    insert("agent_task_steps", STEP, &format!(" ON CONFLICT (run_id, step) DO UPDATE SET {}", set.join(", ")))
});
pub(crate) static STEPS: LazyLock<String> = LazyLock::new(|| format!("SELECT {STEP} FROM agent_task_steps"));

pub(crate) fn steps(rows: &[StepRow]) -> Option<Statement> {
    let row = |row: &StepRow| {
        vec![
            id(row.run_id),
            Value::from(i64::from(row.step)),
            Value::from(row.action.name()),
            Value::from(row.path.clone()),
            Value::from(row.action_name.clone()),
            json(&row.params),
            Value::from(row.message.clone()),
            Value::from(row.thought.clone()),
            Value::from(row.ok.map(i64::from)),
            Value::from(row.summary.clone()),
            Value::Bytes(row.result.map(|result| result.hash.0.to_vec())),
            Value::from(row.result.map(|result| u64::from(result.bytes))),
            json(&row.artifacts),
            Value::from(row.seq),
            time(row.started_at),
            optional_time(row.ended_at),
        ]
    };
    (!rows.is_empty()).then(|| Statement::many(UPSERT_STEP.as_str(), rows.iter().map(row).collect()))
}

pub(crate) fn read_step(row: &Row) -> Result<StepRow, StoreError> {
    let words = |column: usize| Ok::<_, StoreError>(row.optional_text(column)?.map(str::to_owned));
    let result = match row.optional_int(11)? {
        Some(bytes) => Some(BlobRef { hash: records::hash(row, 10)?, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) }),
        None => None,
    };
    Ok(StepRow {
        run_id: row.parse(0)?,
        step: u32::try_from(row.int(1)?).unwrap_or_default(),
        action: records::named(row, 2)?,
        path: words(3)?,
        action_name: words(4)?,
        params: row.json(5)?,
        message: words(6)?,
        thought: words(7)?,
        ok: row.optional_int(8)?.map(|ok| ok != 0),
        summary: words(9)?,
        result,
        artifacts: row.json(12)?,
        seq: records::number(row, 13)?,
        started_at: records::time(row, 14)?,
        ended_at: records::optional_time(row, 15)?,
    })
}
