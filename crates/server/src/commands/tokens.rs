//! `pleach token`.

use super::{Session, closing, every, note, print};
use crate::api::{CodeView, CreatedToken, NewCode, NewToken, TokenView};
use crate::api_client::{ApiClient, ApiError};
use crate::args::TokenCommand;
use crate::drive::SystemClock;
use crate::failure::Failure;
use crate::render::style::line;
use engine::ids::KeyId;
use runtime::ports::Clock;
use std::time::Duration;

pub async fn token(session: &Session, command: TokenCommand) -> Result<u8, Failure> {
    match command {
        TokenCommand::Create { handle: actor, name, scopes, projects: project_ids, expires } => {
            let in_ms = |age: Duration| i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            let expires_at = expires.map(|age| SystemClock.now().plus_ms(in_ms(age)));
            create(session, NewToken { actor, name, scopes: Some(scopes), project_ids, expires_at }).await
        }
        TokenCommand::Ls { all } => list(session, all).await,
        TokenCommand::Revoke { id, all: _ } => {
            let attached = session.writer().await?;
            let ended = revoke(&attached.client, id).await;
            for token in closing(attached, ended).await? {
                print_token(session, &token, &format!("{} {} is not valid any more", token.kind, token.id));
            }
            Ok(0)
        }
        TokenCommand::Link { scope } => link(session, NewCode { scope: Some(scope) }).await,
    }
}

/// The secret alone goes to standard output, for `TOKEN=$(pleach token create)`.
async fn create(session: &Session, new: NewToken) -> Result<u8, Failure> {
    let attached = session.writer().await?;
    let made = attached.client.post::<CreatedToken>("/api/tokens", &new).await;
    let made = closing(attached, made).await?;
    if session.json {
        session.print_json(&made);
        return Ok(0);
    }
    print(&made.token);
    let until = made.record.expires_at.map_or_else(|| "until it is revoked".into(), |end| format!("until {end}"));
    note(&format!(
        "valid {until}, for {}{}; it is not shown again. `pleach token revoke {}` ends it",
        made.record.scopes.join(", "),
        within(&made.record),
        made.record.id
    ));
    Ok(0)
}

/// What it is narrowed to, if it is.
fn within(token: &TokenView) -> String {
    match token.project_ids.as_slice() {
        [] => String::new(),
        [only] => format!(" in project {only}"),
        several => format!(" in {} projects", several.len()),
    }
}

/// This one, or all that are valid.
async fn revoke(client: &ApiClient, id: Option<KeyId>) -> Result<Vec<TokenView>, ApiError> {
    let ids: Vec<KeyId> = match id {
        Some(id) => vec![id],
        None => {
            let tokens: Vec<TokenView> = every(client, "/api/tokens?actor=*&limit=200").await?;
            tokens.into_iter().filter(|token| token.revoked_at.is_none()).map(|token| token.id).collect()
        }
    };
    let mut ended = Vec::new();
    for id in ids {
        ended.push(client.delete(&format!("/api/tokens/{id}")).await?);
    }
    Ok(ended)
}

async fn list(session: &Session, all: bool) -> Result<u8, Failure> {
    let Some(reader) = session.reader().await? else { return Ok(0) };
    let whose = if all { "actor=*&" } else { "" };
    let tokens: Vec<TokenView> = every(&reader.client, &format!("/api/tokens?{whose}limit=200")).await?;
    reader.close().await;
    for token in &tokens {
        print_token(session, token, &sentence(token));
    }
    Ok(0)
}

fn sentence(token: &TokenView) -> String {
    let now = SystemClock.now();
    let state = match (token.revoked_at, token.expires_at) {
        (Some(at), _) => format!("ended {at}"),
        (None, Some(end)) if end <= now => format!("expired {end}"),
        (None, Some(end)) => format!("until {end}"),
        (None, None) => "valid".into(),
    };
    let used = token.used_at.map_or_else(|| "never used".into(), |at| format!("used {at}"));
    format!(
        "{}  {:<7}  {}…  {:<14}  {state}, {used}  {}{}",
        token.id,
        token.kind,
        token.prefix,
        token.scopes.join(","),
        line(&token.name),
        within(token)
    )
}

async fn link(session: &Session, new: NewCode) -> Result<u8, Failure> {
    let attached = session.writer().await?;
    let made = attached.client.post::<CodeView>("/api/login-codes", &new).await;
    let made = closing(attached, made).await?;
    if session.json {
        session.print_json(&made);
        return Ok(0);
    }
    match &made.url {
        Some(url) => print(url),
        None => print(&format!("/login?code={}  (once `pleach up` says where it is)", made.code)),
    }
    note(&format!("works once, until {}, for {}", made.expires_at, made.scopes.join(", ")));
    Ok(0)
}

fn print_token(session: &Session, token: &TokenView, sentence: &str) {
    if session.json { session.print_json(token) } else { print(sentence) }
}
