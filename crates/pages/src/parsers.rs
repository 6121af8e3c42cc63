//! A fuzz target, not a parser: it gives arbitrary bytes to the page path parser and to the quoting of foreign text. The
//! fuzz command and the tests of their cost call it. It checks its own
//! result and panics when it is wrong.

use crate::page::quoted;
use crate::path::PagePath;

/// A path that parses must parse the same when written out again, and no line of a quoted text may be outside the quotation.
pub fn page(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(PagePath::Page { subject, from }) = PagePath::parse(&text) {
        assert_eq!(PagePath::parse(&format!("{subject}?from={from}")), Some(PagePath::Page { subject, from }));
    }
    let quoted = quoted(&text);
    let outside = |line: &str| !line.starts_with('>') && line != "_(empty)_";
    assert!(!engine::lines::lines(&quoted).any(outside), "a line escaped from its quotation");
}
