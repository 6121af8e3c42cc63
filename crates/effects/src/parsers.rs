//! The parsers of foreign bytes that lie below this crate's surface, each as a function of bytes: what the fuzz command and
//! the tests of cost call. Each also holds what it read against what it promises.

use crate::model;
use crate::tools::read_page;
use http_client::{PrivateAddresses, check_url, is_private};

/// Reads bytes, and panics where it breaks its promise.
pub type Parser = fn(&[u8]);

/// Every one of them, by name.
pub const ALL: [(&str, Parser); 5] =
    [("html", html), ("text", text), ("address", address), ("json", json), ("sse", model::read_stream)];

const MOST_SHOWN: usize = 250_000;

/// A page of the web.
pub fn html(bytes: &[u8]) {
    let read = read_page(bytes, "text/html");
    assert!(read.text.len() <= MOST_SHOWN && read.title.len() <= MOST_SHOWN, "more was read than is shown");
}

/// A text whose characters are to be found out.
pub fn text(bytes: &[u8]) {
    let (header, body) = bytes.split_at(bytes.len().min(40));
    read_page(body, &String::from_utf8_lossy(header));
}

/// An address that somebody names.
pub fn address(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(url) = check_url(&text, PrivateAddresses::Refused) {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        assert!(!host.parse().is_ok_and(is_private), "{url} leads inside");
    }
}

/// What a model wrote.
pub fn json(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(value) = engine::json::extract(&text) {
        assert!(value.is_object() && !engine::json::is_deeper(&value, engine::json::MAX_DEPTH));
        let canonical = engine::json::canonical(&value);
        assert!(!engine::json::is_too_deep(canonical.as_bytes()));
    }
}
