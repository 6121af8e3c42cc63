//! 19: a run completes only with verified evidence.

use super::RunLog;
use engine::event::Event;
use engine::facts::homework::{HomeworkStep, HomeworkStepStatus, Planned, Verdict};
use engine::facts::{Fact, HomeworkFact as H};
use engine::run::StopReason;
use std::collections::BTreeSet;

/// Computed from the log alone: the planner's last answer, and what the tools did.
#[derive(Default)]
struct Proof {
    planned: Option<Planned>,
    steps: Vec<HomeworkStep>,
    touched: BTreeSet<String>,
    good: BTreeSet<String>,
    proven: BTreeSet<String>,
    anything: bool,
}

impl Proof {
    fn learn(&mut self, event: &Event) {
        match &event.fact {
            Fact::Homework(H::Planned(fact)) => self.planned = Some(fact.clone()),
            Fact::Homework(H::PlanUpdated(fact)) => self.steps = fact.steps.clone(),
            Fact::Homework(H::ToolCallResult(fact)) if fact.ok => {
                self.good.insert(format!("event:{}", event.seq));
                let made = &fact.artifacts;
                let documents = made.created_documents.iter().chain(&made.updated_documents);
                let tasks = made.created_tasks.iter().chain(&made.updated_tasks);
                self.touched.extend(documents.map(|named| format!("doc:{}", named.id)));
                self.touched.extend(tasks.map(|named| format!("task:{}", named.id)));
                self.anything |= !made.is_empty();
            }
            _ => {}
        }
    }

    fn holds(&self, reference: &str) -> bool {
        self.touched.contains(reference.trim()) || self.good.contains(reference.trim())
    }

    /// What the iteration proved, before it is judged.
    fn prove(&mut self, log: &RunLog<'_>) {
        let claims = self.planned.iter().flat_map(|planned| planned.completion_evidence.clone()).collect::<Vec<_>>();
        for claim in claims {
            if !claim.refs.iter().any(|reference| self.holds(reference)) {
                continue;
            }
            self.anything = true;
            let criteria = &log.row.success_criteria;
            let cited = criteria
                .iter()
                .find(|known| claim.criterion.as_ref().is_some_and(|cited| cited == &known.id || cited == &known.text));
            self.proven.extend(cited.map(|criterion| criterion.id.clone()));
        }
    }

    fn objections(&self, log: &RunLog<'_>) -> Vec<String> {
        let mut objections = Vec::new();
        match &self.planned {
            Some(planned) if planned.exit_signal && planned.remaining_work.is_empty() => {}
            _ => objections.push("no exit signal, or work remains".to_owned()),
        }
        if self.steps.iter().any(|step| step.status != HomeworkStepStatus::Done) {
            objections.push("a step is open".into());
        }
        let unproven = log.row.success_criteria.iter().filter(|criterion| !self.proven.contains(&criterion.id));
        objections.extend(unproven.map(|criterion| format!("{} is not proven", criterion.id)));
        if !self.anything {
            objections.push("nothing was made or read".into());
        }
        objections
    }
}

pub fn check(log: &RunLog<'_>) {
    let mut proof = Proof::default();
    for event in &log.events {
        proof.learn(event);
        let Fact::Homework(H::IterationCompleted(fact)) = &event.fact else { continue };
        proof.prove(log);
        let objections = proof.objections(log);
        let complete = matches!(fact.verdict, Verdict::Stop { reason: StopReason::Completed, .. });
        if complete && !objections.is_empty() {
            log.violation_at(event, format_args!("19: completed although {}", objections.join(", ")));
        }
        if !complete && objections.is_empty() && fact.lost.is_none() {
            log.violation_at(event, "19: everything is proven, and the run goes on");
        }
        proof.planned = None;
    }
}
