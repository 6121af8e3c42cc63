//! Login links with a one-time code. A link works once; a browser that is logged in as somebody else must confirm first.

use super::super::auth::{logged_in, recognize_as};
use super::super::caller::Caller;
use super::super::origin::{from_other_site, from_own_page};
use super::super::problems::Problem;
use super::super::query::QueryString;
use super::super::secret::Secret;
use super::super::{ApiResult, AppState};
use super::{Peer, confirm_page, end, failed_login, open};
use crate::ui;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;
use store::credentials::{Credential, CredentialKind};

/// Why a link does not log in. The page at `/login?problem=…` explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkProblem {
    Used,
    Expired,
    /// Not a code of this server, or one that was deleted since; tokens are not codes.
    Unknown,
}

impl LinkProblem {
    pub(super) const ALL: [LinkProblem; 3] = [LinkProblem::Used, LinkProblem::Expired, LinkProblem::Unknown];

    pub(super) fn name(self) -> &'static str {
        match self {
            LinkProblem::Used => "used",
            LinkProblem::Expired => "expired",
            LinkProblem::Unknown => "unknown",
        }
    }

    fn of(credential: Option<&Credential>) -> LinkProblem {
        match credential.filter(|credential| credential.kind == CredentialKind::Code) {
            None => LinkProblem::Unknown,
            Some(credential) if credential.revoked_at.is_some() => LinkProblem::Used,
            Some(_) => LinkProblem::Expired,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct FollowQuery {
    code: Option<String>,
    problem: Option<String>,
}

/// A link from the terminal logs in at once. When somebody else is logged in, or another site led here, the person has to
/// confirm. A link that does not log in leads to a page that says why.
pub(super) async fn follow(
    State(app): State<Arc<AppState>>,
    method: Method,
    peer: Peer,
    headers: HeaderMap,
    QueryString(query): QueryString<FollowQuery>,
) -> ApiResult<Response> {
    if query.problem.is_some() && query.code.is_none() {
        return Ok(ui::page());
    }
    // Only GET uses the code: mail scanners and link previews send HEAD.
    let Some(code) = query.code.filter(|_| method == Method::GET) else { return Ok(to("/")) };
    let present = logged_in(&app, &headers).await?;
    let newcomer = match recognize_as(&app, code.trim(), &[CredentialKind::Code]).await {
        Ok(newcomer) => newcomer,
        Err(problem) => return not_followed(&app, &peer, &code, present, problem).await,
    };
    match present {
        None if !from_other_site(&headers) => enter(&app, &peer, &code, None, newcomer).await,
        Some(present) if present.id() == newcomer.id() => enter(&app, &peer, &code, Some(present), newcomer).await,
        present => Ok(confirm_page::page(present.as_ref().map(|caller| &caller.record), &newcomer, &code)),
    }
}

/// The person confirmed the link on the page that `follow` showed.
pub(super) async fn confirm(
    State(app): State<Arc<AppState>>,
    peer: Peer,
    headers: HeaderMap,
    QueryString(query): QueryString<FollowQuery>,
) -> ApiResult<Response> {
    if !from_own_page(&headers) {
        let detail = "a login can be confirmed only from this server's own page; nothing was changed";
        return Err(Problem::forbidden("foreign_origin", detail));
    }
    let code = query.code.unwrap_or_default();
    let present = logged_in(&app, &headers).await?;
    match recognize_as(&app, code.trim(), &[CredentialKind::Code]).await {
        Ok(newcomer) => enter(&app, &peer, &code, present, newcomer).await,
        Err(problem) => not_followed(&app, &peer, &code, present, problem).await,
    }
}

/// Uses the code and replaces the present session, unless it is the same person's and allows as much.
async fn enter(
    app: &AppState,
    peer: &Peer,
    code: &str,
    present: Option<Caller>,
    newcomer: Caller,
) -> ApiResult<Response> {
    app.commands()?;
    if let (Some(present), Some(credential)) = (&present, newcomer.credential())
        && present.id() == newcomer.id()
        && present.access >= newcomer.access
    {
        app.store.revoke_credential(credential.id, app.clock.now()).await?;
        return Ok(to("/"));
    }
    match open(app, &newcomer).await {
        Ok((cookie, _)) => {
            if let Some(present) = &present {
                end(app, present).await?;
            }
            Ok(([(header::SET_COOKIE, cookie)], to("/")).into_response())
        }
        // The code was used by another request meanwhile.
        Err(problem) => not_followed(app, peer, code, present, problem).await,
    }
}

/// An invalid code counts as a failed login. A person who reuses their own link while logged in simply goes on.
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
        Some(secret) => app.store.credential(secret.digest()).await?,
        None => None,
    };
    let credential = known.as_ref().map(|(credential, _)| credential);
    let why = LinkProblem::of(credential);
    if why != LinkProblem::Unknown
        && present.is_some_and(|present| credential.is_some_and(|credential| credential.actor_id == present.id()))
    {
        return Ok(to("/"));
    }
    match failed_login(app, peer, problem) {
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
    use store::credentials::Grant;

    #[test]
    fn u16_used_expired_and_unknown_links_are_distinguished() {
        let now = Timestamp(1_790_000_000_000);
        let code = Credential {
            id: ids::derive(now, &[b"credential"]).into(),
            actor_id: ids::derive(now, &[b"actor"]).into(),
            kind: CredentialKind::Code,
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
        let used = Credential { revoked_at: Some(now), ..code.clone() };
        let token = Credential { kind: CredentialKind::Token, ..code.clone() };
        let names = [Some(&used), Some(&code), Some(&token), None].map(|credential| LinkProblem::of(credential).name());
        assert_eq!(names, ["used", "expired", "unknown", "unknown"]);
    }
}
