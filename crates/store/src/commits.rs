//! The log itself: one row per commit, which holds the commit's events as one JSON text. The view `run_events` shows
//! them one by one to people who read the database. Projections and leases are other modules' business.

use crate::scope::visible_of_run;
use crate::sql::{Row, Statement, Value, id};
use crate::{SqlStore, StoreError, codec, records};
use engine::blob::Hash;
use engine::event::{Event, StoredEvent};
use engine::ids::{NodeId, RunId};
use engine::workspace::Scope;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt::Write;

const INSERT_COMMIT: &str = "INSERT INTO run_commits (run_id, first_seq, events) VALUES (?1, ?2, ?3)";

/// `?1` the run, `?2` the first seq that is wanted, `?3` the last one. It begins with the commit that holds `?2`.
const COMMITS: &str = "SELECT first_seq, events FROM run_commits WHERE run_id = ?1 AND first_seq <= ?3 AND first_seq >= \
    COALESCE((SELECT MAX(first_seq) FROM run_commits WHERE run_id = ?1 AND first_seq <= ?2), 0) ORDER BY first_seq";

/// Commits that are searched for one node's events at once.
const COMMITS_PER_READ: usize = 64;

/// Events whose text is compared at once.
const EVENTS_COMPARED: usize = 1000;

/// Bytes of one event besides its payload.
const EVENT_OVERHEAD_BYTES: usize = 220;

/// One event within a commit's text: node, parent node, type, time, actor, hash and payload, in the order of the columns of
/// `run_events`. Its run and seq follow from its row and place.
#[derive(Deserialize)]
struct CommittedEvent<'a>(
    Option<NodeId>,
    Option<NodeId>,
    #[serde(borrow)] Cow<'a, str>,
    i64,
    #[serde(borrow)] Cow<'a, str>,
    Hash,
    #[serde(borrow)] &'a RawValue,
);

/// The statement that stores these events, which are one commit of one run.
pub(crate) fn insert_commit(events: &[Event]) -> Option<Statement> {
    let first = events.first()?;
    let values = vec![id(first.run_id), Value::from(first.seq), Value::from(text_of(events))];
    Some(Statement::new(INSERT_COMMIT, values))
}

/// The payload is copied as it is: the exact text that was hashed.
fn text_of(events: &[Event]) -> String {
    let bytes = events.iter().map(|event| event.payload.len() + EVENT_OVERHEAD_BYTES).sum();
    let mut text = String::with_capacity(bytes);
    for event in events {
        text.push(if text.is_empty() { '[' } else { ',' });
        text.push('[');
        write_id(&mut text, event.node_id);
        write_id(&mut text, event.parent_node_id);
        // A type and an actor have no character that JSON escapes. Writing to a String cannot fail.
        let _ = write!(text, "\"{}\",{},\"", event.kind(), event.at.0);
        codec::write_actor(&mut text, &event.actor);
        let _ = write!(text, "\",\"{}\",", event.hash);
        text.push_str(&event.payload);
        text.push(']');
    }
    text.push(']');
    text
}

fn write_id(text: &mut String, node: Option<NodeId>) {
    match node {
        Some(node) => drop(write!(text, "\"{node}\",")),
        None => text.push_str("null,"),
    }
}

/// The events of a row of `first_seq, events`.
fn events_of(run_id: RunId, row: &Row) -> Result<Vec<StoredEvent>, StoreError> {
    let first_seq = records::number(row, 0)?;
    let unreadable = |error| {
        StoreError::Unusable(format!("the commit of run {run_id} at event {first_seq} cannot be read: {error}"))
    };
    let committed: Vec<CommittedEvent<'_>> = serde_json::from_str(row.text(1)?).map_err(unreadable)?;
    let stored = |(CommittedEvent(node_id, parent_node_id, kind, at, actor, hash, payload), seq)| {
        Ok(StoredEvent {
            run_id,
            seq,
            node_id,
            parent_node_id,
            kind: kind.into_owned(),
            at: engine::time::Timestamp(at),
            actor: codec::parse_actor(&actor)?,
            hash,
            payload: payload.get().to_owned(),
        })
    };
    committed.into_iter().zip(first_seq..).map(stored).collect()
}

/// A query for the commits that hold the events after `after`, at most `limit` of them.
pub(crate) fn query_after(run: RunId, after: u64, limit: usize) -> Statement {
    let last = after.saturating_add(limit as u64);
    Statement::new(COMMITS, vec![id(run), Value::from(after.saturating_add(1)), Value::from(last)])
}

/// The events after `after` in rows that [`query_after`] found.
pub(crate) fn events_after(run: RunId, after: u64, limit: usize, rows: &[Row]) -> Result<Vec<StoredEvent>, StoreError> {
    let mut events = Vec::new();
    for row in rows {
        events.extend(events_of(run, row)?.into_iter().filter(|event| event.seq > after));
    }
    events.truncate(limit);
    Ok(events)
}

impl SqlStore {
    /// The first event of a commit whose text is not what these events are written as. A letter of an id or a hash in the other
    /// case reads the same, and is found by no search for it.
    pub(crate) async fn rewritten_commit(&self, run: RunId, events: &[Event]) -> Result<Option<u64>, StoreError> {
        let mut last = 0;
        while last < events.len() {
            let rows = self.backend.read_long(query_after(run, last as u64, EVENTS_COMPARED)).await?;
            for row in &rows {
                let (from, text) = (records::number(row, 0)?, row.text(1)?);
                let first = (from as usize).saturating_sub(1);
                last = first + events_of(run, row)?.len();
                if events.get(first..last).is_none_or(|events| text_of(events) != text) {
                    return Ok(Some(from));
                }
            }
            if rows.is_empty() {
                break;
            }
        }
        Ok(None)
    }

    /// The hash of one event; `None` when the log does not reach that far.
    pub(crate) async fn hash_at(&self, run: RunId, seq: u64) -> Result<Option<Hash>, StoreError> {
        let Some(before) = seq.checked_sub(1) else { return Ok(None) };
        let rows = self.backend.read(query_after(run, before, 1)).await?;
        let events = events_after(run, before, 1, &rows)?;
        Ok(events.first().filter(|event| event.seq == seq).map(|event| event.hash))
    }

    /// The events of one node, in order, after `after`.
    pub async fn timeline(
        &self,
        scope: &Scope,
        run: RunId,
        node: NodeId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let (mut found, mut read) = (Vec::new(), after);
        loop {
            // The text of an event starts with ["<its node>". The parent comes second, without the bracket, and does not match.
            let mut query = visible_of_run("SELECT first_seq, events FROM run_commits", scope, run);
            query.push(" AND instr(events, ").bind(format!("[\"{node}\"")).push(") > 0 AND first_seq >= COALESCE(");
            query.push("(SELECT MAX(c.first_seq) FROM run_commits c WHERE c.run_id = ").bind(id(run));
            query.push(" AND c.first_seq <= ").bind(read.saturating_add(1)).push("), 0) ORDER BY first_seq LIMIT ");
            let rows = self.backend.read(query.bind(COMMITS_PER_READ).statement()).await?;
            for row in &rows {
                let (events, before) = (events_of(run, row)?, read);
                read = events.last().map_or(read, |event| event.seq);
                found.extend(events.into_iter().filter(|event| event.node_id == Some(node) && event.seq > before));
            }
            if rows.len() < COMMITS_PER_READ || found.len() >= limit {
                found.truncate(limit);
                return Ok(found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::actor::Actor;
    use engine::facts::Fact;
    use engine::time::Timestamp;
    use proptest::prelude::*;

    fn event(seq: u64, node: Option<u128>, text: &str) -> Event {
        let payload = serde_json::json!({ "a": text, "n": [1, -2.5, null] }).to_string();
        let node = node.map(|node| NodeId::from(uuid::Uuid::from_u128(node)));
        Event {
            run_id: uuid::Uuid::from_u128(7).into(),
            seq,
            node_id: node,
            parent_node_id: node,
            at: Timestamp(-5),
            actor: Actor::Person(uuid::Uuid::from_u128(9).into()),
            hash: Hash::of(&[payload.as_bytes()]),
            fact: Fact::decode("tree.later", &payload),
            payload: payload.into(),
        }
    }

    proptest! {
        #[test]
        fn a_commit_gives_back_each_event_to_the_byte(texts in proptest::collection::vec((".{0,40}", any::<Option<u128>>()), 1..6)) {
            let events: Vec<Event> = texts.iter().zip(40..).map(|((text, node), seq)| event(seq, *node, text)).collect();
            let row = Row(vec![Value::from(40u64), Value::from(text_of(&events))]);
            let stored = events_of(events[0].run_id, &row).unwrap();
            for (stored, event) in stored.iter().zip(&events) {
                prop_assert_eq!(&stored.payload, &*event.payload);
                prop_assert_eq!((stored.seq, stored.node_id, stored.parent_node_id), (event.seq, event.node_id, event.parent_node_id));
                prop_assert_eq!((stored.kind.as_str(), stored.at, stored.actor, stored.hash), (event.kind(), event.at, event.actor, event.hash));
            }
            prop_assert_eq!(stored.len(), events.len());
        }
    }

    #[test]
    fn a_damaged_commit_is_an_error_that_names_the_run_and_the_event() {
        let row = Row(vec![Value::from(40u64), Value::from("[[null,null,\"run.queued\"")]);
        let said = events_of(uuid::Uuid::from_u128(7).into(), &row).unwrap_err().to_string();
        assert!(said.contains("00000007") && said.contains("40"), "{said}");
    }
}
