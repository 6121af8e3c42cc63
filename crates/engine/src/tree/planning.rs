//! The planner's answer: a question, a leaf, or a plan within the limits.

use super::answer::{MAX_ASKS, Mode, PlanAnswer, PlannerAnswer, too_many_questions};
use super::create_node::executes_itself;
use super::effect_id::{EffectPosition, NodeCall};
use super::plan::bands_of;
use super::state::State;
use super::status::{NodeRole, NodeStatus, StepStatus};
use crate::budget::{Exhausted, Reserve};
use crate::facts::tree::{self as fact, NodeStatusChanged};
use crate::ids::{NodeNumber, PlanId};
use crate::run::{Facts, Shared, least_call};
use crate::shorten;
use serde_json::Value;

/// How much of a planner's reason for its choice is kept.
const MAX_REASON_CHARS: usize = 500;

/// The limit a plan exceeds: its key in `budgets`, and its value.
struct LimitReached {
    guard: &'static str,
    limit: Value,
}

impl State {
    pub(super) fn plan_answered(
        &self,
        shared: &Shared,
        position: EffectPosition,
        answer: PlannerAnswer,
        facts: &mut Facts,
    ) -> Result<(), Vec<String>> {
        let EffectPosition { node: number, part: NodeCall::Plan { ask, fix }, .. } = position else { return Ok(()) };
        let key = position.id(&self.tag).0;
        let why = Some(shorten::text(answer.mode_reason.trim(), MAX_REASON_CHARS)).filter(|why| !why.is_empty());
        if let Some(question) = answer.question {
            if ask > MAX_ASKS {
                return Err(vec![too_many_questions()]);
            }
            self.note(number, key, &answer.scratchpad, &format!("**Asks**: {}", question.text), facts);
            self.ask(number, question, NodeRole::Planner, facts);
            return Ok(());
        }
        let Some(mut plan) = answer.plan.filter(|_| answer.mode == Some(Mode::Plan)) else {
            self.note(number, key, &answer.scratchpad, &chose("Does it itself", &why), facts);
            facts.push_at(self.node_ref_of(number), executes_itself(answer.leaf_decision).because(why));
            return Ok(());
        };
        shared.assign(plan.bands.iter_mut().flat_map(|band| &mut band.steps).map(|step| &mut step.agent))?;
        let over = too_big(shared, &plan);
        if over.is_some() && !fix {
            return Err(vec![stated_limits(shared, &plan)]);
        }
        self.note(number, key, &answer.scratchpad, &chose("Plans", &why), facts);
        match over.or_else(|| self.unaffordable(shared, number, &plan)) {
            Some(LimitReached { guard, limit }) => self.force_leaf(self.node_ref_of(number), guard, limit, facts),
            None => self.accept(number, &plan, why, facts),
        }
        Ok(())
    }

    fn unaffordable(&self, shared: &Shared, number: NodeNumber, plan: &PlanAnswer) -> Option<LimitReached> {
        let budgets = &shared.budgets;
        let node = self.at(number);
        if node.depth >= budgets.max_depth {
            return Some(LimitReached { guard: "max_depth", limit: budgets.max_depth.into() });
        }
        let carried_over = |id: &str| {
            node.plan.as_ref().and_then(|plan| plan.step(id)).is_some_and(|step| step.status == StepStatus::Completed)
        };
        let fresh = plan.steps().filter(|step| !carried_over(step.id.trim())).count();
        if fresh > self.nodes_left(shared) as usize {
            return Some(LimitReached { guard: "max_nodes", limit: budgets.max_nodes.into() });
        }
        // At least one step and the aggregation; with less the node should do the work itself.
        let call = least_call(&shared.brief.models);
        let need = Reserve { tokens: call.tokens * 2, cost_usd: call.cost_usd + call.cost_usd };
        self.accounts.affords(number, need, shared.kept_reserve()).err().map(|limit| over_budget(shared, limit))
    }

    fn accept(&self, number: NodeNumber, plan: &PlanAnswer, why: Option<String>, facts: &mut Facts) {
        let node_ref = self.node_ref_of(number);
        let earlier = self.at(number).plan.as_ref();
        let unfinished =
            earlier.into_iter().flat_map(|plan| &plan.steps).filter(|step| step.status != StepStatus::Completed);
        let version = earlier.map_or(1, |plan| plan.version + 1);
        for step in unfinished {
            facts.push_at(
                node_ref,
                fact::StepStatusChanged { step_id: step.of.id.clone(), status: StepStatus::Superseded },
            );
            if let Some(child) = step.child {
                let superseded = NodeStatusChanged::to(NodeStatus::Superseded, self.at(child).role);
                facts.push_at(self.node_ref_of(child), superseded.saying(format!("replaced by plan {version}")));
            }
        }
        let plan_id: PlanId = facts.new_id();
        let bands = bands_of(plan);
        let carried_over =
            |id: &str| earlier.and_then(|plan| plan.step(id)).is_some_and(|step| step.status == StepStatus::Completed);
        let summary = Some(plan.summary.clone()).filter(|summary| !summary.is_empty());
        facts.push_at(node_ref, fact::PlanCreated { plan_id, version, summary, bands: bands.clone() });
        for band in bands {
            let step_ids = band.steps.iter().map(|step| step.id.clone()).collect();
            facts.push_at(node_ref, fact::PlanBandCreated { plan_id, band_index: band.index, step_ids });
            let fresh = band.steps.into_iter().enumerate().filter(|(_, step)| !carried_over(&step.id));
            for (index, step) in fresh {
                facts.push_at(
                    node_ref,
                    fact::StepCreated {
                        step_id: step.id,
                        band_index: band.index,
                        step_index: index as u32,
                        title: step.title,
                        reason: step.reason,
                        success_criteria: step.success_criteria,
                    },
                );
            }
        }
        facts.push_at(node_ref, NodeStatusChanged::to(NodeStatus::Delegating, NodeRole::Planner).because(why));
    }
}

/// The choice of a planner with its reason, as the scratchpad has it.
fn chose(what: &str, why: &Option<String>) -> String {
    why.as_ref().map(|why| format!("**{what}**: {why}")).unwrap_or_default()
}

fn too_big(shared: &Shared, plan: &PlanAnswer) -> Option<LimitReached> {
    let budgets = &shared.budgets;
    if plan.bands.len() > budgets.max_bands as usize {
        return Some(LimitReached { guard: "max_bands", limit: budgets.max_bands.into() });
    }
    let widest = plan.bands.iter().map(|band| band.steps.len()).max().unwrap_or(0);
    (widest > budgets.max_steps_per_band as usize)
        .then(|| LimitReached { guard: "max_steps_per_band", limit: budgets.max_steps_per_band.into() })
}

fn stated_limits(shared: &Shared, plan: &PlanAnswer) -> String {
    let budgets = &shared.budgets;
    let widest = plan.bands.iter().map(|band| band.steps.len()).max().unwrap_or(0);
    format!(
        "the plan has {} bands and up to {widest} steps in a band; the limits are max_bands {} and max_steps_per_band {}: give a smaller plan, or mode \"execute\"",
        plan.bands.len(),
        budgets.max_bands,
        budgets.max_steps_per_band
    )
}

/// The key of the limit in `budgets`, and its value.
fn over_budget(shared: &Shared, limit: Exhausted) -> LimitReached {
    let (guard, limit) = guard_of(shared, limit);
    LimitReached { guard, limit }
}

pub(super) fn guard_of(shared: &Shared, limit: Exhausted) -> (&'static str, Value) {
    let budgets = &shared.budgets;
    match limit {
        Exhausted::BudgetCost => ("max_cost_usd", serde_json::to_value(budgets.max_cost_usd).unwrap_or_default()),
        Exhausted::BudgetTokens => ("max_tokens", serde_json::to_value(budgets.max_tokens).unwrap_or_default()),
        Exhausted::BudgetWallClock => ("max_wall_ms", serde_json::to_value(budgets.max_wall_ms).unwrap_or_default()),
    }
}
