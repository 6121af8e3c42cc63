//! The rows of lessons. What a change of a lesson means is decided in `workspace`, not here.

use crate::agents::insert_scratchpad;
use crate::rows::{optional_time, time};
use crate::sql::{Guard, Query, Row, Statement, Value, id, optional_id, page};
use crate::tables::insert;
use crate::workspace::Origin;
use crate::{SqlStore, StoreError, codec, records};
use engine::actor::Actor;
use engine::ids::{ActorId, LessonId, NodeId, RunId};
use engine::lessons::LessonStatus;
use engine::time::Timestamp;
use runtime::agents::PadVersion;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Something a subagent learned in a run, where it learned it, and what became of the lesson.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lesson {
    pub id: LessonId,
    pub agent_id: ActorId,
    pub text: String,
    pub status: LessonStatus,
    pub run_id: Option<RunId>,
    pub seq: Option<u64>,
    /// In a homework run: the iteration and the branch of the executor.
    pub iteration: Option<u32>,
    pub branch_id: Option<String>,
    /// In a tree: the node.
    pub node_id: Option<NodeId>,
    pub at: Timestamp,
    /// Who promoted or dismissed it. It is the platform when the success of a run promoted it.
    pub settled_by: Option<Actor>,
    pub settled_at: Option<Timestamp>,
    /// The version of the scratchpad that it was promoted into.
    pub version: Option<i64>,
}

const COLUMNS: &str =
    "id, agent_id, text, status, run_id, seq, iteration, branch_id, node_id, at, settled_by, settled_at, version";
static ADD: LazyLock<String> = LazyLock::new(|| insert("agent_lessons", COLUMNS, " ON CONFLICT DO NOTHING"));
const SETTLE: &str = "UPDATE agent_lessons SET status = ?1, settled_by = ?2, settled_at = ?3, version = ?4 WHERE id = ?5 AND status = 'pending'";
pub(crate) static LESSON: LazyLock<String> = LazyLock::new(|| format!("SELECT {COLUMNS} FROM agent_lessons"));

pub(crate) fn insert_lesson(lesson: &Lesson) -> Statement {
    let values = vec![
        id(lesson.id),
        id(lesson.agent_id),
        Value::from(lesson.text.as_str()),
        Value::from(lesson.status.name()),
        optional_id(lesson.run_id),
        Value::from(lesson.seq),
        Value::from(lesson.iteration.map(i64::from)),
        Value::from(lesson.branch_id.clone()),
        optional_id(lesson.node_id),
        time(lesson.at),
        Value::from(lesson.settled_by.as_ref().map(codec::actor_text)),
        optional_time(lesson.settled_at),
        Value::from(lesson.version),
    ];
    Statement::new(ADD.as_str(), values).guarded(Guard::Entity(lesson.id.0))
}

/// Promotes or dismisses a lesson. It is guarded: when two people settle the same lesson, the second is refused.
pub(crate) fn settle(lesson: &Lesson) -> Statement {
    let values = vec![
        Value::from(lesson.status.name()),
        Value::from(lesson.settled_by.as_ref().map(codec::actor_text)),
        optional_time(lesson.settled_at),
        Value::from(lesson.version),
        id(lesson.id),
    ];
    Statement::new(SETTLE, values).guarded(Guard::Entity(lesson.id.0))
}

/// Writes the new version of the scratchpad and the lessons in it, in one transaction.
pub(crate) fn promote(agent: ActorId, pad: &PadVersion, lessons: &[Lesson]) -> Vec<Statement> {
    std::iter::once(insert_scratchpad(agent, pad)).chain(lessons.iter().map(settle)).collect()
}

pub(crate) fn read(row: &Row) -> Result<Lesson, StoreError> {
    let Origin { run_id, seq } = records::origin(row, 4, 5)?;
    Ok(Lesson {
        id: row.parse(0)?,
        agent_id: row.parse(1)?,
        text: row.text(2)?.to_owned(),
        status: records::named(row, 3)?,
        run_id,
        seq,
        iteration: row.optional_int(6)?.map(|iteration| u32::try_from(iteration).unwrap_or_default()),
        branch_id: row.optional_text(7)?.map(str::to_owned),
        node_id: row.optional_parse(8)?,
        at: records::time(row, 9)?,
        settled_by: row.optional_text(10)?.map(codec::parse_actor).transpose()?,
        settled_at: records::optional_time(row, 11)?,
        version: row.optional_int(12)?,
    })
}

impl SqlStore {
    /// The lessons older than `before`, newest first, of one status or of all.
    pub async fn lessons(
        &self,
        agent: ActorId,
        status: Option<LessonStatus>,
        before: Option<LessonId>,
        limit: usize,
    ) -> Result<Vec<Lesson>, StoreError> {
        let mut query = Query::new(format!("{} WHERE agent_id = ", LESSON.as_str()));
        query.bind(id(agent));
        if let Some(status) = status {
            query.push(" AND status = ").bind(status.name());
        }
        if let Some(before) = before {
            query.push(" AND id < ").bind(id(before));
        }
        query.push(" ORDER BY id DESC LIMIT ").bind(page(limit));
        self.all(query, read).await
    }

    pub async fn lesson(&self, agent: ActorId, lesson: LessonId) -> Result<Option<Lesson>, StoreError> {
        let mut query = Query::new(format!("{} WHERE agent_id = ", LESSON.as_str()));
        query.bind(id(agent)).push(" AND id = ").bind(id(lesson));
        self.one(query, read).await
    }

    pub(crate) async fn pending_of(&self, agent: ActorId) -> Result<u64, StoreError> {
        let mut query = Query::new("SELECT COUNT(*) FROM agent_lessons WHERE status = 'pending' AND agent_id = ");
        query.bind(id(agent));
        let count = self.one(query, |row| row.int(0)).await?;
        Ok(count.unwrap_or_default().unsigned_abs())
    }
}
