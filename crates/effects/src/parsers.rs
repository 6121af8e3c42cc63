//! The internal parsers of foreign bytes, for the fuzz command and the tests of their cost. Each checks its own result and panics
//! when it is wrong.

use crate::model;
use crate::readable::ReadableText;
use crate::tools::read_page;
use http_client::{PrivateAddresses, check_url, is_private};

/// Parses bytes, and panics if the result is wrong.
pub type Parser = fn(&[u8]);

/// Every parser by name.
pub const ALL: [(&str, Parser); 6] = [
    ("html", html),
    ("text", text),
    ("address", address),
    ("json", json),
    ("sse", model::read_stream),
    ("readable", readable),
];

const MAX_PAGE_TEXT_BYTES: usize = 250_000;

/// A web page.
pub fn html(bytes: &[u8]) {
    let read = read_page(bytes, "text/html");
    assert!(
        read.text.len() <= MAX_PAGE_TEXT_BYTES && read.title.len() <= MAX_PAGE_TEXT_BYTES,
        "the text is longer than its limit"
    );
}

/// A text of unknown encoding.
pub fn text(bytes: &[u8]) {
    let (header, body) = bytes.split_at(bytes.len().min(40));
    read_page(body, &String::from_utf8_lossy(header));
}

/// A URL.
pub fn address(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(url) = check_url(&text, PrivateAddresses::Refused) {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        assert!(!host.parse().is_ok_and(is_private), "{url} leads into a private network");
    }
}

/// The answer of a model while it is written: the pieces it comes in make no difference.
pub fn readable(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut middle = text.len() / 2;
    while !text.is_char_boundary(middle) {
        middle -= 1;
    }
    let (first, second) = text.split_at(middle);
    let mut reader = ReadableText::default();
    let pieces = reader.push(first) + &reader.push(second);
    assert_eq!(pieces, ReadableText::default().push(&text), "the pieces make a difference");
    assert!(pieces.len() <= 3 * text.len(), "more is shown than was written");
}

/// The answer of a model.
pub fn json(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(value) = engine::json::extract(&text) {
        assert!(value.is_object() && !engine::json::is_deeper(&value, engine::json::MAX_DEPTH));
        let canonical = engine::json::canonical(&value);
        assert!(!engine::json::is_too_deep(canonical.as_bytes()));
    }
}
