//! `pleach token`.

use super::{Session, closing, every, note, print};
use crate::api::{CodeView, NewToken, TokenMade, TokenView};
use crate::args::TokenCommand;
use crate::drive::SystemClock;
use crate::failure::Failure;
use crate::render::style::line;
use axum::http::Method;
use runtime::ports::Clock;
use serde_json::json;
use std::time::Duration;

pub async fn token(session: &Session, command: TokenCommand) -> Result<u8, Failure> {
    match command {
        TokenCommand::Create { handle, name, scopes, expires } => create(session, handle, name, scopes, expires).await,
        TokenCommand::Ls { all } => list(session, all).await,
        TokenCommand::Revoke { id } => {
            let attached = session.writer().await?;
            let ended = attached.link.send(Method::DELETE, &format!("/api/tokens/{id}"), &json!({})).await;
            let text = closing(attached, ended).await?;
            let token: TokenView = serde_json::from_str(&text).map_err(|error| Failure::failed(error.to_string()))?;
            print_token(session, &token, &format!("token {id} is not valid any more"));
            Ok(0)
        }
        TokenCommand::Link => link(session).await,
    }
}

/// The secret alone goes to standard output, for `TOKEN=$(pleach token create)`.
async fn create(
    session: &Session,
    actor: Option<String>,
    name: Option<String>,
    scopes: Vec<String>,
    expires: Option<Duration>,
) -> Result<u8, Failure> {
    let in_ms = |age: Duration| i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    let expires_at = expires.map(|age| SystemClock.now().plus_ms(in_ms(age)));
    let new = NewToken { actor, name, scopes: Some(scopes), expires_at };
    let attached = session.writer().await?;
    let made = attached.link.post::<TokenMade>("/api/tokens", &new).await;
    let made = closing(attached, made).await?;
    if session.json {
        session.print_json(&made);
        return Ok(0);
    }
    print(&made.token);
    let until = made.record.expires_at.map_or_else(|| "until it is revoked".into(), |end| format!("until {end}"));
    note(&format!(
        "valid {until}, for {}; it is not shown again. `pleach token revoke {}` ends it",
        made.record.scopes.join(", "),
        made.record.id
    ));
    Ok(0)
}

async fn list(session: &Session, all: bool) -> Result<u8, Failure> {
    let Some(reader) = session.reader().await? else { return Ok(0) };
    let whose = if all { "actor=*&" } else { "" };
    let tokens: Vec<TokenView> = every(&reader.link, &format!("/api/tokens?{whose}limit=200")).await?;
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
        "{}  {:<7}  {}…  {:<14}  {state}, {used}  {}",
        token.id,
        token.kind,
        token.prefix,
        token.scopes.join(","),
        line(&token.name)
    )
}

async fn link(session: &Session) -> Result<u8, Failure> {
    let attached = session.writer().await?;
    let made = attached.link.post::<CodeView>("/api/login-codes", &json!({})).await;
    let made = closing(attached, made).await?;
    match (&made.url, session.json) {
        (_, true) => session.print_json(&made),
        (Some(url), false) => print(url),
        (None, false) => print(&format!("/login?code={}  (once `pleach up` says where it is)", made.code)),
    }
    Ok(0)
}

fn print_token(session: &Session, token: &TokenView, sentence: &str) {
    if session.json { session.print_json(token) } else { print(sentence) }
}
