//! The actor behind a state change: the platform, a person or a subagent.

use crate::ids::ActorId;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    Person,
    Subagent,
}

/// `kind:id` of the person or subagent behind an event; the platform itself has no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum Actor {
    Platform,
    Person(ActorId),
    Subagent(ActorId),
}
