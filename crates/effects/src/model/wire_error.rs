//! Turns what happened on the wire into the failure that the run acts on, with a message for people.

use super::secrets::Secrets;
use engine::effect::{CallError, CallFailure};
use serde_json::Value;

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum WireError {
    /// The request never left.
    Unreached(String),
    /// The request never left, and that is this machine's doing.
    OutOfFiles,
    /// The server said no.
    Refused { status: u16, body: String, retry_after_ms: Option<i64> },
    /// The request left, and no whole answer came back.
    Broke(String),
}

const OUT_OF_FILES: &str = "was not asked: this process has too many open files. The call is made again in a few seconds; \
    raise the limit (ulimit -n) or lower --workers if it stays so";

/// As much of a server's words as people need.
const MOST_SAID: usize = 300;

impl WireError {
    /// An error the server put into an answer that began well. One about money is as final as a refusal.
    pub fn reported(how: &str, error: String) -> WireError {
        if is_about_money(&error) {
            WireError::Refused { status: 402, body: error, retry_after_ms: None }
        } else {
            WireError::Broke(format!("{how}: {error}"))
        }
    }

    /// `who` names the provider and its address.
    pub fn report(self, who: &str, model: &str, secrets: &Secrets) -> CallError {
        let (failure, words, retry_after_ms, maybe_paid) = match self {
            WireError::Unreached(reason) => {
                (CallFailure::Unreachable, format!("could not be reached: {reason}"), None, false)
            }
            WireError::OutOfFiles => (CallFailure::Local, OUT_OF_FILES.to_owned(), None, false),
            WireError::Broke(reason) => (CallFailure::Interrupted, format!("did not answer: {reason}"), None, true),
            WireError::Refused { status, body, retry_after_ms } => {
                let failure = classify(status, &body);
                (failure, refusal(status, &body, model, failure), retry_after_ms, gave_up_midway(status))
            }
        };
        // Redacted before it is shortened: the rest of a key cut in two would not be recognised.
        let message = shorten(&secrets.redact(&format!("{who} {words}")), MOST_SAID + who.len());
        CallError { failure, message, retry_after_ms, maybe_paid }
    }
}

fn is_about_money(body: &str) -> bool {
    let said = body.to_lowercase();
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
    .any(|word| said.contains(word))
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

/// Statuses by which something in between gives up on a server that may be answering.
fn gave_up_midway(status: u16) -> bool {
    matches!(status, 408 | 502 | 504 | 524)
}

/// The prompt does not fit the model: no shape of the request would help.
pub(super) fn is_too_long(body: &str) -> bool {
    let said = body.to_lowercase();
    ["context_length_exceeded", "maximum context length", "context window", "prompt is too long"]
        .iter()
        .any(|word| said.contains(word))
}

fn refusal(status: u16, body: &str, model: &str, failure: CallFailure) -> String {
    let reason = reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("");
    let line = format!("{status} {reason}").trim_end().to_owned();
    let said = said(body);
    let hint = match (failure, status) {
        (CallFailure::Auth, _) => "the key was not accepted; check the variable that holds it. ",
        (CallFailure::Quota, _) => "the account has no credit left. ",
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

/// The message inside an error document, or the document.
fn said(body: &str) -> String {
    let document: Option<Value> = serde_json::from_str(body).ok();
    let message = document.as_ref().and_then(|document| {
        super::wire::error_text(document)
            .or_else(|| ["message", "detail"].iter().find_map(|field| document.get(field)?.as_str().map(str::to_owned)))
    });
    let text = message.unwrap_or_else(|| body.split_whitespace().collect::<Vec<_>>().join(" "));
    if text.is_empty() { "nothing".into() } else { text }
}

fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
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
    fn e4_a_key_that_straddles_the_cut_is_not_half_shown() {
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
