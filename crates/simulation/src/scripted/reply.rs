//! A reply of a script, and the faults in sending it. The field names are also the keys of the JSON in a script file.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    /// The answer as a JSON value.
    pub json: Option<Value>,
    /// The answer as text, instead of `json`.
    pub text: Option<String>,
    /// An error status instead of an answer, with `body` as the body.
    pub status: Option<u16>,
    pub headers: BTreeMap<String, String>,
    /// The body of the response, sent as it is. `content-type` comes from `headers`.
    pub body: Option<String>,

    /// Input tokens (cached ones included), cached tokens, output tokens.
    pub tokens: Option<(u64, u64, u64)>,
    /// A usage object that is sent as it is, for tests with wrong usage.
    pub raw_usage: Option<Value>,
    pub no_usage: bool,
    /// The stop reason, instead of the ordinary one.
    pub finish: Option<String>,

    /// A wait before the first byte.
    pub delay_ms: u64,
    /// `(bytes, ms)`: a wait of so many milliseconds after so many bytes.
    pub stall_after: Option<(usize, u64)>,
    /// The connection is closed after so many bytes of the body.
    pub cut_after: Option<usize>,
    /// The stream has status 200, sends half of the answer and then this error.
    pub error_midway: Option<String>,
    /// The stream ends cleanly without its terminator.
    pub no_terminator: bool,
    /// The size of each chunk of the body.
    pub chunk_bytes: Option<usize>,
    /// Every piece of the answer is sent twice.
    pub twice: bool,
    /// The stream repeats pieces of the answer without end.
    pub endless: bool,
    /// Keep-alive events before the answer, 20 ms apart.
    pub pings: u32,
    /// The answer is plain JSON even when the request asks for a stream.
    pub never_stream: bool,
}

/// The tokens of a reply that does not set them.
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

    /// An event stream with these bytes.
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

    pub fn raw_usage(self, usage: Value) -> Reply {
        Reply { raw_usage: Some(usage), ..self }
    }

    pub fn no_usage(self) -> Reply {
        Reply { no_usage: true, ..self }
    }

    pub fn finish(self, reason: &str) -> Reply {
        Reply { finish: Some(reason.to_owned()), ..self }
    }

    pub fn delay_ms(self, ms: u64) -> Reply {
        Reply { delay_ms: ms, ..self }
    }

    pub fn stall_after(self, bytes: usize, ms: u64) -> Reply {
        Reply { stall_after: Some((bytes, ms)), ..self }
    }

    pub fn cut_after(self, bytes: usize) -> Reply {
        Reply { cut_after: Some(bytes), ..self }
    }

    pub fn error_midway(self, message: &str) -> Reply {
        Reply { error_midway: Some(message.to_owned()), ..self }
    }

    pub fn no_terminator(self) -> Reply {
        Reply { no_terminator: true, ..self }
    }

    pub fn chunk_bytes(self, bytes: usize) -> Reply {
        Reply { chunk_bytes: Some(bytes), ..self }
    }

    pub fn twice(self) -> Reply {
        Reply { twice: true, ..self }
    }

    pub fn endless(self) -> Reply {
        Reply { endless: true, ..self }
    }

    pub fn pings(self, count: u32) -> Reply {
        Reply { pings: count, ..self }
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

    /// The answer in the pieces that a stream sends.
    pub(super) fn pieces(&self) -> Vec<String> {
        let words: Vec<char> = self.words().chars().collect();
        let size = (words.len() / 8).clamp(1, 4096).max(16);
        words.chunks(size).map(|piece| piece.iter().collect()).collect()
    }

    pub(super) fn figures(&self) -> (u64, u64, u64) {
        self.tokens.unwrap_or(TOKENS)
    }

    /// Whether a client that receives all of it has the whole answer.
    pub(super) fn is_whole(&self) -> bool {
        self.status.is_none_or(|status| status == 200)
            && self.cut_after.is_none()
            && self.error_midway.is_none()
            && !self.no_terminator
            && !self.endless
    }
}
