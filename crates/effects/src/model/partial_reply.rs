//! An answer that is still arriving. It becomes a reply only if it ended without an error and has text or was counted as output;
//! otherwise the call was interrupted.

use super::usage::ReportedUsage;

/// More text than any model writes in one answer.
pub(super) const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// More calls than any model makes at once. Each piece of an answer searches them, so their number is limited.
const MAX_CALLS_PER_ANSWER: usize = 256;

#[derive(Default)]
pub(super) struct PartialReply {
    text: String,
    /// The text has more than white space.
    has_text: bool,
    calls: Vec<Call>,
    /// All output in bytes, reasoning included. Counted as it arrives, since an answer has up to a million pieces.
    written: usize,
    pub usage: ReportedUsage,
    pub id: Option<String>,
    /// Why the model stopped, in the server's own term.
    pub stop: Option<String>,
    /// The terminator of the wire format was read.
    pub ended: bool,
    /// The error that the server reported inside the answer.
    pub error: Option<String>,
}

/// A tool call that is still arriving.
#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
}

/// A piece of a tool call. Servers leave out any of these.
#[derive(Default)]
pub(super) struct CallDelta<'a> {
    pub index: Option<u64>,
    pub id: Option<&'a str>,
    pub name: Option<&'a str>,
    pub arguments: Option<&'a str>,
}

impl PartialReply {
    pub(super) fn add_text(&mut self, text: &str) {
        self.written += text.len();
        self.has_text |= !text.trim().is_empty();
        self.text.push_str(text);
    }

    /// Reasoning is paid for and not part of the answer.
    pub(super) fn add_reasoning(&mut self, text: &str) {
        self.written += text.len();
    }

    pub(super) fn add_call(&mut self, delta: CallDelta<'_>) {
        let known = self.calls.iter().rposition(|call| match (delta.index, delta.id) {
            (Some(index), _) => call.index == Some(index),
            (None, Some(id)) => call.id.as_deref() == Some(id),
            (None, None) => true,
        });
        self.written += delta.name.map_or(0, str::len) + delta.arguments.map_or(0, str::len);
        if known.is_none() && self.calls.len() >= MAX_CALLS_PER_ANSWER {
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

    /// The arguments of the tool that the model was forced to call, else its text, else the arguments of another call.
    pub(super) fn answer(&self, role: &str) -> &str {
        let forced = self.calls.iter().find(|call| call.name == role && !call.arguments.is_empty());
        let text = || self.has_text.then_some(self.text.as_str());
        forced.map(|call| call.arguments.as_str()).or_else(text).unwrap_or_else(|| {
            self.calls.iter().map(|call| call.arguments.as_str()).find(|arguments| !arguments.is_empty()).unwrap_or("")
        })
    }

    /// All output, reasoning included.
    pub(super) fn bytes(&self) -> usize {
        self.written
    }

    /// The model finished and its output was counted, whether or not any of it is an answer.
    pub(super) fn was_written(&self) -> bool {
        self.stop.is_some() && (self.truncated() || self.usage.output.is_some_and(|tokens| tokens > 0))
    }

    pub(super) fn truncated(&self) -> bool {
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
    fn interleaved_calls_are_kept_apart_and_a_call_without_index_is_kept() {
        let mut reply = PartialReply::default();
        reply.add_call(piece(Some(0), Some("a"), Some("other"), Some("{")));
        reply.add_call(piece(Some(1), Some("b"), Some("homework_repair"), None));
        reply.add_call(piece(Some(0), None, None, Some("}")));
        reply.add_call(piece(Some(1), None, None, Some("{\"x\":1}")));
        assert_eq!(reply.answer("homework_repair"), "{\"x\":1}");
        let mut reply = PartialReply::default();
        reply.add_call(piece(None, Some("a"), Some("f"), Some("{\"y\"")));
        reply.add_call(piece(None, None, None, Some(":2}")));
        assert_eq!(reply.answer("homework_repair"), "{\"y\":2}");
    }
}
