//! Parses server-sent events from bytes in chunks of any size. One pass without I/O; an event that is too long is an error.
//!
//! Lines end in LF, CRLF or CR. A leading BOM, comments and all fields except `event` and `data` are skipped. Bytes that are not UTF-8 become replacement
//! characters, so that one bad byte does not lose the stream.

/// Longer than any event of an answer within its limit: text may be six times as long when it is written as JSON.
const MAX_EVENT_BYTES: usize = 24 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The `event:` field; empty if it is missing.
    pub name: String,
    pub data: String,
}

/// An event was longer than `MAX_EVENT_BYTES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

#[derive(Default)]
pub struct Parser {
    line: Vec<u8>,
    after_cr: bool,
    begun: bool,
    name: String,
    data: Option<String>,
}

impl Parser {
    pub fn push(&mut self, bytes: &[u8], mut emit: impl FnMut(Event)) -> Result<(), TooLong> {
        for &byte in bytes {
            let follows_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if follows_cr => {}
                b'\n' | b'\r' => {
                    let line = std::mem::take(&mut self.line);
                    self.take_line(&line).map(&mut emit);
                }
                _ => self.line.push(byte),
            }
        }
        let held = self.line.len() + self.name.len() + self.data.as_ref().map_or(0, String::len);
        if held > MAX_EVENT_BYTES { Err(TooLong) } else { Ok(()) }
    }

    /// Call at the end of the stream. A last event without its blank line counts; the caller checks whether the answer is complete.
    pub fn finish(mut self, mut emit: impl FnMut(Event)) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line).map(&mut emit);
        }
        self.dispatch().map(emit);
    }

    fn take_line(&mut self, line: &[u8]) -> Option<Event> {
        let line = String::from_utf8_lossy(line);
        let first = !std::mem::replace(&mut self.begun, true);
        let line = if first { line.strip_prefix('\u{feff}').unwrap_or(&line) } else { &line };
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.to_owned(),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        self.data.take().map(|data| Event { name, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
        let mut events = Vec::new();
        let mut parser = Parser::default();
        for chunk in chunks {
            parser.push(chunk, |event| events.push(event)).unwrap();
        }
        parser.finish(|event| events.push(event));
        events
    }

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.into(), data: data.into() }
    }

    #[test]
    fn all_line_endings_comments_and_a_bom_are_read() {
        let bytes =
            "\u{feff}: hi\r\nevent: a\r\ndata: 1\r\ndata:2\r\n\r\ndata: x\rid: 7\r\rdata: y\n\nretry: 3\n\ndata: z";
        assert_eq!(parse([bytes.as_bytes()]), [event("a", "1\n2"), event("", "x"), event("", "y"), event("", "z")]);
    }

    #[test]
    fn a_byte_that_is_not_utf_8_is_replaced() {
        assert_eq!(parse([&b"data: a\xffb\n\n"[..]]), [event("", "a\u{fffd}b")]);
    }

    #[test]
    fn an_event_that_is_too_long_is_an_error() {
        let mut parser = Parser::default();
        let line = format!("data: {}\n", "x".repeat(1 << 20));
        let refused_at = (0..30).find(|_| parser.push(line.as_bytes(), |_| panic!("no event ended")).is_err());
        assert_eq!(refused_at, Some(23));
    }

    proptest! {
        #[test]
        fn any_bytes_in_chunks_of_any_size_give_the_same_events(
            bytes in prop::collection::vec(prop::sample::select(b"data: event\r\n\n\xc3\xa9{}\xff".to_vec()), 0..200),
            cuts in prop::collection::vec(1usize..9, 1..40),
        ) {
            let mut rest = &bytes[..];
            let mut chunks = Vec::new();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (head, tail) = rest.split_at((*cut).min(rest.len()));
                chunks.push(head);
                rest = tail;
            }
            prop_assert_eq!(parse(chunks), parse([&bytes[..]]));
        }
    }
}
