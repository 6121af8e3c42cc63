//! An answer while it arrives. It becomes a reply only when it reached its end without an error, and has text or was counted as
//! output; everything else is an interrupted call.

use super::usage::ReportedUsage;

/// More text than any model writes in one answer.
pub(super) const MOST_TEXT: usize = 4 * 1024 * 1024;
/// More calls than any model makes at once. Each piece of an answer looks for its call among them.
const MOST_CALLS: usize = 256;

#[derive(Default)]
pub(super) struct PartialReply {
    text: String,
    /// Something other than white space was said.
    has_words: bool,
    calls: Vec<Call>,
    /// Everything that was written, seen or not. Counted as it comes: an answer has up to a million pieces.
    written: usize,
    pub usage: ReportedUsage,
    pub id: Option<String>,
    /// Why the model stopped, in the server's word.
    pub stop: Option<String>,
    /// The wire's own terminator was seen.
    pub ended: bool,
    /// The server said in the middle that it failed.
    pub error: Option<String>,
}

/// A tool call under construction.
#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
}

/// A piece of a tool call; servers leave out whatever they like.
#[derive(Default)]
pub(super) struct CallDelta<'a> {
    pub index: Option<u64>,
    pub id: Option<&'a str>,
    pub name: Option<&'a str>,
    pub arguments: Option<&'a str>,
}

impl PartialReply {
    pub fn say(&mut self, text: &str) {
        self.written += text.len();
        self.has_words |= !text.trim().is_empty();
        self.text.push_str(text);
    }

    /// Reasoning is paid for and is no part of the answer.
    pub fn think(&mut self, text: &str) {
        self.written += text.len();
    }

    pub fn call(&mut self, delta: CallDelta<'_>) {
        let known = self.calls.iter().rposition(|call| match (delta.index, delta.id) {
            (Some(index), _) => call.index == Some(index),
            (None, Some(id)) => call.id.as_deref() == Some(id),
            (None, None) => true,
        });
        self.written += delta.name.map_or(0, str::len) + delta.arguments.map_or(0, str::len);
        if known.is_none() && self.calls.len() >= MOST_CALLS {
            return;
        }
        let at = known.unwrap_or_else(|| {
            self.calls.push(Call { index: delta.index, id: delta.id.map(str::to_owned), ..Call::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        call.name.push_str(delta.name.unwrap_or(""));
        call.arguments.push_str(delta.arguments.unwrap_or(""));
    }

    /// What the model said: the arguments of the tool it was made to call, else its words, else the
    /// arguments of whatever it called instead.
    pub fn answer(&self, role: &str) -> &str {
        let forced = self.calls.iter().find(|call| call.name == role && !call.arguments.is_empty());
        let words = || self.has_words.then_some(self.text.as_str());
        forced.map(|call| call.arguments.as_str()).or_else(words).unwrap_or_else(|| {
            self.calls.iter().map(|call| call.arguments.as_str()).find(|arguments| !arguments.is_empty()).unwrap_or("")
        })
    }

    /// Everything that was written, seen or not.
    pub fn bytes(&self) -> usize {
        self.written
    }

    /// The model came to an end and its output was counted, whether or not any of it is an answer.
    pub fn was_written(&self) -> bool {
        self.stop.is_some() && (self.truncated() || self.usage.output.is_some_and(|tokens| tokens > 0))
    }

    pub fn truncated(&self) -> bool {
        matches!(self.stop.as_deref(), Some("length" | "max_tokens" | "model_context_window_exceeded"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece<'a>(
        index: Option<u64>,
        id: Option<&'a str>,
        name: Option<&'a str>,
        arguments: Option<&'a str>,
    ) -> CallDelta<'a> {
        CallDelta { index, id, name, arguments }
    }

    #[test]
    fn interleaved_calls_are_told_apart_and_one_without_index_is_kept() {
        let mut reply = PartialReply::default();
        reply.call(piece(Some(0), Some("a"), Some("other"), Some("{")));
        reply.call(piece(Some(1), Some("b"), Some("homework_repair"), None));
        reply.call(piece(Some(0), None, None, Some("}")));
        reply.call(piece(Some(1), None, None, Some("{\"x\":1}")));
        assert_eq!(reply.answer("homework_repair"), "{\"x\":1}");
        let mut reply = PartialReply::default();
        reply.call(piece(None, Some("a"), Some("f"), Some("{\"y\"")));
        reply.call(piece(None, None, None, Some(":2}")));
        assert_eq!(reply.answer("homework_repair"), "{\"y\":2}");
    }
}
