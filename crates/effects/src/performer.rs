//! Carries out the effects of runs: model calls through a `ModelPort`, tools through the registry. A failure is an outcome here;
//! the driver decides about attempts, backoff and money.

use crate::delta_throttle::DeltaThrottle;
use crate::evidence;
use crate::model::OnDelta;
use crate::tools::{self, Action, ActionError, Registry, TaskTools, Toolboxes};
use async_trait::async_trait;
use engine::blob::Hash;
use engine::effect::{
    CallError, CallFailure, EffectAttempt, EffectId, ModelCall, ModelReply, Outcome, RunContext, ToolCall, ToolOutcome,
    Work,
};
use engine::request::{Request, Speaker};
use runtime::live::Live;
use runtime::ports::{Library, Performer};
use std::collections::HashMap;
use std::sync::Arc;

/// Calls models. `idempotency_key` is `<effect>:<attempt>`; `on_delta` gets the answer while it is written, if the model streams.
#[async_trait]
pub trait ModelPort: Send + Sync + 'static {
    async fn call(
        &self,
        call: &ModelCall,
        messages: Vec<(Speaker, String)>,
        idempotency_key: &str,
        on_delta: Option<OnDelta<'_>>,
    ) -> Result<ModelReply, CallError>;
}

pub struct EffectsPerformer {
    pub library: Arc<dyn Library>,
    pub registry: Registry,
    pub toolboxes: Toolboxes,
    pub task_tools: Arc<dyn TaskTools>,
    pub models: Arc<dyn ModelPort>,
    /// Gets answers while they are written.
    pub live: Live,
}

impl EffectsPerformer {
    async fn call_model(&self, call: &ModelCall, attempt: &EffectAttempt) -> Result<ModelReply, CallError> {
        let messages = self.messages(&call.request).await.map_err(unreadable)?;
        let deltas = DeltaThrottle::new(&self.live, attempt, call.role);
        let idempotency_key = format!("{}:{}", attempt.effect, attempt.number);
        self.models.call(call, messages, &idempotency_key, Some(&|piece| deltas.push(piece))).await
    }

    /// The request as text. Each stored part is read once.
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
        let store: &dyn Library = &*self.library;
        let narrowed;
        let run = match call.agent {
            None => run,
            Some(agent) => match tools::agent_scope(store, &self.registry, run, call, agent).await {
                Ok(agent_scope) => {
                    narrowed = agent_scope;
                    &narrowed
                }
                Err(ActionError::Refused(why)) => return Outcome::Tool(ToolOutcome::refused(why)),
                Err(ActionError::Store(error)) => return Outcome::Unavailable(error.to_string()),
            },
        };
        if call.external.is_some() {
            return self.toolboxes.call(store, run, call, effect).await;
        }
        let outcome = match tools::is_task_tool(call) {
            true => self.task_tools.call(run, call, effect).await,
            false => self.registry.call(store, run, call, effect).await,
        };
        match outcome {
            Ok(outcome) => Outcome::Tool(outcome),
            Err(error) => Outcome::Unavailable(error.to_string()),
        }
    }
}

#[async_trait]
impl Performer for EffectsPerformer {
    async fn perform(&self, attempt: EffectAttempt) -> Outcome {
        match &attempt.work {
            Work::Model(call) => Outcome::Model(self.call_model(call, &attempt).await),
            Work::Tool(call) => self.run_tool(&attempt.run, call, &attempt.effect).await,
            Work::Check(work) => match evidence::perform(&*self.library, &attempt.run, work).await {
                Ok(outcome) => Outcome::Tool(outcome),
                Err(error) => Outcome::Unavailable(error.to_string()),
            },
        }
    }

    fn sees_earlier_changes(&self, call: &ToolCall) -> bool {
        !self.registry.find(&call.tool).is_some_and(Action::only_creates)
    }
}

/// Nothing was sent, so nothing was paid. The next attempt reads the request again.
fn unreadable(reason: String) -> CallError {
    CallError {
        failure: CallFailure::Interrupted,
        message: format!("the request could not be read from the store: {reason}"),
        retry_after_ms: None,
        maybe_paid: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal::{PROVIDER, RehearsalModels};
    use engine::blob::Blob;
    use engine::ids::{ActorId, ProjectId, RunId};
    use engine::model::{ModelSpec, Role};
    use engine::request::Part;
    use engine::time::Timestamp;
    use engine::workspace::Scope;
    use runtime::ports::{Clock, StoreError};
    use uuid::Uuid;

    struct StoppedClock;

    impl Clock for StoppedClock {
        fn now(&self) -> Timestamp {
            Timestamp(0)
        }
    }

    struct NoTaskTools;

    #[async_trait]
    impl TaskTools for NoTaskTools {
        async fn call(&self, _: &RunContext, call: &ToolCall, _: &EffectId) -> Result<ToolOutcome, StoreError> {
            panic!("no task run here: {call:?}")
        }
    }

    async fn call_model(provider: &str, parts: Vec<Part>) -> Result<ModelReply, CallError> {
        let performer = EffectsPerformer {
            library: store::open_inline(None, Arc::new(StoppedClock)).await.expect("a database in memory"),
            registry: Registry::builtin(),
            toolboxes: Toolboxes::default(),
            task_tools: Arc::new(NoTaskTools),
            models: Arc::new(RehearsalModels::default()),
            live: Live::default(),
        };
        let model = ModelSpec {
            provider: provider.into(),
            model: "default".into(),
            context_window: 128_000,
            max_output: 8_192,
            price: None,
        };
        let mut request = Request::default();
        request.say(Speaker::User, parts);
        let work = Work::Model(ModelCall {
            role: Role::HomeworkPlanner,
            model,
            request,
            schema: engine::prompts::schema(Role::HomeworkPlanner),
            max_tokens: 8_192,
        });
        let nobody = Uuid::nil();
        let run = RunContext {
            run_id: RunId(nobody),
            scope: Scope::Actor(ActorId(nobody)),
            home_project: ProjectId(nobody),
            projects: Vec::new(),
            tainted: false,
            now: Timestamp(0),
        };
        match performer.perform(EffectAttempt { run, effect: EffectId("i1.plan".into()), number: 1, work }).await {
            Outcome::Model(answer) => answer,
            other => panic!("a model was asked: {other:?}"),
        }
    }

    #[tokio::test]
    async fn a_rehearsal_answer_counts_four_bytes_as_a_token() {
        let text = "## objective\n\"Bake bread\"\n".to_owned();
        let reply = call_model(PROVIDER, vec![Part::Text(text.clone())]).await.expect("an answer");
        assert_eq!(reply.usage.input, (text.len() as u64).div_ceil(4));
        assert_eq!(reply.usage.output, (reply.text.len() as u64).div_ceil(4));
        assert!(!reply.truncated);
    }

    #[tokio::test]
    async fn a_request_that_cannot_be_read_is_interrupted_and_unpaid() {
        let missing = Part::Stored { blob: Blob::new("gone").reference(), limit: 100 };
        let error = call_model(PROVIDER, vec![missing]).await.expect_err("no answer");
        assert_eq!((error.failure, error.maybe_paid), (CallFailure::Interrupted, false));
    }
}
