//! Decodes the bytes of a page. The byte order mark decides, then the `Content-Type` header, then the page's own declaration.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use std::borrow::Cow;

/// A page declares its encoding near its beginning.
const DECLARATION_BYTES: usize = 2_048;

/// The text of a body. Invalid bytes become replacement characters.
pub(super) fn decoded<'a>(body: &'a [u8], content_type: &str) -> Cow<'a, str> {
    let named = || parameter(content_type).or_else(|| declared_in(body));
    let encoding = Encoding::for_bom(body).map(|(encoding, _)| encoding).or_else(named);
    let encoding = encoding.unwrap_or_else(|| match std::str::from_utf8(body) {
        Ok(_) => UTF_8,
        // Only the last character is cut off.
        Err(error) if error.error_len().is_none() => UTF_8,
        Err(_) => WINDOWS_1252,
    });
    encoding.decode(body).0
}

/// `text/html; charset="utf-8"`
fn parameter(content_type: &str) -> Option<&'static Encoding> {
    let mut parameters = content_type.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let (_, label) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Encoding::for_label(label.trim().trim_matches(['"', '\'']).as_bytes())
}

/// `<meta charset=…>` in either of its forms, or an XML declaration.
fn declared_in(body: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&body[..body.len().min(DECLARATION_BYTES)]).to_ascii_lowercase();
    let mut declared = start.match_indices("charset=").chain(start.match_indices("encoding="));
    let label = declared.find_map(|(at, word)| {
        let label = start[at + word.len()..].trim_start_matches([' ', '"', '\'']);
        label
            .split(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c))
            .next()
            .filter(|label| !label.is_empty())
    })?;
    // The declaration was found byte by byte, so the page cannot be UTF-16.
    Encoding::for_label(label.as_bytes()).map(|encoding| if label.starts_with("utf-16") { UTF_8 } else { encoding })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w2_a_page_is_decoded_by_its_bom_its_header_or_its_declaration() {
        let utf16: Vec<u8> = "\u{feff}né".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let plain: Vec<u8> = "né".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (body, content_type) in [
            ("né".as_bytes(), "text/html"),
            ("\u{feff}né".as_bytes(), "text/html; charset=windows-1252"),
            (b"n\xe9", "text/html; Charset=\"ISO-8859-1\""),
            (&utf16, "text/html"),
            (&plain, "text/html; charset=utf-16be"),
        ] {
            assert_eq!(decoded(body, content_type), "né", "{content_type}: {body:?}");
        }
        let page = b"<html><meta charset='windows-1251'>\xcf\xf0\xe8".as_slice();
        assert!(decoded(page, "text/html").ends_with("При"));
        let page = b"<meta http-equiv=content-type content='text/html; charset=shift_jis'>\x93\xfa".as_slice();
        assert!(decoded(page, "text/html").ends_with("日"));
        assert_eq!(decoded(b"\x80 \x93x\x94", "text/plain; charset=latin1"), "€ “x”");
        assert_eq!(decoded(b"n\xe9e", "text/plain"), "née");
        assert_eq!(decoded("é".as_bytes(), "text/plain; charset=nonsense"), "é");
    }
}
