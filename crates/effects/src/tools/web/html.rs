//! Converts HTML to text with a little markdown: links, headings, lists, tables, preformatted text. It makes one pass and never
//! looks back, so that no page can make it slower than linear. The caller limits the size of the output.

use super::entities::decode;
use super::tags::{Tag, Token, Tokens};
use reqwest::Url;

/// Of a longer link only the words are shown.
const MAX_LINK_BYTES: usize = 2_000;
/// Elements that start a line of their own.
const BLOCKS: &str = "p div section article header footer main nav aside address blockquote figure figcaption form fieldset details \
    summary dl dt dd option caption thead tbody body h1 h2 h3 h4 h5 h6 li";
/// Deeper lists are indented no further.
const MAX_LIST_DEPTH: usize = 8;

/// The text of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    pub title: String,
    pub text: String,
    /// The page had more than `most` bytes of text.
    pub is_cut: bool,
}

/// The page at `address` as text of about `most` bytes at the most.
pub(super) fn read(html: &str, address: &Url, most: usize) -> Reading {
    let mut writer = Writer::at(address);
    for token in Tokens::of(html) {
        match token {
            Token::Open(tag) => writer.open(&tag),
            Token::Close(name) => writer.close(&name),
            Token::Text(text) => writer.text(text),
        }
        if writer.out.len() > most {
            writer.is_cut = true;
            break;
        }
    }
    writer.end_link();
    let text = writer.out.trim_matches(['\n', ' ']);
    Reading { title: engine::lines::one_line(&writer.title), text: cut(text, most).to_owned(), is_cut: writer.is_cut }
}

fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

struct Writer {
    base: Url,
    has_base: bool,
    out: String,
    title: String,
    in_title: bool,
    is_cut: bool,
    /// White space was read, which becomes a space if a word follows.
    gap: bool,
    preformatted: usize,
    /// The open lists; a numbered one with the number of its last item.
    lists: Vec<Option<u32>>,
    /// How many cells the row has so far.
    cells: usize,
    /// Where the text of the open link begins, and its address.
    link: Option<(usize, String)>,
    hidden: Option<Hidden>,
}

/// An element whose content is not shown.
struct Hidden {
    name: String,
    depth: usize,
}

impl Writer {
    fn at(address: &Url) -> Writer {
        Writer {
            base: address.clone(),
            has_base: false,
            out: String::new(),
            title: String::new(),
            in_title: false,
            is_cut: false,
            gap: false,
            preformatted: 0,
            lists: Vec::new(),
            cells: 0,
            link: None,
            hidden: None,
        }
    }

    fn open(&mut self, tag: &Tag) {
        let name = tag.name.as_str();
        if let Some(hidden) = &mut self.hidden {
            hidden.depth += usize::from(hidden.name == name && !tag.is_closed && !tag.is_void());
            return;
        }
        if !tag.is_closed && !tag.is_void() && tag.is_hidden() {
            self.hidden = Some(Hidden { name: name.to_owned(), depth: 1 });
            return;
        }
        match name {
            "a" => self.begin_link(tag),
            "base" => self.set_base(tag),
            "title" => self.in_title = true,
            "img" => self.image(tag),
            "br" => self.soft_line(),
            "hr" => {
                self.new_line();
                self.out.push_str("---");
                self.new_line();
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.new_line();
                if !self.out.is_empty() {
                    self.out.push('\n');
                }
                let level = usize::from(name.as_bytes()[1] - b'0');
                self.start(&format!("{} ", "#".repeat(level)));
            }
            "ul" | "menu" => self.begin_list(None),
            "ol" => self.begin_list(Some(0)),
            "li" => self.item(),
            "pre" | "textarea" => {
                self.new_line();
                self.out.push_str("```\n");
                self.preformatted += 1;
            }
            "table" | "tr" => self.begin_row(),
            "td" | "th" => self.cell(),
            _ if is_block(name) => self.soft_line(),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if let Some(hidden) = &mut self.hidden {
            hidden.depth -= usize::from(hidden.name == name);
            if hidden.depth == 0 {
                self.hidden = None;
            }
            return;
        }
        match name {
            "a" => self.end_link(),
            "title" => self.in_title = false,
            "ul" | "ol" | "menu" => {
                self.lists.pop();
                self.new_line();
            }
            "pre" | "textarea" if self.preformatted > 0 => {
                self.preformatted -= 1;
                if !self.out.ends_with('\n') {
                    self.out.push('\n');
                }
                self.out.push_str("```\n");
            }
            "td" | "th" => self.gap = true,
            "tr" | "table" => self.begin_row(),
            _ if is_block(name) => self.soft_line(),
            _ => {}
        }
    }

    fn text(&mut self, raw: &str) {
        if self.hidden.is_some() {
            return;
        }
        let text = decode(raw);
        if self.in_title {
            self.title.push_str(cut(&text, MAX_LINK_BYTES.saturating_sub(self.title.len())));
        } else if self.preformatted > 0 {
            let fresh = self.out.ends_with("```\n");
            self.out.push_str(if fresh { text.strip_prefix('\n').unwrap_or(&text) } else { &text });
        } else {
            for c in text.chars() {
                match c.is_whitespace() || engine::lines::is_line_break(c) {
                    true => self.gap = true,
                    false => self.letter(c),
                }
            }
        }
    }

    fn letter(&mut self, c: char) {
        if std::mem::take(&mut self.gap) && !self.is_at_start() {
            self.out.push(' ');
        }
        self.out.push(c);
    }

    /// The line is empty, or ends with what needs no space after it.
    fn is_at_start(&self) -> bool {
        self.out.is_empty() || self.out.ends_with(['\n', ' ', '['])
    }

    /// Writes a marker that needs no space before the next word.
    fn start(&mut self, mark: &str) {
        self.gap = false;
        self.out.push_str(mark);
    }

    fn new_line(&mut self) {
        self.gap = false;
        if self.out.ends_with(' ') {
            self.out.truncate(self.out.trim_end_matches(' ').len());
        }
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    fn begin_list(&mut self, number: Option<u32>) {
        self.new_line();
        // Deeper lists share the last entry, so that memory stays bounded.
        if self.lists.len() < 64 {
            self.lists.push(number);
        }
    }

    fn item(&mut self) {
        self.new_line();
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(MAX_LIST_DEPTH));
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{indent}{number}. ")
            }
            _ => format!("{indent}- "),
        };
        self.start(&mark);
    }

    /// A table inside a cell starts a new line.
    fn begin_row(&mut self) {
        self.new_line();
        self.cells = 0;
    }

    fn cell(&mut self) {
        if self.cells > 0 {
            self.start(" | ");
        }
        self.cells += 1;
    }

    /// Ends a paragraph. In a cell, a line break would break the row.
    fn soft_line(&mut self) {
        match self.cells {
            0 => self.new_line(),
            _ => self.gap = true,
        }
    }

    fn image(&mut self, tag: &Tag) {
        let about = tag.value("alt").map(|alt| engine::lines::one_line(&decode(cut(alt, MAX_LINK_BYTES))));
        if let Some(about) = about.filter(|about| !about.is_empty()) {
            self.text("[image:");
            self.start(&format!(" {about}]"));
        }
    }

    fn set_base(&mut self, tag: &Tag) {
        let joined = tag.value("href").and_then(|href| self.base.join(&decode(cut(href, MAX_LINK_BYTES))).ok());
        if let Some(base) = joined.filter(|base| matches!(base.scheme(), "http" | "https") && !self.has_base) {
            self.base = base;
            self.has_base = true;
        }
    }

    /// Links do not nest: a new one ends the one before.
    fn begin_link(&mut self, tag: &Tag) {
        self.end_link();
        let href = tag.value("href").map(str::trim).filter(|href| !href.is_empty() && href.len() <= MAX_LINK_BYTES);
        let Some(href) = href.filter(|href| !href.starts_with('#')) else { return };
        if std::mem::take(&mut self.gap) && !self.is_at_start() {
            self.out.push(' ');
        }
        self.link = Some((self.out.len(), href.to_owned()));
        self.out.push('[');
    }

    fn end_link(&mut self) {
        let Some((start, href)) = self.link.take() else { return };
        let words = engine::lines::one_line(self.out.get(start + 1..).unwrap_or_default());
        self.out.truncate(start);
        let words = words.trim_start_matches(['#', ' ']);
        if words.is_empty() {
            return;
        }
        match self.absolute(&href) {
            Some(url) => self.out.push_str(&format!("[{words}]({url})")),
            None => self.out.push_str(words),
        }
    }

    /// The absolute address of a link that a reader could open. Parentheses are escaped: they would end the markdown link.
    fn absolute(&self, href: &str) -> Option<String> {
        let url = self.base.join(&decode(href)).ok()?;
        let url = matches!(url.scheme(), "http" | "https" | "mailto").then(|| String::from(url))?;
        (url.len() <= MAX_LINK_BYTES).then(|| url.replace('(', "%28").replace(')', "%29"))
    }
}

fn is_block(name: &str) -> bool {
    BLOCKS.split(' ').any(|block| block == name)
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;
