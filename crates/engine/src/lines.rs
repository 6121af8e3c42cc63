//! Line breaks. Code that shows foreign text line by line uses this module, so that no character any reader treats as a
//! line break escapes from a quotation.

use std::borrow::Cow;
use std::fmt::Write;

/// The breaks of Unicode (UAX 14), and the separators that some languages' `splitlines` break at too.
pub fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The lines of a text, without their breaks. CR LF is one break; a break at the end starts no further line.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some((at, found)) = rest.char_indices().find(|(_, c)| is_line_break(*c)) else {
            return Some(std::mem::take(&mut rest));
        };
        let (line, tail) = rest.split_at(at);
        rest = tail.strip_prefix("\r\n").unwrap_or(&tail[found.len_utf8()..]);
        Some(line)
    })
}

/// The words of a text on one line.
pub fn one_line(text: &str) -> String {
    let between = |c: char| c.is_whitespace() || is_line_break(c);
    text.split(between).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Whether the text may have a break other than a line feed: whether one of its bytes begins one. Prompts are long and hardly
/// ever have one, and this looks at many bytes at a time.
fn may_have_strays(text: &str) -> bool {
    let begins_one = |byte: &u8| matches!(byte, 0x0b..=0x0d | 0x1c..=0x1e | 0xc2 | 0xe2);
    let found = |block: &[u8]| block.iter().fold(false, |found, byte| found | begins_one(byte));
    text.as_bytes().chunks(256).any(found)
}

/// JSON text with every line break escaped that JSON allows as it is inside a string.
pub fn json_on_one_line(json: &str) -> Cow<'_, str> {
    let may_have_breaks = json.contains('\n') || may_have_strays(json);
    if !may_have_breaks || !json.contains(is_line_break) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match is_line_break(c) {
            // Writing to a string cannot fail.
            true => drop(write!(out, "\\u{:04x}", u32::from(c))),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A prompt in which only line feeds break lines: other breaks become spaces, so that data stays on the line it is
/// given on. Never longer than the text, since sizes are reckoned before.
pub fn only_line_feeds(text: String) -> String {
    let stray = |c: char| c != '\n' && is_line_break(c);
    if may_have_strays(&text) && text.contains(stray) { text.replace(stray, " ") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn x15_every_break_ends_a_line_and_crlf_is_one() {
        let text = "a\r\nb\rc\nd\u{b}e\u{c}f\u{85}g\u{2028}h\u{2029}i\n";
        assert_eq!(lines(text).collect::<Vec<_>>(), ["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
        assert_eq!(lines("\n\nx").collect::<Vec<_>>(), ["", "", "x"]);
        assert_eq!(lines("").count(), 0);
    }

    proptest! {
        #[test]
        fn x15_only_line_feeds_are_left_wherever_a_break_stands(before in ".{0,300}", at in 0usize..300, mark in proptest::sample::select(vec!['\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'])) {
            let mut text: Vec<char> = before.chars().collect();
            text.insert(at.min(text.len()), mark);
            let left = only_line_feeds(text.iter().collect());
            prop_assert!(!left.contains(|c: char| c != '\n' && is_line_break(c)));
            prop_assert_eq!(left.chars().count(), text.len());
        }

        #[test]
        fn x15_json_stays_the_same_value_on_one_line(text in "[a\\r\\n\\x0b\\x0c\\x1c\u{85}\u{2028}\u{2029}\"\\\\]{0,40}") {
            let json = serde_json::to_string(&text).unwrap();
            let line = json_on_one_line(&json);
            prop_assert!(!line.contains(is_line_break));
            prop_assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
        }
    }
}
