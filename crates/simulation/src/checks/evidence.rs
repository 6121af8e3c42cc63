//! 19: a run completes only when nothing is left to do, every criterion has evidence that holds, and none was found unmet.

use super::standing::{Failed, Standing};
use super::{RunLog, breaks_off};
use engine::event::Event;
use engine::facts::evidence::CriterionState;
use engine::facts::homework::{HomeworkStepStatus, Planned, Verdict};
use engine::facts::{Fact, HomeworkFact as H};
use engine::run::StopReason;
use std::collections::BTreeSet;

/// Computed from the log alone: the planner's last answer, and what the tools did.
#[derive(Default)]
struct Proof {
    standing: Standing,
    planned: Option<Planned>,
    touched: BTreeSet<String>,
    good: BTreeSet<String>,
    proven: BTreeSet<String>,
    anything: bool,
}

impl Proof {
    fn learn(&mut self, event: &Event) {
        self.standing.learn(event);
        match &event.fact {
            Fact::Homework(H::Planned(fact)) => self.planned = Some(fact.clone()),
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
    fn prove(&mut self) {
        let claims = self.planned.iter().flat_map(|planned| planned.completion_evidence.clone()).collect::<Vec<_>>();
        for claim in claims {
            if !claim.refs.iter().any(|reference| self.holds(reference)) {
                continue;
            }
            self.anything = true;
            let cited = claim.criterion.as_deref().map(str::trim);
            let mut criteria = self.standing.criteria.iter();
            let named = criteria.find(|known| cited.is_some_and(|cited| cited == known.id || cited == known.text));
            self.proven.extend(named.map(|criterion| criterion.id.clone()));
        }
    }

    fn objections(&self, verifies: bool) -> Vec<String> {
        let mut objections = Vec::new();
        match &self.planned {
            Some(planned) if planned.exit_signal && planned.remaining_work.is_empty() => {}
            _ => objections.push("no exit signal, or work remains".to_owned()),
        }
        let steps = &self.standing.homework.steps;
        if steps.iter().any(|step| step.status != HomeworkStepStatus::Done) {
            objections.push("a step is open".into());
        }
        let failed = self.standing.homework.failed.keys();
        let planned = failed.filter(|failed| steps.iter().any(|step| **failed == Failed::Step(step.id.clone())));
        objections.extend(planned.map(|failed| format!("{failed:?} failed and was not made good")));
        for criterion in &self.standing.criteria {
            let id = &criterion.id;
            match criterion.state {
                CriterionState::Rejected => objections.push(format!("a person rejected {id}")),
                CriterionState::Refuted if verifies => objections.push(format!("{id} was found unmet")),
                CriterionState::Accepted => {}
                // Where nothing is cited, what the run made is.
                _ if self.proven.contains(id) || !self.touched.is_empty() => {}
                _ => objections.push(format!("nothing is cited for {id}")),
            }
        }
        if self.standing.criteria.is_empty() && !self.anything {
            objections.push("nothing was made or read".into());
        }
        objections
    }
}

pub fn check(log: &RunLog<'_>) {
    let mut proof = Proof::default();
    let verifies = log.brief().is_some_and(|brief| !brief.no_verify);
    for event in &log.events {
        proof.learn(event);
        let Fact::Homework(H::IterationCompleted(fact)) = &event.fact else { continue };
        proof.prove();
        let objections = proof.objections(verifies);
        let complete = matches!(fact.verdict, Verdict::Stop { reason: StopReason::Completed, .. });
        if complete && !objections.is_empty() {
            log.violation_at(event, format_args!("19: completed although {}", objections.join(", ")));
        }
        // What breaks a run off, a cancel for instance, may come before its criteria are judged.
        if !complete && objections.is_empty() && fact.lost.is_none() && !breaks_off(&fact.verdict) {
            log.violation_at(event, "19: everything is proven, and the run goes on");
        }
        proof.planned = None;
    }
}
