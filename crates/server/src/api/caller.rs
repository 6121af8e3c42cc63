//! Who asks, what they sent, and whether it can be read: the extractors, each failing as a problem.

use super::problems::Problem;
use super::route::Access;
use super::{House, MAX_BODY, door};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use engine::actor::{Actor, ActorKind};
use engine::batch::RunRow;
use engine::ids::{ActorId, RunId};
use engine::workspace::{ActorRecord, Scope};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use std::str::FromStr;
use std::sync::Arc;

/// The actor behind a request, as the door found them.
#[derive(Clone, Debug)]
pub struct Caller {
    pub record: ActorRecord,
    pub access: Access,
}

impl Caller {
    /// Someone who acts over the owner's own socket.
    pub fn of_owner(record: ActorRecord) -> Caller {
        Caller { record, access: Access::Admin }
    }

    pub fn id(&self) -> ActorId {
        self.record.id
    }

    pub fn scope(&self) -> Scope {
        Scope::Actor(self.id())
    }

    pub fn actor(&self) -> Actor {
        match self.record.kind {
            ActorKind::Person => Actor::Person(self.id()),
            ActorKind::Subagent => Actor::Subagent(self.id()),
        }
    }

    /// Comes to its end when these credentials stop being valid: a stream ends with it. The owner's never do.
    pub fn revoked(&self) -> BoxFuture<'static, ()> {
        std::future::pending().boxed()
    }

    /// A run this caller may see, or the same 404 as for one that does not exist.
    pub async fn run(&self, house: &House, id: RunId) -> Result<RunRow, Problem> {
        house.store.run(&self.scope(), id).await?.ok_or_else(|| Problem::not_found("run", id))
    }
}

impl FromRequestParts<Arc<House>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _house: &Arc<House>) -> Result<Self, Problem> {
        // A public route has nobody behind it; one that needs somebody says so in the table.
        parts.extensions.get::<Caller>().cloned().ok_or_else(door::unauthorized)
    }
}

/// An id in the path; one that is no id cannot exist either.
pub struct Id<T>(pub T);

impl<T: FromStr + Send> FromRequestParts<Arc<House>> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, house: &Arc<House>) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, house).await.map_err(unreadable)?;
        text.parse()
            .map(Id)
            .map_err(|_| Problem::new(StatusCode::NOT_FOUND, "not_found", format!("{text} is not an id")))
    }
}

/// The query string, or a problem that says what is wrong with it.
pub struct Asked<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<House>> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, house: &Arc<House>) -> Result<Self, Problem> {
        let Query(asked) = Query::from_request_parts(parts, house).await.map_err(unreadable)?;
        Ok(Asked(asked))
    }
}

/// A JSON body of at most a mebibyte. An empty body is an empty object.
pub struct Sent<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<House>> for Sent<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, house: &Arc<House>) -> Result<Self, Problem> {
        let bytes = axum::body::Bytes::from_request(request, house).await.map_err(|_| {
            Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "body_too_large",
                format!("a request body may have at most {MAX_BODY} bytes; nothing was changed"),
            )
        })?;
        let body: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        serde_json::from_slice(body).map(Sent).map_err(|error| {
            Problem::new(StatusCode::BAD_REQUEST, "bad_request", format!("the body cannot be used: {error}"))
        })
    }
}

fn unreadable(error: impl std::fmt::Display) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "bad_request", error.to_string())
}
