//! Attempts, budgets, backoff and deadlines of the calls a machine wants. A machine never sees a retry.

use super::effect_state::{CallInFlight, Due, EffectState, Parked};
use super::terms::{Status, StopReason};
use super::{Input, Run, Want};
use crate::actor::Actor;
use crate::blob::Blob;
use crate::budget::{Admission, Exhausted, Reserve, Settled};
use crate::effect::{
    CallError, CallFailure, EffectAttempt, EffectId, ModelCall, ModelReply, Outcome, ToolOutcome, Work,
};
use crate::facts::effect::{Finished, FinishedAs, Started};
use crate::facts::run::{Ended, Failed, MessageDelivered, ProviderWaiting, Recovered, ResumeReason};
use crate::time::Timestamp;

/// Attempts that count; crashes of our own and parked providers do not.
const MAX_ATTEMPTS: u32 = 6;
const FIRST_BACKOFF_MS: i64 = 1_000;
/// A longer wait is one that the provider asked for, and is shown to people.
pub(super) const MAX_BACKOFF_MS: i64 = 30_000;
/// The wait after a call that this machine could not make.
const LOCAL_PAUSE_MS: i64 = 5_000;

impl Run {
    /// Begins a queued run, or takes over one whose driver died.
    /// `last_seen` is when that driver was last known alive.
    pub fn take_over(&mut self, last_seen: Option<Timestamp>, now: Timestamp) {
        self.find_abandoned(last_seen, now);
        if self.shared.is_moving() {
            self.decide(Input::Proceed, now);
        }
        self.wait_for_people(now);
    }

    /// Declares calls in flight lost when no driver was alive since `last_seen`; time since then does not count.
    pub fn find_abandoned(&mut self, last_seen: Option<Timestamp>, now: Timestamp) {
        let works = self.shared.status() == Status::Running || self.shared.is_checked_after_its_end();
        if self.shared.started_at.is_some() && works {
            self.declare_lost(last_seen.unwrap_or(self.shared.updated_at), now);
        }
    }

    /// Everything that follows from the state alone. Only a driver begins a run: a command leaves it queued.
    pub fn proceed(&mut self, now: Timestamp) {
        if self.shared.is_moving() && self.shared.started_at.is_some() {
            self.decide(Input::Proceed, now);
        }
        self.wait_for_people(now);
    }

    fn declare_lost(&mut self, active_until: Timestamp, now: Timestamp) {
        let in_flight: Vec<(EffectId, CallInFlight)> = self.flights().collect();
        let lost = in_flight.len() as u32;
        let active_until = active_until.clamp(self.shared.counted_until, now.max(self.shared.counted_until));
        self.emit(Recovered { active_until, lost }, Actor::Platform, now);
        for (effect, flight) in in_flight {
            let wanted = self.want(&effect).is_some();
            if wanted && flight.role().is_none() && self.is_once(&flight.what) {
                self.unknown(&effect, &flight, "The process that called it died before the answer came".into(), now);
                continue;
            }
            let (outcome, at) = if wanted { (FinishedAs::Lost, Some(now)) } else { (FinishedAs::Canceled, None) };
            let settled = Settled::presumed(flight.reserve);
            self.finish(&effect, flight.attempt, outcome, settled, Retry { at, ..Retry::default() }, now);
        }
    }

    /// Whether the attempt's intent is recorded and its outcome is not.
    pub fn is_in_flight(&self, effect: &EffectId, attempt: u32) -> bool {
        matches!(self.shared.effects.get(effect), Some(EffectState::InFlight(flight)) if flight.attempt == attempt)
    }

    fn flights(&self) -> impl Iterator<Item = (EffectId, CallInFlight)> + '_ {
        self.shared.effects.iter().filter_map(|(id, state)| match state {
            EffectState::InFlight(flight) => Some((id.clone(), flight.clone())),
            _ => None,
        })
    }

    /// The provider of a wanted model call.
    pub fn provider(&self, effect: &EffectId) -> Option<&str> {
        let role = self.want(effect)?.role?;
        Some(&self.shared.brief.models.for_role(role).provider)
    }

    pub fn due(&self, now: Timestamp) -> Due {
        let mut due = Due { wake_at: self.next_deadline(), ..Due::default() };
        if !self.shared.is_moving() {
            return due;
        }
        for state in self.shared.effects.values() {
            if let EffectState::BackingOff { until, .. } = state
                && *until > now
            {
                due.wake(*until);
            }
        }
        let mut slots = (self.shared.budgets.max_parallel.max(1) as usize).saturating_sub(self.in_flight());
        for want in self.wants() {
            if want.inline {
                due.inline.push(want.effect);
                continue;
            }
            if slots == 0 {
                break;
            }
            match self.shared.effects.get(&want.effect) {
                Some(EffectState::BackingOff { until, .. }) if *until > now => {}
                Some(EffectState::InFlight(_)) => {}
                Some(state) if state.awaits_a_person() => {}
                _ if want.role.is_none() && self.repeats_an_unknown(&want.effect) => {}
                _ => {
                    slots -= 1;
                    due.external.push(want.effect);
                }
            }
        }
        due
    }

    fn wants(&self) -> impl Iterator<Item = Want> {
        let machine = self.rules().wants(&self.shared);
        self.shared.check_want().into_iter().chain(machine.filter(|_| !self.shared.is_checked_after_its_end()))
    }

    fn work(&self, effect: &EffectId) -> Option<Work> {
        if self.shared.is_check_effect(effect) {
            return self.shared.check_work(effect);
        }
        self.rules().work(&self.shared, effect)
    }

    fn in_flight(&self) -> usize {
        self.shared.effects.values().filter(|state| matches!(state, EffectState::InFlight(_))).count()
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        let questions = self.shared.open_questions().filter_map(|question| question.deadline_at).min();
        let wall = self.shared.budgets.max_wall_ms.filter(|_| self.shared.is_working()).map(|limit| {
            let left = limit - self.shared.metrics.running_ms;
            self.shared.counted_until.plus_ms(left.max(0))
        });
        // The time limit only matters while something could still be started; calls in flight end by themselves.
        questions.into_iter().chain(wall.filter(|_| self.in_flight() == 0)).min()
    }

    /// Record the intent of a call. `None` when there is no room now, or never (then that is recorded).
    pub fn intend(&mut self, effect: &EffectId, now: Timestamp) -> Option<EffectAttempt> {
        let wrap_up = self.want(effect)?.wrap_up;
        let work = self.work(effect)?;
        let reserve = match &work {
            Work::Model(call) => call.reserve(),
            Work::Tool(_) | Work::Check(_) => Reserve::default(),
        };
        let given_up = self.shared.gave_up.get(effect).copied().unwrap_or(0);
        let attempt = self.shared.effects.get(effect).map_or(given_up, EffectState::attempt) + 1;
        match self.admit(effect, reserve, wrap_up, now) {
            Admission::Fits => {}
            Admission::Wait => return None,
            Admission::Never(limit) => {
                self.refuse(effect, limit, now);
                return None;
            }
        }
        let started = self.started(effect, attempt, &work, reserve);
        self.emit_at(self.rules().node_ref(effect), started, Actor::Platform, now);
        self.deliver_messages(effect, &work, now);
        Some(EffectAttempt { run: self.shared.context(now), effect: effect.clone(), number: attempt, work })
    }

    /// A built-in tool needs no intent: its changes and its outcome are one commit.
    pub fn inline_attempt(&self, effect: &EffectId, now: Timestamp) -> Option<EffectAttempt> {
        let work = self.work(effect)?;
        Some(EffectAttempt { run: self.shared.context(now), effect: effect.clone(), number: 1, work })
    }

    pub(super) fn want(&self, effect: &EffectId) -> Option<Want> {
        match self.shared.is_check_effect(effect) {
            true => self.shared.check_want().filter(|want| want.effect == *effect),
            false => self.rules().want(&self.shared, effect),
        }
    }

    fn admit(&self, effect: &EffectId, reserve: Reserve, wrap_up: bool, now: Timestamp) -> Admission {
        if self.shared.is_check_effect(effect) {
            return self.shared.admit_check(reserve, now);
        }
        let (admission, wrap_up_reserve) = match wrap_up {
            true => (self.shared.ledger.admit(reserve, &self.shared.budgets, Reserve::default()), Reserve::default()),
            false => (self.shared.admit(reserve, now), self.shared.kept_reserve()),
        };
        match admission {
            Admission::Fits => self.rules().admit(&self.shared, effect, reserve, wrap_up_reserve),
            full => full,
        }
    }

    fn started(&mut self, effect: &EffectId, attempt: u32, work: &Work, reserve: Reserve) -> Started {
        let (what, model, request) = match work {
            Work::Model(ModelCall { role, model, request, .. }) => {
                let (manifest, mut fresh) = request.manifest();
                let manifest = Blob::new(serde_json::to_string(&manifest).unwrap_or_default());
                let reference = manifest.reference();
                fresh.push(manifest);
                self.draft.blobs.extend(fresh);
                (role.name().to_owned(), Some(model.name()), Some(reference))
            }
            Work::Tool(call) => (call.tool.clone(), None, None),
            Work::Check(_) => ("check".to_owned(), None, None),
        };
        Started { effect: effect.clone(), attempt, what, model, request, reserve }
    }

    /// Records which messages this call is shown.
    fn deliver_messages(&mut self, effect: &EffectId, work: &Work, now: Timestamp) {
        if !matches!(work, Work::Model(call) if call.role.is_shown_messages()) {
            return;
        }
        let (rules, node_ref) = (self.rules(), self.rules().node_ref(effect));
        let heard = self.shared.messages.iter().filter(|message| rules.shows_message(&self.shared, effect, message));
        let shown = crate::prompt::newest_messages(heard).into_iter().filter(|message| !message.delivered);
        for message_id in shown.map(|message| message.id).collect::<Vec<_>>() {
            self.emit_at(node_ref, MessageDelivered { message_id, effect: effect.0.clone() }, Actor::Platform, now);
        }
    }

    fn refuse(&mut self, effect: &EffectId, limit: Exhausted, now: Timestamp) {
        let reason = StopReason::from(limit);
        let error = format!("{}: {}", reason.name(), crate::report::words::NO_ROOM);
        // A check that has no room is left out, and the work goes on.
        let exhausted = Some(limit).filter(|_| !self.shared.is_check_effect(effect));
        self.warn_of_limits(exhausted, now);
        let fact = Finished {
            error: Some(error.clone()),
            exhausted,
            ..Finished::new(effect, 0, FinishedAs::Refused, Settled::default())
        };
        self.emit_at(self.rules().node_ref(effect), fact, Actor::Platform, now);
        match self.want(effect) {
            Some(Want { role: None, .. }) => {
                self.decide(Input::Tool { effect, outcome: &ToolOutcome::refused(error) }, now)
            }
            _ => self.decide(Input::Failed { effect, error: &error, retryable: true }, now),
        }
        self.wait_for_people(now);
    }

    /// An outcome arrives. One that is not awaited (any more) changes nothing: its money was settled
    /// when the run stopped waiting for it.
    pub fn outcome(
        &mut self,
        effect: &EffectId,
        attempt: u32,
        outcome: Outcome,
        parked: Option<Parked>,
        now: Timestamp,
    ) {
        if let Outcome::Tool(outcome) = &outcome
            && self.want(effect).is_some_and(|want| want.inline)
        {
            self.decide(Input::Tool { effect, outcome }, now);
            return self.wait_for_people(now);
        }
        let Some(EffectState::InFlight(flight)) = self.shared.effects.get(effect).cloned() else { return };
        if flight.attempt != attempt {
            return;
        }
        match outcome {
            Outcome::Model(Ok(reply)) => self.reply(effect, &flight, reply, now),
            Outcome::Model(Err(error)) => self.call_failed(effect, &flight, error, parked, now),
            Outcome::Tool(outcome) => self.tool_answered(effect, &flight, &outcome, now),
            Outcome::Asks(asking) => self.tool_asks(effect, &flight, asking, now),
            Outcome::Lost(reason) => self.tool_lost(effect, &flight, reason, now),
            // It was never sent; wait as after a failed call.
            Outcome::Unavailable(reason) => {
                let at = Some(now.plus_ms(self.backoff(effect, &flight)));
                let retry = Retry { at, error: Some(reason), ..Retry::default() };
                self.finish(effect, attempt, FinishedAs::Transient, Settled::default(), retry, now);
            }
        }
        // It may have been the last call in flight, so the run may now have to wait or end.
        self.proceed(now);
    }

    fn reply(&mut self, effect: &EffectId, flight: &CallInFlight, reply: ModelReply, now: Timestamp) {
        let price = flight.role().and_then(|role| self.shared.brief.models.for_role(role).price);
        let usage = reply.usage;
        let cost = price.map_or(0, |price| price.cost(usage.input, usage.cached, usage.output));
        let settled = Settled {
            tokens_in: usage.input,
            tokens_out: usage.output,
            tokens_cached: usage.cached,
            cost_usd: crate::money::Usd(cost),
            presumed: false,
            estimated: usage.estimated,
        };
        let blob = Blob::new(reply.text.clone());
        let response = blob.reference();
        self.draft.blobs.push(blob);
        let fact = Finished {
            response: Some(response),
            provider_request_id: reply.provider_request_id.clone(),
            ..Finished::new(effect, flight.attempt, FinishedAs::Ok, settled)
        };
        self.emit_at(self.rules().node_ref(effect), fact, Actor::Platform, now);
        self.warn_of_limits(None, now);
        self.decide(Input::Reply { effect, reply: &reply, response }, now);
    }

    fn call_failed(
        &mut self,
        effect: &EffectId,
        flight: &CallInFlight,
        error: CallError,
        parked: Option<Parked>,
        now: Timestamp,
    ) {
        let settled = if error.maybe_paid { Settled::presumed(flight.reserve) } else { Settled::default() };
        let counted = parked.is_none();
        let retry = |at| Retry { at, counted, error: Some(error.message.clone()), tool_state: None };
        let Some(Want { wrap_up, .. }) = self.want(effect) else {
            // The machine no longer wants it: only the cost is settled.
            return self.finish(effect, flight.attempt, FinishedAs::Canceled, settled, retry(None), now);
        };
        match error.failure {
            CallFailure::Auth | CallFailure::Quota => {
                self.finish(effect, flight.attempt, FinishedAs::Failed, settled, retry(None), now);
                let stop_reason = if error.failure == CallFailure::Auth {
                    StopReason::ProviderAuth
                } else {
                    StopReason::ProviderQuota
                };
                // What a run came to does not change because nobody could check it.
                if wrap_up || self.shared.is_check_effect(effect) {
                    self.decide(Input::Failed { effect, error: &error.message, retryable: true }, now);
                } else {
                    self.fail(stop_reason, error.message, now);
                }
            }
            CallFailure::Rejected => self.give_up(effect, flight, settled, retry(None), false, now),
            // It was never sent, so it does not count as an attempt.
            CallFailure::Local => {
                let at = Some(now.plus_ms(LOCAL_PAUSE_MS));
                let retry = Retry { at, error: Some(error.message), ..Retry::default() };
                self.finish(effect, flight.attempt, FinishedAs::Transient, Settled::default(), retry, now);
            }
            _ if wrap_up || (parked.is_none() && flight.counted + 1 >= MAX_ATTEMPTS) => {
                self.give_up(effect, flight, settled, retry(None), true, now);
            }
            CallFailure::Unreachable | CallFailure::RateLimited | CallFailure::Interrupted => {
                let backoff = now.plus_ms(self.backoff(effect, flight).max(error.retry_after_ms.unwrap_or(0)));
                let at = parked.as_ref().map_or(backoff, |parked| parked.until.max(backoff));
                let asked_to_wait = error.retry_after_ms.is_some_and(|ms| ms > MAX_BACKOFF_MS);
                let provider = self.provider(effect).filter(|_| asked_to_wait).map(str::to_owned);
                let parked = parked.or(provider.map(|provider| Parked { provider, until: at }));
                self.finish(effect, flight.attempt, FinishedAs::Transient, settled, retry(Some(at)), now);
                if let Some(parked) = parked {
                    self.wait_for_provider(parked, Some(error.message), now);
                }
            }
        }
    }

    /// The driver found the provider parked before it even tried.
    pub fn park(&mut self, parked: Parked, now: Timestamp) {
        let same = |wait: &ProviderWaiting| wait.provider == parked.provider && wait.until >= parked.until;
        if !self.shared.provider_wait.as_ref().is_some_and(same) {
            self.wait_for_provider(parked, None, now);
        }
    }

    fn wait_for_provider(&mut self, parked: Parked, error: Option<String>, now: Timestamp) {
        self.emit(ProviderWaiting { provider: parked.provider, until: parked.until, error }, Actor::Platform, now);
    }

    fn give_up(
        &mut self,
        effect: &EffectId,
        flight: &CallInFlight,
        settled: Settled,
        retry: Retry,
        retryable: bool,
        now: Timestamp,
    ) {
        let error = retry.error.clone().unwrap_or_default();
        self.finish(effect, flight.attempt, FinishedAs::Failed, settled, retry, now);
        self.decide(Input::Failed { effect, error: &error, retryable }, now);
    }

    pub(super) fn finish(
        &mut self,
        effect: &EffectId,
        attempt: u32,
        outcome: FinishedAs,
        settled: Settled,
        retry: Retry,
        now: Timestamp,
    ) {
        let Retry { at, counted, error, tool_state } = retry;
        let fact =
            Finished { error, retry_at: at, counted, tool_state, ..Finished::new(effect, attempt, outcome, settled) };
        self.emit_at(self.rules().node_ref(effect), fact, Actor::Platform, now);
    }

    pub(super) fn fail(&mut self, stop_reason: StopReason, error: String, now: Timestamp) {
        let mut facts = self.facts(now);
        self.rules().failed(&self.shared, &error, &mut facts);
        self.record(facts, Actor::Platform);
        self.abandon_calls(now);
        let mut facts = self.facts(now);
        self.rules().cut_short(&self.shared, stop_reason, &error, &mut facts);
        self.record(facts, Actor::Platform);
        let report = crate::projection::bare_report(self, stop_reason, &error);
        self.emit(crate::facts::run::ReportCreated { report }, Actor::Platform, now);
        self.emit(Failed { stop_reason, error, ended: Ended::default() }, Actor::Platform, now);
    }

    /// Ends all calls in flight without waiting for their outcome; they are presumed paid.
    pub(super) fn abandon_calls(&mut self, now: Timestamp) {
        let in_flight: Vec<(EffectId, CallInFlight)> = self.flights().collect();
        for (effect, flight) in in_flight {
            let settled = Settled::presumed(flight.reserve);
            self.finish(&effect, flight.attempt, FinishedAs::Canceled, settled, Retry::default(), now);
        }
    }

    /// Cancels calls that back off or wait for a person and that the machine no longer wants.
    pub(super) fn drop_unwanted_retries(&mut self, now: Timestamp) {
        let waiting = self.shared.effects.iter().filter(|(_, state)| !matches!(state, EffectState::InFlight(_)));
        let unwanted: Vec<_> = waiting
            .filter(|(effect, _)| self.want(effect).is_none())
            .map(|(effect, state)| (effect.clone(), state.attempt()))
            .collect();
        for (effect, attempt) in unwanted {
            self.finish(&effect, attempt, FinishedAs::Canceled, Settled::default(), Retry::default(), now);
        }
    }

    /// Full jitter, derived: the same attempt of the same call always waits the same time.
    pub(super) fn backoff(&self, effect: &EffectId, flight: &CallInFlight) -> i64 {
        let ceiling = (FIRST_BACKOFF_MS << flight.counted.min(8)).min(MAX_BACKOFF_MS);
        let seed =
            crate::blob::Hash::of(&[self.shared.id.0.as_bytes(), effect.0.as_bytes(), &flight.attempt.to_le_bytes()]);
        let draw = u64::from_le_bytes([
            seed.0[0], seed.0[1], seed.0[2], seed.0[3], seed.0[4], seed.0[5], seed.0[6], seed.0[7],
        ]);
        1 + (draw % ceiling as u64) as i64
    }

    /// Expires questions whose deadline passed, and enforces the time limit between calls.
    pub fn tick(&mut self, now: Timestamp) {
        let expired: Vec<_> = self
            .shared
            .open_questions()
            .filter(|question| question.deadline_at.is_some_and(|deadline| deadline <= now))
            .map(|question| (question.id, question.default.clone()))
            .collect();
        for (question_id, default) in expired {
            let expired = crate::facts::run::QuestionExpired { question_id, default, withdrawn: false };
            self.emit(expired, Actor::Platform, now);
        }
        self.resume_if_answered(ResumeReason::Expired, now);
        self.proceed(now);
    }
}

/// What `effect.finished` records of a failed or repeated attempt beyond its outcome.
#[derive(Clone, Debug, Default)]
pub(super) struct Retry {
    pub at: Option<Timestamp>,
    pub counted: bool,
    pub error: Option<String>,
    pub tool_state: Option<serde_json::Value>,
}
