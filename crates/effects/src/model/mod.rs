//! The model gateway: takes one call and returns one complete answer or one failure.
//!
//! It uses OpenAI Chat Completions and Anthropic Messages, and hands rehearsal calls to the built-in model. It never retries and
//! never validates an answer, which the run does. An answer counts as received only when the server said that it is finished.

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
    ConfigError, ModelTerms, ProviderConfig, ProviderKind, ProviderTimeouts, ProviderVariables, Providers, REHEARSAL,
    ResolvedProvider, SchemaMode,
};
pub use prices::{date as prices_date, examples};
pub use secrets::OnDelta;

use crate::performer::ModelPort;
use crate::rehearsal::RehearsalModels;
use async_trait::async_trait;
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

/// For the fuzz command: reads a stream in both wire formats and keeps nothing.
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
            // Read after each piece, as for deltas.
            let shown = reply.answer("homework_planner").len();
            assert!(shown <= reply.bytes(), "more is shown than was written");
        }
    }
}

/// How long each part of a call may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    pub connect: Duration,
    /// Until the first byte of a streamed answer. An answer that is not streamed has only the total.
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
    /// With the provider's own timeouts where it has any.
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

/// All configured providers, and what was learned about them.
pub struct Gateway {
    providers: BTreeMap<String, Provider>,
    rehearsal: RehearsalModels,
    learned: capabilities::LearnedCapabilities,
    secrets: Secrets,
}

enum Provider {
    Rehearsal,
    Server(ProviderKind, Box<Endpoint>),
}

impl Gateway {
    /// `env` looks up environment variables. Keys are read once, here, and stored nowhere else.
    pub fn new(
        providers: &Providers,
        env: &dyn Fn(&str) -> Option<String>,
        rehearsal: RehearsalModels,
        timeouts: Timeouts,
    ) -> Result<Gateway, ConfigError> {
        let resolved = providers.resolve(env)?;
        let secrets = Secrets::new(resolved.iter().filter_map(|provider| provider.api_key.clone()));
        let mut providers = BTreeMap::new();
        for one in resolved {
            let server = Endpoint::new(&one, timeouts.of(&one))?;
            let provider =
                server.map_or(Provider::Rehearsal, |endpoint| Provider::Server(one.kind, Box::new(endpoint)));
            providers.insert(one.name, provider);
        }
        Ok(Gateway { providers, rehearsal, learned: capabilities::LearnedCapabilities::default(), secrets })
    }

    /// The names and kinds of the available providers.
    pub fn providers(&self) -> impl Iterator<Item = (&str, ProviderKind)> {
        self.providers.iter().map(|(name, provider)| {
            (name.as_str(), if let Provider::Server(kind, _) = provider { *kind } else { ProviderKind::Rehearsal })
        })
    }

    /// What is known about a model, from the configuration, the price table or the defaults. Any id is accepted.
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
            Provider::Server(_, endpoint) => self
                .offered(endpoint)
                .await
                .map_err(|error| error.report(&name_and_address(endpoint), "", &self.secrets)),
        }
    }

    /// The model to use when none was chosen: the provider's only one, or an error that names three.
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
                    "provider {provider:?} does not list its models: {}; name one, e.g. {}",
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

    fn provider(&self, name: &str) -> Result<&Provider, ConfigError> {
        self.providers.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.providers.keys().map(String::as_str).collect();
            ConfigError(format!(
                "provider {name:?} is not configured here; configured: {}. Add [providers.{name}] or set its key",
                known.join(", ")
            ))
        })
    }

    /// Tries other forms of the request while the server refuses its form. A refused form is never billed, so this counts as
    /// one call. The form that worked is remembered.
    async fn send(
        &self,
        endpoint: &Endpoint,
        request: &ModelRequest<'_>,
        idempotency_key: &str,
        on_delta: Option<OnDelta<'_>>,
    ) -> Result<ModelReply, CallError> {
        let known = self.learned.of(&endpoint.name, request.model).unwrap_or(endpoint.capabilities);
        let mut capabilities = known;
        loop {
            match self.send_once(endpoint, request, capabilities, idempotency_key, on_delta).await {
                Ok(reply) => {
                    if capabilities != known {
                        self.learned.learn(&endpoint.name, request.model, capabilities);
                    }
                    return Ok(reply);
                }
                Err(error) => match other_form(&error, capabilities) {
                    Some(next) => capabilities = next,
                    None => return Err(self.explain(endpoint, request.model, error).await),
                },
            }
        }
    }

    async fn send_once(
        &self,
        endpoint: &Endpoint,
        request: &ModelRequest<'_>,
        capabilities: Capabilities,
        idempotency_key: &str,
        on_delta: Option<OnDelta<'_>>,
    ) -> Result<ModelReply, WireError> {
        let http_request = endpoint
            .client
            .post(endpoint.url(endpoint.wire.path()))
            .headers(endpoint.headers())
            .header("x-pleach-role", request.role)
            .header("idempotency-key", idempotency_key);
        let http_request = endpoint.wire.with_body(http_request, request, capabilities);
        let mut deltas = DeltaRedactor::new(&self.secrets, on_delta);
        let received = http_call::send(
            http_request,
            endpoint.wire,
            request.role,
            capabilities.stream,
            &endpoint.timeouts,
            &mut deltas,
        )
        .await?;
        deltas.finish();
        let reply = received.reply;
        Ok(ModelReply {
            text: self.secrets.redact(reply.answer(request.role)),
            usage: reply.usage.settle(length(request.messages) + request.schema.text.get().len(), reply.bytes()),
            truncated: reply.truncated(),
            provider_request_id: received.request_id.or(reply.id),
        })
    }

    /// A wrong model name is the most common mistake, so its error lists the models there are.
    async fn explain(&self, endpoint: &Endpoint, model: &str, error: WireError) -> CallError {
        let missing = matches!(error, WireError::Refused { status: 404, .. });
        let mut error = error.report(&name_and_address(endpoint), model, &self.secrets);
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
        const LIST_TIMEOUT: Duration = Duration::from_secs(5);
        const MAX_LIST_BYTES: usize = 4 * 1024 * 1024;
        let request = endpoint.client.get(endpoint.url("models")).headers(endpoint.headers()).timeout(LIST_TIMEOUT);
        let mut response = request.send().await.map_err(http_call::not_sent)?;
        if !response.status().is_success() {
            return Err(http_call::refusal(response, LIST_TIMEOUT).await);
        }
        let body = http_call::body(&mut response, MAX_LIST_BYTES, LIST_TIMEOUT).await?;
        let answer: Value =
            serde_json::from_slice(&body).map_err(|_| WireError::Broke("its list of models is not JSON".into()))?;
        let listed = answer["data"].as_array().into_iter().flatten();
        Ok(listed.filter_map(|model| model["id"].as_str().map(str::to_owned)).collect())
    }
}

#[async_trait]
impl ModelPort for Gateway {
    async fn call(
        &self,
        call: &ModelCall,
        messages: Vec<(Speaker, String)>,
        idempotency_key: &str,
        on_delta: Option<OnDelta<'_>>,
    ) -> Result<ModelReply, CallError> {
        match self.provider(&call.model.provider).map_err(rejected)? {
            Provider::Rehearsal => self.rehearsal.call(call, messages, idempotency_key, on_delta).await,
            Provider::Server(_, endpoint) => {
                let request = ModelRequest {
                    role: call.role.name(),
                    model: &call.model.model,
                    messages: &messages,
                    schema: call.schema,
                    max_tokens: call.max_tokens,
                };
                self.send(endpoint, &request, idempotency_key, on_delta).await
            }
        }
    }
}

fn other_form(error: &WireError, capabilities: Capabilities) -> Option<Capabilities> {
    match error {
        WireError::Refused { status, body, .. } if !wire_error::is_too_long(body) => capabilities.after(*status, body),
        _ => None,
    }
}

fn name_and_address(endpoint: &Endpoint) -> String {
    format!("{} at {}", endpoint.name, endpoint.address)
}

fn length(messages: &[(Speaker, String)]) -> usize {
    messages.iter().map(|(_, text)| text.len()).sum()
}

fn rejected(error: ConfigError) -> CallError {
    CallError { failure: CallFailure::Rejected, message: error.0, retry_after_ms: None, maybe_paid: false }
}
