//! Performs one attempt of an effect. The run always learns the outcome, even of a panic.

use crate::ports::Performer;
use engine::effect::{CallError, CallFailure, EffectAttempt, Outcome, ToolOutcome, Work};
use futures::FutureExt;
use std::panic::AssertUnwindSafe;

/// A performer that panics has failed at this one call; the run learns of it like of any other failure.
pub(crate) async fn perform(performer: &dyn Performer, attempt: EffectAttempt) -> Outcome {
    let (is_model, is_external) =
        (matches!(attempt.work, Work::Model(_)), matches!(&attempt.work, Work::Tool(call) if call.external.is_some()));
    let message = format!("the performer of {} panicked", attempt.effect);
    match AssertUnwindSafe(performer.perform(attempt)).catch_unwind().await {
        Ok(outcome) => outcome,
        // A model call may have been billed.
        Err(_) if is_model => Outcome::Model(Err(CallError {
            failure: CallFailure::Interrupted,
            message,
            retry_after_ms: None,
            maybe_paid: true,
        })),
        // An external tool may have acted; nobody knows.
        Err(_) if is_external => Outcome::Lost(message),
        // A built-in tool writes nothing itself, so it only failed.
        Err(_) => Outcome::Tool(ToolOutcome::refused(message)),
    }
}
