//! Credentials, and the stored answers of requests with an idempotency key. Only the HTTP server uses them; the loop
//! does not know them. This module must never see a secret, only its digest.

mod sql;

use engine::ids::{ActorId, KeyId, ProjectId};
use engine::time::Timestamp;
use std::fmt;

/// The SHA-256 of a secret.
pub type Digest = [u8; 32];

/// What a credential allows. Each grant includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grant {
    Read,
    Run,
    Admin,
}

impl Grant {
    pub const ALL: [Grant; 3] = [Grant::Read, Grant::Run, Grant::Admin];

    pub fn name(self) -> &'static str {
        match self {
            Grant::Read => "read",
            Grant::Run => "run",
            Grant::Admin => "admin",
        }
    }

    pub fn parse(name: &str) -> Option<Grant> {
        Grant::ALL.into_iter().find(|grant| grant.name() == name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// A bearer token for programs.
    Token,
    /// The cookie of a browser.
    Session,
    /// A login code, which can be exchanged for a session once.
    Code,
}

impl KeyKind {
    pub const ALL: [KeyKind; 3] = [KeyKind::Token, KeyKind::Session, KeyKind::Code];

    pub fn name(self) -> &'static str {
        match self {
            KeyKind::Token => "token",
            KeyKind::Session => "session",
            KeyKind::Code => "code",
        }
    }

    pub fn parse(name: &str) -> Option<KeyKind> {
        KeyKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A credential without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub id: KeyId,
    pub actor_id: ActorId,
    pub kind: KeyKind,
    /// The token that a session was opened with. The session ends with it.
    pub parent: Option<KeyId>,
    pub name: String,
    pub grant: Grant,
    /// The projects it is restricted to. Empty means everything its actor may see.
    pub projects: Vec<ProjectId>,
    /// The first characters of the secret, so that people recognise it.
    pub prefix: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl Key {
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// Who sent a request with an idempotency key. Two tokens of one person are two credentials: neither gets an answer
/// that was given to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Credential {
    Key(KeyId),
    /// Somebody who uses the owner's local socket, without a key.
    Socket(ActorId),
}

impl fmt::Display for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Credential::Key(id) => write!(f, "key:{id}"),
            Credential::Socket(actor) => write!(f, "socket:{actor}"),
        }
    }
}

/// The stored answer of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    pub status: u16,
    pub content_type: String,
    pub body: String,
}

/// What the store knows about an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// The key was free and is reserved now: handle the request, then store its answer.
    New,
    /// The same request is in progress.
    InProgress,
    /// The same request was answered.
    Completed(KeptAnswer),
    /// The key belongs to a different request.
    DifferentRequest,
}

/// Seconds for which an unfinished request keeps its key. It is longer than any request takes; after a crash the key is
/// free again soon.
pub const UNFINISHED_SECONDS: i64 = 60;
/// Seconds for which an answer is stored.
pub const KEPT_SECONDS: i64 = 24 * 3600;
/// Seconds for which a session or a code stays listed after its end.
pub const REMEMBERED_SECONDS: i64 = 30 * 24 * 3600;
