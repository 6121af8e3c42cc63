//! Problem bodies for requests that never reach the router. hyper answers a head it cannot parse with a bare status and offers
//! no hook; this module recognises such a response as it is written and adds a body.

use crate::api::problems::Problem;
use axum::http::StatusCode;

/// Longer than any response that hyper makes by itself.
const MAX_HEAD: usize = 256;

/// The status of a response that hyper made by itself: a head alone, without the request id that every response of the
/// router has.
pub(super) fn bare_status(bytes: &[u8]) -> Option<u16> {
    let head = std::str::from_utf8(bytes).ok().filter(|head| head.len() <= MAX_HEAD)?;
    let fields = head.strip_prefix("HTTP/1.1 ")?.strip_suffix("\r\n\r\n")?;
    let mut lines = fields.split("\r\n");
    let status = lines.next()?.split(' ').next()?.parse().ok()?;
    let empty = lines.clone().any(|line| line.eq_ignore_ascii_case("content-length: 0"));
    let from_router =
        lines.any(|line| line.split(':').next().is_some_and(|name| name.eq_ignore_ascii_case("x-request-id")));
    (empty && !from_router && matches!(status, 400 | 414 | 431)).then_some(status)
}

/// The same response with a problem as its body.
pub(super) fn with_problem(bytes: &[u8]) -> Option<Vec<u8>> {
    let problem = match bare_status(bytes)? {
        414 => Problem::new(
            StatusCode::URI_TOO_LONG,
            "uri_too_long",
            "the URL of the request is too long; nothing was changed. Send long values in the body",
        ),
        431 => Problem::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "headers_too_large",
            "the request has too many or too long headers; nothing was changed. At most 100 headers and about 128 KiB are accepted",
        ),
        _ => Problem::new(
            StatusCode::BAD_REQUEST,
            "bad_request",
            "the first line or a header of the request is malformed; nothing was changed",
        ),
    };
    Some(response(&problem))
}

/// Sent when every connection serves somebody who logged in, so none can be closed.
pub(super) fn too_many_connections() -> Vec<u8> {
    let detail = "this server has no free connections; try again in a moment";
    response(&Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_connections", detail))
}

fn response(problem: &Problem) -> Vec<u8> {
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
    fn r10_a_bare_refusal_gets_a_body_and_other_responses_stay() {
        let bare = |status: &str| format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        for (status, slug) in [
            ("400 Bad Request", "bad_request"),
            ("414 URI Too Long", "uri_too_long"),
            ("431 Request Header Fields Too Large", "headers_too_large"),
        ] {
            let text = String::from_utf8(with_problem(bare(status).as_bytes()).unwrap()).unwrap();
            assert!(text.starts_with(&format!("HTTP/1.1 {status}\r\n")) && text.contains(slug), "{text}");
        }
        let own = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nx-request-id: 00\r\n\r\n";
        let long = "HTTP/1.1 400 Bad Request\r\ncontent-length: 7\r\n\r\n";
        let body = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\nmore";
        for other in [own, long, body, &bare("404 Not Found"), "HTTP/1.1 400", ""] {
            assert_eq!(with_problem(other.as_bytes()), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn r10_x6_any_bytes_are_examined_without_a_panic(bytes: Vec<u8>, text in "HTTP/1.1 4[0-9é]{2}[ a-z:0\r\n-é]{0,80}\r\n\r\n") {
            prop_assert_eq!(with_problem(&bytes).is_some(), bare_status(&bytes).is_some());
            prop_assert_eq!(with_problem(text.as_bytes()).is_some(), bare_status(text.as_bytes()).is_some());
        }
    }
}
