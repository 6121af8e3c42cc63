//! Measures progress by changes in the workspace and verifies the evidence that models cite.

use super::state::{CitableResult, State};
use crate::criteria::{CriterionRecord, MAX_REFS};
use crate::facts::evidence::{Citation, CriterionState, EndState, EvidenceText};
use crate::facts::homework::{HomeworkStepStatus, Planned, Progress, VerifiedEvidence};
use crate::facts::run::CheckStarted;
use crate::run::{Facts, Shared};
use std::str::FromStr;
use uuid::Uuid;

impl State {
    /// This iteration's progress. A repeated read, a change back to what there was, a failed call, a reworded plan or an
    /// executor that only says something is none.
    pub(super) fn progress(&self) -> Progress {
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
        count(self.current.newly_verified as usize, "criteria verified");
        Progress { made: !reasons.is_empty(), reasons }
    }

    /// The claims whose references hold, by criterion id.
    pub(super) fn held(&self, shared: &Shared, planned: &Planned) -> Vec<VerifiedEvidence> {
        let claims = planned.completion_evidence.iter().filter_map(|claim| {
            let refs = claim.refs.iter().map(|reference| reference.trim().to_owned());
            let refs: Vec<String> = refs.filter(|reference| self.holds(reference)).collect();
            let criterion = claim.criterion.as_ref().and_then(|cited| {
                let cited = cited.trim();
                let mut criteria = shared.criteria.iter();
                criteria.find(|criterion| criterion.id == cited || criterion.text == cited)
            });
            let criterion = criterion.map(|criterion| criterion.id.clone());
            (!refs.is_empty()).then(|| VerifiedEvidence { criterion, claim: claim.claim.clone(), refs })
        });
        claims.collect()
    }

    /// `doc:`/`task:` this run created or changed, or `event:` of one of its successful tool results.
    pub(super) fn holds(&self, reference: &str) -> bool {
        match reference.trim().split_once(':') {
            Some(("doc" | "task", id)) => Uuid::from_str(id.trim()).is_ok_and(|id| self.changed_entities.contains(&id)),
            Some(("event", _)) => self.result_behind(reference).is_some(),
            _ => false,
        }
    }

    /// The tool result that `event:<seq>` names.
    pub(super) fn result_behind(&self, reference: &str) -> Option<EvidenceText> {
        let seq = reference.strip_prefix("event:")?.trim().parse().ok()?;
        let CitableResult { tool, content } = self.successful_results.get(&seq)?;
        let (reference, title) = (reference.to_owned(), format!("result of {tool}"));
        Some(EvidenceText { reference, title, version: None, text: Some(*content) })
    }

    /// What is cited for each criterion that no person has decided: in this iteration, else before, else the newest documents
    /// and tasks of this run.
    fn citations(&self, shared: &Shared, found: &[VerifiedEvidence]) -> Vec<Citation> {
        let of = |criterion: &CriterionRecord| {
            let is_about = |held: &&VerifiedEvidence| held.criterion.as_ref() == Some(&criterion.id);
            let mut refs: Vec<String> = Vec::new();
            let cited = found.iter().filter(is_about).chain(self.evidence.get(&criterion.id));
            for reference in cited.flat_map(|held| &held.refs) {
                if !refs.contains(reference) {
                    refs.push(reference.clone());
                }
            }
            if refs.is_empty() {
                refs.extend(self.made.iter().rev().map(|made| made.reference.clone()));
            }
            refs.truncate(MAX_REFS);
            Citation { criterion: criterion.id.clone(), refs }
        };
        shared.criteria.iter().filter(|criterion| !criterion.is_decided_by_person()).map(of).collect()
    }

    /// The check that must come before the planner may end the run; `None` when there is nothing to check, or it has run.
    pub(super) fn check_due(&self, shared: &Shared) -> Option<CheckStarted> {
        let planned = self.current.planned.as_ref().filter(|planned| planned.exit_signal)?;
        if self.current.check_started || !shared.verifies() || !self.exit_objections(shared, planned).is_empty() {
            return None;
        }
        let citations = self.citations(shared, &self.held(shared, planned));
        let known = crate::criteria::known_texts(&citations, |reference| self.result_behind(reference));
        (!citations.is_empty()).then(|| shared.start_check(citations, known, false))
    }

    /// Records what is cited for criteria that nothing was cited for before; a planner that leaves cites whatever was made.
    pub(super) fn note_claims(&self, shared: &Shared, found: &[VerifiedEvidence], leaving: bool, facts: &mut Facts) {
        let mut citations = self.citations(shared, found);
        let is_cited = |id: &String| found.iter().any(|held| held.criterion.as_ref() == Some(id));
        citations.retain(|citation| leaving || is_cited(&citation.criterion));
        shared.note_claims(&citations, facts);
    }

    /// Why the planner may not end the run yet; empty when it may. Criteria are judged by the verifier after this, and what it
    /// refuted is named here.
    pub(super) fn exit_objections(&self, shared: &Shared, planned: &Planned) -> Vec<String> {
        let found = self.held(shared, planned);
        let mut reasons = Vec::new();
        if let Some(first) = planned.remaining_work.first() {
            reasons
                .push(format!("remaining_work still lists {} item(s), first: {first}", planned.remaining_work.len()));
        }
        for step in self.plan.steps.iter().filter(|step| step.status != HomeworkStepStatus::Done) {
            reasons.push(format!("step {} is still {}", step.id, step.status.name()));
        }
        for failed in self.failed_branches.values() {
            let (Some(step), branch) = (&failed.step_id, &failed.branch_id) else { continue };
            if self.plan.steps.iter().any(|known| known.id == *step) {
                reasons.push(format!(
                    "step {step} is not done: its last executor, on branch {branch}, failed ({}); do it again, or do it with a tool call",
                    failed.error
                ));
            }
        }
        let refused =
            planned.completion_evidence.iter().flat_map(|claim| &claim.refs).filter(|cited| !self.holds(cited.trim()));
        let refused: Vec<&str> = refused.map(String::as_str).collect();
        for citation in self.citations(shared, &found).iter().filter(|citation| citation.refs.is_empty()) {
            let named = if refused.is_empty() { String::new() } else { format!("; refused: {}", refused.join(", ")) };
            reasons.push(format!(
                "criterion {} has no evidence: cite a doc:<id> or task:<id> this run made, or event:<seq> of a successful tool result{named}",
                citation.criterion
            ));
        }
        reasons.extend(shared.criteria.iter().filter_map(|criterion| self.unmet(criterion)));
        if shared.criteria.is_empty() && found.is_empty() && self.evidence.is_empty() && self.totals.is_empty() {
            reasons.push("nothing shows the work: no artifact was recorded and no reference holds".into());
        }
        reasons
    }

    /// A verdict of an earlier iteration is asked for again before it counts; one of this iteration counts.
    fn unmet(&self, criterion: &CriterionRecord) -> Option<String> {
        let why = criterion.reason.as_deref().unwrap_or("no reason was given");
        let refs: Vec<&str> = criterion.evidence.iter().map(|cited| cited.reference.as_str()).collect();
        match criterion.state {
            CriterionState::Refuted if self.current.check_started => Some(format!(
                "criterion {} was checked against {} and is not met: {why}",
                criterion.id,
                refs.join(", ")
            )),
            CriterionState::Rejected => Some(format!("criterion {} was rejected by a person: {why}", criterion.id)),
            _ => None,
        }
    }

    /// Whether something is left undone that nothing took the place of.
    pub(super) fn left_undone(&self) -> EndState {
        EndState {
            made: !self.totals.is_empty(),
            failed: !self.failed_branches.is_empty(),
            dropped: self.dropped.iter().any(|step| !step.replaced),
        }
    }
}
