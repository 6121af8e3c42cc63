//! Progress is a change of the world, or of what the run knows of it. Here is decided what of a tool's outcome is new, and
//! which steps have work behind them.

use super::state::{Phase, State};
use crate::blob::Hash;
use crate::calls::RecordedCall;
use crate::effect::{RepeatSafety, ToolOutcome};
use crate::facts::homework::{HomeworkStep, HomeworkStepStatus};
use crate::metrics::Metrics;
use crate::run::Shared;
use crate::sightings::{self, Changed};
use std::collections::HashSet;

/// What of one outcome this run had not had before.
#[derive(Default)]
pub(super) struct News {
    pub seen: Vec<Hash>,
    pub new_reading: bool,
    /// It changed something, and only back to what this run has had.
    pub known_change: bool,
}

impl State {
    pub(super) fn news(&self, shared: &Shared, call: &RecordedCall, outcome: &ToolOutcome) -> News {
        let Some(output) = outcome.result.as_ref().ok().filter(|_| !crate::lessons::is_memory(&call.tool)) else {
            return News::default();
        };
        let is_new = |hash: &Hash| !self.known.contains(hash);
        let mut shown = if output.read { sightings::shown(&output.content) } else { Vec::new() };
        let external = shared.external_tool(&call.tool);
        if external.is_some_and(|tool| tool.class != RepeatSafety::ReadOnly) {
            shown.push(sightings::sent(&call.tool, &call.arguments));
        }
        let changed = Changed::by(&outcome.mutations);
        let new_reading = shown.iter().any(is_new);
        let known_change = !changed.decisive.is_empty() && !changed.decisive.iter().any(is_new);
        let found = shown.into_iter().chain(changed.decisive).chain(changed.known);
        let mut once = HashSet::new();
        let seen = found.filter(is_new).filter(|hash| once.insert(*hash)).collect();
        News { seen, new_reading, known_change }
    }

    /// Steps that became done, once per step id, and only those with work behind them. An executor's successful result is behind
    /// the steps it worked on, in whatever iteration that was. Work that names no step is behind one step each.
    pub(super) fn steps_newly_done(&self) -> usize {
        let (of_executors, others): (Vec<&HomeworkStep>, Vec<&HomeworkStep>) =
            self.uncounted_steps().partition(|step| self.worked_steps.contains(&step.id));
        of_executors.len() + others.len().min(self.unclaimed_work as usize)
    }

    /// Records that the steps done by now have had their turn.
    pub(super) fn count_steps(&mut self) {
        let done: Vec<String> = self.uncounted_steps().map(|step| step.id.clone()).collect();
        let unnamed = done.iter().filter(|id| !self.worked_steps.contains(*id)).count();
        self.unclaimed_work = self.unclaimed_work.saturating_sub(u32::try_from(unnamed).unwrap_or(u32::MAX));
        self.counted_steps.extend(done);
    }

    /// What no iteration used: the call for the report, and what was lost of it.
    pub(crate) fn outside_iterations(&self, shared: &Shared) -> Option<Metrics> {
        let mut owned = self.in_iterations.clone();
        if self.phase == Phase::Iterating && self.current.verdict.is_none() {
            owned.add(&shared.metrics.since(&self.current.metrics_before));
        }
        let mut outside = shared.metrics.since(&owned);
        (outside.running_ms, outside.no_progress_streak) = (outside.running_ms.max(0), 0);
        (!outside.by_model.is_empty()).then_some(outside)
    }

    fn uncounted_steps(&self) -> impl Iterator<Item = &HomeworkStep> {
        let done = self.plan.steps.iter().filter(|step| step.status == HomeworkStepStatus::Done);
        done.filter(|step| !self.counted_steps.contains(&step.id))
    }
}
