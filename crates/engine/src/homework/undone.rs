//! What a homework run has left undone: steps that left the plan, executors and tools whose last word is a failure. The exit, the
//! outcome and the report read it; nothing here decides.

use super::state::{DroppedStep, FailedBranch, FailedTool, State};
use crate::facts::homework::{
    ExecutorFinished, ExecutorTask, HomeworkStep, HomeworkStepStatus, PlanUpdated, ToolCallResult,
};

const MAX_FAILED_TOOLS: usize = 20;

impl State {
    /// Steps that were not done and are missing, by id and by title; one that comes back is no longer dropped.
    pub(super) fn steps_dropped(&mut self, fact: &PlanUpdated) {
        let stays = |id: &str, title: &str| fact.steps.iter().any(|step| step.id == id || step.title == title);
        let known =
            |step: &&HomeworkStep| self.plan.steps.iter().any(|old| old.id == step.id || old.title == step.title);
        let replaced = fact.steps.iter().any(|step| !known(&step));
        self.dropped.retain(|step| !stays(&step.id, &step.title));
        let gone = self.plan.steps.iter().filter(|step| step.status != HomeworkStepStatus::Done);
        let gone = gone.filter(|step| !stays(&step.id, &step.title));
        self.dropped.extend(gone.map(|step| DroppedStep {
            id: step.id.clone(),
            title: step.title.clone(),
            iteration: fact.iteration,
            replaced,
        }));
    }

    /// A successful call of a later iteration makes up for an executor that failed at a step.
    pub(super) fn made_good(&mut self, fact: &ToolCallResult) {
        let iteration = self.iteration;
        if fact.ok && !crate::lessons::is_memory(&fact.tool) {
            self.failed_branches.retain(|_, failed| failed.iteration >= iteration || failed.step_id.is_none());
        }
    }

    /// The newest call of a tool says how it stands.
    pub(super) fn tool_ended(&mut self, fact: &ToolCallResult) {
        match fact.ok {
            true => drop(self.failed_tools.remove(&fact.tool)),
            false => {
                let failed = FailedTool { iteration: self.iteration, error: fact.summary.clone() };
                self.failed_tools.insert(fact.tool.clone(), failed);
                // Models call tools that do not exist by any number of names.
                if self.failed_tools.len() > MAX_FAILED_TOOLS {
                    let oldest = self.failed_tools.iter().min_by_key(|(_, failed)| failed.iteration);
                    let oldest = oldest.map(|(tool, _)| tool.clone());
                    oldest.and_then(|tool| self.failed_tools.remove(&tool));
                }
            }
        }
    }

    /// The newest executor of a step says how the step stands; of a branch without steps, how the branch does.
    pub(super) fn branch_ended(&mut self, fact: &ExecutorFinished, task: &ExecutorTask) {
        let branch = format!("branch {}", fact.branch_id);
        let failed_at = task.step_id.as_ref().map_or_else(|| branch.clone(), |step| format!("step {step}"));
        match &fact.error {
            Some(error) => {
                let failed = FailedBranch {
                    branch_id: fact.branch_id.clone(),
                    iteration: fact.iteration,
                    step_id: task.step_id.clone(),
                    title: task.title.clone(),
                    error: error.clone(),
                };
                self.failed_branches.insert(failed_at, failed);
            }
            None => self.failed_branches.retain(|known, _| *known != failed_at && *known != branch),
        }
    }
}
