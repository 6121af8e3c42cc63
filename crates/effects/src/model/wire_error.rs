//! Turns what happened on the wire into the failure that the run acts on, with a message for the user.

use super::secrets::Secrets;
use crate::text::cut;
use engine::effect::{CallError, CallFailure};
use serde_json::Value;

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum WireError {
    /// The request was never sent.
    Unreached(String),
    /// The request was never sent, because of this machine.
    OutOfFiles,
    /// The server answered with an error status.
    Refused { status: u16, body: String, retry_after_ms: Option<i64> },
    /// The request was sent, and no complete answer came back.
    Broke(String),
}

const OUT_OF_FILES: &str = "was not called: this process has too many open files. The call is repeated in a few seconds; \
    if this continues, raise the limit (ulimit -n) or lower --workers";

/// The longest part of a server's message that is shown.
const MAX_MESSAGE_CHARS: usize = 300;

impl WireError {
    /// An error that the server reported inside an answer. One about money is as final as a refusal.
    pub(super) fn reported(how: &str, error: String) -> WireError {
        if is_about_money(&error) {
            WireError::Refused { status: 402, body: error, retry_after_ms: None }
        } else {
            WireError::Broke(format!("{how}: {error}"))
        }
    }

    /// `who` names the provider and its address.
    pub(super) fn report(self, who: &str, model: &str, secrets: &Secrets) -> CallError {
        let (failure, reason, retry_after_ms, maybe_paid) = match self {
            WireError::Unreached(reason) => {
                (CallFailure::Unreachable, format!("could not be reached: {reason}"), None, false)
            }
            WireError::OutOfFiles => (CallFailure::Local, OUT_OF_FILES.to_owned(), None, false),
            WireError::Broke(reason) => (CallFailure::Interrupted, format!("did not answer: {reason}"), None, true),
            WireError::Refused { status, body, retry_after_ms } => {
                let failure = classify(status, &body);
                (failure, refusal(status, &body, model, failure), retry_after_ms, is_gateway_timeout(status))
            }
        };
        // Redacted before it is shortened: half a key would not be recognised.
        let message = cut(&secrets.redact(&format!("{who} {reason}")), MAX_MESSAGE_CHARS + who.len());
        CallError { failure, message, retry_after_ms, maybe_paid }
    }
}

fn is_about_money(body: &str) -> bool {
    let body = body.to_lowercase();
    [
        "insufficient_quota",
        "insufficient quota",
        "quota exhausted",
        "quota_exhausted",
        "billing_hard_limit",
        "billing_not_active",
        "credit balance is too low",
        "insufficient balance",
        "insufficient_balance",
        "insufficient credits",
        "insufficient_credits",
    ]
    .iter()
    .any(|phrase| body.contains(phrase))
}

fn classify(status: u16, body: &str) -> CallFailure {
    match status {
        402 => CallFailure::Quota,
        400..500 if is_about_money(body) => CallFailure::Quota,
        401 | 403 => CallFailure::Auth,
        429 => CallFailure::RateLimited,
        408 | 409 | 425 | 500.. => CallFailure::Unreachable,
        _ => CallFailure::Rejected,
    }
}

/// Statuses of a proxy that gave up on a server which may still be answering.
fn is_gateway_timeout(status: u16) -> bool {
    matches!(status, 408 | 502 | 504 | 524)
}

/// The prompt does not fit the model, so no other form of the request would help.
pub(super) fn is_too_long(body: &str) -> bool {
    let body = body.to_lowercase();
    ["context_length_exceeded", "maximum context length", "context window", "prompt is too long"]
        .iter()
        .any(|phrase| body.contains(phrase))
}

fn refusal(status: u16, body: &str, model: &str, failure: CallFailure) -> String {
    let reason = reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("");
    let line = format!("{status} {reason}").trim_end().to_owned();
    let said = message_in(body);
    let hint = match (failure, status) {
        (CallFailure::Auth, _) => "the key was not accepted; check the variable that holds it. ",
        (CallFailure::Quota, _) => "the account has no credit left; add credit, or choose another provider. ",
        (CallFailure::Rejected, 404) => {
            return format!(
                "answered {line} for model {model:?}; check the model's name and base_url. It said: {said}"
            );
        }
        (CallFailure::Rejected, 300..400) => "it redirects; set base_url to the address it redirects to. ",
        (CallFailure::Rejected, 413) => "the request is too large for it. ",
        (CallFailure::Rejected, _) if is_too_long(body) => {
            return format!(
                "answered {line}: the prompt does not fit the context window of {model:?}; set models.\"{model}\".context_window to its true size. It said: {said}"
            );
        }
        _ => "",
    };
    format!("answered {line}: {hint}It said: {said}")
}

/// The message inside an error body, or the whole body.
fn message_in(body: &str) -> String {
    let document: Option<Value> = serde_json::from_str(body).ok();
    let message = document.as_ref().and_then(|document| {
        super::wire::error_text(document)
            .or_else(|| ["message", "detail"].iter().find_map(|field| document.get(field)?.as_str().map(str::to_owned)))
    });
    let text = message.unwrap_or_else(|| body.split_whitespace().collect::<Vec<_>>().join(" "));
    if text.is_empty() { "nothing".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_grouped_by_what_the_run_does_next() {
        use CallFailure::*;
        for (status, body, failure) in [
            (401, "", Auth),
            (403, "", Auth),
            (402, "", Quota),
            (429, "{\"error\":{\"code\":\"insufficient_quota\"}}", Quota),
            (429, "quota exhausted", Quota),
            (400, "Your credit balance is too low to access the API", Quota),
            (429, "slow down", RateLimited),
            (408, "", Unreachable),
            (500, "<html>", Unreachable),
            (503, "", Unreachable),
            (529, "overloaded_error", Unreachable),
            (400, "bad", Rejected),
            (404, "no such model", Rejected),
            (413, "", Rejected),
            (302, "", Rejected),
        ] {
            assert_eq!(classify(status, body), failure, "{status} {body}");
        }
    }

    #[test]
    fn e4_a_key_at_the_cut_is_not_partly_shown() {
        let key = "sk-canary-0123456789";
        let secrets = Secrets::new([key.to_owned()]);
        for fill in 250..320 {
            let error =
                WireError::Refused { status: 401, body: format!("{}{key}", "x".repeat(fill)), retry_after_ms: None };
            let message = error.report("openai at http://h", "m", &secrets).message;
            assert!(!message.contains("sk-c"), "{message}");
        }
    }
}
