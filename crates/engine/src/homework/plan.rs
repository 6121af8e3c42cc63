//! The plan that persists between iterations. Only touched steps move.

use crate::facts::homework::{HomeworkStep, HomeworkStepStatus};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub version: u32,
    pub steps: Vec<HomeworkStep>,
}

impl Plan {
    /// The plan as the planner now gives it: steps it leaves out are gone, steps it repeats unchanged
    /// stay as they are. An answer without steps leaves the plan alone. A planner that is `leaving` cannot drop an open
    /// step: the step stays and counts when the exit is judged. Returns the ids that changed.
    pub fn revised(
        &self,
        given: impl IntoIterator<Item = HomeworkStep>,
        iteration: u32,
        leaving: bool,
    ) -> (Vec<HomeworkStep>, Vec<String>) {
        let mut changed = Vec::new();
        let mut steps: Vec<HomeworkStep> = given
            .into_iter()
            .map(|mut step| {
                let known = self.steps.iter().find(|known| known.id == step.id);
                let same = known.is_some_and(|known| {
                    known.title == step.title && known.status == step.status && known.owner == step.owner
                });
                step.iteration_last_touched = match known {
                    Some(known) if same => known.iteration_last_touched,
                    _ => {
                        changed.push(step.id.clone());
                        iteration
                    }
                };
                step
            })
            .collect();
        if steps.is_empty() {
            return (self.steps.clone(), Vec::new());
        }
        let gone = |known: &&HomeworkStep| !steps.iter().any(|step| step.id == known.id);
        let stays = |known: &&HomeworkStep| leaving && known.status != HomeworkStepStatus::Done;
        let (retained, dropped): (Vec<&HomeworkStep>, Vec<&HomeworkStep>) =
            self.steps.iter().filter(gone).partition(stays);
        changed.extend(dropped.into_iter().map(|step| step.id.clone()));
        steps.extend(retained.into_iter().cloned());
        (steps, changed)
    }

    /// The plan with some steps done.
    pub fn with_done(&self, ids: &[String], iteration: u32) -> (Vec<HomeworkStep>, Vec<String>) {
        let mut changed = Vec::new();
        let mut steps = self.steps.clone();
        for step in steps.iter_mut().filter(|step| ids.contains(&step.id) && step.status != HomeworkStepStatus::Done) {
            step.status = HomeworkStepStatus::Done;
            step.iteration_last_touched = iteration;
            changed.push(step.id.clone());
        }
        (steps, changed)
    }

    /// The plan with some steps worked on in this iteration.
    pub fn with_touched(&self, ids: &[String], iteration: u32) -> (Vec<HomeworkStep>, Vec<String>) {
        let mut changed = Vec::new();
        let mut steps = self.steps.clone();
        for step in steps.iter_mut().filter(|step| ids.contains(&step.id) && step.iteration_last_touched != iteration) {
            step.iteration_last_touched = iteration;
            changed.push(step.id.clone());
        }
        (steps, changed)
    }

    pub fn markdown(&self) -> String {
        let mut text = format!("# Plan (version {})\n", self.version);
        for step in &self.steps {
            let mark = match step.status {
                HomeworkStepStatus::Pending => " ",
                HomeworkStepStatus::Doing => "~",
                HomeworkStepStatus::Done => "x",
                HomeworkStepStatus::Blocked => "!",
            };
            text.push_str(&format!(
                "\n- [{mark}] {}: {} (iteration {})",
                step.id, step.title, step.iteration_last_touched
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::homework::StepOwner;

    fn step(id: &str, status: HomeworkStepStatus) -> HomeworkStep {
        HomeworkStep {
            id: id.into(),
            title: format!("Do {id}"),
            status,
            owner: StepOwner::Planner,
            iteration_last_touched: 0,
        }
    }

    #[test]
    fn p2_only_touched_steps_move() {
        let (steps, _) = Plan::default().revised(
            [step("a", HomeworkStepStatus::Pending), step("b", HomeworkStepStatus::Pending)],
            1,
            false,
        );
        let plan = Plan { version: 1, steps };
        let (steps, changed) =
            plan.revised([step("a", HomeworkStepStatus::Done), step("b", HomeworkStepStatus::Pending)], 3, false);
        assert_eq!(changed, ["a"]);
        assert_eq!(steps.iter().map(|step| step.iteration_last_touched).collect::<Vec<_>>(), [3, 1]);
    }

    #[test]
    fn h4_an_open_step_is_not_dropped_on_the_way_out() {
        // Given a plan with one step done and one pending
        let plan = Plan {
            version: 1,
            steps: vec![step("a", HomeworkStepStatus::Done), step("b", HomeworkStepStatus::Pending)],
        };
        // When the answer that wants out names only the first, then the second stays; a replan may drop it
        assert_eq!(plan.revised([step("a", HomeworkStepStatus::Done)], 2, true), (plan.steps.clone(), vec![]));
        assert_eq!(plan.revised([step("a", HomeworkStepStatus::Done)], 2, false).1, ["b"]);
    }

    #[test]
    fn p2_an_answer_without_steps_keeps_the_plan() {
        let plan = Plan { version: 1, steps: vec![step("a", HomeworkStepStatus::Doing)] };
        assert_eq!(plan.revised([], 2, true), (plan.steps.clone(), vec![]));
    }
}
