//! Commands to a subtree (cancel, retry, pause, resume), and continuing what a limit cut short.

use super::node::Node;
use super::state::State;
use super::status::{NodeRole, NodeStatus, StepStatus};
use crate::budget::Reserve;
use crate::facts::run::QuestionExpired;
use crate::facts::tree::{self as fact, Disposition, NodeStatusChanged};
use crate::ids::{NodeId, NodeNumber};
use crate::run::{Facts, Refusal, Remedy, Shared, refuse};
use std::collections::BTreeSet;

impl State {
    fn still_live(&self, number: NodeNumber) -> Result<(), Refusal> {
        let node = self.at(number);
        if node.is_live() {
            Ok(())
        } else {
            refuse("node_ended", format!("node {} is {} already", node.id, node.status.name()))
        }
    }

    pub(super) fn cancel_node(&self, shared: &Shared, number: NodeNumber, facts: &mut Facts) -> Result<(), Refusal> {
        self.still_live(number)?;
        self.cancel_subtree(shared, number, facts);
        self.step_ended(number, StepStatus::Canceled, facts);
        Ok(())
    }

    /// Children before their parents, each with what is known of its last call. What is below the node and had given a whole
    /// result, which a pause kept from being taken, keeps it. None of them is paused any more.
    pub(super) fn cancel_subtree(&self, shared: &Shared, number: NodeNumber, facts: &mut Facts) {
        let mut kept = BTreeSet::new();
        for at in self.subtree(number).into_iter().rev().filter(|at| self.at(*at).is_live()) {
            let (node, node_ref) = (self.at(at), self.node_ref_of(at));
            if node.paused {
                facts.push_at(node_ref, fact::NodeResumed {});
            }
            if at != number && self.has_whole_result(at) {
                kept.insert(at);
                self.conclude(shared, at, facts);
                continue;
            }
            self.withdraw_questions(at, facts);
            let open = node.plan.iter().flat_map(|plan| &plan.steps).filter(|step| !step.status.is_terminal());
            for step in open.filter(|step| step.child.is_none_or(|child| !kept.contains(&child))) {
                facts.push_at(
                    node_ref,
                    fact::StepStatusChanged { step_id: step.of.id.clone(), status: StepStatus::Canceled },
                );
            }
            facts.push_at(node_ref, fact::NodeCanceled { disposition: disposition(node) });
        }
    }

    pub(super) fn pause(&self, number: NodeNumber, facts: &mut Facts) -> Result<(), Refusal> {
        self.still_live(number)?;
        if self.at(number).paused {
            return refuse("already_paused", format!("node {} is paused already", self.at(number).id));
        }
        facts.push_at(self.node_ref_of(number), fact::NodePaused {});
        Ok(())
    }

    pub(super) fn resume(&self, number: NodeNumber, facts: &mut Facts) -> Result<(), Refusal> {
        if self.at(number).paused {
            facts.push_at(self.node_ref_of(number), fact::NodeResumed {});
            return Ok(());
        }
        match self.path(number).find(|at| self.at(*at).paused) {
            Some(above) => refuse(
                "paused_above",
                format!(
                    "node {} is held by node {}, which is paused: resume that one",
                    self.at(number).id,
                    self.at(above).id
                ),
            ),
            None => refuse("not_paused", format!("node {} is not paused", self.at(number).id)),
        }
    }

    /// With `dependents`, what rested on the node in later bands is done again after it, in order.
    pub(super) fn retry(
        &self,
        shared: &Shared,
        number: NodeNumber,
        dependents: bool,
        facts: &mut Facts,
    ) -> Result<(), Refusal> {
        let node = self.at(number);
        if node.is_live() {
            return refuse(
                "node_live",
                format!("node {} is {}; cancel it before retrying it", node.id, node.status.name()),
            );
        }
        if let Some(why) = self.not_retryable(number) {
            return refuse("not_current", why);
        }
        let more = if dependents { self.dependents(number).len() as u32 } else { 0 };
        let needed = u32::from(node.parent.is_some()) + more;
        let left = self.nodes_left(shared);
        if needed > left {
            let limit = shared.budgets.max_nodes;
            let why = match left {
                0 => format!("all {limit} nodes are used"),
                _ => format!("{needed} nodes are needed and {left} of {limit} are left"),
            };
            return Err(Refusal::new("max_nodes", why).with(Remedy::RaiseNodes { above: limit + needed - left - 1 }));
        }
        self.redo(shared, number, &mut BTreeSet::new(), facts);
        if dependents {
            self.plan_dependents(number, facts);
        }
        self.mark_stale(&[number], node.id, facts);
        Ok(())
    }

    /// Why a retry would be useless: a node above it is canceled, still plans, or has replaced it.
    fn not_retryable(&self, number: NodeNumber) -> Option<String> {
        for at in self.path(number) {
            let node = self.at(at);
            if at != number && node.status == NodeStatus::Canceled {
                return Some(format!("node {} above it is canceled: retry that one", node.id));
            }
            if at != number && matches!(node.status, NodeStatus::Planning | NodeStatus::Blocked | NodeStatus::Executing)
            {
                return Some(format!("node {} above it is {}: wait until it delegates", node.id, node.status.name()));
            }
            let step = node.parent.and_then(|parent| self.at(parent).plan.as_ref()?.step(node.step_id.as_deref()?));
            if node.parent.is_some() && step.is_none_or(|step| step.child != Some(at)) {
                return Some(format!("node {} was replaced by a later one", node.id));
            }
            if step.is_some_and(|step| step.again) {
                return Some(format!("node {} is about to be done again", node.id));
            }
        }
        (number == NodeNumber::ROOT && self.at(NodeNumber::ROOT).status == NodeStatus::Canceled)
            .then(|| "a canceled run does not go on: start a new one".into())
    }

    /// A new node for the step of this one; every ancestor that had moved on is reopened, once.
    fn redo(&self, shared: &Shared, number: NodeNumber, reopened: &mut BTreeSet<NodeNumber>, facts: &mut Facts) {
        let node = self.at(number);
        let step = node.parent.and_then(|parent| self.at(parent).plan.as_ref()?.step(node.step_id.as_deref()?));
        let (Some(parent), Some(step)) = (node.parent, step) else {
            return self.begin_again(shared, number, false, facts);
        };
        let child: NodeId = facts.new_id();
        self.reopen_from(parent, child, reopened, facts);
        self.delegate(shared, parent, step, child, Reserve::default(), Some(node.id), facts);
    }

    /// Reopens the node and every ancestor that had moved on, the root first.
    fn reopen_from(
        &self,
        number: NodeNumber,
        caused_by: NodeId,
        reopened: &mut BTreeSet<NodeNumber>,
        facts: &mut Facts,
    ) {
        let path: Vec<NodeNumber> = self.path(number).collect();
        for at in path.into_iter().rev().filter(|at| reopened.insert(*at)) {
            self.reopen(at, caused_by, facts);
        }
    }

    /// An ancestor waits again, in a new generation, unless it was waiting all the time; what it had skipped is due again.
    fn reopen(&self, number: NodeNumber, caused_by: NodeId, facts: &mut Facts) {
        let (node, node_ref) = (self.at(number), self.node_ref_of(number));
        match node.status {
            NodeStatus::Waiting => return,
            // Paused before its next band: that one comes after what is done again in the bands before it.
            NodeStatus::Delegating => {
                return facts.push_at(node_ref, NodeStatusChanged::to(NodeStatus::Waiting, NodeRole::Planner));
            }
            _ => {}
        }
        facts.push_at(node_ref, fact::NodeReopened { generation: node.generation + 1, caused_by });
        facts.push_at(node_ref, NodeStatusChanged::to(NodeStatus::Waiting, NodeRole::Planner).saying("reopened"));
        for step in node.plan.iter().flat_map(|plan| plan.skipped()) {
            facts.push_at(
                node_ref,
                fact::StepStatusChanged { step_id: step.of.id.clone(), status: StepStatus::Pending },
            );
        }
        if !node.is_live() {
            self.step_ended(number, StepStatus::Running, facts);
        }
    }

    /// The same node begins again with what it had: the root, because it has no step to give to a new node, and nodes
    /// that were cut short.
    fn begin_again(&self, shared: &Shared, number: NodeNumber, leaf: bool, facts: &mut Facts) {
        let (node, node_ref) = (self.at(number), self.node_ref_of(number));
        facts.push_at(node_ref, fact::NodeReopened { generation: node.generation + 1, caused_by: node.id });
        self.begin(shared, node_ref, node.depth, leaf, facts);
        self.step_ended(number, StepStatus::Running, facts);
    }

    /// Continues a stopped or failed run: nodes that failed, were cut short or skipped steps begin again, the deepest first.
    pub(super) fn go_on(&self, shared: &Shared, facts: &mut Facts) {
        if self.root().is_none_or(|root| root.is_live()) {
            return;
        }
        let mut above = BTreeSet::new();
        let mut again = Vec::new();
        let mut places = self.nodes_left(shared);
        for number in self.numbers().rev() {
            let Some(how) = self.unfinished(number).filter(|_| !above.contains(&number)) else { continue };
            if self.not_retryable(number).is_some()
                || how == Unfinished::Redo && number != NodeNumber::ROOT && places == 0
            {
                continue;
            }
            places -= u32::from(how == Unfinished::Redo && number != NodeNumber::ROOT);
            above.extend(self.path(number).skip(1));
            again.push((number, how));
        }
        if again.is_empty() {
            again.push((NodeNumber::ROOT, Unfinished::Redo));
        }
        let mut reopened = BTreeSet::new();
        let replaced: Vec<NodeNumber> = again.iter().map(|(number, _)| *number).collect();
        for (number, how) in again.into_iter().rev() {
            let node = self.at(number);
            match how {
                Unfinished::SumUp => self.reopen_from(number, node.id, &mut reopened, facts),
                Unfinished::Begin => {
                    if let Some(parent) = node.parent {
                        self.reopen_from(parent, node.id, &mut reopened, facts);
                    }
                    self.begin_again(shared, number, node.worked_as_executor(), facts);
                }
                Unfinished::Redo => self.redo(shared, number, &mut reopened, facts),
            }
        }
        if let Some(first) = replaced.last() {
            self.mark_stale(&replaced, self.at(*first).id, facts);
        }
    }

    /// How an ended node continues; `None` when it has nothing left to do.
    fn unfinished(&self, number: NodeNumber) -> Option<Unfinished> {
        let node = self.at(number);
        let delegated =
            matches!(node.status_before_end, NodeStatus::Waiting | NodeStatus::Delegating | NodeStatus::Aggregating);
        let plan = node.plan.as_ref().filter(|_| delegated);
        match node.status {
            // Its failed children continue first; if none can, it plans again.
            NodeStatus::Failed if plan.is_some_and(|plan| plan.any_completed()) => Some(Unfinished::SumUp),
            NodeStatus::Completed if plan.is_some_and(|plan| node.cut_short || plan.skipped_without_failure()) => {
                Some(Unfinished::SumUp)
            }
            NodeStatus::Failed | NodeStatus::Completed if node.cut_short => Some(Unfinished::Begin),
            NodeStatus::Failed => Some(Unfinished::Redo),
            _ => None,
        }
    }

    /// Withdraws the node's own question and those of its tool calls.
    pub(super) fn withdraw_questions(&self, number: NodeNumber, facts: &mut Facts) {
        let work = &self.at(number).work;
        let own = work.question.filter(|_| !work.question_closed);
        for question_id in own.into_iter().chain(work.asking.iter().copied()) {
            facts.push_at(self.node_ref_of(number), QuestionExpired { question_id, default: None, withdrawn: true });
        }
    }
}

/// What is known of a node that is canceled. One that has planned and given out no step has not begun its work.
fn disposition(node: &Node) -> Disposition {
    let only_planned = node.plan.as_ref().is_some_and(|plan| plan.version == 1 && plan.children().next().is_none());
    match (node.in_flight > 0, node.called && !only_planned) {
        (true, _) => Disposition::InFlightUnknown,
        (false, true) => Disposition::Done,
        (false, false) => Disposition::NotStarted,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unfinished {
    /// Its children's results stay: it waits for the rest and aggregates again.
    SumUp,
    /// It was in the middle of its own work and begins that again.
    Begin,
    /// It failed: a new node takes its step.
    Redo,
}
