//! Colours, widths, and text of models made harmless. Such text is hostile: characters that could move the cursor or reorder a
//! line are printed as escapes.

pub(crate) use engine::report::words::{duration, thousands};
use engine::time::Timestamp;
use std::fmt::Write;
use std::io::IsTerminal;

/// Whether colours may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    pub color: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Color {
    Bold,
    Dim,
    Green,
    Yellow,
    Red,
    Cyan,
}

impl Style {
    pub(crate) fn of_stdout() -> Style {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Style { color: std::io::stdout().is_terminal() && !no_color }
    }

    pub(crate) fn paint(self, color: Color, text: &str) -> String {
        let code = match color {
            Color::Bold => "1",
            Color::Dim => "2",
            Color::Green => "32",
            Color::Yellow => "33",
            Color::Red => "31",
            Color::Cyan => "36",
        };
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

fn is_harmless(c: char) -> bool {
    let reorders = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
    !c.is_control() && !reorders
}

/// Harmless text of several lines; line feeds and tabs stay.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if is_harmless(c) => out.push(c),
            c => out.extend(c.escape_unicode()),
        }
    }
    out
}

/// Harmless text as one line: line breaks become spaces.
pub(crate) fn line(text: &str) -> String {
    plain(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A time for people: to the second, in UTC.
pub(crate) fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    let to_the_second = text.split('.').next().unwrap_or(&text);
    format!("{} UTC", to_the_second.replace('T', " "))
}

/// The text with its times as people read them.
pub(crate) fn with_moments(text: &str) -> String {
    let word = |word: &str| Timestamp::parse(word).map_or_else(|| word.to_owned(), moment);
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// A text field of a JSON object as one harmless line; empty where it is missing.
pub(crate) fn field(object: &serde_json::Value, name: &str) -> String {
    line(object[name].as_str().unwrap_or_default())
}

/// Harmless JSON: control characters that JSON allows unescaped are escaped too.
pub(crate) fn json_line(json: &str) -> String {
    if json.chars().all(is_harmless) {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            c if is_harmless(c) => out.push(c),
            // Valid JSON has these only between tokens.
            '\n' | '\r' | '\t' => out.push(' '),
            c => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
        }
    }
    out
}

/// The columns that a character takes on a terminal.
fn columns(c: char) -> usize {
    match c as u32 {
        0x0300..=0x036f | 0x200b..=0x200d | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6 => 2,
        0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// At most `limit` columns, with an ellipsis when cut. Not for coloured text: escape codes would count.
pub(crate) fn fit(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += columns(c);
        if used + 1 > limit {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// The last `limit` columns, with an ellipsis before them when cut. Not for coloured text either.
pub(crate) fn fit_end(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let mut used = 1;
    let from = text.char_indices().rev().take_while(|(_, c)| {
        used += columns(*c);
        used <= limit
    });
    let start = from.last().map_or(text.len(), |(at, _)| at);
    format!("…{}", &text[start..])
}

/// A bar of ten cells.
pub(crate) fn bar(used: f64, limit: f64) -> String {
    const CELLS: usize = 10;
    let share = if limit > 0.0 { (used / limit).clamp(0.0, 1.0) } else { 1.0 };
    let full = (share * CELLS as f64).round() as usize;
    format!("{}{}", "█".repeat(full), "░".repeat(CELLS - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s54_escapes_of_model_text_do_not_reach_the_terminal() {
        assert_eq!(plain("a\x1b[2Jb\u{9b}c\r\n"), "a\\u{1b}[2Jb\\u{9b}c\\u{d}\n");
        assert_eq!(line("a\nb\u{202e}"), "a b\\u{202e}");
        let shown = json_line("{\"t\":\"x\u{9b}y\"}");
        assert_eq!(shown, "{\"t\":\"x\\u009by\"}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap()["t"], "x\u{9b}y");
    }

    #[test]
    fn text_is_cut_to_columns_not_bytes() {
        assert_eq!(fit("übergroß", 5), "über…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("short", 5), "short");
        assert_eq!(
            (fit_end("übergroß", 5), fit_end("日本語", 4), fit_end("short", 5)),
            ("…groß".into(), "…語".into(), "short".into())
        );
    }

    #[test]
    fn u17_times_are_shown_to_the_second() {
        assert_eq!(moment(Timestamp(951_782_400_123)), "2000-02-29 00:00:00 UTC");
        assert_eq!(with_moments("a called at 2000-02-29T00:00:00.123Z"), "a called at 2000-02-29 00:00:00 UTC");
    }

    #[test]
    fn a_bar_is_full_at_its_limit() {
        assert_eq!((bar(1.0, 2.0), bar(3.0, 0.0)), ("█████░░░░░".into(), "██████████".into()));
    }
}
