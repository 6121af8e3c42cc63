//! Carries out what runs want: model calls through a `ModelPort`, tools through the registry.
//! Failures are data here; attempts, backoff and money belong to the driver.

use crate::delta_throttle::DeltaThrottle;
use crate::model::{Gateway, OnDelta};
use crate::tools::{self, Denied, Registry, TaskTools, Toolboxes};
use async_trait::async_trait;
use engine::blob::Hash;
use engine::effect::{
    CallError, CallFailure, EffectId, Job, ModelCall, ModelReply, Outcome, RunContext, ToolCall, ToolOutcome, Work,
};
use engine::request::{Request, Speaker};
use runtime::live::Live;
use runtime::ports::{Library, Performer};
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

    /// The same, with somebody who sees the answer grow, if this model lets it be seen.
    async fn call_watched(
        &self,
        call: &ModelCall,
        messages: Vec<(Speaker, String)>,
        idempotency_key: &str,
        _watcher: OnDelta<'_>,
    ) -> Result<ModelReply, CallError> {
        self.call(call, messages, idempotency_key).await
    }
}

#[async_trait]
impl ModelPort for Gateway {
    async fn call(
        &self,
        call: &ModelCall,
        messages: Vec<(Speaker, String)>,
        idempotency_key: &str,
    ) -> Result<ModelReply, CallError> {
        Gateway::call(self, call, messages, idempotency_key, None).await
    }

    async fn call_watched(
        &self,
        call: &ModelCall,
        messages: Vec<(Speaker, String)>,
        idempotency_key: &str,
        watcher: OnDelta<'_>,
    ) -> Result<ModelReply, CallError> {
        Gateway::call(self, call, messages, idempotency_key, Some(watcher)).await
    }
}

pub struct EffectsPerformer {
    pub library: Arc<dyn Library>,
    pub registry: Registry,
    pub outside: Toolboxes,
    pub task_tools: Arc<dyn TaskTools>,
    pub models: Arc<dyn ModelPort>,
    /// Who sees answers while they grow.
    pub live: Live,
}

impl EffectsPerformer {
    async fn ask(&self, call: &ModelCall, job: &Job) -> Result<ModelReply, CallError> {
        let messages = self.messages(&call.request).await.map_err(unread)?;
        let deltas = DeltaThrottle::new(&self.live, job, call.role);
        let key = format!("{}:{}", job.effect, job.attempt);
        self.models.call_watched(call, messages, &key, &|fresh| deltas.grow(fresh)).await
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
        let store: &dyn Library = &*self.library;
        let narrowed;
        let run = match call.agent {
            None => run,
            Some(agent) => match tools::agent_scope(store, &self.registry, run, call, agent).await {
                Ok(agent_scope) => {
                    narrowed = agent_scope;
                    &narrowed
                }
                Err(Denied::Refused(why)) => return Outcome::Tool(ToolOutcome::refused(why)),
                Err(Denied::Store(error)) => return Outcome::Unavailable(error.to_string()),
            },
        };
        if call.outside.is_some() {
            return self.outside.call(store, run, call, effect).await;
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
    async fn perform(&self, job: Job) -> Outcome {
        match &job.work {
            Work::Model(call) => Outcome::Model(self.ask(call, &job).await),
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

    struct Stopped;

    impl Clock for Stopped {
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

    async fn asked(provider: &str, parts: Vec<Part>) -> Result<ModelReply, CallError> {
        let performer = EffectsPerformer {
            library: store::open_inline(None, Arc::new(Stopped)).await.expect("a database in memory"),
            registry: Registry::builtin(),
            outside: Toolboxes::default(),
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
        match performer.perform(Job { run, effect: EffectId("i1.plan".into()), attempt: 1, work }).await {
            Outcome::Model(answer) => answer,
            other => panic!("a model was asked: {other:?}"),
        }
    }

    #[tokio::test]
    async fn an_answer_comes_with_its_usage_four_bytes_a_token() {
        let text = "## objective\n\"Bake bread\"\n".to_owned();
        let reply = asked(PROVIDER, vec![Part::Text(text.clone())]).await.expect("an answer");
        assert_eq!(reply.usage.input, (text.len() as u64).div_ceil(4));
        assert_eq!(reply.usage.output, (reply.text.len() as u64).div_ceil(4));
        assert!(!reply.truncated);
    }

    #[tokio::test]
    async fn a_request_that_cannot_be_read_was_never_sent() {
        let missing = Part::Stored { blob: Blob::new("gone").reference(), limit: 100 };
        let error = asked(PROVIDER, vec![missing]).await.expect_err("no answer");
        assert_eq!((error.failure, error.maybe_paid), (CallFailure::Interrupted, false));
    }
}
