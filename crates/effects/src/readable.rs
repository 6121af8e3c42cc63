//! The part of a growing answer that people can read. Answers are JSON: of that the texts are shown, each beginning on a line
//! of its own, without braces, names, numbers and single words such as ids and types. Text around the JSON is shown too. It
//! reads every prefix of anything and never fails; it must not know the roles and their schemas.

/// Deeper containers are counted, not remembered: what is in them is read as in a list.
const MAX_DEPTH: usize = 64;
/// The longest beginning that is kept to see whether it is a word or a text.
const MAX_HELD: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct ReadableText {
    place: Place,
    containers: Vec<Container>,
    /// Containers below the last one in the list.
    deeper: usize,
    passage: Passage,
    /// Something was shown before, so that the next passage begins on a new line.
    begun: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Outside of any braces.
    #[default]
    Around,
    /// Between the texts of the JSON.
    Between,
    Name(Escape),
    Text(Escape),
}

/// How far an escape sequence has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    Begun,
    /// The digits of `\u` so far, and their number.
    Digits(u32, u8),
    /// The first half of a pair, and then what came of the second half.
    Half(u32),
    HalfBegun(u32),
    HalfDigits(u32, u32, u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    List,
    /// An object, and whether its next string is a name.
    Object(bool),
}

/// One text, or one line around the JSON.
#[derive(Debug, Default)]
enum Passage {
    /// A single word so far.
    #[default]
    Blank,
    Held(String),
    Shown,
}

impl ReadableText {
    /// Reads on, and returns what became readable.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut shown = String::new();
        for c in piece.chars() {
            self.place = match self.place {
                Place::Around => self.around(c, &mut shown),
                Place::Between => self.between(c),
                Place::Name(escape) if escape.ends_at(c) => Place::Between,
                Place::Name(escape) => Place::Name(escape.next(c).0),
                Place::Text(escape) if escape.ends_at(c) => self.end_of_passage(Place::Between),
                Place::Text(escape) => {
                    let (escape, decoded) = escape.next(c);
                    decoded.into_iter().flatten().for_each(|c| self.show(c, &mut shown));
                    Place::Text(escape)
                }
            };
        }
        shown
    }

    fn around(&mut self, c: char, shown: &mut String) -> Place {
        match c {
            '{' => {
                self.containers.push(Container::Object(true));
                self.end_of_passage(Place::Between)
            }
            '\n' => self.end_of_passage(Place::Around),
            c => {
                self.show(c, shown);
                Place::Around
            }
        }
    }

    fn between(&mut self, c: char) -> Place {
        match c {
            '{' => self.open(Container::Object(true)),
            '[' => self.open(Container::List),
            '}' | ']' => self.close(),
            ':' => self.expect_name(false),
            ',' => self.expect_name(true),
            '"' if self.deeper == 0 && self.containers.last() == Some(&Container::Object(true)) => {
                return Place::Name(Escape::None);
            }
            '"' => return Place::Text(Escape::None),
            _ => {}
        }
        if self.containers.is_empty() { Place::Around } else { Place::Between }
    }

    fn open(&mut self, container: Container) {
        if self.containers.len() < MAX_DEPTH {
            self.containers.push(container);
        } else {
            self.deeper += 1;
        }
    }

    fn close(&mut self) {
        match self.deeper {
            0 => drop(self.containers.pop()),
            deeper => self.deeper = deeper - 1,
        }
    }

    fn expect_name(&mut self, expected: bool) {
        if let (0, Some(Container::Object(expects_name))) = (self.deeper, self.containers.last_mut()) {
            *expects_name = expected;
        }
    }

    fn end_of_passage(&mut self, place: Place) -> Place {
        self.passage = Passage::Blank;
        place
    }

    /// A passage is shown from its first space on: a single word is not for people. Neither do all scripts have spaces.
    fn show(&mut self, c: char, shown: &mut String) {
        match &mut self.passage {
            Passage::Shown => shown.push(c),
            Passage::Blank if c.is_whitespace() => {}
            Passage::Blank => {
                self.passage = Passage::Held(String::new());
                self.show(c, shown);
            }
            Passage::Held(held) if held.len() >= MAX_HELD && !c.is_whitespace() => {}
            Passage::Held(held) => {
                held.push(c);
                if c.is_whitespace() || !c.is_ascii() {
                    let line_break = if self.begun { "\n" } else { "" };
                    shown.push_str(line_break);
                    shown.push_str(held);
                    (self.begun, self.passage) = (true, Passage::Shown);
                }
            }
        }
    }
}

type Decoded = [Option<char>; 2];

impl Escape {
    /// Whether this quotation mark ends the text, also one whose escape sequence is broken.
    fn ends_at(self, c: char) -> bool {
        c == '"' && !matches!(self, Escape::Begun | Escape::HalfBegun(_))
    }

    /// The state after this character, and the characters that are complete with it.
    fn next(self, c: char) -> (Escape, Decoded) {
        let lost = Some(char::REPLACEMENT_CHARACTER);
        match (self, c) {
            (Escape::None, '\\') => (Escape::Begun, [None; 2]),
            (Escape::None, c) => (Escape::None, [Some(c), None]),
            (Escape::Digits(..) | Escape::HalfDigits(..), '\\') => (Escape::Begun, [lost, None]),
            (Escape::Begun, 'u') => (Escape::Digits(0, 0), [None; 2]),
            (Escape::Begun, c) => (Escape::None, [Some(unescaped(c)), None]),
            (Escape::Digits(code, digits), c) => match more(code, digits, c) {
                Some((code, 4)) => Escape::after(code),
                Some((code, digits)) => (Escape::Digits(code, digits), [None; 2]),
                None => (Escape::None, [lost, Some(c)]),
            },
            (Escape::Half(first), '\\') => (Escape::HalfBegun(first), [None; 2]),
            (Escape::Half(_), c) => (Escape::None, [lost, Some(c)]),
            (Escape::HalfBegun(first), 'u') => (Escape::HalfDigits(first, 0, 0), [None; 2]),
            (Escape::HalfBegun(_), c) => (Escape::None, [lost, Some(unescaped(c))]),
            (Escape::HalfDigits(first, code, digits), c) => match more(code, digits, c) {
                Some((code, 4)) => {
                    let whole =
                        (0xdc00..0xe000).contains(&code).then(|| 0x10000 + ((first - 0xd800) << 10) + code - 0xdc00);
                    (Escape::None, [whole.and_then(char::from_u32).or(lost), None])
                }
                Some((code, digits)) => (Escape::HalfDigits(first, code, digits), [None; 2]),
                None => (Escape::None, [lost, Some(c)]),
            },
        }
    }

    fn after(code: u32) -> (Escape, Decoded) {
        match code {
            0xd800..0xdc00 => (Escape::Half(code), [None; 2]),
            code => (Escape::None, [char::from_u32(code).or(Some(char::REPLACEMENT_CHARACTER)), None]),
        }
    }
}

fn more(code: u32, digits: u8, c: char) -> Option<(u32, u8)> {
    c.to_digit(16).map(|digit| (code * 16 + digit, digits + 1))
}

fn unescaped(c: char) -> char {
    match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What is readable of a text that comes in pieces of this many characters.
    fn read(text: &str, size: usize) -> String {
        let letters: Vec<char> = text.chars().collect();
        let mut readable = ReadableText::default();
        letters.chunks(size).map(|chunk| readable.push(&chunk.iter().collect::<String>())).collect()
    }

    #[test]
    fn t4_texts_of_an_answer_are_shown_without_its_json() {
        let answer = r##"{"artifacts":[{"type":"document","label":"page","markdown":"# Heat pumps\n\nThey \"move\" heat."}],
            "result":{"kind":"document","summary":"One page is written.","met":true,"n":1.5e3},"id":"01a1de11-0000-7000"}"##;
        for size in 1..answer.len() {
            assert_eq!(
                read(answer, size),
                "# Heat pumps\n\nThey \"move\" heat.\nOne page is written.",
                "pieces of {size}"
            );
        }
    }

    #[test]
    fn t4_a_text_is_shown_while_it_is_written() {
        let mut readable = ReadableText::default();
        assert_eq!(readable.push(r#"{"thought":"Look"#), "", "it may be a single word");
        assert_eq!(readable.push(" at"), "Look at");
        assert_eq!(readable.push(" the prices"), " the prices");
        assert_eq!(readable.push(r#"","tool_calls":[{"tool":"list_documents","purpose":"see what"#), "\nsee what");
    }

    #[test]
    fn t4_text_around_the_json_and_text_without_any_is_shown() {
        assert_eq!(
            read("Here it is:\n```json\n{\"a b\":\"c d\"}\n```\nThat is all.", 1),
            "Here it is:\nc d\nThat is all."
        );
        assert_eq!(read("No JSON at all: [1]", 4), "No JSON at all: [1]");
    }

    #[test]
    fn t4_escapes_are_decoded_wherever_the_pieces_end() {
        let text = r#"{"t":"A \u00e9 \ud83c\udf33 \ud800 x \udf33\u12 \ud83c\n \/"}"#;
        for size in 1..text.len() {
            assert_eq!(read(text, size), "A é 🌳 \u{fffd} x \u{fffd}\u{fffd} \u{fffd}\n /", "pieces of {size}");
        }
        assert_eq!(read(r#"{"t":"日本語"}"#, 2), "日本語", "a script without spaces");
        assert_eq!(
            read(r#"{"t":"is cut \u00","u":"and \u0\n goes \ud83c","v":"on and on"}"#, 3),
            "is cut \nand \u{fffd}\n goes \non and on"
        );
    }

    proptest! {
        #[test]
        fn t4_no_prefix_of_anything_fails_and_pieces_do_not_matter(text in r#"[{}\[\]",:\\ua-f0-9 é\n]{0,300}"#, size in 1usize..9) {
            prop_assert_eq!(read(&text, size), read(&text, 1_000));
        }
    }
}
