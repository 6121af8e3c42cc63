//! Measures progress by changes in the workspace and verifies the evidence that models cite.

use super::state::State;
use crate::facts::homework::{HomeworkStepStatus, Planned, Progress, VerifiedEvidence};
use crate::run::Shared;
use std::str::FromStr;
use uuid::Uuid;

impl State {
    /// This iteration's progress. A repeated read, a change back to what there was, a failed call, a reworded plan or an
    /// executor that only says something is none.
    pub(super) fn progress(&self, found: &[VerifiedEvidence]) -> Progress {
        let artifacts = &self.current.advances;
        let mut reasons = Vec::new();
        let mut count = |number: usize, what: &str| {
            if number > 0 {
                reasons.push(format!("{what}: {number}"));
            }
        };
        count(artifacts.created_documents.len(), "documents created");
        count(artifacts.updated_documents.len(), "documents changed");
        count(artifacts.created_tasks.len(), "tasks created");
        count(artifacts.updated_tasks.len(), "tasks changed");
        count(artifacts.created_edges.len(), "links created");
        count(self.current.new_readings as usize, "new readings");
        count(self.steps_newly_done(), "steps done");
        let new_criteria = found
            .iter()
            .filter_map(|evidence| evidence.criterion.as_ref())
            .filter(|id| !self.evidence.contains_key(*id));
        count(new_criteria.count(), "criteria evidenced");
        Progress { made: !reasons.is_empty(), reasons }
    }

    /// The claims whose references hold, by criterion id.
    pub(super) fn verified(&self, shared: &Shared, planned: &Planned) -> Vec<VerifiedEvidence> {
        let claims = planned.completion_evidence.iter().filter_map(|claim| {
            let refs: Vec<String> = claim.refs.iter().filter(|reference| self.holds(reference)).cloned().collect();
            let criterion = claim.criterion.as_ref().and_then(|cited| {
                let cited = cited.trim();
                let criteria = shared.brief.success_criteria.iter();
                criteria
                    .clone()
                    .find(|criterion| criterion.id == cited || criterion.text == cited)
                    .map(|criterion| criterion.id.clone())
            });
            (!refs.is_empty()).then(|| VerifiedEvidence { criterion, claim: claim.claim.clone(), refs })
        });
        claims.collect()
    }

    /// `doc:`/`task:` this run created or changed, or `event:` of one of its successful tool results.
    pub(super) fn holds(&self, reference: &str) -> bool {
        match reference.trim().split_once(':') {
            Some(("doc" | "task", id)) => Uuid::from_str(id.trim()).is_ok_and(|id| self.changed_entities.contains(&id)),
            Some(("event", seq)) => seq.trim().parse().is_ok_and(|seq| self.successful_results.contains(&seq)),
            _ => false,
        }
    }

    /// Why the planner may not end the run yet; empty when it may.
    pub(super) fn exit_objections(
        &self,
        shared: &Shared,
        planned: &Planned,
        found: &[VerifiedEvidence],
    ) -> Vec<String> {
        let mut reasons = Vec::new();
        if let Some(first) = planned.remaining_work.first() {
            reasons
                .push(format!("remaining_work still lists {} item(s), first: {first}", planned.remaining_work.len()));
        }
        for step in self.plan.steps.iter().filter(|step| step.status != HomeworkStepStatus::Done) {
            reasons.push(format!("step {} is still {}", step.id, step.status.name()));
        }
        for criterion in &shared.brief.success_criteria {
            let has = |list: &[VerifiedEvidence]| {
                list.iter().any(|evidence| evidence.criterion.as_ref() == Some(&criterion.id))
            };
            if !has(found) && !self.evidence.contains_key(&criterion.id) {
                reasons.push(format!(
                    "criterion {} has no verified evidence: cite a doc:<id> or task:<id> this run made, or event:<seq> of a successful tool result",
                    criterion.id
                ));
            }
        }
        if shared.brief.success_criteria.is_empty()
            && found.is_empty()
            && self.evidence.is_empty()
            && self.totals.is_empty()
        {
            reasons.push("nothing verifies the work: no artifact was recorded and no reference holds".into());
        }
        reasons
    }
}
