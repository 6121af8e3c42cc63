//! Extractors: the caller, path ids and JSON bodies. Each one fails as a problem. They know nothing of what a handler does.

use super::problems::Problem;
use super::revocation::{RevocationWatch, Revocations};
use super::route::Access;
use super::schema::{Schema, not_an_object};
use super::{AppState, MAX_BODY_BYTES, access, auth};
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use engine::actor::{Actor, ActorKind};
use engine::batch::RunRow;
use engine::ids::{ActorId, CredentialId, ProjectId, RunId};
use engine::workspace::{ActorRecord, Scope};
use futures::StreamExt;
use runtime::agents::AgentRecord;
use runtime::ports::Library;
use serde::de::DeserializeOwned;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use store::credentials::{Credential, IdempotencyOwner};

/// Enough for a mebibyte over any usable connection.
const BODY_WITHIN: Duration = Duration::from_secs(20);

/// The authenticated actor of a request.
#[derive(Clone)]
pub(crate) struct Caller {
    pub record: ActorRecord,
    pub access: Access,
    /// Present when the actor is a subagent.
    pub agent: Option<AgentRecord>,
    /// The credential, and what watches its revocation; none over the Unix socket.
    credential: Option<(Credential, Arc<Revocations<CredentialId>>)>,
}

impl Caller {
    /// The actor that a request over the Unix socket names.
    pub(crate) async fn of_owner(app: &AppState, record: ActorRecord) -> Result<Caller, Problem> {
        Caller::known(app, record, Access::Admin, None).await
    }

    pub(crate) async fn with_credential(
        app: &AppState,
        record: ActorRecord,
        credential: Credential,
    ) -> Result<Caller, Problem> {
        let access = Access::from(&credential);
        Caller::known(app, record, access, Some((credential, app.origin.validity.clone()))).await
    }

    async fn known(
        app: &AppState,
        record: ActorRecord,
        access: Access,
        credential: Option<(Credential, Arc<Revocations<CredentialId>>)>,
    ) -> Result<Caller, Problem> {
        let agent = match record.kind {
            ActorKind::Person => None,
            ActorKind::Subagent => Some(app.store.agent(&record.id.to_string()).await?.ok_or_else(auth::unauthorized)?),
        };
        Ok(Caller { record, access, agent, credential })
    }

    /// The credential of the request.
    pub(crate) fn credential(&self) -> Option<&Credential> {
        self.credential.as_ref().map(|(credential, _)| credential)
    }

    /// To whom idempotency keys belong.
    pub(crate) fn idempotency_owner(&self) -> IdempotencyOwner {
        self.credential()
            .map_or(IdempotencyOwner::Socket(self.id()), |credential| IdempotencyOwner::Credential(credential.id))
    }

    pub(crate) fn is_admin(&self) -> bool {
        self.access == Access::Admin
    }

    pub(crate) fn id(&self) -> ActorId {
        self.record.id
    }

    /// What the caller may see: everything of theirs, or the projects of a bound token. A subagent sees only what its owner
    /// may see too.
    pub(crate) fn scope(&self) -> Scope {
        match (&self.agent, self.bounds()) {
            (Some(agent), _) => agent.scope(),
            (None, []) => Scope::Actor(self.id()),
            (None, projects) => Scope::Within(self.id(), projects.to_vec()),
        }
    }

    /// The projects of a bound token; empty for any other credential.
    pub(crate) fn bounds(&self) -> &[ProjectId] {
        self.credential().map_or(&[], |credential| &credential.projects)
    }

    pub(crate) fn actor(&self) -> Actor {
        match self.record.kind {
            ActorKind::Person => Actor::Person(self.id()),
            ActorKind::Subagent => Actor::Subagent(self.id()),
        }
    }

    /// Ends when the credential is revoked or expires, and the caller's streams with it. None over the Unix socket.
    pub(crate) fn validity(&self) -> Option<RevocationWatch> {
        self.credential.as_ref().map(|(credential, validity)| validity.watch(credential.id))
    }

    /// A run this caller may see, or the same 404 as for one that does not exist.
    pub(crate) async fn run(&self, app: &AppState, id: RunId) -> Result<RunRow, Problem> {
        access::see_run(app, self, id).await
    }
}

impl FromRequestParts<Arc<AppState>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &Arc<AppState>) -> Result<Self, Problem> {
        // Absent on public routes, which have no caller.
        parts.extensions.get::<Caller>().cloned().ok_or_else(auth::unauthorized)
    }
}

/// What almost every handler starts from: the server, and who is asking.
pub(crate) struct Context(pub(crate) Arc<AppState>, pub(crate) Caller);

impl FromRequestParts<Arc<AppState>> for Context {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, Problem> {
        Ok(Context(app.clone(), Caller::from_request_parts(parts, app).await?))
    }
}

/// An id in the path. A malformed one is 404: nothing has it.
pub(super) struct Id<T>(pub T);

impl<T: FromStr + Send> FromRequestParts<Arc<AppState>> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, app).await.map_err(unreadable)?;
        text.parse().map(Id).map_err(|_| {
            Problem::new(
                StatusCode::NOT_FOUND,
                "not_found",
                "there is nothing with that id that you may see; check the id",
            )
        })
    }
}

/// The schema of a route's request body.
#[derive(Clone)]
pub(super) struct BodySchema(pub Arc<Schema>);

impl BodySchema {
    /// Finds a value that should be an object and is not. serde cannot: it reads an array as the fields of a struct in their
    /// order, and an empty array as a struct of defaults.
    fn misfit(&self, body: &[u8]) -> Option<String> {
        let value = serde_json::from_slice(body).ok()?;
        not_an_object(&self.0, &value, "")
    }
}

/// A JSON body of at most a mebibyte. An empty body is an empty object.
pub(super) struct JsonBody<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<AppState>> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _app: &Arc<AppState>) -> Result<Self, Problem> {
        let body = json_body(request).await?;
        serde_json::from_slice(&body).map(JsonBody).map_err(|error| misfit(&error.to_string()))
    }
}

/// Everything but the deserialization: not generic, so that it is compiled once and not for every body.
async fn json_body(request: Request) -> Result<Bytes, Problem> {
    let is_json = request.headers().get(header::CONTENT_TYPE).is_some_and(names_json);
    let schema = request.extensions().get::<BodySchema>().cloned();
    let mut body = read_body(request.into_body()).await?;
    if !body.is_empty() && !is_json {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "the request body must be JSON with the header Content-Type: application/json; nothing was changed",
        ));
    }
    if body.is_empty() {
        body = Bytes::from_static(b"{}");
    }
    if engine::json::is_too_deep(&body) {
        let most = engine::json::MAX_DEPTH;
        return Err(unreadable(format_args!("the body is nested deeper than {most} levels; nothing was changed")));
    }
    match schema.and_then(|schema| schema.misfit(&body)) {
        Some(why) => Err(misfit(&why)),
        None => Ok(body),
    }
}

fn misfit(why: &str) -> Problem {
    unreadable(format_args!("the body cannot be used: {why}; nothing was changed"))
}

/// Reads a body to its end, within limits of time and size.
pub(super) async fn read_body(body: Body) -> Result<Bytes, Problem> {
    tokio::time::timeout(BODY_WITHIN, collect(body)).await.unwrap_or_else(|_| {
        let detail = format!(
            "the request body did not arrive within {} s; nothing was changed. Send it again",
            BODY_WITHIN.as_secs()
        );
        Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", detail))
    })
}

async fn collect(body: Body) -> Result<Bytes, Problem> {
    let (mut parts, mut bytes) = (body.into_data_stream(), Vec::new());
    while let Some(part) = parts.next().await {
        let part = part
            .map_err(|error| unreadable(format_args!("the request body ended early: {error}; nothing was changed")))?;
        if bytes.len() + part.len() > MAX_BODY_BYTES {
            return Err(Problem::body_too_large());
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes.into())
}

/// `application/json`, with or without parameters.
fn names_json(content_type: &HeaderValue) -> bool {
    let media = content_type.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    media.trim().eq_ignore_ascii_case("application/json")
}

fn unreadable(error: impl std::fmt::Display) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "bad_request", error.to_string())
}
