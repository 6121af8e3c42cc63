//! The end of a tree run: its stop reason, from the root's outcome, and the platform's report.

use super::results::latest;
use super::state::State;
use super::status::{NodeStatus, StepStatus};
use crate::budget::Settled;
use crate::facts::effect::{Finished, FinishedAs};
use crate::facts::run::{Completed, Ended, Failed, ReportCreated, Stopped};
use crate::facts::tree::NodeOutcome;
use crate::ids::NodeNumber;
use crate::lessons::{self, LessonRef};
use crate::run::{EffectState, Facts, Shared, StopReason, headline};
use serde_json::{Value, json};

const MAX_LINES_REPORTED: usize = 50;

impl State {
    pub(super) fn end(&self, shared: &Shared, facts: &mut Facts) {
        if self.ended {
            return;
        }
        if !shared.effects.is_empty() {
            return self.abandon(shared, facts);
        }
        let Some(root) = self.root() else { return };
        let limit = shared.exhausted.map(StopReason::from);
        let partial = root.outcome != Some(NodeOutcome::Success);
        let (reason, detail) = match (root.status, limit) {
            (NodeStatus::Completed, Some(limit)) if partial => {
                (limit, format!("{}: the root's result is partial", limit.name()))
            }
            (NodeStatus::Completed, _) if partial => {
                (StopReason::Completed, "the root completed in part: see what was not done".into())
            }
            (NodeStatus::Completed, _) => (StopReason::Completed, "the root completed".to_owned()),
            (_, Some(limit)) if root.cut_short => (limit, format!("{}: nothing was finished", limit.name())),
            _ => (StopReason::Error, root.error.clone().unwrap_or_else(|| "the root failed".into())),
        };
        facts.push(ReportCreated { report: self.report(shared, reason, &detail) });
        match reason {
            StopReason::Completed => {
                let verified =
                    |(number, _): &&(NodeNumber, LessonRef)| self.at(*number).outcome == Some(NodeOutcome::Success);
                lessons::promote(self.lessons.iter().filter(verified).map(|(_, learned)| *learned), facts);
                facts.push(Completed { detail: Some(detail), ended: Ended::default() });
            }
            StopReason::Error => facts.push(Failed { stop_reason: reason, error: detail, ended: Ended::default() }),
            stop_reason => facts.push(Stopped { stop_reason, detail, ended: Ended::default() }),
        }
    }

    /// Ends calls of canceled nodes that are still in flight; they are presumed paid.
    fn abandon(&self, shared: &Shared, facts: &mut Facts) {
        for (effect, state) in &shared.effects {
            let settled = match state {
                EffectState::InFlight(flight) => Settled::presumed(flight.reserve),
                EffectState::BackingOff { .. } | EffectState::Unknown { .. } | EffectState::Asking { .. } => {
                    Settled::default()
                }
            };
            let node_ref = self.node_of(effect).map(|number| self.node_ref_of(number)).unwrap_or_default();
            facts.push_at(node_ref, Finished::new(effect, state.attempt(), FinishedAs::Canceled, settled));
        }
    }

    pub(crate) fn report(&self, shared: &Shared, reason: StopReason, detail: &str) -> Value {
        let root = self.root();
        let result = root.and_then(|root| root.result.as_ref());
        let synthesis = root.and_then(|root| root.synthesis.as_ref());
        let summary = result.map_or(detail, |result| &result.summary);
        let met = result.and_then(|result| result.success_assessment.as_ref());
        json!({
            "title": headline(&shared.brief.objective),
            "summary": summary,
            "findings": synthesis.map(|synthesis| synthesis.key_findings.clone()).unwrap_or_default(),
            "not_done": self.not_done(),
            "prose_by": if result.is_some() { "model" } else { "platform" },
            "objective": shared.brief.objective,
            "status": reason.status(),
            "stop_reason": reason,
            "stop_detail": detail,
            "nodes": self.counts_by_status(),
            "result": result,
            "evidence": shared.brief.success_criteria.iter().map(|criterion| json!({
                "criterion": criterion.id,
                "text": criterion.text,
                "claimed": met.map(|assessment| assessment.met),
                "notes": met.and_then(|assessment| assessment.notes.clone()),
            })).collect::<Vec<_>>(),
            "artifacts": self.documents(),
            "questions": shared.questions,
            "metrics": shared.metrics,
            "models": shared.brief.models.names(),
        })
    }

    /// How many nodes ended how.
    pub(crate) fn counts_by_status(&self) -> Value {
        let counted = NodeStatus::ALL.iter().filter(|status| self.count(**status) > 0);
        Value::Object(counted.map(|status| (status.name().to_owned(), self.count(*status).into())).collect())
    }

    /// What was not done: nodes that failed, were canceled or fell short, skipped steps, and gaps the root names. For a node
    /// that fell short because of its children, only the children are listed.
    fn not_done(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let current = self.numbers().filter(|number| self.is_current(*number));
        for node in current.map(|number| self.at(number)) {
            let undone = node.plan.iter().flat_map(|plan| &plan.steps).any(|step| step.status != StepStatus::Completed);
            let why = match node.status {
                NodeStatus::Failed if node.cut_short && undone => None,
                NodeStatus::Failed | NodeStatus::Canceled => Some(node.error.as_deref().unwrap_or(node.status.name())),
                NodeStatus::Completed if !undone => node.shortfall.as_deref(),
                _ => None,
            };
            lines.extend(why.map(|why| format!("{}: {}", node.title, why.chars().take(200).collect::<String>())));
            let skipped = node.plan.iter().flat_map(|plan| plan.skipped());
            lines.extend(skipped.map(|step| format!("{}: skipped", step.of.title)));
            if lines.len() >= MAX_LINES_REPORTED {
                break;
            }
        }
        lines.extend(
            self.root().and_then(|root| root.synthesis.as_ref()).iter().flat_map(|synthesis| synthesis.gaps.clone()),
        );
        lines.truncate(MAX_LINES_REPORTED);
        lines
    }

    /// Whether neither the node nor an ancestor was replaced by a retry or a new plan.
    pub(super) fn is_current(&self, number: NodeNumber) -> bool {
        self.path(number).all(|at| {
            let node = self.at(at);
            let step = node.parent.and_then(|parent| self.at(parent).plan.as_ref()?.step(node.step_id.as_deref()?));
            node.parent.is_none() || step.is_some_and(|step| step.child == Some(at))
        })
    }

    /// The root's documents first, then those of its children.
    fn documents(&self) -> Vec<Value> {
        let children = self
            .root()
            .into_iter()
            .flat_map(|root| root.plan.iter())
            .flat_map(|plan| plan.children())
            .map(|(_, child)| child);
        let nodes = self.root().map(|_| NodeNumber::ROOT).into_iter().chain(children);
        let artifacts = nodes.flat_map(|number| latest(self.at(number), &[]));
        let documents = artifacts.filter_map(|artifact| {
            Some(json!({ "ref": format!("doc:{}", artifact.document?), "title": artifact.headline() }))
        });
        documents.take(MAX_LINES_REPORTED).collect()
    }
}
