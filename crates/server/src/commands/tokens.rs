//! `pleach token`.

use super::{Session, all_pages, closing, note};
use crate::api::{CodeView, CreatedToken, NewCode, NewToken, TokenView};
use crate::api_client::{ApiClient, ApiError};
use crate::args::TokenCommand;
use crate::drive::SystemClock;
use crate::failure::Failure;
use crate::render::style::line;
use engine::ids::CredentialId;
use runtime::ports::Clock;
use std::time::Duration;

pub(crate) async fn token(session: &Session, command: TokenCommand) -> Result<u8, Failure> {
    match command {
        TokenCommand::Create { handle: actor, name, scopes, projects: project_ids, expires } => {
            let in_ms = |age: Duration| i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            let expires_at = expires.map(|age| SystemClock.now().plus_ms(in_ms(age)));
            create(session, NewToken { actor, name, scopes: Some(scopes), project_ids, expires_at }).await?;
        }
        TokenCommand::Ls { all } => {
            let whose = if all { "actor=*&" } else { "" };
            let tokens: Vec<TokenView> = session.list(&format!("/api/tokens?{whose}limit=200")).await?;
            tokens.iter().for_each(|token| session.print_value(token, &text(token)));
        }
        TokenCommand::Revoke { id, all: _ } => {
            let attached = session.writer().await?;
            let revoked = revoke(&attached.client, id).await;
            for token in closing(attached, revoked).await? {
                session.print_value(&token, &format!("{} {} is revoked", token.kind, token.id));
            }
        }
        TokenCommand::Link { scope } => link(session, NewCode { scope: Some(scope) }).await?,
    }
    Ok(0)
}

/// Only the secret goes to standard output, for `TOKEN=$(pleach token create)`.
async fn create(session: &Session, new: NewToken) -> Result<(), Failure> {
    let made: CreatedToken = session.post("/api/tokens", &new).await?;
    session.print_value(&made, &made.token);
    if !session.json {
        let token = &made.record;
        let until = token.expires_at.map_or_else(|| "until it is revoked".into(), |end| format!("until {end}"));
        let (scopes, projects, id) = (token.scopes.join(", "), in_projects(token), token.id);
        note(&format!(
            "valid {until}, for {scopes}{projects}; it is not shown again. `pleach token revoke {id}` revokes it"
        ));
    }
    Ok(())
}

/// The projects that a bound token is restricted to.
fn in_projects(token: &TokenView) -> String {
    match token.project_ids.as_slice() {
        [] => String::new(),
        [only] => format!(" in project {only}"),
        several => format!(" in {} projects", several.len()),
    }
}

/// This one, or all that are valid.
async fn revoke(client: &ApiClient, id: Option<CredentialId>) -> Result<Vec<TokenView>, ApiError> {
    let ids: Vec<CredentialId> = match id {
        Some(id) => vec![id],
        None => {
            let tokens: Vec<TokenView> = all_pages(client, "/api/tokens?actor=*&limit=200", "cursor").await?;
            tokens.into_iter().filter(|token| token.revoked_at.is_none()).map(|token| token.id).collect()
        }
    };
    let mut revoked = Vec::new();
    for id in ids {
        revoked.push(client.delete(&format!("/api/tokens/{id}")).await?);
    }
    Ok(revoked)
}

fn text(token: &TokenView) -> String {
    let state = match (token.revoked_at, token.expires_at) {
        (Some(at), _) => format!("revoked {at}"),
        (None, Some(end)) if end <= SystemClock.now() => format!("expired {end}"),
        (None, Some(end)) => format!("valid until {end}"),
        (None, None) => "valid".into(),
    };
    let used = token.used_at.map_or_else(|| "never used".into(), |at| format!("used {at}"));
    let TokenView { id, kind, prefix, scopes, name, .. } = token;
    let (scopes, name, projects) = (scopes.join(","), line(name), in_projects(token));
    format!("{id}  {kind:<7}  {prefix}…  {scopes:<14}  {state}, {used}  {name}{projects}")
}

async fn link(session: &Session, new: NewCode) -> Result<(), Failure> {
    let made: CodeView = session.post("/api/login-codes", &new).await?;
    let no_server = || format!("/login?code={}  (append it to the address that `pleach up` prints)", made.code);
    session.print_value(&made, &made.url.clone().unwrap_or_else(no_server));
    if !session.json {
        note(&format!("works once, until {}, for {}", made.expires_at, made.scopes.join(", ")));
    }
    Ok(())
}
