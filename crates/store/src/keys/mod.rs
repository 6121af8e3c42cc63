//! Credentials, and the answers kept for requests that are sent twice. Only the HTTP server uses them; the loop does not
//! know them. Of a secret only the digest is ever here.

mod sql;

use engine::ids::{ActorId, KeyId, ProjectId};
use engine::time::Timestamp;
use std::fmt;

/// SHA-256.
pub type Digest = [u8; 32];

/// What a credential allows. Each allows what stands before it.
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
    /// For programs, as a bearer.
    Token,
    /// A browser's, as a cookie.
    Session,
    /// Becomes a session, once.
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

/// A credential as it may be shown again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub id: KeyId,
    pub actor_id: ActorId,
    pub kind: KeyKind,
    /// The token a session was opened with; it ends with it.
    pub parent: Option<KeyId>,
    pub name: String,
    pub grant: Grant,
    /// What it is narrowed to; empty: everything its actor may see.
    pub projects: Vec<ProjectId>,
    /// How its secret begins, so that people recognise it.
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

/// Whose kept answers these are. Two tokens of one person are two credentials: neither is shown what the other was
/// answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Credential {
    Key(KeyId),
    /// Somebody who acts over the owner's own socket, without a key.
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

/// An answer as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    pub status: u16,
    pub content_type: String,
    pub body: String,
}

/// What the store knows of an idempotency key that a request carries.
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

/// Seconds an unfinished request keeps its key: longer than any request takes, short enough that a crash is forgotten.
pub const UNFINISHED_SECONDS: i64 = 60;
/// Seconds an answer is kept.
pub const KEPT_SECONDS: i64 = 24 * 3600;
/// Seconds a session or code stays listed after its end.
pub const REMEMBERED_SECONDS: i64 = 30 * 24 * 3600;
