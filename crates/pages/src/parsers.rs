//! The parser of page paths and the quoting of foreign text, for the fuzz command and the tests of their cost. It checks its own
//! result and panics when it is wrong.

use crate::page::quoted;
use crate::path::PagePath;

/// The path of a page, and a text that a page quotes.
pub fn page(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(PagePath::Page { subject, from }) = PagePath::parse(&text) {
        assert_eq!(PagePath::parse(&format!("{subject}?from={from}")), Some(PagePath::Page { subject, from }));
    }
    let quoted = quoted(&text);
    let outside = |line: &str| !line.starts_with('>') && line != "_(empty)_";
    assert!(!engine::lines::lines(&quoted).any(outside), "a line escaped from its quotation");
}
