//! Identifiers. Every id a run creates is derived, never random: deciding the same inputs twice gives the same
//! ids, so a crash cannot leave two of anything.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidId;

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this is no id: ids look like 01a1df48-d78a-7b8e-8037-73144a9f3f51, and lists show them")
    }
}

impl std::error::Error for InvalidId {}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
        #[serde(transparent)]
        pub struct $name(#[cfg_attr(feature = "schema", schemars(with = "String"))] pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { self.0.hyphenated().fmt(f) }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { self.0.hyphenated().fmt(f) }
        }
        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text.trim()).map($name).map_err(|_| InvalidId)
            }
        }
        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self { $name(id) }
        }
        impl From<$name> for Uuid {
            fn from(id: $name) -> Uuid { id.0 }
        }
        impl From<&$name> for Uuid {
            fn from(id: &$name) -> Uuid { id.0 }
        }
    )+};
}

ids! {
    RunId, NodeId, DocumentId, TaskId, ProjectId, EdgeId, QuestionId, MessageId, PlanId, ArtifactId,
    /// A person or a subagent.
    ActorId,
    /// A credential, not its secret.
    CredentialId,
    /// Something a subagent learned.
    LessonId,
    /// An offer of membership in a project, until it is settled.
    InvitationId,
}

/// A node's place in the order in which the nodes of its tree were created, counted from 0. People and effect ids
/// write it as `n3`; it is shorter than the node's id and is the index of the node in every list of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeNumber(pub u32);

impl NodeNumber {
    pub const ROOT: NodeNumber = NodeNumber(0);

    pub fn from_index(index: usize) -> NodeNumber {
        NodeNumber(u32::try_from(index).expect("max_nodes is a u32"))
    }

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl RunId {
    /// Twelve hex digits that no other run of anyone's will share by chance.
    pub fn tag(self) -> String {
        self.0.simple().to_string()[20..].to_owned()
    }
}

/// A UUIDv7 whose time bits are `now` and whose random bits come from `seed`: sortable like any
/// v7, equal for equal inputs. No access check relies on its being hard to guess.
pub fn derive(now: Timestamp, seed: &[&[u8]]) -> Uuid {
    let mut hasher = Sha256::new();
    for part in seed {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let digest = hasher.finalize();
    let millis = (now.0.max(0) as u64).to_be_bytes();
    let mut bytes = [0u8; 16];
    bytes[..6].copy_from_slice(&millis[2..]);
    bytes[6..].copy_from_slice(&digest[..10]);
    bytes[6] = (bytes[6] & 0x0f) | 0x70;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    Uuid::from_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_derived_id_is_a_version_7_uuid_and_repeats_for_equal_input() {
        let now = Timestamp(1_763_190_000_000);
        let id = derive(now, &[b"run", b"doc:1"]);
        assert_eq!(id.get_version_num(), 7);
        assert_eq!(id, derive(now, &[b"run", b"doc:1"]));
        assert_ne!(id, derive(now, &[b"rundoc:", b"1"]), "parts are length-prefixed");
    }
}
