//! What people order of a subtree: cancel, retry, pause, resume; and taking up again what a limit cut short.

use super::state::State;
use super::status::{NodeRole, NodeStatus, StepStatus};
use crate::budget::Reserve;
use crate::facts::run::QuestionExpired;
use crate::facts::tree::{self as fact, Disposition, NodeStatusChanged};
use crate::ids::NodeId;
use crate::run::{Facts, NodeOrder, Refusal, Shared, no_such_node, refuse};
use std::collections::BTreeSet;

impl State {
    pub(super) fn ordered(
        &self,
        shared: &Shared,
        id: NodeId,
        order: NodeOrder,
        facts: &mut Facts,
    ) -> Result<(), Refusal> {
        let Some(number) = self.number(id) else {
            return no_such_node(shared, id);
        };
        match order {
            NodeOrder::Cancel => self.cancel_node(number, facts),
            NodeOrder::Retry => self.retry(shared, number, facts),
            NodeOrder::Pause => self.pause(number, facts),
            NodeOrder::Resume => self.resume(number, facts),
        }
    }

    fn still_live(&self, number: u32) -> Result<(), Refusal> {
        let node = self.at(number);
        if node.is_live() {
            Ok(())
        } else {
            refuse("node_ended", format!("node {} is {} already", node.id, node.status.name()))
        }
    }

    fn cancel_node(&self, number: u32, facts: &mut Facts) -> Result<(), Refusal> {
        self.still_live(number)?;
        self.cancel_subtree(number, facts);
        self.step_ended(number, StepStatus::Canceled, facts);
        Ok(())
    }

    pub(super) fn cancel_all(&self, facts: &mut Facts) {
        if self.root().is_some_and(|root| root.is_live()) {
            self.cancel_subtree(0, facts);
        }
    }

    /// Children before their parents, each with what is known of its last call.
    fn cancel_subtree(&self, number: u32, facts: &mut Facts) {
        for at in self.subtree(number).into_iter().rev().filter(|at| self.at(*at).is_live()) {
            let (node, spot) = (self.at(at), self.spot_of(at));
            if let Some(question_id) = node.work.question.filter(|_| !node.work.question_closed) {
                facts.push_at(spot, QuestionExpired { question_id, default: Some("(the node was canceled)".into()) });
            }
            let open = node.plan.iter().flat_map(|plan| &plan.steps).filter(|step| !step.status.is_terminal());
            for step in open {
                facts.push_at(
                    spot,
                    fact::StepStatusChanged { step_id: step.of.id.clone(), status: StepStatus::Canceled },
                );
            }
            let disposition = match (node.in_flight > 0, node.called) {
                (true, _) => Disposition::InFlightUnknown,
                (false, true) => Disposition::Done,
                (false, false) => Disposition::NotStarted,
            };
            facts.push_at(spot, fact::NodeCanceled { disposition });
        }
    }

    fn pause(&self, number: u32, facts: &mut Facts) -> Result<(), Refusal> {
        self.still_live(number)?;
        if self.at(number).paused {
            return refuse("already_paused", format!("node {} is paused already", self.at(number).id));
        }
        facts.push_at(self.spot_of(number), fact::NodePaused {});
        Ok(())
    }

    fn resume(&self, number: u32, facts: &mut Facts) -> Result<(), Refusal> {
        if self.at(number).paused {
            facts.push_at(self.spot_of(number), fact::NodeResumed {});
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

    fn retry(&self, shared: &Shared, number: u32, facts: &mut Facts) -> Result<(), Refusal> {
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
        if node.parent.is_some() && self.nodes_left(shared) == 0 {
            let limit = shared.budgets.max_nodes;
            return refuse("max_nodes", format!("all {limit} nodes are used: raise --max-nodes above {limit} first"));
        }
        self.redo(shared, &[number], facts);
        Ok(())
    }

    /// Only what its ancestors still count on can be done again to any use.
    fn not_retryable(&self, number: u32) -> Option<String> {
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
        }
        (number == 0 && self.at(0).status == NodeStatus::Canceled)
            .then(|| "a canceled run does not go on: start a new one".into())
    }

    /// New nodes for the steps of these; every ancestor that had moved on is reopened, once.
    fn redo(&self, shared: &Shared, numbers: &[u32], facts: &mut Facts) {
        let mut reopened = BTreeSet::new();
        for number in numbers {
            let node = self.at(*number);
            let step = node.parent.and_then(|parent| self.at(parent).plan.as_ref()?.step(node.step_id.as_deref()?));
            let (Some(parent), Some(step)) = (node.parent, step) else {
                self.begin_again(shared, *number, facts);
                continue;
            };
            let child: NodeId = facts.mint();
            let path: Vec<u32> = self.path(parent).collect();
            for at in path.into_iter().rev().filter(|at| reopened.insert(*at)) {
                self.reopen(at, child, facts);
            }
            self.delegate(shared, parent, step, child, Reserve::default(), Some(node.id), facts);
        }
    }

    /// An ancestor waits again, in a new generation, unless it was waiting all the time.
    fn reopen(&self, number: u32, caused_by: NodeId, facts: &mut Facts) {
        let (node, spot) = (self.at(number), self.spot_of(number));
        if matches!(node.status, NodeStatus::Waiting | NodeStatus::Delegating) {
            return;
        }
        facts.push_at(spot, fact::NodeReopened { generation: node.generation + 1, caused_by });
        facts.push_at(spot, NodeStatusChanged::to(NodeStatus::Waiting, NodeRole::Planner).saying("reopened"));
        if !node.is_live() {
            self.step_ended(number, StepStatus::Running, facts);
        }
    }

    /// The root has no step to give to another: it begins anew, knowing what it had.
    fn begin_again(&self, shared: &Shared, number: u32, facts: &mut Facts) {
        let (node, spot) = (self.at(number), self.spot_of(number));
        facts.push_at(spot, fact::NodeReopened { generation: node.generation + 1, caused_by: node.id });
        self.begin(shared, spot, node.depth, false, facts);
    }

    /// A stopped or failed run goes on: what failed or was cut short, deepest first, is done again.
    pub(super) fn go_on(&self, shared: &Shared, facts: &mut Facts) {
        if self.root().is_none_or(|root| root.is_live()) {
            return;
        }
        let mut above = BTreeSet::new();
        let mut again = Vec::new();
        for number in (0..self.nodes.len() as u32).rev() {
            let node = self.at(number);
            let unfinished = node.status == NodeStatus::Failed || node.cut_short;
            if unfinished && !above.contains(&number) && self.not_retryable(number).is_none() {
                above.extend(self.path(number).skip(1));
                again.push(number);
            }
        }
        again.truncate(self.nodes_left(shared) as usize);
        again.reverse();
        let again = if again.is_empty() { vec![0] } else { again };
        self.redo(shared, &again, facts);
    }
}
