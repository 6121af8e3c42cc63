//! Bands in order, the steps of one side by side. A failed step never stops its band; a band that failed whole
//! makes the ones after it pointless.

use super::state::State;
use super::status::{NodeRole, NodeStatus, StepStatus};
use crate::budget::{Exhausted, Reserve};
use crate::facts::tree::{self as fact, NodeStatusChanged};
use crate::ids::{NodeId, NodeNumber};
use crate::run::{Facts, Shared, least_call};
use crate::tree::plan::Step;

impl State {
    pub(super) fn start_band(&self, shared: &Shared, number: NodeNumber, facts: &mut Facts) {
        let node_ref = self.node_ref_of(number);
        let Some(plan) = &self.at(number).plan else { return };
        if let Some(band) = plan.band_to_start() {
            let steps: Vec<&Step> = plan.band(band).filter(|step| step.status == StepStatus::Pending).collect();
            let later = plan.pending().count() - steps.len();
            let share = self.accounts.equal_share(
                number,
                steps.len(),
                later,
                least_call(&shared.brief.models),
                shared.kept_reserve(),
            );
            for step in steps {
                let child = facts.new_id();
                let retry_of = step.child.map(|earlier| self.at(earlier).id);
                self.delegate(shared, number, step, child, share, retry_of, facts);
            }
        }
        let waiting = NodeStatusChanged::to(NodeStatus::Waiting, NodeRole::Planner);
        facts.push_at(node_ref, waiting.with_progress(plan.progress()));
    }

    /// A child for a step; `retry_of` names the one it replaces.
    #[expect(
        clippy::too_many_arguments,
        reason = "a retry names the child to the ancestors it reopens before the child is made"
    )]
    pub(super) fn delegate(
        &self,
        shared: &Shared,
        number: NodeNumber,
        step: &Step,
        child: NodeId,
        share: Reserve,
        retry_of: Option<NodeId>,
        facts: &mut Facts,
    ) {
        let (node_ref, depth) = (self.node_ref_of(number), self.at(number).depth + 1);
        facts.push_at(node_ref, fact::StepStatusChanged { step_id: step.of.id.clone(), status: StepStatus::Running });
        let created = fact::NodeCreated {
            title: step.of.title.clone(),
            reason: step.of.reason.clone(),
            success_criteria: step.of.success_criteria.clone(),
            depth,
            band_index: step.band,
            step_index: step.index,
            step_id: Some(step.of.id.clone()),
            retry_of,
            deliverable: step.of.deliverable,
            share,
            agent: step.of.agent.clone(),
        };
        self.create(shared, child, Some(number), created, step.of.leaf, facts);
        facts.push_at(node_ref, fact::NodeDelegated { child_node_id: child, step_id: step.of.id.clone() });
    }

    pub(super) fn band_over(&self, shared: &Shared, number: NodeNumber, facts: &mut Facts) {
        let node_ref = self.node_ref_of(number);
        let Some(plan) = &self.at(number).plan else { return };
        let pointless = plan.last_band_failed() || self.is_spent(shared, number);
        if plan.band_to_start().is_some() && !pointless {
            let delegating = NodeStatusChanged::to(NodeStatus::Delegating, NodeRole::Planner);
            return facts.push_at(node_ref, delegating.with_progress(plan.progress()));
        }
        for step in plan.pending() {
            facts.push_at(
                node_ref,
                fact::StepStatusChanged { step_id: step.of.id.clone(), status: StepStatus::Skipped },
            );
        }
        let read = plan.children().flat_map(|(_, child)| self.readable(child));
        for artifact in read {
            facts.push_at(node_ref, fact::ArtifactRead { artifact_id: artifact.id, by_node_id: self.at(number).id });
        }
        let aggregating = NodeStatusChanged::to(NodeStatus::Aggregating, NodeRole::Executor);
        facts.push_at(node_ref, aggregating.with_progress(Some(1.0)));
    }

    /// Whether a limit has ended the work and leaves this node no room for another call.
    fn is_spent(&self, shared: &Shared, number: NodeNumber) -> bool {
        shared.exhausted.is_some_and(|limit| {
            limit == Exhausted::BudgetWallClock
                || self.accounts.affords(number, least_call(&shared.brief.models), shared.kept_reserve()).is_err()
        })
    }
}
