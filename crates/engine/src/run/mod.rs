//! A run: the fold of its log, and the only way to add to it.
//!
//! `Shared` is what every kind of run has (status, questions, messages, limits, calls in flight); `Machine` is what one
//! kind adds. Facts are drafted and applied here and leave as one batch. When appending the batch fails, the driver must
//! drop the `Run` and fold the log again, because the state already contains what was not stored.

mod admission;
mod apply;
mod commands;
mod criterion_commands;
mod draft;
mod effect_state;
mod effects;
mod external_tools;
mod in_progress;
mod shared;
mod terms;
pub(crate) mod unshown;
mod warnings;

pub(crate) use admission::least_call;
pub use admission::{MAX_MESSAGE_CHARS, MAX_OBJECTIVE_CHARS, check_agents, check_brief};
pub use commands::{Command, NodeCommand, Refusal, Remedy, UserAnswer};
pub(crate) use commands::{no_such_node, refuse};
pub(crate) use draft::headline;
pub use draft::{Facts, NodeRef};
pub use effect_state::{Due, EffectState, Parked};
pub use shared::{ClosedBy, PAUSED_AT_NODES, Question, Shared, UserMessage};
pub use terms::{Criterion, Kind, Lane, ScopeKind, Status, StopReason};

use crate::actor::Actor;
use crate::batch::Batch;
use crate::blob::BlobRef;
use crate::budget::{Admission, Reserve};
use crate::calls::RecordedCall;
use crate::effect::{EffectId, Work};
use crate::event::Event;
use crate::facts::evidence::{EndState, EvidenceText};
use crate::facts::{self, Fact};
use crate::homework;
use crate::ids::{NodeId, RunId};
use crate::model::Role;
use crate::task;
use crate::time::Timestamp;
use crate::tree;
use crate::workspace::Change;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Run {
    pub shared: Shared,
    pub machine: Machine,
    draft: Batch,
}

#[derive(Clone, Debug)]
pub enum Machine {
    Homework(Box<homework::State>),
    Tree(Box<tree::State>),
    Task(Box<task::State>),
}

/// The rules of one kind of run. Pure: `decide` sees a state and returns facts, `apply` records them.
/// The methods with a body are for machines with nodes, which have budgets and controls of their own.
pub trait Rules {
    /// Record a fact. Never fails; facts of other machines are ignored.
    fn apply(&mut self, shared: &Shared, event: &Event);
    /// The effects this state waits for: built-in tools first, then the most important. Lazy, so callers pay for what they take.
    fn wants<'a>(&'a self, shared: &'a Shared) -> Box<dyn Iterator<Item = Want> + 'a>;
    /// The request or call of an effect, built when it is about to start.
    fn work(&self, shared: &Shared, effect: &EffectId) -> Option<Work>;
    /// Facts that follow from an input. Called again with `Input::Proceed` until nothing follows.
    fn decide(&self, shared: &Shared, input: Input<'_>, facts: &mut Facts);
    /// A text that may be cited as evidence and that the log has: everything but documents and tasks, which are read.
    fn known_text(&self, _reference: &str) -> Option<EvidenceText> {
        None
    }
    /// What the run would leave behind if it ended now.
    fn end_state(&self, shared: &Shared) -> EndState;
    /// One line for people: what is going on.
    fn activity(&self, shared: &Shared) -> String;
    /// The want of this effect; `None` when the state does not (or no longer) wait for it.
    fn want(&self, shared: &Shared, effect: &EffectId) -> Option<Want> {
        self.wants(shared).find(|want| &want.effect == effect)
    }
    /// The node an effect belongs to.
    fn node_ref(&self, _effect: &EffectId) -> NodeRef {
        NodeRef::default()
    }
    /// Whether the call fits the budget of its node. The run's own limits are checked before.
    fn admit(&self, _shared: &Shared, _effect: &EffectId, _call: Reserve, _wrap_up_reserve: Reserve) -> Admission {
        Admission::Fits
    }
    /// Whether this message is shown to this call.
    fn shows_message(&self, _shared: &Shared, _effect: &EffectId, _message: &UserMessage) -> bool {
        true
    }
    /// Whether only answers to open questions can move the run.
    fn awaits_answers(&self, shared: &Shared) -> bool {
        shared.open_questions().next().is_some()
    }
    /// Refuses a message to a node that cannot receive it.
    fn check_addressee(&self, shared: &Shared, node: NodeId) -> Result<(), Refusal> {
        no_such_node(shared, node)
    }
    /// Decides a command to one node.
    fn command_node(
        &self,
        shared: &Shared,
        node: NodeId,
        _order: NodeCommand,
        _facts: &mut Facts,
    ) -> Result<(), Refusal> {
        no_such_node(shared, node)
    }
    /// The call waits for a person from now on.
    fn call_waits_for_person(&self, _effect: &EffectId, _why: &str, _facts: &mut Facts) {}
    /// The facts that end each node of a canceled run.
    fn canceled(&self, _shared: &Shared, _facts: &mut Facts) {}
    /// The facts that end each node of a failing run.
    fn failed(&self, _shared: &Shared, _error: &str, _facts: &mut Facts) {}
    /// On cancel: true when the machine has work to do first (a task's reflection) and then ends the run itself.
    fn finishes_before_cancel(&self, _shared: &Shared, _facts: &mut Facts) -> bool {
        false
    }
    /// The run ends without a decision of the machine; the calls in flight are settled.
    fn cut_short(&self, _shared: &Shared, _reason: StopReason, _detail: &str, _facts: &mut Facts) {}
    /// The most that the first call of a continued run may use, if that is known.
    fn next_call(&self, _shared: &Shared) -> Option<Reserve> {
        None
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    pub effect: EffectId,
    /// The role of a model call; a tool call has none.
    pub role: Option<Role>,
    /// Built in: performed without an intent.
    pub inline: bool,
    /// May use the wrap-up reserve, once, without retries.
    pub wrap_up: bool,
}

impl Want {
    /// One that is not built in needs an intent first.
    pub(crate) fn tool(shared: &Shared, call: &RecordedCall) -> Want {
        let inline = shared.external_tool(&call.tool).is_none();
        Want { effect: call.id.clone(), role: None, inline, wrap_up: false }
    }
}

#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// Decide what follows from the state alone.
    Proceed,
    /// A model's complete answer.
    Reply { effect: &'a EffectId, reply: &'a crate::effect::ModelReply, response: BlobRef },
    /// A tool's result or error.
    Tool { effect: &'a EffectId, outcome: &'a crate::effect::ToolOutcome },
    /// Every attempt failed, or there was no budget for one. `retryable`: a later attempt may fare better.
    Failed { effect: &'a EffectId, error: &'a str, retryable: bool },
    /// A person lets a stopped or failed run go on.
    Continued,
}

impl Input<'_> {
    fn effect(&self) -> Option<&EffectId> {
        match self {
            Input::Reply { effect, .. } | Input::Tool { effect, .. } | Input::Failed { effect, .. } => Some(effect),
            Input::Proceed | Input::Continued => None,
        }
    }
}

impl Run {
    /// Fold a log. `None` when it does not begin with `run.queued`.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Option<Run> {
        let mut events = events.into_iter();
        let mut run = Run::from_first_event(events.next()?)?;
        events.for_each(|event| run.apply(event));
        Some(run)
    }

    /// The state after a run's first event.
    pub fn from_first_event(first: &Event) -> Option<Run> {
        let Fact::Run(facts::RunFact::Queued(brief)) = &first.fact else { return None };
        let machine = match brief.kind {
            Kind::Homework => Machine::Homework(Box::default()),
            Kind::Tree => Machine::Tree(Box::default()),
            Kind::Task => Machine::Task(Box::default()),
        };
        let draft = Batch::after(first.run_id, 0);
        let mut run = Run { shared: Shared::new(first.run_id, brief.clone(), first.at), machine, draft };
        run.apply(first);
        Some(run)
    }

    /// A new run, with its first event in the draft.
    pub fn create(id: RunId, brief: facts::run::Queued, actor: Actor, now: Timestamp) -> Option<Run> {
        let fact: Fact = brief.into();
        let payload: Arc<str> = fact.encode()?.into();
        let mut event = Event {
            run_id: id,
            seq: 1,
            node_id: None,
            parent_node_id: None,
            at: now,
            actor,
            hash: crate::event::genesis(id),
            fact,
            payload,
        };
        event.hash = event.link(event.hash);
        let mut run = Run::from_first_event(&event)?;
        run.draft = Batch::after(id, 0);
        run.draft.events.push(event);
        Some(run)
    }

    pub fn apply(&mut self, event: &Event) {
        self.shared.apply(event);
        match &mut self.machine {
            Machine::Homework(state) => state.apply(&self.shared, event),
            Machine::Tree(state) => state.apply(&self.shared, event),
            Machine::Task(state) => state.apply(&self.shared, event),
        }
    }

    fn rules(&self) -> &dyn Rules {
        match &self.machine {
            Machine::Homework(state) => state.as_ref(),
            Machine::Tree(state) => state.as_ref(),
            Machine::Task(state) => state.as_ref(),
        }
    }

    /// What was decided since the last call: one transaction's worth.
    pub fn take_batch(&mut self) -> Batch {
        std::mem::replace(&mut self.draft, Batch::after(self.shared.id, self.shared.last_seq))
    }

    /// Whether facts were decided that `take_batch` has not returned yet.
    pub fn has_draft(&self) -> bool {
        !self.draft.events.is_empty()
    }

    /// Changes drafted but not yet committed: a tool that reads must wait for them.
    pub fn has_drafted_changes(&self) -> bool {
        !self.draft.changes.is_empty()
    }

    pub fn activity(&self) -> String {
        self.shared.activity(|| self.rules().activity(&self.shared))
    }

    /// Decide, apply, and repeat until the state asks for nothing more.
    fn decide(&mut self, input: Input<'_>, now: Timestamp) {
        self.decide_once(input, now);
        while self.shared.is_moving() && self.decide_once(Input::Proceed, now) {}
    }

    fn decide_once(&mut self, input: Input<'_>, now: Timestamp) -> bool {
        let mut facts = self.facts(now);
        match input.effect() {
            Some(effect) if self.shared.is_check_effect(effect) => self.shared.decide_check(input, &mut facts),
            _ if self.shared.is_checked_after_its_end() => {}
            _ => self.rules().decide(&self.shared, input, &mut facts),
        }
        let any = !facts.list.is_empty();
        self.record(facts, Actor::Platform);
        any
    }

    fn facts(&self, now: Timestamp) -> Facts {
        Facts::after(&self.shared, now)
    }

    fn record(&mut self, facts: Facts, actor: Actor) {
        let first_seq = self.shared.last_seq + 1;
        // A task's changes are attributed to its subagent, which chose them.
        let author = match (actor, &self.shared.brief.agent) {
            (Actor::Platform, Some(agent)) => Actor::Subagent(agent.id),
            _ => actor,
        };
        self.draft.blobs.extend(facts.blobs);
        self.draft.changes.extend(facts.mutations.into_iter().map(|drafted| Change {
            mutation: drafted.mutation,
            actor: drafted.by.map_or(author, Actor::Subagent),
            seq: first_seq + drafted.fact as u64,
        }));
        for (node_ref, fact) in facts.list {
            self.emit_at(node_ref, fact, actor, facts.now);
        }
    }

    fn emit(&mut self, fact: impl Into<Fact>, actor: Actor, now: Timestamp) {
        self.emit_at(NodeRef::default(), fact, actor, now);
    }

    fn emit_at(&mut self, node_ref: NodeRef, fact: impl Into<Fact>, actor: Actor, now: Timestamp) {
        let mut fact = fact.into();
        self.shared.name_unshown(&mut fact);
        self.shared.name_outcome(&mut fact, || self.rules().end_state(&self.shared));
        self.shared.finish_report(&mut fact, || self.rules().end_state(&self.shared));
        let Some(payload) = fact.encode() else { return };
        let mut event = Event {
            run_id: self.shared.id,
            seq: self.shared.last_seq + 1,
            node_id: node_ref.node,
            parent_node_id: node_ref.parent,
            at: now,
            actor,
            hash: self.shared.head,
            fact,
            payload: payload.into(),
        };
        event.hash = event.link(self.shared.head);
        self.apply(&event);
        self.draft.events.push(event);
    }
}
