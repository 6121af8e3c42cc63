//! The page that asks for confirmation before a link logs somebody in. The server renders it without scripts, and its only
//! button posts back to this server.

use super::super::caller::Caller;
use super::super::tokens::scopes;
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use engine::workspace::ActorRecord;
use sha2::{Digest, Sha256};
use store::credentials::Grant;

const STYLE: &str = ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:12vh auto;padding:0 1rem}\
    button{font:inherit;padding:.5rem 1rem}";

pub(super) fn page(present: Option<&ActorRecord>, newcomer: &Caller, code: &str) -> Response {
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        STANDARD.encode(Sha256::digest(STYLE))
    );
    let grant = newcomer.credential().map_or(Grant::Read, |credential| credential.grant);
    let mut response = Html(text(present.map(named).as_deref(), &named(&newcomer.record), grant, code)).into_response();
    if let Ok(policy) = HeaderValue::try_from(policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

fn named(actor: &ActorRecord) -> String {
    actor.handle.clone()
}

fn text(present: Option<&str>, newcomer: &str, grant: Grant, code: &str) -> String {
    let (newcomer, code, scopes) = (escaped(newcomer), escaped(code.trim()), scopes(grant).join(", "));
    let (title, now, stay) = match present.map(escaped) {
        Some(present) => (
            format!("Log in as {newcomer} instead?"),
            format!(
                "You are logged in as <b>{present}</b>. This link logs this browser in as <b>{newcomer}</b> ({scopes}) instead."
            ),
            format!("Stay logged in as {present}"),
        ),
        None => (
            format!("Log in as {newcomer}?"),
            format!(
                "Another site led you here. This link logs this browser in as <b>{newcomer}</b> ({scopes}), instead of whoever is logged in."
            ),
            "Change nothing".to_owned(),
        ),
    };
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title} - Pleach</title><style>{STYLE}</style></head><body><main><h1>{title}</h1><p>{now}</p>\
         <p>Go on only if you asked for this link yourself: what you do then is done as {newcomer}.</p>\
         <form method=\"post\" action=\"/login/confirm?code={code}\"><button>Log in as {newcomer}</button></form>\
         <p><a href=\"/\">{stay}</a></p></main></body></html>"
    )
}

fn escaped(text: &str) -> String {
    let escape = |character: char| match character {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#39;".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x8_names_and_codes_are_escaped_on_the_confirmation_page() {
        let hostile = "\"><script>alert('x')</script>&";
        let page = text(Some(hostile), hostile, Grant::Run, hostile);
        assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
        assert!(page.contains("action=\"/login/confirm?code=&quot;&gt;"), "{page}");
    }
}
