//! What a homework run left undone: executors that failed, and steps that went missing.

use engine::facts::HomeworkFact as H;
use engine::facts::homework::{HomeworkStep, HomeworkStepStatus};
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Homework {
    pub steps: Vec<HomeworkStep>,
    /// What the newest executor failed at, and the iteration in which it did.
    pub failed: BTreeMap<Failed, u32>,
    /// By id.
    pub dropped: BTreeMap<String, Dropped>,
    iteration: u32,
    /// The executors of this iteration: branch and step.
    executors: BTreeMap<u32, (String, Option<String>)>,
}

/// A branch counts as failed itself when it worked on no step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failed {
    Step(String),
    Branch(String),
}

pub struct Dropped {
    pub title: String,
    /// The plan that dropped it had steps that were not in the plan before.
    pub replaced: bool,
}

impl Homework {
    /// Whether the fact tells of something that was made.
    pub(super) fn learn(&mut self, fact: &H) -> bool {
        match fact {
            H::IterationStarted(fact) => {
                self.iteration = fact.iteration;
                self.executors.clear();
            }
            H::PlanUpdated(fact) => self.replan(&fact.steps),
            H::ExecutorStarted(fact) => {
                self.executors.insert(fact.index, (fact.branch_id.clone(), fact.step_id.clone()));
            }
            // A task that never ran has no entry, and failed at nothing.
            H::ExecutorFinished(fact) if fact.entry.is_some() => {
                let Some((branch, step)) = self.executors.get(&fact.index) else { return false };
                let branch = Failed::Branch(branch.clone());
                let what = step.clone().map_or_else(|| branch.clone(), Failed::Step);
                if fact.ok {
                    self.failed.retain(|failed, _| *failed != what && *failed != branch);
                } else {
                    self.failed.insert(what, fact.iteration);
                }
            }
            H::ToolCallResult(fact) => {
                if fact.ok && fact.lesson.is_none() {
                    let now = self.iteration;
                    self.failed.retain(|what, at| matches!(what, Failed::Branch(_)) || *at >= now);
                }
                return !fact.artifacts.is_empty();
            }
            _ => {}
        }
        false
    }

    fn replan(&mut self, steps: &[HomeworkStep]) {
        let same = |one: &HomeworkStep, other: &HomeworkStep| one.id == other.id || one.title == other.title;
        let replaced = steps.iter().any(|new| !self.steps.iter().any(|old| same(old, new)));
        self.dropped.retain(|id, dropped| !steps.iter().any(|step| step.id == *id || step.title == dropped.title));
        for old in self.steps.iter().filter(|old| old.status != HomeworkStepStatus::Done) {
            if !steps.iter().any(|step| same(old, step)) {
                self.dropped.insert(old.id.clone(), Dropped { title: old.title.clone(), replaced });
            }
        }
        self.steps = steps.to_vec();
    }
}
