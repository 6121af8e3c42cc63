//! The model gateway: one call in, one whole answer or one honest failure out.
//!
//! It speaks OpenAI Chat Completions and Anthropic Messages, and hands rehearsal calls to the built-in
//! model. It never retries (the run does), never judges an answer (the run does), and counts an answer as
//! arrived only when the server said it was finished.

mod anthropic;
mod capabilities;
mod config;
mod endpoint;
mod http_call;
mod openai;
mod partial_reply;
mod prices;
mod secrets;
mod usage;
mod wire;
mod wire_error;

pub use config::{
    ConfigError, ModelTerms, ProviderConfig, ProviderKind, ProviderTimeouts, Providers, REHEARSAL, ResolvedProvider,
    SchemaMode, Sources,
};
pub use prices::{date as prices_date, examples};
pub use secrets::OnDelta;

use crate::performer::ModelPort;
use crate::rehearsal::RehearsalModels;
use capabilities::Capabilities;
use endpoint::Endpoint;
use engine::effect::{CallError, CallFailure, ModelCall, ModelReply};
use engine::model::ModelSpec;
use engine::request::Speaker;
use http_client::sse;
use secrets::{DeltaRedactor, Secrets};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::ModelRequest;
use wire_error::WireError;

/// What a server streams, read as both providers would: with the fuzz command in mind, so nothing is kept.
pub(crate) fn read_stream(bytes: &[u8]) {
    for wire in [ProviderKind::Openai, ProviderKind::Anthropic].into_iter().filter_map(wire::of) {
        let (mut parser, mut reply) = (sse::Parser::default(), partial_reply::PartialReply::default());
        for piece in bytes.chunks(61) {
            let mut events = Vec::new();
            if parser.push(piece, |event| events.push(event)).is_err() {
                return;
            }
            for event in &events {
                let _ = wire.event(event, &mut reply);
            }
            // Looked at after each piece, as whoever watches an answer grow does.
            let shown = reply.answer("homework_planner").len();
            assert!(shown <= reply.bytes(), "more is shown than was written");
        }
    }
}

/// How long each part of a call may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    pub connect: Duration,
    /// Until the first piece of a streamed answer; an answer in one piece has the total.
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        let seconds = Duration::from_secs;
        Timeouts { connect: seconds(10), first_byte: seconds(600), idle: seconds(120), total: seconds(1_800) }
    }
}

impl Timeouts {
    /// With what a provider's configuration says.
    fn of(self, provider: &ResolvedProvider) -> Timeouts {
        let own = |seconds: Option<u64>, usual| seconds.map_or(usual, Duration::from_secs);
        let total = own(provider.timeouts.total_seconds, self.total);
        Timeouts {
            connect: self.connect,
            first_byte: own(provider.timeouts.first_byte_seconds, self.first_byte).min(total),
            idle: own(provider.timeouts.idle_seconds, self.idle),
            total,
        }
    }
}

/// All configured providers, and what was learned of them.
pub struct Gateway {
    providers: BTreeMap<String, Provider>,
    rehearsal: RehearsalModels,
    memory: capabilities::LearnedCapabilities,
    secrets: Secrets,
}

enum Provider {
    Rehearsal,
    Server(ProviderKind, Box<Endpoint>),
}

impl Gateway {
    /// `env` looks variables up; keys are read here once and kept nowhere else.
    pub fn new(
        providers: &Providers,
        env: &dyn Fn(&str) -> Option<String>,
        rehearsal: RehearsalModels,
        timeouts: Timeouts,
    ) -> Result<Gateway, ConfigError> {
        let resolved = providers.resolve(env)?;
        let secrets = Secrets::new(resolved.iter().filter_map(|provider| provider.key.clone()));
        let mut providers = BTreeMap::new();
        for one in resolved {
            let server = Endpoint::new(&one, timeouts.of(&one))?;
            let provider =
                server.map_or(Provider::Rehearsal, |endpoint| Provider::Server(one.kind, Box::new(endpoint)));
            providers.insert(one.name, provider);
        }
        Ok(Gateway { providers, rehearsal, memory: capabilities::LearnedCapabilities::default(), secrets })
    }

    /// The names of the providers that can be asked, with their kinds.
    pub fn providers(&self) -> impl Iterator<Item = (&str, ProviderKind)> {
        self.providers.iter().map(|(name, provider)| {
            (name.as_str(), if let Provider::Server(kind, _) = provider { *kind } else { ProviderKind::Rehearsal })
        })
    }

    /// What is known of a model: the table, the configuration, or the stated defaults. Any id is accepted.
    pub fn spec(&self, provider: &str, model: &str) -> Result<ModelSpec, ConfigError> {
        let (billing, terms) = match self.provider(provider)? {
            Provider::Rehearsal => (prices::Billing::Free, None),
            Provider::Server(_, endpoint) => (endpoint.billing(), endpoint.models.get(model)),
        };
        Ok(prices::spec(provider, model, billing, terms))
    }

    /// The models a provider offers, in its own order.
    pub async fn list_models(&self, provider: &str) -> Result<Vec<String>, CallError> {
        match self.provider(provider).map_err(rejected)? {
            Provider::Rehearsal => Ok(vec!["default".into()]),
            Provider::Server(_, endpoint) => {
                self.offered(endpoint).await.map_err(|error| error.report(&who(endpoint), "", &self.secrets))
            }
        }
    }

    /// The model to use when nobody chose one: the only one there is, or an error that names three.
    pub async fn only_model(&self, provider: &str) -> Result<String, ConfigError> {
        let Some((_, kind)) = self.providers().find(|(name, _)| *name == provider) else {
            let known: Vec<String> =
                self.providers().map(|(name, kind)| format!("{name}/{}", examples(kind)[0])).collect();
            return Err(ConfigError(format!(
                "{provider:?} names no provider that is set up; a model is provider/model, e.g. {}",
                known.join(", ")
            )));
        };
        let listed = match self.list_models(provider).await {
            Ok(listed) => listed,
            Err(error) => {
                let likely = examples(kind).map(|model| format!("{provider}/{model}"));
                return Err(ConfigError(format!(
                    "provider {provider:?} does not say which models it has: {}; name one, e.g. {}",
                    error.message,
                    likely.join(", ")
                )));
            }
        };
        if let [only] = &listed[..] {
            return Ok(only.clone());
        }
        let mut named: Vec<String> = listed.into_iter().take(3).collect();
        if named.is_empty() {
            named = examples(kind).map(str::to_owned).to_vec();
        }
        let choices: Vec<String> = named.iter().map(|model| format!("{provider}/{model}")).collect();
        Err(ConfigError(format!(
            "no model is chosen for provider {provider:?}; pass --model or set PLEACH_MODEL, e.g. {}",
            choices.join(", ")
        )))
    }

    /// Makes one call; `on_delta` sees the answer grow.
    pub async fn call(
        &self,
        call: &ModelCall,
        messages: Vec<(Speaker, String)>,
        idempotency_key: &str,
        on_delta: Option<OnDelta<'_>>,
    ) -> Result<ModelReply, CallError> {
        match self.provider(&call.model.provider).map_err(rejected)? {
            Provider::Rehearsal => self.rehearsal.call(call, messages, idempotency_key).await,
            Provider::Server(_, endpoint) => {
                let ask = ModelRequest {
                    role: call.role.name(),
                    model: &call.model.model,
                    messages: &messages,
                    schema: call.schema,
                    max_tokens: call.max_tokens,
                };
                self.ask(endpoint, &ask, idempotency_key, on_delta).await
            }
        }
    }

    fn provider(&self, name: &str) -> Result<&Provider, ConfigError> {
        self.providers.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.providers.keys().map(String::as_str).collect();
            ConfigError(format!(
                "provider {name:?} is not configured here; configured: {}. Add [providers.{name}] or set its key",
                known.join(", ")
            ))
        })
    }

    /// Asks until the server has nothing more to say against the shape of the request. A refused shape is
    /// never billed, so this is one call; the shape that worked is remembered.
    async fn ask(
        &self,
        endpoint: &Endpoint,
        ask: &ModelRequest<'_>,
        key: &str,
        on_delta: Option<OnDelta<'_>>,
    ) -> Result<ModelReply, CallError> {
        let usual = self.memory.of(&endpoint.name, ask.model).unwrap_or(endpoint.capabilities);
        let mut capabilities = usual;
        loop {
            match self.once(endpoint, ask, capabilities, key, on_delta).await {
                Ok(reply) => {
                    if capabilities != usual {
                        self.memory.learn(&endpoint.name, ask.model, capabilities);
                    }
                    return Ok(reply);
                }
                Err(error) => match other_shape(&error, capabilities) {
                    Some(next) => capabilities = next,
                    None => return Err(self.explain(endpoint, ask.model, error).await),
                },
            }
        }
    }

    async fn once(
        &self,
        endpoint: &Endpoint,
        ask: &ModelRequest<'_>,
        capabilities: Capabilities,
        key: &str,
        on_delta: Option<OnDelta<'_>>,
    ) -> Result<ModelReply, WireError> {
        let body = endpoint.wire.body(ask, capabilities);
        let request = endpoint
            .client
            .post(endpoint.url(endpoint.wire.path()))
            .headers(endpoint.headers())
            .header("x-pleach-role", ask.role)
            .header("idempotency-key", key)
            .json(&body);
        let mut deltas = DeltaRedactor::new(&self.secrets, on_delta);
        let arrived =
            http_call::send(request, endpoint.wire, ask.role, capabilities.stream, &endpoint.timeouts, &mut deltas)
                .await?;
        deltas.finish();
        let reply = arrived.reply;
        Ok(ModelReply {
            text: self.secrets.redact(reply.answer(ask.role)),
            usage: reply.usage.settle(spoken(ask.messages) + ask.schema.to_string().len(), reply.bytes()),
            truncated: reply.truncated(),
            provider_request_id: arrived.request_id.or(reply.id),
        })
    }

    /// A model that is not there is the commonest mistake, so that refusal says what there is.
    async fn explain(&self, endpoint: &Endpoint, model: &str, error: WireError) -> CallError {
        let missing = matches!(error, WireError::Refused { status: 404, .. });
        let mut error = error.report(&who(endpoint), model, &self.secrets);
        if missing
            && let Ok(offered) = self.offered(endpoint).await
            && !offered.is_empty()
        {
            let shown = &offered[..offered.len().min(10)];
            error.message = self.secrets.redact(&format!("{} It offers: {}", error.message, shown.join(", ")));
        }
        error
    }

    async fn offered(&self, endpoint: &Endpoint) -> Result<Vec<String>, WireError> {
        const PATIENCE: Duration = Duration::from_secs(5);
        const MOST_LIST: usize = 4 * 1024 * 1024;
        let request = endpoint.client.get(endpoint.url("models")).headers(endpoint.headers()).timeout(PATIENCE);
        let mut response = request.send().await.map_err(http_call::not_sent)?;
        if !response.status().is_success() {
            return Err(http_call::refusal(response, PATIENCE).await);
        }
        let body = http_call::body(&mut response, MOST_LIST, PATIENCE).await?;
        let answer: Value =
            serde_json::from_slice(&body).map_err(|_| WireError::Broke("its list of models is not JSON".into()))?;
        let listed = answer["data"].as_array().into_iter().flatten();
        Ok(listed.filter_map(|model| model["id"].as_str().map(str::to_owned)).collect())
    }
}

fn other_shape(error: &WireError, capabilities: Capabilities) -> Option<Capabilities> {
    match error {
        WireError::Refused { status, body, .. } if !wire_error::is_too_long(body) => capabilities.after(*status, body),
        _ => None,
    }
}

fn who(endpoint: &Endpoint) -> String {
    format!("{} at {}", endpoint.name, endpoint.address)
}

fn spoken(messages: &[(Speaker, String)]) -> usize {
    messages.iter().map(|(_, text)| text.len()).sum()
}

fn rejected(error: ConfigError) -> CallError {
    CallError { failure: CallFailure::Rejected, message: error.0, retry_after_ms: None, maybe_paid: false }
}
