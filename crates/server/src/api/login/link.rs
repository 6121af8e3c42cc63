//! Login links with a one-time code. A link works once; who is logged in as somebody else has to confirm first.

use super::super::auth::{logged_in, recognize_as};
use super::super::caller::Caller;
use super::super::origin::{from_elsewhere, from_own_page};
use super::super::problems::Problem;
use super::super::query::QueryString;
use super::super::secret::Secret;
use super::super::{ApiResult, AppState};
use super::{Peer, confirm_page, end, guessed, open};
use crate::ui;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;
use store::keys::{Key, KeyKind};

/// Why a link lets nobody in. The page at `/login?problem=…` says it in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkProblem {
    Used,
    Expired,
    /// Never a code of ours, or one of long ago; a token is none either.
    Unknown,
}

impl LinkProblem {
    pub const ALL: [LinkProblem; 3] = [LinkProblem::Used, LinkProblem::Expired, LinkProblem::Unknown];

    pub fn name(self) -> &'static str {
        match self {
            LinkProblem::Used => "used",
            LinkProblem::Expired => "expired",
            LinkProblem::Unknown => "unknown",
        }
    }

    fn of(key: Option<&Key>) -> LinkProblem {
        match key.filter(|key| key.kind == KeyKind::Code) {
            None => LinkProblem::Unknown,
            Some(key) if key.revoked_at.is_some() => LinkProblem::Used,
            Some(_) => LinkProblem::Expired,
        }
    }
}

#[derive(Deserialize)]
pub struct FollowQuery {
    code: Option<String>,
    problem: Option<String>,
}

/// A link from the terminal logs in at once, unless somebody else is logged in or another site led here: then the
/// person is asked. The page tells those whom the link did not let in.
pub async fn follow(
    State(app): State<Arc<AppState>>,
    method: Method,
    peer: Peer,
    headers: HeaderMap,
    QueryString(query): QueryString<FollowQuery>,
) -> ApiResult<Response> {
    if query.problem.is_some() && query.code.is_none() {
        return Ok(ui::page());
    }
    // Whoever only looks at a link, as scanners and previews do, must not use it up.
    let Some(code) = query.code.filter(|_| method == Method::GET) else { return Ok(to("/")) };
    let present = logged_in(&app, &headers).await?;
    let newcomer = match recognize_as(&app, code.trim(), &[KeyKind::Code]).await {
        Ok(newcomer) => newcomer,
        Err(problem) => return not_followed(&app, &peer, &code, present, problem).await,
    };
    match present {
        None if !from_elsewhere(&headers) => enter(&app, &peer, &code, None, newcomer).await,
        Some(present) if present.id() == newcomer.id() => enter(&app, &peer, &code, Some(present), newcomer).await,
        present => Ok(confirm_page::page(present.as_ref().map(|caller| &caller.record), &newcomer, &code)),
    }
}

/// The person was asked, and wants to be logged in by this link instead.
pub async fn confirm(
    State(app): State<Arc<AppState>>,
    peer: Peer,
    headers: HeaderMap,
    QueryString(query): QueryString<FollowQuery>,
) -> ApiResult<Response> {
    if !from_own_page(&headers) {
        let detail = "only the page of this server that asks for it confirms a login; nothing was changed";
        return Err(Problem::new(StatusCode::FORBIDDEN, "foreign_origin", detail));
    }
    let code = query.code.unwrap_or_default();
    let present = logged_in(&app, &headers).await?;
    match recognize_as(&app, code.trim(), &[KeyKind::Code]).await {
        Ok(newcomer) => enter(&app, &peer, &code, present, newcomer).await,
        Err(problem) => not_followed(&app, &peer, &code, present, problem).await,
    }
}

/// Uses the code. Whoever was here before is logged out, unless it is the same person who may do as much already.
async fn enter(
    app: &AppState,
    peer: &Peer,
    code: &str,
    present: Option<Caller>,
    newcomer: Caller,
) -> ApiResult<Response> {
    app.commands()?;
    if let (Some(present), Some(key)) = (&present, newcomer.key())
        && present.id() == newcomer.id()
        && present.access >= newcomer.access
    {
        app.store.revoke_key(key.id, app.clock.now()).await?;
        return Ok(to("/"));
    }
    match open(app, &newcomer).await {
        Ok((cookie, _)) => {
            if let Some(present) = &present {
                end(app, present).await?;
            }
            Ok(([(header::SET_COOKIE, cookie)], to("/")).into_response())
        }
        // Somebody else was faster.
        Err(problem) => not_followed(app, peer, code, present, problem).await,
    }
}

/// A code that is no longer one, or never was, counts as a wrong credential. Its own person, logged in already, goes on.
async fn not_followed(
    app: &AppState,
    peer: &Peer,
    code: &str,
    present: Option<Caller>,
    problem: Problem,
) -> ApiResult<Response> {
    if problem.status != StatusCode::UNAUTHORIZED {
        return Err(problem);
    }
    let known = match Secret::parse(code.trim()) {
        Some(secret) => app.store.key(secret.digest()).await?,
        None => None,
    };
    let key = known.as_ref().map(|(key, _)| key);
    let why = LinkProblem::of(key);
    if why != LinkProblem::Unknown && present.is_some_and(|present| key.is_some_and(|key| key.actor_id == present.id()))
    {
        return Ok(to("/"));
    }
    match guessed(app, peer, problem) {
        slowed if slowed.status == StatusCode::TOO_MANY_REQUESTS => Err(slowed),
        _ => Ok(to(&format!("/login?problem={}", why.name()))),
    }
}

fn to(place: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, place.to_owned())]).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::ids;
    use engine::time::Timestamp;
    use store::keys::Grant;

    #[test]
    fn u16_used_expired_and_unknown_links_are_told_apart() {
        let now = Timestamp(1_790_000_000_000);
        let code = Key {
            id: ids::derive(now, &[b"key"]).into(),
            actor_id: ids::derive(now, &[b"actor"]).into(),
            kind: KeyKind::Code,
            parent: None,
            name: "one-time login".into(),
            grant: Grant::Run,
            projects: Vec::new(),
            prefix: "pleach_0123".into(),
            created_at: now,
            expires_at: Some(now),
            used_at: None,
            revoked_at: None,
        };
        let used = Key { revoked_at: Some(now), ..code.clone() };
        let token = Key { kind: KeyKind::Token, ..code.clone() };
        let told = [Some(&used), Some(&code), Some(&token), None].map(|key| LinkProblem::of(key).name());
        assert_eq!(told, ["used", "expired", "unknown", "unknown"]);
    }
}
