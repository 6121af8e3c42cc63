//! Authentication: who a request comes from. The Unix socket belongs to the owner of the data, so its requests name their
//! actor and are believed; over the network a token or a session cookie is required. What the caller may do is checked in
//! `access` and by the route's own level.

use super::caller::Caller;
use super::origin::{from_own_page, is_of_this_machine};
use super::problems::Problem;
use super::rate_limit::{RateLimit, RateLimited};
use super::route::{Access, RouteRules};
use super::secret::Secret;
use super::{AppState, idempotency};
use crate::api_client::ACTOR_HEADER;
use crate::connections::Connection;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use runtime::ports::{LOCAL_HANDLE, Library};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use store::credentials::{Credential, CredentialKind};

/// The last use of a credential is stored with this precision, so that not every request writes.
const USE_PRECISION_MS: i64 = 60_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestSource {
    /// This process itself, or the unix socket that only its owner can open.
    Private,
    /// TCP.
    Open,
}

/// Middleware before one route.
#[derive(Clone)]
pub(crate) struct RouteAuth {
    pub app: Arc<AppState>,
    pub source: RequestSource,
    pub rules: RouteRules,
}

pub(crate) async fn admit(State(guard): State<RouteAuth>, request: Request, next: Next) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    if guard.needs_no_credential(&parts) {
        return Ok(next.run(Request::from_parts(parts, body)).await);
    }
    let caller = guard.allow(&parts).await?;
    if let Some(connection) = parts.extensions.get::<Connection>() {
        connection.authenticate();
    }
    let by = caller.idempotency_owner();
    parts.extensions.insert(caller);
    parts.extensions.insert(guard.source);
    let request = Request::from_parts(parts, body);
    match request.method() == Method::POST && request.headers().contains_key(idempotency::HEADER) {
        true => idempotency::run_once(&guard.app, by, guard.rules.returns_secret, request, next).await,
        false => Ok(next.run(request).await),
    }
}

impl RouteAuth {
    /// Whether the request needs no credential.
    fn needs_no_credential(&self, request: &Parts) -> bool {
        match self.rules.access {
            Access::Public => true,
            Access::Local => {
                self.source == RequestSource::Private || is_of_this_machine(&request.headers, peer(request))
            }
            Access::Read | Access::Run | Access::Admin => false,
        }
    }

    async fn allow(&self, request: &Parts) -> Result<Caller, Problem> {
        let caller = match self.source {
            RequestSource::Private => self.named_actor(&request.headers).await?,
            RequestSource::Open => self.recognized(request).await?,
        };
        if caller.access < self.rules.access {
            return Err(insufficient(self.rules.access));
        }
        if self.rules.personal && !caller.bounds().is_empty() {
            return Err(bound());
        }
        if caller.agent.is_some() && !self.rules.for_agents && !request.method.is_safe() {
            return Err(Problem::forbidden(
                "agents_act_on_pages",
                "subagents make changes only through the actions of pages; nothing was changed. GET /whoami lists what this subagent may do",
            ));
        }
        if self.rules.rate_limited && self.source == RequestSource::Open {
            limit_rate(&self.app.origin.starts, &caller.id().to_string())?;
        }
        Ok(caller)
    }

    /// Over the owner's socket the request names its actor and is believed.
    async fn named_actor(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        let handle = headers.get(ACTOR_HEADER).and_then(|value| value.to_str().ok()).unwrap_or(LOCAL_HANDLE);
        let record = self.app.store.actor(handle).await?.ok_or_else(|| Problem::unknown("actor", handle))?;
        Caller::of_owner(&self.app, record).await
    }

    async fn recognized(&self, request: &Parts) -> Result<Caller, Problem> {
        let origin = &self.app.origin;
        let credential = credential(&request.headers, origin.cookie());
        if credential.is_ok_and(|credential| credential.is_none()) {
            return Err(unauthorized());
        }
        let recognized = self.recognized_by(request, credential.ok().flatten()).await;
        recognized.map_err(|problem| origin.refused(&origin.guesses, peer(request), problem))
    }

    async fn recognized_by(
        &self,
        request: &Parts,
        credential: Option<(&str, CredentialKind)>,
    ) -> Result<Caller, Problem> {
        let (text, kind) = credential.ok_or_else(unauthorized)?;
        if kind == CredentialKind::Session && !request.method.is_safe() && !from_own_page(&request.headers) {
            return Err(Problem::forbidden(
                "foreign_origin",
                "a browser session can change things only from this server's own pages; nothing was changed. Programs send a token instead",
            ));
        }
        recognize_as(&self.app, text, &[kind]).await
    }
}

/// The caller of a valid token.
pub(crate) async fn recognize(app: &AppState, text: &str) -> Result<Caller, Problem> {
    recognize_as(app, text, &[CredentialKind::Token]).await
}

/// The same for credentials of these kinds.
pub(crate) async fn recognize_as(app: &AppState, text: &str, kinds: &[CredentialKind]) -> Result<Caller, Problem> {
    let secret = Secret::parse(text).ok_or_else(unauthorized)?;
    let (credential, actor) = app.store.credential(secret.digest()).await?.ok_or_else(unauthorized)?;
    let now = app.clock.now();
    if !kinds.contains(&credential.kind) || !credential.is_valid(now) {
        return Err(unauthorized());
    }
    if app.commands.is_some() && credential.used_at.is_none_or(|used| now.since(used) > USE_PRECISION_MS) {
        app.store.mark_credential_used(credential.id, now).await?;
    }
    Caller::with_credential(app, actor, credential).await
}

/// A credential that cannot be read.
#[derive(Clone, Copy)]
struct MalformedCredential;

/// The credential of a request: its token, or else its session; `None` when it has neither.
fn credential<'a>(
    headers: &'a HeaderMap,
    cookie: &str,
) -> Result<Option<(&'a str, CredentialKind)>, MalformedCredential> {
    let token = bearer(headers)?.map(|token| (token, CredentialKind::Token));
    Ok(token.or_else(|| session(headers, cookie).map(|session| (session, CredentialKind::Session))))
}

/// The token of the `Authorization` header. A header that cannot be read is an error, not an absent token.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, MalformedCredential> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let Some(first) = given.next() else { return Ok(None) };
    let (scheme, token) = first.to_str().ok().and_then(|text| text.split_once(' ')).ok_or(MalformedCredential)?;
    match given.next().is_none() && scheme.eq_ignore_ascii_case("bearer") {
        true => Ok(Some(token.trim())),
        false => Err(MalformedCredential),
    }
}

/// The value of the cookie of this name.
fn session<'a>(headers: &'a HeaderMap, cookie: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|line| line.split(';')).find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == cookie).then_some(value)
    })
}

/// The person whose session this browser has, on a route that needs no credential.
pub(crate) async fn logged_in(app: &AppState, headers: &HeaderMap) -> Result<Option<Caller>, Problem> {
    let Some(session) = session(headers, app.origin.cookie()) else { return Ok(None) };
    match recognize_as(app, session, &[CredentialKind::Session]).await {
        Ok(caller) => Ok(Some(caller)),
        Err(problem) if problem.status == StatusCode::UNAUTHORIZED => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// The address a request came from; requests of this process have none.
fn peer(request: &Parts) -> Option<IpAddr> {
    let info = request.extensions.get::<ConnectInfo<SocketAddr>>();
    info.map(|ConnectInfo(address)| address.ip())
}

pub(crate) fn limit_rate(limit: &RateLimit, who: &str) -> Result<(), Problem> {
    limit.take(who).map_err(|RateLimited(seconds)| {
        let detail = format!("too many requests; nothing was changed. Try again in {seconds} s");
        Problem {
            retry_after: Some(seconds),
            ..Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", detail)
        }
    })
}

pub(crate) fn unauthorized() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "this request needs a valid token; send it as `Authorization: Bearer TOKEN`, or log in",
    )
}

/// Bound tokens cannot act for their person as a whole.
pub(crate) fn bound() -> Problem {
    Problem::forbidden(
        "bound_token",
        "this token is restricted to projects and cannot make this request; nothing was changed. Use a token without projects",
    )
}

pub(crate) fn insufficient(needed: Access) -> Problem {
    Problem::forbidden(
        "insufficient_scope",
        format!("this request needs a token with the scope {}; nothing was changed", needed.name()),
    )
}

impl From<&Credential> for Access {
    fn from(credential: &Credential) -> Access {
        use store::credentials::Grant;
        match credential.grant {
            Grant::Read => Access::Read,
            Grant::Run => Access::Run,
            Grant::Admin => Access::Admin,
        }
    }
}

#[cfg(test)]
mod tests;
