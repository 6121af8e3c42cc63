//! The rehearsal model behind the port every model sits behind.

use super::answer;
use crate::performer::ModelPort;
use async_trait::async_trait;
use engine::effect::{CallError, ModelCall, ModelReply, Usage};
use engine::request::Speaker;
use std::time::Duration;

/// The provider's name in `rehearsal/default`.
pub const PROVIDER: &str = "rehearsal";

/// The built-in model as a provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct RehearsalModels {
    /// How long each answer takes: none for work, some for a demonstration that people watch.
    pub pace: Duration,
}

#[async_trait]
impl ModelPort for RehearsalModels {
    async fn call(
        &self,
        call: &ModelCall,
        messages: Vec<(Speaker, String)>,
        _idempotency_key: &str,
    ) -> Result<ModelReply, CallError> {
        if !self.pace.is_zero() {
            tokio::time::sleep(self.pace).await;
        }
        let text = answer(&call.model.model, call.role, &messages);
        let input = tokens(messages.iter().map(|(_, text)| text.len()).sum());
        let output = tokens(text.len());
        let truncated = output > u64::from(call.max_tokens);
        let usage = Usage { input, cached: 0, output, estimated: false };
        Ok(ModelReply { text, usage, truncated, provider_request_id: None })
    }
}

/// Four bytes are a token here.
fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}
