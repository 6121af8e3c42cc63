//! Carries out what runs want: model calls through a `ModelPort`, tools through the registry.
//! Failures are data here; attempts, backoff and money belong to the driver.

use crate::tools::Registry;
use async_trait::async_trait;
use engine::blob::Hash;
use engine::effect::{
    CallError, CallFailure, EffectId, Job, ModelCall, ModelReply, Outcome, RunContext, ToolCall, Work,
};
use engine::request::{Request, Speaker};
use runtime::ports::{Performer, Store};
use std::collections::HashMap;
use std::sync::Arc;

/// Whoever speaks to models. `idempotency_key` is `<effect>:<attempt>`.
#[async_trait]
pub trait ModelPort: Send + Sync + 'static {
    async fn call(
        &self,
        call: &ModelCall,
        messages: Vec<(Speaker, String)>,
        idempotency_key: &str,
    ) -> Result<ModelReply, CallError>;
}

pub struct EffectsPerformer {
    pub library: Arc<dyn Store>,
    pub registry: Registry,
    pub models: Arc<dyn ModelPort>,
}

impl EffectsPerformer {
    async fn ask(&self, call: &ModelCall, effect: &EffectId, attempt: u32) -> Result<ModelReply, CallError> {
        let messages = self.messages(&call.request).await.map_err(unread)?;
        self.models.call(call, messages, &format!("{effect}:{attempt}")).await
    }

    /// The request as text, each stored part fetched once.
    async fn messages(&self, request: &Request) -> Result<Vec<(Speaker, String)>, String> {
        let mut hashes = request.stored();
        hashes.sort_unstable();
        hashes.dedup();
        let texts = self.library.blobs(&hashes).await.map_err(|error| error.to_string())?;
        let stored: HashMap<Hash, String> = hashes.into_iter().zip(texts).collect();
        request
            .render(|hash| stored.get(&hash).cloned())
            .map_err(|hash| format!("a stored part of it is missing: {hash}"))
    }

    async fn run_tool(&self, run: &RunContext, call: &ToolCall, effect: &EffectId) -> Outcome {
        let store: &dyn Store = &*self.library;
        Outcome::Tool(self.registry.call(store, run, call, effect).await)
    }
}

#[async_trait]
impl Performer for EffectsPerformer {
    async fn perform(&self, job: Job) -> Outcome {
        match &job.work {
            Work::Model(call) => Outcome::Model(self.ask(call, &job.effect, job.attempt).await),
            Work::Tool(call) => self.run_tool(&job.run, call, &job.effect).await,
        }
    }
}

/// Nothing left the machine, so nothing was paid; the next attempt reads again.
fn unread(reason: String) -> CallError {
    CallError {
        failure: CallFailure::Interrupted,
        message: format!("the request could not be read from the store: {reason}"),
        retry_after_ms: None,
        maybe_paid: false,
    }
}
