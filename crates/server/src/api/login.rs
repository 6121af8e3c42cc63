//! Login of browsers: a token or a one-time code becomes a session, a cookie that scripts cannot read.

mod confirm_page;
mod link;

use super::auth::{self, recognize_as};
use super::origin::PublicUrl;
use super::prelude::*;
use super::tokens::{NewCredential, create_credential, grant, scope, scopes};
use axum::extract::ConnectInfo;
use engine::time::Timestamp;
use engine::workspace::ActorRecord;
use std::net::SocketAddr;
use store::credentials::{CredentialKind, Grant};

const SESSION_MS: i64 = 30 * 24 * 3_600_000;
const CODE_MS: i64 = 24 * 3_600_000;

pub(super) fn routes() -> Vec<Route> {
    let session_schema = record! { "Session":
        actor: records::actor(), scopes: list_of(one_of(Grant::ALL.iter().map(|grant| grant.name()))),
        expires_at: nullable(time()),
    };
    let code = [("code", secret()), ("url", nullable(text())), ("scopes", list_of(scope())), ("expires_at", time())];
    vec![
        Route::get("/login", Public, "The way in for the link with a one-time code", link::follow)
            .query("code", text())
            .query("problem", one_of(link::LinkProblem::ALL.map(link::LinkProblem::name)))
            .returns_text(200, "text/html")
            .returns_empty(303),
        Route::post("/login", Public, "Open a browser session with a token or a one-time code", log_in)
            .body(form([], [("token", text()), ("code", text())]))
            .returns(200, session_schema.clone())
            .errors([401]),
        Route::post(
            "/login/confirm",
            Public,
            "Log in with a link's code instead of whoever is logged in",
            link::confirm,
        )
        .query("code", text())
        .returns_empty(303),
        Route::post("/logout", Read, "End the session this request came with", log_out).returns_empty(204),
        Route::get("/api/session", Read, "Who you are here, and what you may do", session).returns(200, session_schema),
        Route::post("/api/login-codes", Admin, "A one-time code that opens a browser session as you", make_code)
            .body(form([], [("scope", scope())]))
            .returns(201, record(code, [])),
    ]
}

/// A one-time code, and the link people click.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CodeView {
    pub code: String,
    pub url: Option<String>,
    #[serde(default)]
    pub scopes: Vec<String>,
    pub expires_at: Timestamp,
}

/// The body of `POST /api/login-codes`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NewCode {
    /// `run` when absent, which is enough for the page. `admin` manages people and tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

#[derive(Serialize)]
struct SessionView {
    actor: ActorRecord,
    scopes: Vec<&'static str>,
    expires_at: Option<Timestamp>,
}

async fn make_code(
    Context(app, caller): Context,
    JsonBody(code): JsonBody<NewCode>,
) -> ApiResult<(StatusCode, Json<CodeView>)> {
    app.commands()?;
    let grant = code.scope.as_deref().map_or(Ok(Grant::Run), grant)?;
    let expires_at = app.clock.now().plus_ms(CODE_MS);
    let name = "one-time login".to_owned();
    let end = Some(expires_at);
    let new =
        NewCredential { kind: CredentialKind::Code, parent: None, name, grant, projects: Vec::new(), expires_at: end };
    let (secret, _) = create_credential(&app, caller.id(), new).await?;
    let code = secret.reveal().to_owned();
    let url = app.origin.url().map(|url| format!("{url}/login?code={code}"));
    let scopes = scopes(grant).into_iter().map(str::to_owned).collect();
    Ok((StatusCode::CREATED, Json(CodeView { code, url, scopes, expires_at })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    token: Option<String>,
    code: Option<String>,
}

type Peer = Option<axum::Extension<ConnectInfo<SocketAddr>>>;

async fn log_in(State(app): State<Arc<AppState>>, peer: Peer, JsonBody(login): JsonBody<Login>) -> ApiResult<Response> {
    let (shown, kinds) = match (login.token, login.code) {
        (Some(token), None) => (token, &[CredentialKind::Token, CredentialKind::Code][..]),
        (None, Some(code)) => (code, &[CredentialKind::Code][..]),
        _ => return Err(Problem::invalid("bad_login", "send either a token or a code; nobody was logged in")),
    };
    app.commands()?;
    let opened = match recognize_as(&app, shown.trim(), kinds).await {
        Ok(caller) => open(&app, &caller).await,
        Err(problem) => Err(problem),
    };
    let (cookie, session) = opened.map_err(|problem| failed_login(&app, &peer, login_problem(problem)))?;
    Ok(([(header::SET_COOKIE, cookie)], Json(session)).into_response())
}

/// Failed logins are rate-limited by network.
fn failed_login(app: &AppState, peer: &Peer, problem: Problem) -> Problem {
    let peer = peer.as_ref().map(|axum::Extension(ConnectInfo(address))| address.ip());
    app.origin.refused(&app.origin.logins, peer, problem)
}

/// Opens a session for a token, or for a code that was not used before.
async fn open(app: &AppState, caller: &Caller) -> ApiResult<(String, SessionView)> {
    let Some(credential) = caller.credential() else { return Err(auth::unauthorized()) };
    let now = app.clock.now();
    if credential.kind == CredentialKind::Code && !app.store.revoke_credential(credential.id, now).await? {
        return Err(auth::unauthorized());
    }
    let own_end = now.plus_ms(SESSION_MS);
    let (parent, end) = match credential.kind {
        CredentialKind::Token => (Some(credential.id), credential.expires_at.map_or(own_end, |end| end.min(own_end))),
        _ => (None, own_end),
    };
    let new = NewCredential {
        kind: CredentialKind::Session,
        parent,
        name: format!("browser session ({})", credential.name),
        grant: credential.grant,
        projects: credential.projects.clone(),
        expires_at: Some(end),
    };
    let (secret, session) = create_credential(app, caller.id(), new).await?;
    let cookie = cookie(app, secret.reveal(), (end.since(now) / 1000).max(1));
    Ok((cookie, SessionView { actor: caller.record.clone(), scopes: scopes(session.grant), expires_at: Some(end) }))
}

fn login_problem(problem: Problem) -> Problem {
    match problem.status {
        StatusCode::UNAUTHORIZED => Problem::new(
            StatusCode::UNAUTHORIZED,
            "login_failed",
            "this token or code is not valid, or the code was used before; nobody was logged in. `pleach token link` prints a new link",
        ),
        _ => problem,
    }
}

/// The same attributes set and clear the cookie.
fn cookie(app: &AppState, value: &str, seconds: i64) -> String {
    let secure = if app.origin.public.as_ref().is_some_and(PublicUrl::is_secure) { "; Secure" } else { "" };
    let name = app.origin.cookie();
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

/// Ends the session; the token it was opened with stays valid.
async fn log_out(Context(app, caller): Context) -> ApiResult<Response> {
    end(&app, &caller).await?;
    let cleared = cookie(&app, "", 0);
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cleared)]).into_response())
}

async fn end(app: &AppState, caller: &Caller) -> ApiResult<()> {
    if let Some(credential) = caller.credential().filter(|credential| credential.kind == CredentialKind::Session) {
        app.store.revoke_credential(credential.id, app.clock.now()).await?;
    }
    Ok(())
}

async fn session(caller: Caller) -> Json<SessionView> {
    let grant = caller.credential().map_or(Grant::Admin, |credential| credential.grant);
    let expires_at = caller.credential().and_then(|credential| credential.expires_at);
    Json(SessionView { actor: caller.record, scopes: scopes(grant), expires_at })
}
