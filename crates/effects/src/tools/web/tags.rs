//! Splits HTML into tags and text, in one pass. Leaves out comments, declarations and the content of elements that hold no HTML.
//! Nothing is read twice: an element without an end ends with the page.

/// Elements whose content is not HTML, up to their own end tag.
const RAW: [&str; 5] = ["script", "style", "noscript", "iframe", "xmp"];
const VOID: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];
/// Elements that are never shown.
const NEVER_SHOWN: [&str; 4] = ["svg", "template", "canvas", "object"];
/// Elements that may lack an end tag. Hiding one of them could hide the rest of the page.
const OPTIONAL_END: [&str; 12] = ["p", "li", "td", "th", "tr", "dt", "dd", "option", "thead", "tbody", "html", "body"];
/// No element has a longer name.
const MAX_NAME_BYTES: usize = 32;

pub(super) enum Token<'a> {
    Open(Tag<'a>),
    Close(String),
    /// With its character references.
    Text(&'a str),
}

pub(super) struct Tag<'a> {
    /// In lower case.
    pub name: String,
    /// `<br/>`
    pub is_closed: bool,
    attributes: &'a str,
}

impl Tag<'_> {
    pub(super) fn is_void(&self) -> bool {
        VOID.contains(&self.name.as_str())
    }

    /// The raw value of the first attribute of this name; empty for an attribute without a value.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        Attributes { rest: self.attributes }.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(super) fn is_hidden(&self) -> bool {
        let name = self.name.as_str();
        if NEVER_SHOWN.contains(&name) {
            return true;
        }
        if self.attributes.is_empty() || OPTIONAL_END.contains(&name) {
            return false;
        }
        Attributes { rest: self.attributes }.any(|(found, value)| match found.len() {
            6 if found.eq_ignore_ascii_case("hidden") => !value.eq_ignore_ascii_case("until-found"),
            11 if found.eq_ignore_ascii_case("aria-hidden") => value.eq_ignore_ascii_case("true"),
            5 if found.eq_ignore_ascii_case("style") => hides(value),
            _ => false,
        })
    }
}

/// Whether a style attribute hides its element.
fn hides(style: &str) -> bool {
    let mut rules = style.split(';').filter_map(|rule| rule.split_once(':'));
    rules.any(|(name, value)| {
        let (name, value) = (name.trim(), value.trim());
        let begins = |word: &str| value.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        (name.eq_ignore_ascii_case("display") && begins("none"))
            || (name.eq_ignore_ascii_case("visibility") && begins("hidden"))
    })
}

struct Attributes<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<(&'a str, &'a str)> {
        let blank = |c: char| c.is_ascii_whitespace() || c == '/';
        let text = self.rest.trim_start_matches(blank);
        if text.is_empty() {
            return None;
        }
        // A leading `=` is part of the name.
        let first = text.chars().next().map_or(0, char::len_utf8);
        let end = text[first..].find(|c: char| c == '=' || blank(c)).map_or(text.len(), |end| first + end);
        let (name, after) = text.split_at(end);
        let Some(value) = after.trim_start().strip_prefix('=').map(str::trim_start) else {
            self.rest = after;
            return Some((name, ""));
        };
        let (value, rest) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            _ => value.split_at(value.find(|c: char| c.is_ascii_whitespace()).unwrap_or(value.len())),
        };
        self.rest = rest;
        Some((name, value))
    }
}

pub(super) struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(html: &'a str) -> Tokens<'a> {
        Tokens { rest: html }
    }

    /// Reads a tag from `text`, which begins after the `<`.
    fn tag(&mut self, text: &'a str) -> Token<'a> {
        let end = text.find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>').unwrap_or(text.len());
        let name = match end <= MAX_NAME_BYTES {
            true => text[..end].to_ascii_lowercase(),
            false => String::new(),
        };
        let inside = &text[end..];
        let length = tag_end(inside.as_bytes());
        let attributes = &inside[..length];
        self.rest = inside.get(length + 1..).unwrap_or_default();
        if RAW.contains(&name.as_str()) {
            self.rest = after_end_tag(self.rest, &name);
        }
        Token::Open(Tag { name, is_closed: attributes.ends_with('/'), attributes })
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let text = self.rest;
            let first = text.as_bytes().first()?;
            if *first != b'<' {
                let (before, rest) = text.split_at(text.find('<').unwrap_or(text.len()));
                self.rest = rest;
                return Some(Token::Text(before));
            }
            let inside = &text[1..];
            match inside.as_bytes().first() {
                Some(letter) if letter.is_ascii_alphabetic() => return Some(self.tag(inside)),
                Some(b'/') if inside[1..].starts_with(|c: char| c.is_ascii_alphabetic()) => {
                    let (name, rest) = inside[1..].split_once('>').unwrap_or((&inside[1..], ""));
                    self.rest = rest;
                    let name = name.split(|c: char| c.is_ascii_whitespace() || c == '/').next().unwrap_or_default();
                    let known = if name.len() <= MAX_NAME_BYTES { name } else { "" };
                    return Some(Token::Close(known.to_ascii_lowercase()));
                }
                Some(b'!') if inside.starts_with("!--") => {
                    self.rest = inside[3..].split_once("-->").map_or("", |(_, rest)| rest);
                }
                Some(b'!' | b'?' | b'/') => self.rest = inside.split_once('>').map_or("", |(_, rest)| rest),
                _ => {
                    self.rest = inside;
                    return Some(Token::Text(&text[..1]));
                }
            }
        }
    }
}

/// A tag ends at the first `>` outside quotes.
fn tag_end(bytes: &[u8]) -> usize {
    let (mut quote, mut after_equals) = (None, false);
    for (at, byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            (Some(open), byte) => {
                if *byte == open {
                    quote = None;
                }
            }
            (None, b'>') => return at,
            (None, b'"' | b'\'') if after_equals => quote = Some(*byte),
            (None, byte) => after_equals = *byte == b'=' || (after_equals && byte.is_ascii_whitespace()),
        }
    }
    bytes.len()
}

/// The text after the end tag of an element that holds no HTML.
fn after_end_tag<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("</") {
        if after.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            return after.split_once('>').map_or("", |(_, rest)| rest);
        }
        rest = after;
    }
    ""
}
