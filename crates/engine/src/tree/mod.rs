//! The tree machine: every node plans or stays a leaf, delegates bands of steps to children, waits, aggregates,
//! replans within its allowance, and hands its parent an envelope.
//!
//! All nodes share one log. It knows nothing of attempts, the clock or money; `run` and `ledger` handle those.

mod aggregate;
pub mod answer;
mod apply;
mod bands;
mod control;
mod create_node;
mod decide;
pub(crate) mod effect_id;
mod end;
pub mod envelope;
mod execute;
pub mod node;
pub(crate) mod pad;
pub mod plan;
mod planning;
mod reads;
mod report;
mod request;
mod results;
mod stale;
pub mod state;
pub mod status;
mod verify;
mod wants;

pub use state::State;

use crate::budget::{Admission, Reserve};
use crate::calls;
use crate::effect::{EffectId, Work};
use crate::event::Event;
use crate::facts::Fact;
use crate::facts::evidence::{EndState, EvidenceText};
use crate::facts::tree::{self as fact, NodeStatusChanged};
use crate::ids::{NodeId, NodeNumber};
use crate::prompt::{self, Size};
use crate::run::{
    Facts, Input, Lane, NodeCommand, NodeRef, Refusal, Remedy, Rules, Shared, UserMessage, Want, no_such_node,
};
use effect_id::NodeCall;
use status::{NodeStatus, StepStatus};
use wants::role_of;

/// The error of a canceled node.
pub(crate) const CANCELED: &str = "canceled by a person";
pub const SCRATCHPAD: &str = "document.tree_agent.scratchpad";
pub const ARTIFACT: &str = "document.tree_agent.artifact";

impl Rules for State {
    fn apply(&mut self, shared: &Shared, event: &Event) {
        match &event.fact {
            Fact::Tree(fact) => self.record_own(shared, fact, event),
            Fact::Effect(fact) => self.record_effect(fact, event),
            Fact::Run(fact) => self.record_shared(shared, fact, event),
            Fact::Homework(_) | Fact::Task(_) | Fact::Unrecognized(_) => {}
        }
    }

    fn wants<'a>(&'a self, shared: &'a Shared) -> Box<dyn Iterator<Item = Want> + 'a> {
        let calls = self.tools.iter().flat_map(|number| calls::open(&self.at(*number).work.calls));
        let tools = calls.map(|call| Want::tool(shared, call));
        let models = self
            .ready
            .iter()
            .filter_map(|(_, number)| Some(self.model_want(shared, *number, self.call_wanted(*number)?)));
        Box::new(tools.chain(models))
    }

    fn work(&self, shared: &Shared, effect: &EffectId) -> Option<Work> {
        let position = self.position_of(effect)?;
        let number = self.node_of(effect)?;
        let node = self.at(number);
        let sections = match position.part {
            NodeCall::Tool { .. } | NodeCall::Recall => {
                let call = node.work.calls.iter().find(|call| &call.id == effect)?;
                return Some(Work::Tool(self.tool_call(shared, node, call)));
            }
            NodeCall::Plan { .. } => self.planner(shared, number, effect),
            NodeCall::Round { .. } => self.executor(shared, number, effect),
            NodeCall::Aggregate { .. } => self.aggregator(shared, number, effect),
        };
        let rejected = position.corrects().and_then(|first| node.work.rejected.get(&first.id(&self.tag)));
        let size = if self.is_wrap_up(shared, number, position.part) { Size::WrapUp } else { Size::Ordinary };
        Some(Work::Model(prompt::model_call(shared, role_of(position.part), sections, rejected, size)))
    }

    fn decide(&self, shared: &Shared, input: Input<'_>, facts: &mut Facts) {
        match input {
            Input::Proceed => self.proceed(shared, facts),
            Input::Continued => self.go_on(shared, facts),
            Input::Reply { effect, reply, response } => self.answered(shared, effect, reply, response, facts),
            Input::Tool { effect, outcome } => self.tool_answered_with(shared, effect, outcome, facts),
            Input::Failed { effect, error, retryable } => self.call_failed(shared, effect, error, retryable, facts),
        }
    }

    fn known_text(&self, reference: &str) -> Option<EvidenceText> {
        self.data_behind(reference)
    }

    fn end_state(&self, _shared: &Shared) -> EndState {
        self.left_undone()
    }

    fn activity(&self, shared: &Shared) -> String {
        state::describe(&self.counts, shared)
    }

    /// A paused node still accepts the outcomes of calls it had started.
    fn want(&self, shared: &Shared, effect: &EffectId) -> Option<Want> {
        let number = self.node_of(effect)?;
        let position = self.position_of(effect)?;
        if position.generation != self.at(number).generation {
            return None;
        }
        match position.part {
            NodeCall::Tool { .. } | NodeCall::Recall => {
                let node = self.at(number);
                let call = calls::open(&node.work.calls).find(|call| &call.id == effect);
                call.filter(|_| node.uses_tools()).map(|call| Want::tool(shared, call))
            }
            part => (self.call_wanted(number) == Some(part)).then(|| self.model_want(shared, number, part)),
        }
    }

    fn node_ref(&self, effect: &EffectId) -> NodeRef {
        self.node_of(effect).map(|number| self.node_ref_of(number)).unwrap_or_default()
    }

    fn admit(&self, shared: &Shared, effect: &EffectId, call: Reserve, wrap_up_reserve: Reserve) -> Admission {
        self.node_of(effect).map_or(Admission::Fits, |number| {
            self.accounts.admit(number, call, wrap_up_reserve, shared.ledger.open > 0)
        })
    }

    /// A message to a node is for it and those below; a queued one is for whoever plans or sums up.
    fn shows_message(&self, _shared: &Shared, effect: &EffectId, message: &UserMessage) -> bool {
        let Some(position) = self.position_of(effect) else { return false };
        let in_time = message.lane == Lane::Steer || !matches!(position.part, NodeCall::Round { .. });
        let addressed = message.node_id.is_none_or(|id| {
            self.node_of(effect).is_some_and(|number| self.path(number).any(|at| self.at(at).id == id))
        });
        in_time && addressed
    }

    /// Whether nothing can move without an answer.
    fn awaits_answers(&self, shared: &Shared) -> bool {
        self.is_idle() && shared.open_questions().next().is_some()
    }

    /// Refuses a message to a node that has ended, because no call would be shown it. The root accepts messages while the run
    /// can continue.
    fn check_addressee(&self, shared: &Shared, id: NodeId) -> Result<(), Refusal> {
        match self.number(id) {
            None => no_such_node(shared, id),
            Some(number) if number != NodeNumber::ROOT && !self.at(number).is_live() => {
                let why = format!("node {id} is {} and no longer receives messages", self.at(number).status.name());
                Err(Refusal::new("node_ended", why).with(Remedy::RetryNode { run: shared.id, node: id }))
            }
            Some(_) => Ok(()),
        }
    }

    fn command_node(&self, shared: &Shared, id: NodeId, order: NodeCommand, facts: &mut Facts) -> Result<(), Refusal> {
        let Some(number) = self.number(id) else {
            return no_such_node(shared, id);
        };
        match order {
            NodeCommand::Cancel => self.cancel_node(shared, number, facts),
            NodeCommand::Retry => self.retry(shared, number, false, facts),
            NodeCommand::RetryWithDependents => self.retry(shared, number, true, facts),
            NodeCommand::Pause => self.pause(number, facts),
            NodeCommand::Resume => self.resume(number, facts),
        }
    }

    fn call_waits_for_person(&self, effect: &EffectId, why: &str, facts: &mut Facts) {
        let Some(number) = self.node_of(effect).filter(|number| self.at(*number).status == NodeStatus::Executing)
        else {
            return;
        };
        let role = self.at(number).role;
        facts.push_at(self.node_ref_of(number), NodeStatusChanged::to(NodeStatus::Blocked, role).saying(why));
    }

    fn canceled(&self, shared: &Shared, facts: &mut Facts) {
        if self.root().is_some_and(|root| root.is_live()) {
            self.cancel_subtree(shared, NodeNumber::ROOT, facts);
        }
    }

    /// Fails every live node of a failing run, children before their parents.
    fn failed(&self, _shared: &Shared, error: &str, facts: &mut Facts) {
        let all = if self.nodes.is_empty() { Vec::new() } else { self.subtree(NodeNumber::ROOT) };
        for number in all.into_iter().rev().filter(|number| self.at(*number).is_live()) {
            let node_ref = self.node_ref_of(number);
            self.withdraw_questions(number, facts);
            for step in self.at(number).plan.iter().flat_map(|plan| plan.pending()) {
                facts.push_at(
                    node_ref,
                    fact::StepStatusChanged { step_id: step.of.id.clone(), status: StepStatus::Skipped },
                );
            }
            facts.push_at(
                node_ref,
                fact::NodeFailed { error: format!("not finished: {error}"), retryable: true, cut_short: true },
            );
            self.step_ended(number, StepStatus::Failed, facts);
        }
    }
}
