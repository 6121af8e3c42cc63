//! What a script answers, and how the answer goes wrong. The fields are also the JSON of a script file.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    /// The answer, as a value…
    pub json: Option<Value>,
    /// …or word for word.
    pub text: Option<String>,
    /// No answer but this status, with `body` as it is.
    pub status: Option<u16>,
    pub headers: BTreeMap<String, String>,
    /// The bytes of the response instead of any rendering; `content-type` comes from `headers`.
    pub body: Option<String>,

    /// Input (cached included), cached, output.
    pub tokens: Option<(u64, u64, u64)>,
    /// A usage object in the wire's own words: the place for lies.
    pub raw_usage: Option<Value>,
    pub no_usage: bool,
    /// Why the model stopped, instead of the ordinary reason.
    pub finish: Option<String>,

    /// Silence before the first byte.
    pub delay_ms: u64,
    /// Silence of so many milliseconds after so many bytes.
    pub stall_after: Option<(usize, u64)>,
    /// The connection breaks after so many bytes of the body.
    pub cut_after: Option<usize>,
    /// Half of the answer, then this error inside a 200.
    pub error_midway: Option<String>,
    /// Leave out the terminator and close cleanly.
    pub no_terminator: bool,
    /// The size of each chunk of the body.
    pub chunk_bytes: Option<usize>,
    /// Every piece of the answer is sent twice.
    pub twice: bool,
    /// Pieces of the answer for ever.
    pub endless: bool,
    /// Keep-alive events before the answer, 20 ms apart.
    pub pings: u32,
    /// Plain JSON even when a stream was asked for.
    pub never_stream: bool,
}

/// What a reply costs unless it says otherwise.
pub const TOKENS: (u64, u64, u64) = (100, 0, 20);

impl Reply {
    pub fn json(value: Value) -> Reply {
        Reply { json: Some(value), ..Reply::default() }
    }

    pub fn text(text: impl Into<String>) -> Reply {
        Reply { text: Some(text.into()), ..Reply::default() }
    }

    pub fn status(status: u16, body: impl Into<String>) -> Reply {
        Reply { status: Some(status), body: Some(body.into()), ..Reply::default() }
    }

    /// Bytes of an event stream, as they are.
    pub fn raw_stream(body: impl Into<String>) -> Reply {
        Reply { body: Some(body.into()), ..Reply::default() }.header("content-type", "text/event-stream")
    }

    pub fn header(mut self, name: &str, value: &str) -> Reply {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }

    pub fn tokens(self, input: u64, cached: u64, output: u64) -> Reply {
        Reply { tokens: Some((input, cached, output)), ..self }
    }

    pub fn finish(self, reason: &str) -> Reply {
        Reply { finish: Some(reason.to_owned()), ..self }
    }

    pub fn delay_ms(self, ms: u64) -> Reply {
        Reply { delay_ms: ms, ..self }
    }

    pub fn never_stream(self) -> Reply {
        Reply { never_stream: true, ..self }
    }

    pub(super) fn words(&self) -> String {
        match (&self.json, &self.text) {
            (Some(value), _) => value.to_string(),
            (None, Some(text)) => text.clone(),
            (None, None) => String::new(),
        }
    }

    /// The answer in the pieces a stream carries.
    pub(super) fn pieces(&self) -> Vec<String> {
        let words: Vec<char> = self.words().chars().collect();
        let size = (words.len() / 8).clamp(1, 4096).max(16);
        words.chunks(size).map(|piece| piece.iter().collect()).collect()
    }

    pub(super) fn figures(&self) -> (u64, u64, u64) {
        self.tokens.unwrap_or(TOKENS)
    }

    /// Whether a client that hears all of it has the whole answer.
    pub(super) fn is_whole(&self) -> bool {
        self.status.is_none_or(|status| status == 200)
            && self.cut_after.is_none()
            && self.error_midway.is_none()
            && !self.no_terminator
            && !self.endless
    }
}
