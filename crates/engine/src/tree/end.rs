//! The end of a tree run: its stop reason, from the root's outcome.

use super::state::State;
use super::status::NodeStatus;
use crate::budget::Settled;
use crate::facts::effect::{Finished, FinishedAs};
use crate::facts::run::{Completed, Ended, Failed, ReportCreated, Stopped};
use crate::facts::tree::NodeOutcome;
use crate::ids::NodeNumber;
use crate::lessons::{self, LessonRef};
use crate::run::{EffectState, Facts, Shared, StopReason};
use serde_json::Value;

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
            (NodeStatus::Completed, Some(limit)) if partial => (limit, "the root's result is partial".to_owned()),
            (NodeStatus::Completed, _) if partial => {
                (StopReason::Completed, "the root completed in part: see what was not done".into())
            }
            (NodeStatus::Completed, _) => (StopReason::Completed, "the root completed".to_owned()),
            (_, Some(limit)) if root.cut_short => (limit, "nothing was finished".to_owned()),
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

    /// How many nodes ended how.
    pub(crate) fn counts_by_status(&self) -> Value {
        let counted = NodeStatus::ALL.iter().filter(|status| self.count(**status) > 0);
        Value::Object(counted.map(|status| (status.name().to_owned(), self.count(*status).into())).collect())
    }

    /// Whether neither the node nor an ancestor was replaced by a retry or a new plan.
    pub(crate) fn is_current(&self, number: NodeNumber) -> bool {
        self.path(number).all(|at| {
            let node = self.at(at);
            let step = node.parent.and_then(|parent| self.at(parent).plan.as_ref()?.step(node.step_id.as_deref()?));
            node.parent.is_none() || step.is_some_and(|step| step.child == Some(at))
        })
    }
}
