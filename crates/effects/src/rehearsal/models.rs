//! The rehearsal model as a `ModelPort`.

use super::answer;
use crate::model::OnDelta;
use crate::performer::ModelPort;
use async_trait::async_trait;
use engine::effect::{CallError, ModelCall, ModelReply, Usage};
use engine::request::Speaker;
use std::time::Duration;

/// The provider's name in `rehearsal/default`.
pub const PROVIDER: &str = "rehearsal";

/// The most pieces that an answer is written in.
const PIECES: u32 = 20;

/// The built-in model as a provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct RehearsalModels {
    /// How long each answer takes: zero for work, more for a demonstration.
    pub pace: Duration,
}

#[async_trait]
impl ModelPort for RehearsalModels {
    async fn call(
        &self,
        call: &ModelCall,
        messages: Vec<(Speaker, String)>,
        _idempotency_key: &str,
        on_delta: Option<OnDelta<'_>>,
    ) -> Result<ModelReply, CallError> {
        let text = answer(&call.model.model, call.role, &messages);
        if !self.pace.is_zero() {
            self.write(&text, on_delta).await;
        }
        let input = tokens(messages.iter().map(|(_, text)| text.len()).sum());
        let output = tokens(text.len());
        let truncated = output > u64::from(call.max_tokens);
        let usage = Usage { input, cached: 0, output, estimated: false };
        Ok(ModelReply { text, usage, truncated, provider_request_id: None })
    }
}

impl RehearsalModels {
    /// Writes the answer piece by piece, for as long as an answer takes.
    async fn write(&self, text: &str, on_delta: Option<OnDelta<'_>>) {
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(letters.len().div_ceil(PIECES as usize).max(1)) {
            tokio::time::sleep(self.pace / PIECES).await;
            if let Some(on_delta) = on_delta {
                on_delta(&piece.iter().collect::<String>());
            }
        }
    }
}

/// The rehearsal model counts four bytes as a token.
fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}
