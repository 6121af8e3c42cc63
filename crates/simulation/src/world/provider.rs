//! A fake model provider that keeps its own bill: every request, its charge, and whether it was answered. The charges do
//! not depend on what the product recorded, so that checks can compare the two.

use super::faults::Faults;
use super::process::Process;
use super::witness::Witness;
use crate::dice::Dice;
use crate::fake_models::{self, FakeModel, Sections};
use async_trait::async_trait;
use effects::performer::ModelPort;
use engine::effect::{CallError, CallFailure, ModelCall, ModelReply, Usage};
use engine::ids::RunId;
use engine::model::Role;
use engine::request::Speaker;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// One line of the bill.
#[derive(Clone, Debug)]
pub struct Request {
    pub run: RunId,
    pub effect: String,
    pub attempt: u32,
    pub role: Role,
    pub at_ms: u64,
    pub end_ms: Option<u64>,
    pub charged: Charge,
    pub ended: Ended,
    /// Messages and answers of people in the request.
    pub people_texts: Vec<String>,
    /// The artifacts whose content the request shows.
    pub shown: Vec<String>,
    /// It says that it shows only some of those that it has room for.
    pub shows_some: bool,
    /// The criteria it asks to judge.
    pub judged: Vec<String>,
}

impl Request {
    pub fn key(&self) -> (&str, u32) {
        (&self.effect, self.attempt)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.effect, self.attempt)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    pub tokens: u64,
    pub micro_usd: u64,
}

impl Charge {
    pub fn fits(self, limit: Charge) -> bool {
        self.tokens <= limit.tokens && self.micro_usd <= limit.micro_usd
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    Open,
    /// The client went away.
    Abandoned,
    Answered {
        usable: bool,
        usage_known: bool,
    },
    Failed(CallError),
}

/// The longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(600);

/// No healthy world makes this many calls. A world that does is in a loop: further calls never return, and it fails.
const MAX_CALLS_PER_WORLD: usize = 3_000;

pub struct Provider {
    seed: u64,
    faults: Arc<Faults>,
    witness: Arc<Witness>,
    fake_models_by_run: BTreeMap<RunId, FakeModel>,
    outages: Vec<(u64, u64)>,
    bill: Mutex<Vec<Request>>,
    /// Nodes of a tree that share a title, in the order of their first request.
    namesakes: Mutex<BTreeMap<(RunId, String), Vec<String>>>,
}

impl Provider {
    pub fn new(
        seed: u64,
        faults: Arc<Faults>,
        witness: Arc<Witness>,
        fake_models_by_run: BTreeMap<RunId, FakeModel>,
    ) -> Provider {
        let fault_rates = faults.fault_rates();
        let mut dice = Dice::about(seed, "outages");
        let outages = (0..fault_rates.model.outages).map(|_| {
            let from = dice.below(fault_rates.faults_end_after_ms.max(1));
            (from, from + dice.between(5_000, 120_000))
        });
        let outages = outages.collect();
        Provider {
            seed,
            faults,
            witness,
            fake_models_by_run,
            outages,
            bill: Mutex::default(),
            namesakes: Mutex::default(),
        }
    }

    pub fn bill(&self) -> Vec<Request> {
        self.lines().clone()
    }

    fn lines(&self) -> MutexGuard<'_, Vec<Request>> {
        self.bill.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The seed of a fake answer: equal questions get equal answers. A tree node is identified by its title, not by its
    /// number, which depends on timing; a retried node counts as new.
    fn topic(&self, run: RunId, effect: &str, sections: &Sections) -> String {
        let Some((node, part)) = effect.split_once(".n").and_then(|(_, place)| place.split_once('.')) else {
            return effect.to_owned();
        };
        let mut namesakes = self.namesakes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = namesakes.entry((run, sections.title().to_owned())).or_default();
        let nth = known.iter().position(|known| known == node).unwrap_or_else(|| {
            known.push(node.to_owned());
            known.len() - 1
        });
        format!("{} {nth} {part}", sections.title())
    }

    fn open(&self, call: &ModelCall, run: RunId, sections: &Sections, key: &str) -> usize {
        let (effect, attempt) = key.rsplit_once(':').unwrap_or((key, "0"));
        self.witness.note(format_args!("model asked {run} {key}"));
        let request = Request {
            run,
            effect: effect.to_owned(),
            attempt: attempt.parse().unwrap_or(0),
            role: call.role,
            at_ms: self.witness.now_ms(),
            end_ms: None,
            charged: Charge::default(),
            ended: Ended::Open,
            people_texts: fake_models::people_texts(sections),
            shown: fake_models::shown(sections),
            shows_some: sections.texts("trimmed").iter().any(|note| note.starts_with("artifacts_read:")),
            judged: fake_models::judged(sections),
        };
        let mut lines = self.lines();
        lines.push(request);
        lines.len() - 1
    }

    async fn refuse_for_good<T>(&self, line: usize) -> T {
        if line == MAX_CALLS_PER_WORLD {
            self.witness.violation(format!("30: more than {MAX_CALLS_PER_WORLD} model calls in one world"));
        }
        std::future::pending().await
    }

    /// The fault injected into one attempt, and how long the caller waits for it.
    fn fault(&self, run: RunId, key: &str) -> Option<(CallError, Duration)> {
        let fault_rates = self.faults.fault_rates();
        let (rates, storm) = (fault_rates.model, fault_rates.faults_end_after_ms > 0);
        let mut dice = Dice::about(self.seed, &format!("trouble {run} {key}"));
        let now = self.witness.now_ms();
        let away = storm && self.outages.iter().any(|(from, to)| (*from..*to).contains(&now));
        let mut retry_after_ms = None;
        let (failure, after_ms) = if away || dice.happens(rates.unreachable) {
            (CallFailure::Unreachable, dice.below(2_000))
        } else if dice.happens(rates.rate_limited) {
            retry_after_ms = dice.happens(500).then(|| dice.between(500, 45_000) as i64);
            (CallFailure::RateLimited, dice.below(500))
        } else if dice.happens(rates.interrupted) {
            (CallFailure::Interrupted, dice.between(100, 20_000))
        } else if dice.happens(rates.never_answers) {
            (CallFailure::Interrupted, TIMEOUT.as_millis() as u64)
        } else if dice.happens(rates.auth) {
            (CallFailure::Auth, 50)
        } else if dice.happens(rates.quota) {
            (CallFailure::Quota, 50)
        } else if dice.happens(rates.rejected) {
            (CallFailure::Rejected, 50)
        } else {
            return None;
        };
        let maybe_paid = failure == CallFailure::Interrupted;
        let error = CallError { failure, message: format!("simulated {failure:?}"), retry_after_ms, maybe_paid };
        Some((error, Duration::from_millis(after_ms)))
    }

    /// Most answers come within seconds, some take minutes.
    fn latency(&self, dice: &mut Dice) -> Duration {
        let slow = dice.happens(self.faults.fault_rates().model.slow);
        Duration::from_millis(if slow { dice.between(5_000, 180_000) } else { dice.between(1, 2_500) })
    }

    fn end(&self, line: usize, charged: Charge, ended: Ended) {
        let now = self.witness.now_ms();
        if let Some(request) = self.lines().get_mut(line) {
            (request.end_ms, request.charged, request.ended) = (Some(now), charged, ended);
        }
    }
}

/// One process's connection to the provider.
pub struct ProviderConnection {
    pub provider: Arc<Provider>,
    pub process: Arc<Process>,
}

/// A call in progress. Dropping it before it is closed charges for an abandoned call.
struct OpenCall<'a> {
    provider: &'a Provider,
    line: usize,
    partial: Charge,
    closed: bool,
}

impl OpenCall<'_> {
    fn close(&mut self, charged: Charge, ended: Ended) {
        self.closed = true;
        self.provider.end(self.line, charged, ended);
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        if !self.closed {
            self.provider.end(self.line, self.partial, Ended::Abandoned);
        }
    }
}

#[async_trait]
impl ModelPort for ProviderConnection {
    async fn call(
        &self,
        call: &ModelCall,
        messages: Vec<(Speaker, String)>,
        key: &str,
        _on_delta: Option<effects::model::OnDelta<'_>>,
    ) -> Result<ModelReply, CallError> {
        self.process.pass().await;
        let Ok(run) = RunId::from_str(&call.model.model) else { return Err(unknown_model()) };
        let provider = self.provider.as_ref();
        let mut dice = Dice::about(provider.seed, &format!("call {run} {key}"));
        let sections = Sections::of(&messages);
        let mut exchange = Exchange::new(provider, call, run, (&messages, &sections), key, &mut dice);
        let line = provider.open(call, run, &sections, key);
        if line >= MAX_CALLS_PER_WORLD {
            return provider.refuse_for_good(line).await;
        }
        let mut open_call = OpenCall { provider, line, partial: exchange.partial(&mut dice), closed: false };
        let answer = match provider.fault(run, key) {
            Some((error, after)) => {
                tokio::time::sleep(after).await;
                let charged = if error.maybe_paid { open_call.partial } else { Charge::default() };
                open_call.close(charged, Ended::Failed(error.clone()));
                Err(error)
            }
            None => {
                tokio::time::sleep(provider.latency(&mut dice)).await;
                let (reply, charged, usable) = exchange.reply(&mut dice);
                open_call.close(charged, Ended::Answered { usable, usage_known: !reply.usage.estimated });
                Ok(reply)
            }
        };
        self.process.pass().await;
        answer
    }
}

fn unknown_model() -> CallError {
    CallError {
        failure: CallFailure::Rejected,
        message: "no such model".into(),
        retry_after_ms: None,
        maybe_paid: false,
    }
}

/// One request and its prepared answer.
struct Exchange<'a> {
    provider: &'a Provider,
    call: &'a ModelCall,
    fake_answer: fake_models::FakeAnswer,
    input: u64,
}

impl<'a> Exchange<'a> {
    fn new(
        provider: &'a Provider,
        call: &'a ModelCall,
        run: RunId,
        (messages, sections): (&[(Speaker, String)], &Sections),
        key: &str,
        dice: &mut Dice,
    ) -> Exchange<'a> {
        let effect = key.rsplit_once(':').map_or(key, |(effect, _)| effect);
        let topic = provider.topic(run, effect, sections);
        let mut thoughts = Dice::about(provider.seed, &format!("thoughts {run} {topic}"));
        let fake_model = provider.fake_models_by_run.get(&run).cloned().unwrap_or_default();
        let fake_answer = fake_models::say(&fake_model, call.role, sections, &mut thoughts);
        let garbled = dice.happens(provider.faults.fault_rates().model.garbled);
        let fake_answer = if garbled { fake_models::garble(fake_answer, dice) } else { fake_answer };
        let input = messages.iter().map(|(_, text)| text.len() as u64).sum::<u64>() / 4;
        Exchange { provider, call, fake_answer, input }
    }

    fn charge(&self, input: u64, cached: u64, output: u64) -> Charge {
        let micro_usd = self.call.model.price.map_or(0, |price| price.cost(input, cached, output));
        Charge { tokens: input + output, micro_usd }
    }

    /// The charge of a failed call: often nothing, sometimes all of the input and part of the output.
    fn partial(&mut self, dice: &mut Dice) -> Charge {
        if dice.happens(500) { Charge::default() } else { self.charge(self.input, 0, dice.below(self.output() + 1)) }
    }

    fn output(&self) -> u64 {
        (self.fake_answer.text.len() as u64 / 4).clamp(1, u64::from(self.call.max_tokens))
    }

    fn reply(&mut self, dice: &mut Dice) -> (ModelReply, Charge, bool) {
        let fault_rates = self.provider.faults.fault_rates().model;
        let mut usage =
            Usage { input: self.input, cached: dice.below(self.input + 1), output: self.output(), estimated: false };
        if dice.happens(fault_rates.lying_usage) {
            let lies = [(0, 0), (1_000_000_000, 1_000_000_000), (self.input, u64::from(self.call.max_tokens) * 3)];
            (usage.input, usage.output) = *dice.pick(&lies).unwrap_or(&(0, 0));
            usage.cached = 0;
        }
        let charged = self.charge(usage.input, usage.cached, usage.output);
        if dice.happens(fault_rates.no_usage) {
            usage = Usage { input: self.input, cached: 0, output: self.output(), estimated: true };
        }
        let fake_answer = &self.fake_answer;
        let reply = ModelReply {
            text: fake_answer.text.clone(),
            usage,
            truncated: fake_answer.cut,
            provider_request_id: Some(format!("req-{}", dice.below(1 << 30))),
        };
        (reply, charged, fake_answer.usable)
    }
}
