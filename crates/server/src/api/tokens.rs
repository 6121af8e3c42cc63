//! Routes for tokens: created and shown once, listed without their secret, revoked at once.

use super::brief;
use super::prelude::*;
use super::secret::Secret;
use engine::actor::ActorKind;
use engine::ids::{ActorId, CredentialId, ProjectId};
use engine::time::Timestamp;
use engine::workspace::Scope;
use store::credentials::{Credential, CredentialKind, Grant};

const MAX_NAME: usize = 200;
const MAX_PROJECTS: usize = 50;

pub(super) fn routes() -> Vec<Route> {
    let taken = form! {
        ;
        actor: text(), name: words(MAX_NAME), scopes: list_of(scope()), project_ids: up_to(MAX_PROJECTS, id()),
        expires_at: nullable(time()),
    };
    vec![
        Route::get("/api/tokens", Read, "Your tokens and sessions; everybody's for an admin who asks", list_tokens)
            .query("actor", text())
            .returns_page(id(), token())
            .errors([404])
            .personal(),
        Route::post("/api/tokens", Admin, "A new token; this answer is the only one that shows it", create)
            .body(taken)
            .returns(201, record([("token", secret()), ("record", token())], []))
            .errors([404])
            .personal(),
        Route::delete("/api/tokens/{id}", Run, "End a token, and the sessions opened with it", revoke)
            .returns(200, token())
            .personal(),
    ]
}

pub(super) fn scope() -> Schema {
    one_of(Grant::ALL.iter().map(|grant| grant.name()))
}

fn token() -> Schema {
    record! { "Token":
        id: id(), actor_id: id(), kind: one_of(CredentialKind::ALL.iter().map(|kind| kind.name())), name: text(),
        scopes: list_of(scope()), project_ids: list_of(id()), prefix: text(), created_at: time(),
        expires_at: nullable(time()), used_at: nullable(time()), revoked_at: nullable(time()),
    }
}

/// A credential without its secret.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TokenView {
    pub id: CredentialId,
    pub actor_id: ActorId,
    pub kind: String,
    pub name: String,
    pub scopes: Vec<String>,
    /// Empty when the token is not bound to projects.
    #[serde(default)]
    pub project_ids: Vec<ProjectId>,
    pub prefix: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl From<Credential> for TokenView {
    fn from(credential: Credential) -> TokenView {
        TokenView {
            id: credential.id,
            actor_id: credential.actor_id,
            kind: credential.kind.name().into(),
            name: credential.name,
            scopes: scopes(credential.grant).into_iter().map(str::to_owned).collect(),
            project_ids: credential.projects,
            prefix: credential.prefix,
            created_at: credential.created_at,
            expires_at: credential.expires_at,
            used_at: credential.used_at,
            revoked_at: credential.revoked_at,
        }
    }
}

/// A new token with its secret.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CreatedToken {
    pub token: String,
    pub record: TokenView,
}

/// The body of `POST /api/tokens`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NewToken {
    /// The owner, by handle or id; the caller when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `read` and `run` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// Binds the token to these projects, which its actor must see.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub project_ids: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Each scope includes those before it.
pub(super) fn scopes(grant: Grant) -> Vec<&'static str> {
    Grant::ALL.into_iter().filter(|other| *other <= grant).map(Grant::name).collect()
}

/// The properties of a new credential.
pub(super) struct NewCredential {
    pub kind: CredentialKind,
    pub parent: Option<CredentialId>,
    pub name: String,
    pub grant: Grant,
    pub projects: Vec<ProjectId>,
    pub expires_at: Option<Timestamp>,
}

/// Creates a credential and stores its digest.
pub(super) async fn create_credential(
    app: &AppState,
    actor: ActorId,
    new: NewCredential,
) -> ApiResult<(Secret, Credential)> {
    let secret = Secret::fresh();
    let credential = Credential {
        id: app.mint(),
        actor_id: actor,
        kind: new.kind,
        parent: new.parent,
        name: new.name,
        grant: new.grant,
        projects: new.projects,
        prefix: secret.prefix(),
        created_at: app.clock.now(),
        expires_at: new.expires_at,
        used_at: None,
        revoked_at: None,
    };
    app.store.store_credential(credential.clone(), secret.digest()).await?;
    Ok((secret, credential))
}

async fn create(
    Context(app, caller): Context,
    JsonBody(new): JsonBody<NewToken>,
) -> ApiResult<(StatusCode, Json<CreatedToken>)> {
    app.commands()?;
    persons_only(&caller)?;
    let actor = match &new.actor {
        Some(name) => app.store.actor(name).await?.ok_or_else(|| Problem::unknown("actor", name))?,
        None => caller.record.clone(),
    };
    let grant = granted(new.scopes)?;
    if let Some(end) = new.expires_at.filter(|end| *end <= app.clock.now()) {
        return Err(Problem::invalid("bad_expiry", format!("expires_at {end} is in the past; no token was made")));
    }
    let name = new.name.unwrap_or_else(|| format!("token of {}", actor.handle));
    if name.trim().is_empty() || name.chars().count() > MAX_NAME {
        return Err(Problem::invalid(
            "bad_name",
            format!("a token's name has 1 to {MAX_NAME} characters; no token was made"),
        ));
    }
    if actor.kind == ActorKind::Subagent && !new.project_ids.is_empty() {
        let detail = "a subagent's token cannot be bound to projects; no token was made. Give the subagent fewer projects instead";
        return Err(Problem::invalid("bad_scope", detail));
    }
    let projects = bounds(&app, actor.id, &new.project_ids, grant).await?;
    let new =
        NewCredential { kind: CredentialKind::Token, parent: None, name, grant, projects, expires_at: new.expires_at };
    let (secret, credential) = create_credential(&app, actor.id, new).await?;
    Ok((StatusCode::CREATED, Json(CreatedToken { token: secret.reveal().to_owned(), record: credential.into() })))
}

/// The projects that a token is bound to. Its actor must see each of them.
async fn bounds(app: &AppState, actor: ActorId, names: &[String], grant: Grant) -> ApiResult<Vec<ProjectId>> {
    if names.len() > MAX_PROJECTS {
        let detail = format!(
            "{} projects were given; a token can be bound to at most {MAX_PROJECTS}; no token was made",
            names.len()
        );
        return Err(Problem::invalid("too_many", detail));
    }
    if grant == Grant::Admin && !names.is_empty() {
        let detail =
            "a token that is bound to projects cannot have the scope admin, which covers all people; no token was made";
        return Err(Problem::invalid("bad_scope", detail));
    }
    brief::projects(app, &Scope::Actor(actor), names).await
}

/// Subagents do not manage credentials; their owners do.
fn persons_only(caller: &Caller) -> ApiResult<()> {
    match caller.record.kind {
        ActorKind::Person => Ok(()),
        ActorKind::Subagent => {
            Err(Problem::forbidden("persons_only", "only people can create and revoke tokens; nothing was changed"))
        }
    }
}

/// Parses the name of a scope.
pub(super) fn grant(word: &str) -> ApiResult<Grant> {
    Grant::parse(word).ok_or_else(|| {
        Problem::invalid(
            "unknown_scope",
            format!("scope {word} does not exist; scopes are read, run and admin; nothing was made"),
        )
    })
}

fn granted(scopes: Option<Vec<String>>) -> ApiResult<Grant> {
    let Some(words) = scopes else { return Ok(Grant::Run) };
    let granted: Vec<Grant> = words.iter().map(|word| grant(word)).collect::<ApiResult<_>>()?;
    granted.into_iter().max().ok_or_else(|| {
        Problem::invalid("unknown_scope", "scopes is empty; give some of read, run and admin; nothing was made")
    })
}

#[derive(Deserialize)]
struct ListQuery {
    /// A handle or id; `*` means everybody.
    actor: Option<String>,
    cursor: Option<CredentialId>,
    limit: Option<usize>,
}

async fn list_tokens(
    Context(app, caller): Context,
    QueryString(query): QueryString<ListQuery>,
) -> PageResult<TokenView> {
    let of = match query.actor.as_deref() {
        None => Some(caller.id()),
        Some("*") if caller.is_admin() => None,
        Some(name) => {
            let known = app.store.actor(name).await?.filter(|actor| caller.is_admin() || actor.id == caller.id());
            Some(known.ok_or_else(|| Problem::not_found("actor"))?.id)
        }
    };
    let limit = page_limit(query.limit, MAX_PAGE);
    let found = app.store.credentials(of, Slice { after: query.cursor, limit: limit + 1 }).await?;
    let items = found.into_iter().map(TokenView::from).collect();
    Ok(Json(Page::cut(items, limit, |token: &TokenView| token.id.to_string())))
}

async fn revoke(Context(app, caller): Context, Id(id): Id<CredentialId>) -> JsonResult<TokenView> {
    app.commands()?;
    persons_only(&caller)?;
    let found = app
        .store
        .credential_by_id(id)
        .await?
        .filter(|credential| caller.is_admin() || credential.actor_id == caller.id());
    let mut credential = found.ok_or_else(|| Problem::not_found("token"))?;
    let now = app.clock.now();
    if app.store.revoke_credential(id, now).await? {
        credential.revoked_at = Some(now);
    }
    Ok(Json(credential.into()))
}
