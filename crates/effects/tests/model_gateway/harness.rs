//! A gateway with one server, and short ways to call it.

use effects::model::{
    Gateway, ModelTerms, ProviderConfig, ProviderKind, ProviderTimeouts, Providers, SchemaMode, Timeouts,
};
use effects::performer::ModelPort;
use effects::rehearsal::RehearsalModels;
use engine::effect::{CallError, CallFailure, ModelCall, ModelReply};
use engine::model::Role;
use engine::request::{Request, Speaker};
use engine::role_schema::RoleSchema;
use std::time::Duration;

pub(crate) const KEY: &str = "sk-canary-0123456789abcdef";
pub(crate) const MODEL: &str = "scripted";
pub(crate) const WIRE_FORMATS: [ProviderKind; 2] = [ProviderKind::Openai, ProviderKind::Anthropic];

/// What a test may configure.
pub(crate) struct Setup {
    pub key: Option<&'static str>,
    pub schema_mode: Option<SchemaMode>,
    pub stream: Option<bool>,
    pub timeouts: Timeouts,
    pub own: ProviderTimeouts,
    pub model: &'static str,
    pub terms: Option<ModelTerms>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            key: Some(KEY),
            schema_mode: None,
            stream: None,
            timeouts: quick(),
            own: ProviderTimeouts::default(),
            model: MODEL,
            terms: None,
        }
    }
}

/// Short enough for tests, long enough for a busy machine.
pub(crate) fn quick() -> Timeouts {
    let ms = Duration::from_millis;
    Timeouts { connect: ms(2_000), first_byte: ms(10_000), idle: ms(5_000), total: ms(20_000) }
}

pub(crate) struct TestClient {
    pub gateway: Gateway,
    kind: ProviderKind,
    model: String,
}

impl TestClient {
    pub(crate) fn at(kind: ProviderKind, url: &str) -> TestClient {
        TestClient::with(kind, url, Setup::default())
    }

    pub(crate) fn with(kind: ProviderKind, url: &str, setup: Setup) -> TestClient {
        let config = ProviderConfig {
            kind: Some(kind),
            base_url: Some(url.to_owned()),
            api_key_env: setup.key.map(|_| "TEST_KEY".to_owned()),
            schema_mode: setup.schema_mode,
            stream: setup.stream,
            timeouts: setup.own,
            models: setup.terms.map(|terms| (setup.model.to_owned(), terms)).into_iter().collect(),
        };
        let providers = Providers([(kind.name().to_owned(), config)].into());
        let env = |name: &str| (name == "TEST_KEY").then(|| setup.key.map(str::to_owned)).flatten();
        let gateway =
            Gateway::new(&providers, &env, RehearsalModels::default(), setup.timeouts).expect("a valid configuration");
        TestClient { gateway, kind, model: setup.model.to_owned() }
    }

    pub(crate) async fn ask(&self) -> Result<ModelReply, CallError> {
        self.ask_as(Role::HomeworkPlanner, "i1.plan:1", None).await
    }

    pub(crate) async fn ask_as(
        &self,
        role: Role,
        key: &str,
        on_delta: Option<effects::model::OnDelta<'_>>,
    ) -> Result<ModelReply, CallError> {
        let messages =
            vec![(Speaker::System, "You plan.".to_owned()), (Speaker::User, "## objective\n\"héllo\"\n".to_owned())];
        self.say(role, messages, key, on_delta).await
    }

    pub(crate) async fn say(
        &self,
        role: Role,
        messages: Vec<(Speaker, String)>,
        key: &str,
        on_delta: Option<effects::model::OnDelta<'_>>,
    ) -> Result<ModelReply, CallError> {
        self.call(role, engine::prompts::schema(role), messages, key, on_delta).await
    }

    /// A call whose answer must fit another schema than the role's usual one.
    pub(crate) async fn call(
        &self,
        role: Role,
        schema: &'static RoleSchema,
        messages: Vec<(Speaker, String)>,
        key: &str,
        on_delta: Option<effects::model::OnDelta<'_>>,
    ) -> Result<ModelReply, CallError> {
        let model = self.gateway.spec(self.kind.name(), &self.model).expect("a configured provider");
        let call = ModelCall { role, model, request: Request::default(), schema, max_tokens: 500 };
        self.gateway.call(&call, messages, key, on_delta).await
    }
}

/// A failure of the expected class that names the provider and shows no key.
#[track_caller]
pub(crate) fn fails(result: Result<ModelReply, CallError>, failure: CallFailure) -> CallError {
    let error = result.map(|reply| reply.text.len()).expect_err("the call must fail");
    assert_eq!(error.failure, failure, "{}", error.message);
    assert!(!error.message.contains("sk-canary"), "the key is shown: {}", error.message);
    assert!(error.message.contains(" at http://127.0.0.1:"), "no address: {}", error.message);
    error
}
