//! The user message of a request, section by section: a `## name` line, then JSON, one value per line, so no text a model
//! or a tool wrote can pass for a heading. Sections are cut to fit here: short ones stay whole, long ones are shortened,
//! and a last section `trimmed` lists the cuts.

use crate::calls::{CallResult, RecordedCall};
use crate::request::Part;
use crate::shorten;
use serde::Serialize;
use serde_json::{Value, json};

/// A single result is shown in full up to this size.
pub const SHOWN_RESULT_CHARS: u32 = 24_000;
/// In bytes; a shorter excerpt of a list item is not worth showing.
const MIN_ITEM_BYTES: usize = 240;
/// The same for a result with its frame.
const MIN_QUOTE_BYTES: usize = 480;
/// In bytes: what names, ids and arguments around a result may take when room is short.
const FRAME_BYTES: usize = 600;
/// Bytes reserved for the list of cuts.
const NOTES_BYTES: usize = 1_600;

#[derive(Default)]
pub struct Sections {
    list: Vec<Section>,
    notes: Vec<String>,
    next_shares: Option<usize>,
}

struct Section {
    name: String,
    /// Its weight when the room is too small.
    weight: usize,
    body: Body,
}

enum Body {
    /// As it is: small, and never cut.
    Plain(String),
    /// One value on one line, as JSON.
    One(String),
    /// Items as JSON, on one line as an array, or on a line each.
    Many {
        items: Vec<String>,
        lines: bool,
        retain: Retain,
    },
    Quoted(Vec<Quote>),
}

impl Body {
    fn has_content(&self) -> bool {
        match self {
            Body::Plain(_) | Body::One(_) => true,
            Body::Many { items, .. } => !items.is_empty(),
            Body::Quoted(quotes) => !quotes.is_empty(),
        }
    }
}

/// Which items of a list stay when not all can.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Retain {
    First,
    Newest,
}

/// One line: an object whose last field is a stored text that is already JSON.
pub struct Quote {
    pub frame: Value,
    pub field: &'static str,
    pub content: Option<crate::blob::BlobRef>,
    /// The most of the content that is shown, in bytes.
    pub limit: u32,
}

impl Quote {
    fn bytes(&self) -> usize {
        self.content_bytes() + shorten::size(&self.frame) + self.field.len() + 6
    }

    fn content_bytes(&self) -> usize {
        self.content.map_or(4, |blob| Part::Stored { blob, limit: self.limit }.bytes())
    }

    fn within(&self, bytes: usize) -> Quote {
        let short = FRAME_BYTES.min(bytes / 4 * 3);
        let frame = if self.bytes() <= bytes { self.frame.clone() } else { shorten::to_fit(&self.frame, short) };
        let beside = shorten::size(&frame) + self.field.len() + 6;
        let mut quote = Quote { frame, field: self.field, content: self.content, limit: self.limit };
        if quote.bytes() > bytes {
            quote.limit = u32::try_from(Part::limit_for(bytes.saturating_sub(beside))).unwrap_or(u32::MAX);
        }
        quote
    }
}

impl Sections {
    /// Text that is not a section, and is never cut: the caller makes it short.
    pub fn text(&mut self, text: impl Into<String>) {
        self.push("", Body::Plain(text.into()));
    }

    pub fn add(&mut self, name: &str, value: impl Serialize) {
        self.push(name, Body::One(written(value)));
    }

    /// Adds text that is JSON already.
    pub fn add_json(&mut self, name: &str, json: String) {
        self.push(name, Body::One(json));
    }

    /// In order of importance: when not all can be shown, the first are.
    pub fn add_some<T: Serialize>(&mut self, name: &str, list: &[T]) {
        self.many(name, list.iter().map(written), false, Retain::First);
    }

    pub fn add_written(&mut self, name: &str, list: Vec<String>) {
        self.many(name, list, false, Retain::First);
    }

    /// Oldest first: when not all can be shown, the newest are.
    pub fn newest<T: Serialize>(&mut self, name: &str, list: &[T]) {
        self.many(name, list.iter().map(written), false, Retain::Newest);
    }

    /// One line per text, oldest first: each is stored once, however often it is shown.
    pub fn lines<'a>(&mut self, name: &str, texts: impl IntoIterator<Item = &'a String>) {
        self.many(name, texts.into_iter().map(json_text), true, Retain::Newest);
    }

    /// One JSON value per line.
    pub fn records(&mut self, name: &str, values: impl IntoIterator<Item = Value>) {
        self.many(name, values.into_iter().map(|value| json_text(&value)), true, Retain::First);
    }

    fn many(&mut self, name: &str, items: impl IntoIterator<Item = String>, lines: bool, retain: Retain) {
        self.push(name, Body::Many { items: items.into_iter().collect(), lines, retain });
    }

    /// Results are stored texts; only their frame is new.
    pub fn results<'a>(&mut self, calls: impl Iterator<Item = (&'a RecordedCall, &'a CallResult)>) {
        let quote = |(call, result): (&RecordedCall, &CallResult)| Quote {
            frame: json!({ "call_id": call.id, "tool": call.tool, "arguments": call.arguments, "ok": result.ok, "event": format!("event:{}", result.seq) }),
            field: if result.ok { "result" } else { "error" },
            content: Some(result.content),
            limit: result.bytes_of(SHOWN_RESULT_CHARS),
        };
        self.quoted("tool_results", calls.map(quote).collect());
    }

    pub fn quoted(&mut self, name: &str, quotes: Vec<Quote>) {
        self.push(name, Body::Quoted(quotes));
    }

    /// The section added next gets so many shares of a room that is too small; others get one.
    pub fn share(&mut self, shares: usize) -> &mut Sections {
        self.next_shares = Some(shares);
        self
    }

    pub fn has(&self, name: &str) -> bool {
        self.list.iter().any(|section| section.name == name)
    }

    /// Notes something the caller left out.
    pub fn note(&mut self, what: String) {
        self.notes.push(what);
    }

    fn push(&mut self, name: &str, body: Body) {
        let weight = self.next_shares.take().unwrap_or(1);
        if body.has_content() {
            self.list.push(Section { name: name.to_owned(), weight, body });
        }
    }

    pub fn bytes(&self) -> usize {
        self.list.iter().map(Section::bytes).sum()
    }

    /// The parts of a message of at most `room` bytes; one result alone may take it up to `most`.
    pub fn fitted(mut self, room: usize, most: usize) -> Vec<Part> {
        let said = |notes: &[String]| notes.iter().map(|note| note.len() + 3).sum::<usize>();
        if self.bytes() + said(&self.notes) > room {
            self.shrink(room.saturating_sub(NOTES_BYTES + said(&self.notes)), most.saturating_sub(NOTES_BYTES));
        }
        let notes = std::mem::take(&mut self.notes);
        let fits = shorten::to_fit(&json!(notes), NOTES_BYTES + said(&notes).min(NOTES_BYTES));
        let mut parts: Vec<Part> = self.list.into_iter().flat_map(Section::parts).collect();
        if !notes.is_empty() {
            parts.push(Part::Text(format!("## trimmed\n{fits}\n\n")));
        }
        parts
    }

    fn shrink(&mut self, room: usize, most: usize) {
        let fixed: usize = self.list.iter().filter(|section| section.is_plain()).map(Section::bytes).sum();
        let open = || self.list.iter().filter(|section| !section.is_plain());
        let sizes: Vec<(usize, usize)> = open().map(|section| (section.bytes(), section.weight)).collect();
        let share = level(&sizes, room.saturating_sub(fixed));
        let granted: usize = sizes.iter().map(|(size, weight)| *size.min(&share.saturating_mul(*weight))).sum();
        for section in self.list.iter_mut().filter(|section| !section.is_plain()) {
            let mut grant = share.saturating_mul(section.weight);
            if section.bytes() <= grant {
                continue;
            }
            if let Body::Quoted(quotes) = &section.body {
                // One result alone may need more than the room there is.
                let largest = quotes.iter().map(Quote::content_bytes).max().unwrap_or_default() + FRAME_BYTES;
                let others = fixed + granted - grant;
                grant = grant.max((largest + section.name.len() + 40).min(most.saturating_sub(others)));
            }
            self.notes.extend(section.shrink(grant));
        }
    }
}

impl Section {
    fn is_plain(&self) -> bool {
        matches!(self.body, Body::Plain(_))
    }

    fn bytes(&self) -> usize {
        let heading = self.name.len() + 6;
        match &self.body {
            Body::Plain(text) => text.len(),
            Body::One(json) => heading + json.len(),
            Body::Many { items, .. } => heading + items.iter().map(|item| item.len() + 1).sum::<usize>() + 1,
            Body::Quoted(quotes) => heading + quotes.iter().map(Quote::bytes).sum::<usize>(),
        }
    }

    /// Cut down to so many bytes; what was cut, in words.
    fn shrink(&mut self, bytes: usize) -> Option<String> {
        let name = &self.name;
        let bytes = bytes.saturating_sub(name.len() + 8);
        match &mut self.body {
            Body::Plain(_) => None,
            Body::One(json) => {
                *json = shortened(json, bytes);
                Some(format!("{name}: cut to {bytes} bytes"))
            }
            Body::Many { items, retain, .. } => {
                let all = items.len();
                let sizes: Vec<usize> = items.iter().map(|item| item.len() + 1).collect();
                let retained = match retain {
                    Retain::First => 0..fitting(sizes.iter(), bytes, MIN_ITEM_BYTES),
                    Retain::Newest => all - fitting(sizes.iter().rev(), bytes, MIN_ITEM_BYTES)..all,
                };
                let each = level(&sizes[retained.clone()].iter().map(|size| (*size, 1)).collect::<Vec<_>>(), bytes);
                *items = items[retained].iter().map(|item| shortened(item, each.saturating_sub(1))).collect();
                let counted = format!("{name}: {} of {all} shown", items.len());
                Some(if each == usize::MAX { counted } else { format!("{counted}, each cut to {each} bytes") })
            }
            Body::Quoted(quotes) => {
                let all = quotes.len();
                let sizes: Vec<usize> = quotes.iter().map(Quote::bytes).collect();
                let retained = all - fitting(sizes.iter().rev(), bytes, MIN_QUOTE_BYTES);
                let each = level(&sizes[retained..].iter().map(|size| (*size, 1)).collect::<Vec<_>>(), bytes);
                *quotes = quotes[retained..].iter().map(|quote| quote.within(each)).collect();
                let counted = format!("{name}: {} of {all} shown", quotes.len());
                Some(match each {
                    usize::MAX => counted,
                    _ => format!("{counted}, of each at most {each} bytes; the whole is in its document"),
                })
            }
        }
    }

    fn parts(self) -> Vec<Part> {
        let name = self.name;
        match self.body {
            Body::Plain(text) => vec![Part::Text(text)],
            Body::One(json) => vec![Part::Text(format!("## {name}\n{json}\n\n"))],
            Body::Many { items, lines: false, .. } => {
                vec![Part::Text(format!("## {name}\n[{}]\n\n", items.join(",")))]
            }
            Body::Many { items, .. } => {
                let line = |mut item: String| {
                    item.push('\n');
                    Part::Text(item)
                };
                around(name, items.into_iter().map(line))
            }
            Body::Quoted(quotes) => {
                let lines = quotes.into_iter().flat_map(|Quote { frame, field, content, limit }| {
                    let frame = json_text(&frame);
                    let content = content.map_or(Part::Text("null".into()), |blob| Part::Stored { blob, limit });
                    let open = Part::Text(format!("{},\"{field}\":", &frame[..frame.len() - 1]));
                    [open, content, Part::Text("}\n".into())]
                });
                around(name, lines)
            }
        }
    }
}

/// Through a value: its fields are in the order that every part of a request has them in.
fn written(value: impl Serialize) -> String {
    json_text(&json!(value))
}

fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".into())
}

fn shortened(json: &str, bytes: usize) -> String {
    match serde_json::from_str(json) {
        Ok(value) if json.len() > bytes => json_text(&shorten::to_fit(&value, bytes)),
        _ => json.to_owned(),
    }
}

fn around(name: String, lines: impl Iterator<Item = Part>) -> Vec<Part> {
    let heading = std::iter::once(Part::Text(format!("## {name}\n")));
    heading.chain(lines).chain(std::iter::once(Part::Text("\n".into()))).collect()
}

/// How many items can be shown in what is worth showing of each; one always is.
fn fitting<'a>(sizes: impl Iterator<Item = &'a usize>, bytes: usize, least: usize) -> usize {
    let mut used = 0;
    let fits = sizes.take_while(|size| {
        used += (**size).min(least);
        used <= bytes
    });
    fits.count().max(1)
}

/// The size of one share that fills the room. A section that needs less leaves its rest to the others.
fn level(sizes: &[(usize, usize)], room: usize) -> usize {
    let (mut open, mut room) = (sizes.to_vec(), room);
    loop {
        let shares: usize = open.iter().map(|(_, weight)| weight).sum();
        if shares == 0 {
            return usize::MAX;
        }
        let share = room / shares;
        let (small, big): (Vec<_>, Vec<_>) = open.into_iter().partition(|(size, weight)| *size <= share * weight);
        if small.is_empty() {
            return share;
        }
        room -= small.iter().map(|(size, _)| size).sum::<usize>();
        open = big;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(parts: &[Part]) -> String {
        parts.iter().map(|part| if let Part::Text(text) = part { text.as_str() } else { "" }).collect()
    }

    #[test]
    fn h1_what_is_short_stays_whole_and_what_is_long_gives_way() {
        // Given a short objective beside three long texts and a long list
        let mut out = Sections::default();
        out.add("objective", "Compare two tools");
        out.lines("scratchpad", &["x".repeat(40_000), "y".repeat(40_000), "z".repeat(40_000)]);
        out.newest("messages", &(0..500).map(|n| format!("message {n} {}", "m".repeat(300))).collect::<Vec<_>>());
        // When it must fit into 12,000 bytes
        let parts = out.fitted(12_000, 12_000);
        // Then it does, the short one is whole, the newest stay, and the cuts are said
        let text = written(&parts);
        assert!(text.len() <= 12_000, "{}", text.len());
        assert!(text.contains("## objective\n\"Compare two tools\"\n"));
        assert!(text.contains("message 499") && !text.contains("message 0 "));
        let trimmed = text.split("## trimmed\n").nth(1).expect("the cuts are said");
        assert!(trimmed.contains("scratchpad: ") && trimmed.contains(" of 500 shown"), "{trimmed}");
    }

    #[test]
    fn h1_what_fits_is_not_touched() {
        let mut out = Sections::default();
        out.lines("scratchpad", &["x".repeat(5_000)]);
        let text = written(&out.fitted(6_000, 6_000));
        assert!(text.contains(&"x".repeat(5_000)) && !text.contains("trimmed"));
    }

    #[test]
    fn one_result_alone_may_take_more_than_the_room() {
        // Given one result of 30,000 bytes
        let content = crate::blob::BlobRef { hash: crate::blob::Hash::of(&[b"r"]), bytes: 30_000 };
        let one = |count: usize| {
            let mut out = Sections::default();
            let quote =
                || Quote { frame: json!({ "tool": "t" }), field: "result", content: Some(content), limit: 30_000 };
            out.quoted("tool_results", (0..count).map(|_| quote()).collect());
            out.fitted(10_000, 60_000).iter().map(Part::bytes).sum::<usize>()
        };
        // Then it is shown whole although the room is smaller; four of them share what one would need
        assert!((30_000..32_000).contains(&one(1)), "{}", one(1));
        assert!(one(4) <= 32_000, "{}", one(4));
        assert!(one(5_000) <= 60_000, "however many there are: {}", one(5_000));
    }
}
