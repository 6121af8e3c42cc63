//! What the doors of the server need from a store: credentials, and answers kept for requests that are sent twice.
//! The loop knows nothing of them. Of a secret only the digest is ever here.

use crate::ports::{Slice, StoreError};
use async_trait::async_trait;
use engine::ids::{ActorId, KeyId, ProjectId};
use engine::time::Timestamp;
use engine::workspace::ActorRecord;
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

/// What is known of a request that carries a key of its sender's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The first of its name: do it, then say how it went.
    First,
    /// The same request is being worked on.
    Pending,
    /// It was done.
    Done(KeptAnswer),
    /// The key belongs to another request.
    Another,
}

/// Seconds an unfinished request keeps its key: longer than any request takes, short enough that a crash is forgotten.
pub const UNFINISHED_SECONDS: i64 = 60;
/// Seconds an answer is kept.
pub const KEPT_SECONDS: i64 = 24 * 3600;
/// Seconds a session or code stays listed after its end.
pub const REMEMBERED_SECONDS: i64 = 30 * 24 * 3600;

#[async_trait]
pub trait Keys: Send + Sync + 'static {
    async fn keep_key(&self, key: Key, digest: Digest) -> Result<(), StoreError>;
    /// The credential with this digest and whose it is. It may have ended.
    async fn key(&self, digest: Digest) -> Result<Option<(Key, ActorRecord)>, StoreError>;
    /// Newest first; everybody's, or one actor's.
    async fn keys(&self, of: Option<ActorId>, slice: Slice<KeyId>) -> Result<Vec<Key>, StoreError>;
    /// The credential with this id. It may have ended.
    async fn key_named(&self, id: KeyId) -> Result<Option<Key>, StoreError>;
    /// With the sessions opened with it. True when it was this call that ended it, so that of two who try one succeeds.
    async fn revoke_key(&self, id: KeyId, at: Timestamp) -> Result<bool, StoreError>;
    async fn key_used(&self, id: KeyId, at: Timestamp) -> Result<(), StoreError>;
    /// Those of `ids` that are not valid any more.
    async fn ended_keys(&self, ids: &[KeyId], now: Timestamp) -> Result<Vec<KeyId>, StoreError>;

    /// Take a request's name, or say what became of it.
    async fn begin(&self, by: Credential, name: &str, request: Digest, now: Timestamp) -> Result<Begun, StoreError>;
    /// Keep its answer; with `None` the name is free again.
    async fn finish(&self, by: Credential, name: &str, answer: Option<KeptAnswer>) -> Result<(), StoreError>;
}
