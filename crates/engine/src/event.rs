//! The stored event: one fact with its place in the run's chained log.

use crate::actor::Actor;
use crate::blob::Hash;
use crate::facts::Fact;
use crate::ids::{NodeId, RunId};
use crate::time::Timestamp;
use std::fmt::Write;
use std::sync::Arc;

/// Always stored, never changed. `payload` is the exact JSON text that was hashed, stored and streamed:
/// an event is serialised once.
#[derive(Clone, Debug)]
pub struct Event {
    pub run_id: RunId,
    pub seq: u64,
    pub node_id: Option<NodeId>,
    pub parent_node_id: Option<NodeId>,
    pub at: Timestamp,
    pub actor: Actor,
    pub hash: Hash,
    pub fact: Fact,
    pub payload: Arc<str>,
}

/// The stored row, before its payload is decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    pub run_id: RunId,
    pub seq: u64,
    pub node_id: Option<NodeId>,
    pub parent_node_id: Option<NodeId>,
    pub kind: String,
    pub at: Timestamp,
    pub actor: Actor,
    pub hash: Hash,
    pub payload: String,
}

/// The hash the chain starts from, derived from the run's id alone.
pub fn genesis(run_id: RunId) -> Hash {
    Hash::of(&[b"pleach", run_id.0.as_bytes()])
}

impl Event {
    pub fn kind(&self) -> &str {
        self.fact.kind()
    }

    /// The hash this event must carry after `previous`.
    pub fn link(&self, previous: Hash) -> Hash {
        let actor = serde_json::to_vec(&self.actor).unwrap_or_default();
        let node = self.node_id.map(|id| id.0.into_bytes()).unwrap_or_default();
        let parent = self.parent_node_id.map(|id| id.0.into_bytes()).unwrap_or_default();
        Hash::of(&[
            &previous.0,
            &self.seq.to_le_bytes(),
            &self.at.0.to_le_bytes(),
            &node,
            &parent,
            &actor,
            self.kind().as_bytes(),
            b"\0",
            self.payload.as_bytes(),
        ])
    }

    /// The public form in docs/protocol.md, one compact JSON value.
    pub fn to_json(&self) -> String {
        let mut out = String::with_capacity(self.payload.len() + 320);
        self.write_json(&mut out);
        out
    }

    pub fn write_json(&self, out: &mut String) {
        self.header().write(out, self.kind(), &self.payload);
    }

    fn header(&self) -> EventHeader {
        let Event { run_id, seq, node_id, parent_node_id, at, actor, hash, .. } = *self;
        EventHeader { run_id, seq, node_id, parent_node_id, at, actor, hash }
    }
}

/// An event without its fact.
struct EventHeader {
    run_id: RunId,
    seq: u64,
    node_id: Option<NodeId>,
    parent_node_id: Option<NodeId>,
    at: Timestamp,
    actor: Actor,
    hash: Hash,
}

impl EventHeader {
    fn write(&self, out: &mut String, kind: &str, payload: &str) {
        let _ = write!(out, r#"{{"runId":"{}","seq":{}"#, self.run_id, self.seq);
        if let Some(node) = self.node_id {
            let _ = write!(out, r#","nodeId":"{node}""#);
        }
        if let Some(parent) = self.parent_node_id {
            let _ = write!(out, r#","parentNodeId":"{parent}""#);
        }
        let actor = serde_json::to_string(&self.actor).unwrap_or_else(|_| "null".into());
        let kind = serde_json::to_string(kind).unwrap_or_else(|_| "\"\"".into());
        let _ = write!(
            out,
            r#","type":{kind},"timestamp":"{}","actor":{actor},"hash":"{}","payload":{}}}"#,
            self.at, self.hash, payload
        );
    }
}

impl StoredEvent {
    /// The public form, as `Event::to_json`.
    pub fn write_json(&self, out: &mut String) {
        let StoredEvent { run_id, seq, node_id, parent_node_id, at, actor, hash, .. } = *self;
        EventHeader { run_id, seq, node_id, parent_node_id, at, actor, hash }.write(out, &self.kind, &self.payload);
    }

    /// Decodes the payload. Event types this version does not know become `Fact::Unrecognized`, which folds ignore.
    pub fn decode(self) -> Event {
        let fact = Fact::decode(&self.kind, &self.payload);
        Event {
            run_id: self.run_id,
            seq: self.seq,
            node_id: self.node_id,
            parent_node_id: self.parent_node_id,
            at: self.at,
            actor: self.actor,
            hash: self.hash,
            fact,
            payload: self.payload.into(),
        }
    }
}
