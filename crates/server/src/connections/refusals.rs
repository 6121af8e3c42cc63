//! Requests whose head the HTTP layer cannot read never reach the router: the layer answers with a status and nothing
//! else, and offers no way to say more. Here such an answer is recognised as it is written, and gets a body.

use crate::api::problems::Problem;
use axum::http::StatusCode;

/// Longer than any answer that the layer makes by itself.
const LONGEST: usize = 256;

/// The status of an answer that the layer made by itself: a head alone, without the number that every answer of the
/// router carries.
pub fn bare_status(bytes: &[u8]) -> Option<u16> {
    let head = std::str::from_utf8(bytes).ok().filter(|head| head.len() <= LONGEST)?;
    let fields = head.strip_prefix("HTTP/1.1 ")?.strip_suffix("\r\n\r\n")?;
    let mut lines = fields.split("\r\n");
    let status = lines.next()?.split(' ').next()?.parse().ok()?;
    let empty = lines.clone().any(|line| line.eq_ignore_ascii_case("content-length: 0"));
    let numbered =
        lines.any(|line| line.split(':').next().is_some_and(|name| name.eq_ignore_ascii_case("x-request-id")));
    (empty && !numbered && matches!(status, 400 | 414 | 431)).then_some(status)
}

/// The same refusal with a body that says what is wrong.
pub fn explained(bytes: &[u8]) -> Option<Vec<u8>> {
    let problem = match bare_status(bytes)? {
        414 => Problem::new(
            StatusCode::URI_TOO_LONG,
            "uri_too_long",
            "the address of the request is too long; send what is long in the body. Nothing was changed",
        ),
        431 => Problem::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "headers_too_large",
            "the request has more headers, or longer ones, than are read: at most 100, and about 128 KiB in all. Nothing was changed",
        ),
        _ => Problem::new(
            StatusCode::BAD_REQUEST,
            "bad_request",
            "the request cannot be read: its first line or one of its headers is malformed. Nothing was changed",
        ),
    };
    Some(written(&problem))
}

/// For whom there is no place: everybody who has one is being served.
pub fn full() -> Vec<u8> {
    let detail = "this server has as many connections as it can have; try again in a moment";
    written(&Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_connections", detail))
}

fn written(problem: &Problem) -> Vec<u8> {
    let body = problem.json().to_string();
    let reason = problem.status.canonical_reason().unwrap_or_default();
    format!(
        "HTTP/1.1 {} {reason}\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         x-content-type-options: nosniff\r\nconnection: close\r\n\r\n{body}",
        problem.status.as_u16(),
        body.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn r10_a_bare_refusal_gets_a_body_and_nothing_else_is_touched() {
        let bare = |status: &str| format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        for (status, slug) in [
            ("400 Bad Request", "bad_request"),
            ("414 URI Too Long", "uri_too_long"),
            ("431 Request Header Fields Too Large", "headers_too_large"),
        ] {
            let text = String::from_utf8(explained(bare(status).as_bytes()).unwrap()).unwrap();
            assert!(text.starts_with(&format!("HTTP/1.1 {status}\r\n")) && text.contains(slug), "{text}");
        }
        let own = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nx-request-id: 00\r\n\r\n";
        let long = "HTTP/1.1 400 Bad Request\r\ncontent-length: 7\r\n\r\n";
        let body = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\nmore";
        for other in [own, long, body, &bare("404 Not Found"), "HTTP/1.1 400", ""] {
            assert_eq!(explained(other.as_bytes()), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn r10_x6_whatever_is_written_is_looked_at_without_harm(bytes: Vec<u8>, text in "HTTP/1.1 4[0-9é]{2}[ a-z:0\r\n-é]{0,80}\r\n\r\n") {
            prop_assert_eq!(explained(&bytes).is_some(), bare_status(&bytes).is_some());
            prop_assert_eq!(explained(text.as_bytes()).is_some(), bare_status(text.as_bytes()).is_some());
        }
    }
}
