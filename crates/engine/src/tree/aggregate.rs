//! The end of the last band: the children's results become the node's own, or the reason for another plan.

use super::answer::{AggregatorAnswer, ArtifactAnswer, Synthesis};
use super::effect_id::EffectPosition;
use super::envelope::{foreign_names, missing};
use super::state::State;
use super::status::{NodeRole, NodeStatus, StepStatus};
use crate::facts::tree::{self as fact, ArtifactType, NodeStatusChanged, ProposedResult, SuccessAssessment};
use crate::ids::{NodeId, NodeNumber};
use crate::run::{Facts, Shared};
use serde_json::Value;

/// The most different reasons, and titles of each, that the error of a node without any result names.
const MAX_REASONS: usize = 3;
const MAX_ERROR_CHARS: usize = 200;

impl State {
    pub(super) fn aggregate_answered(
        &self,
        shared: &Shared,
        position: EffectPosition,
        answer: AggregatorAnswer,
        facts: &mut Facts,
    ) -> Result<(), Vec<String>> {
        let (number, node, node_ref) = (position.node, self.at(position.node), self.node_ref_of(position.node));
        let proposed = answer.result.map(ProposedResult::from);
        let foreign =
            proposed.as_ref().map(|result| foreign_names(node, &answer.artifacts, result, false)).unwrap_or_default();
        if !foreign.is_empty() {
            return Err(foreign);
        }
        let Some(plan) = &node.plan else { return Ok(()) };
        let child_ids: Vec<NodeId> = plan.children().map(|(_, child)| self.at(child).id).collect();
        let replan = answer.next.should_replan && self.may_replan(shared, number);
        if answer.next.should_replan && !replan && proposed.is_none() && plan.any_completed() {
            return Err(vec!["no replans are left, and the answer has no result".into()]);
        }
        let result = proposed.clone().filter(|_| !replan && plan.any_completed());
        let mut artifacts = if result.is_some() { answer.artifacts.clone() } else { Vec::new() };
        if let Some(result) = &result
            && !artifacts.iter().any(|artifact| artifact.kind == ArtifactType::Document)
        {
            artifacts.push(synthesis_document(&node.title, &answer.synthesis, &result.summary));
        }
        // Asked for once more, as a leaf is. After a limit there is no room for that, and the result is partial.
        let once_more = result.is_some() && position.corrects().is_none() && shared.exhausted.is_none();
        let made = artifacts.iter().map(|artifact| artifact.kind);
        if let Some(missing) = missing(node.deliverable, made).filter(|_| once_more) {
            return Err(vec![missing.for_model()]);
        }
        let mut beside = self.children_summary(number);
        if replan {
            beside.push_str(&format!("\n\n**Asks for another plan**: {}", answer.next.reason.trim()));
        }
        self.note(number, position.id(&self.tag).0, &answer.scratchpad, &beside, facts);
        self.register(shared, number, &artifacts, facts);
        let assessment = proposed
            .and_then(|result| result.success_assessment)
            .unwrap_or(SuccessAssessment { met: plan.all_completed() && !replan, notes: None });
        let Synthesis { summary, key_findings, gaps } = answer.synthesis;
        let basis = child_ids.clone();
        let primary =
            answer.artifacts.iter().find(|artifact| artifact.is_primary).map(|artifact| artifact.name().to_owned());
        let result = result.map(|mut result| {
            result.primary_artifact_label = result.primary_artifact_label.take().or(primary);
            result
        });
        let answered = result.is_some();
        facts.push_at(
            node_ref,
            fact::NodeAggregated { child_ids, summary, success_assessment: assessment, key_findings, gaps, result },
        );
        if replan {
            facts.push_at(node_ref, fact::ReplanRequested { reason: answer.next.reason, based_on_child_ids: basis });
            facts.push_at(node_ref, NodeStatusChanged::to(NodeStatus::Planning, NodeRole::Planner).saying("replan"));
            return Ok(());
        }
        if answer.next.should_replan {
            facts.push_at(
                node_ref,
                fact::Guard { guard: "max_replans".into(), limit: Value::from(shared.budgets.max_replans) },
            );
        }
        if !answered {
            let (cut_short, error) =
                (shared.exhausted.is_some() && self.is_cut_below(number), self.why_nothing(number));
            facts.push_at(node_ref, fact::NodeFailed { error, retryable: true, cut_short });
            self.step_ended(number, StepStatus::Failed, facts);
        }
        Ok(())
    }

    /// Whether a child was cut short by a limit, or a step was never started.
    fn is_cut_below(&self, number: NodeNumber) -> bool {
        let Some(plan) = &self.at(number).plan else { return false };
        plan.skipped().next().is_some() || plan.children().any(|(_, child)| self.at(child).cut_short)
    }

    pub(super) fn may_replan(&self, shared: &Shared, number: NodeNumber) -> bool {
        self.at(number).replans < shared.budgets.max_replans && shared.exhausted.is_none()
    }

    fn why_nothing(&self, number: NodeNumber) -> String {
        let plan = self.at(number).plan.as_ref();
        let failed: Vec<_> = plan
            .into_iter()
            .flat_map(|plan| plan.children())
            .filter(|(step, _)| step.status != StepStatus::Completed)
            .collect();
        // Steps that failed for the same reason share one sentence.
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for (step, child) in &failed {
            let error = self.at(*child).error.as_deref().unwrap_or("no result");
            match reasons.iter_mut().find(|(known, _)| *known == error) {
                Some((_, titles)) => titles.push(&step.of.title),
                None => reasons.push((error, vec![&step.of.title])),
            }
        }
        let sentences = reasons.iter().take(MAX_REASONS).map(|(error, titles)| {
            let more = titles.len().saturating_sub(MAX_REASONS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let titles = titles.iter().take(MAX_REASONS).copied().collect::<Vec<_>>().join(", ");
            format!("{titles}{more}: {}", error.chars().take(MAX_ERROR_CHARS).collect::<String>())
        });
        format!("all {} steps failed; {}", failed.len(), sentences.collect::<Vec<_>>().join("; "))
    }
}

/// The document of a node whose model wrote none, so that its parent always finds one.
pub(super) fn synthesis_document(title: &str, synthesis: &Synthesis, fallback: &str) -> ArtifactAnswer {
    let list = |heading: &str, items: &[String]| -> String {
        if items.is_empty() {
            String::new()
        } else {
            format!("\n\n## {heading}\n\n{}", items.iter().map(|item| format!("- {item}\n")).collect::<String>())
        }
    };
    let summary = if synthesis.summary.trim().is_empty() { fallback } else { &synthesis.summary };
    let markdown = format!(
        "# {title}\n\n{summary}{}{}\n",
        list("Findings", &synthesis.key_findings),
        list("Gaps", &synthesis.gaps)
    );
    ArtifactAnswer {
        kind: ArtifactType::Document,
        label: "synthesis".into(),
        title: format!("Synthesis: {title}"),
        markdown,
        json: Value::Null,
        is_primary: true,
    }
}
