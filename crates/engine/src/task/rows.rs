//! The rows of a task's steps.

use super::state::{State, Step};
use crate::batch::StepRow;
use crate::event::Event;
use crate::facts::{Fact, TaskFact};
use crate::ids::RunId;
use crate::run::{Machine, Run};
use std::collections::BTreeSet;

/// The steps these events chose or carried out.
pub(crate) fn steps(run: &Run, events: &[Event]) -> Vec<StepRow> {
    let Machine::Task(state) = &run.machine else { return Vec::new() };
    let changed: BTreeSet<u32> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::Task(TaskFact::Step(fact)) => Some(fact.step),
            Fact::Task(TaskFact::StepResult(fact)) => Some(fact.step),
            _ => None,
        })
        .collect();
    let steps = changed.iter().filter_map(|step| state.steps.get(*step as usize));
    steps.map(|step| step.row(run.shared.id)).collect()
}

impl State {
    pub fn rows(&self, run: RunId) -> Vec<StepRow> {
        self.steps.iter().map(|step| step.row(run)).collect()
    }
}

impl Step {
    fn row(&self, run_id: RunId) -> StepRow {
        let result = self.result.as_ref();
        StepRow {
            run_id,
            step: self.step,
            action: self.action,
            path: self.path.clone(),
            action_name: self.action_name.clone(),
            params: self.params.clone(),
            message: self.message.clone(),
            thought: self.thought.clone(),
            ok: result.map(|result| result.ok),
            summary: result.map(|result| result.summary.clone()),
            result: result.map(|result| result.content),
            artifacts: result.map(|result| result.artifacts.clone()).unwrap_or_default(),
            seq: self.seq,
            started_at: self.at,
            ended_at: result.map(|result| result.at),
        }
    }
}
