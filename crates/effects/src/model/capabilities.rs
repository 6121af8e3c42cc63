//! What a model server accepts, learned per provider and model for the life of the process.
//!
//! Schema modes fall back in one direction only, and only when the server refused the form of a request: each mode is worse than
//! the one before, and an overloaded server must not lose its schema for good.

use super::config::SchemaMode;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenField {
    MaxTokens,
    MaxCompletionTokens,
}

/// The form of requests to one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Capabilities {
    pub format: SchemaMode,
    pinned: bool,
    pub tokens: TokenField,
    pub stream: bool,
}

impl Capabilities {
    pub(super) fn new(pinned: Option<SchemaMode>, stream: bool) -> Capabilities {
        let format = pinned.unwrap_or(SchemaMode::Schema);
        Capabilities { format, pinned: pinned.is_some(), tokens: TokenField::MaxTokens, stream }
    }

    /// Another form to try, if this refusal is about the form of the request and there is one left.
    pub(super) fn after(self, status: u16, body: &str) -> Option<Capabilities> {
        if !matches!(status, 400 | 422 | 501) {
            return None;
        }
        let body = body.to_lowercase();
        let words: Vec<&str> = body.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let about = |wanted: &str| wanted.split(' ').any(|name| words.contains(&name));
        let wants_other_name = about("max_completion_tokens") || (about("max_tokens") && about(UNKNOWN_FIELD));
        if wants_other_name && self.tokens == TokenField::MaxTokens {
            return Some(Capabilities { tokens: TokenField::MaxCompletionTokens, ..self });
        }
        if about(STREAM) && self.stream {
            return Some(Capabilities { stream: false, ..self });
        }
        if about(FORMAT) && !self.pinned {
            return self.fallback().map(|format| Capabilities { format, ..self });
        }
        None
    }

    fn fallback(self) -> Option<SchemaMode> {
        match self.format {
            SchemaMode::Schema => Some(SchemaMode::JsonObject),
            SchemaMode::JsonObject => Some(SchemaMode::Text),
            SchemaMode::Text => None,
        }
    }
}

/// Words by which servers say that a request has a field they do not take.
const UNKNOWN_FIELD: &str =
    "unsupported supported unknown unrecognized unexpected extra extra_forbidden permitted allowed";
const STREAM: &str = "stream streaming stream_options include_usage";
const FORMAT: &str = "response_format json_schema json_object schema schemas structured grammar guided_json strict tools tool \
    tool_choice input_schema function functions";

#[derive(Default)]
pub(super) struct LearnedCapabilities(Mutex<HashMap<(String, String), Capabilities>>);

impl LearnedCapabilities {
    pub(super) fn of(&self, provider: &str, model: &str) -> Option<Capabilities> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(provider.to_owned(), model.to_owned())).copied()
    }

    pub(super) fn learn(&self, provider: &str, model: &str, capabilities: Capabilities) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert((provider.to_owned(), model.to_owned()), capabilities);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(capabilities: Capabilities, body: &str) -> Option<Capabilities> {
        capabilities.after(400, body)
    }

    #[test]
    fn each_refusal_changes_the_one_thing_it_is_about() {
        let start = Capabilities::new(None, true);
        let tokens = after(start, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.").unwrap();
        assert_eq!(tokens, Capabilities { tokens: TokenField::MaxCompletionTokens, ..start });
        assert_eq!(after(start, "Unknown field stream_options"), Some(Capabilities { stream: false, ..start }));
        assert_eq!(
            after(start, "response_format: json_schema is not supported").unwrap().format,
            SchemaMode::JsonObject
        );
    }

    #[test]
    fn the_fallback_ends_and_other_refusals_do_not_cause_it() {
        let text = Capabilities { format: SchemaMode::Text, ..Capabilities::new(None, true) };
        assert_eq!(after(text, "no response_format"), None);
        assert_eq!(after(Capabilities::new(Some(SchemaMode::Schema), true), "no response_format"), None);
        assert_eq!(after(Capabilities::new(None, true), "upstream: max_tokens is too large: 9000"), None);
        assert_eq!(Capabilities::new(None, true).after(500, "response_format"), None);
    }
}
