//! The end of a task: the platform's report, and the event that ends the run.

use super::state::{Phase, State};
use crate::criteria::MAX_REFS;
use crate::facts::evidence::{Citation, EndState};
use crate::facts::run::{Canceled, Completed, Ended, Failed, ReportCreated, Stopped};
use crate::facts::task::StepAction;
use crate::report::{Account, Failure, Made, words};
use crate::run::{Facts, Shared, Status, StopReason, headline};
use serde_json::{Value, json};

impl State {
    /// Ends the run after the reflection, whether or not that succeeded.
    pub(super) fn finish(&self, shared: &Shared, facts: &mut Facts) {
        let Some(closing) = &self.closing else { return };
        if closing.stop_reason == StopReason::Completed && self.phase != Phase::Checking && !shared.criteria.is_empty()
        {
            let citations = self.citations(shared);
            if shared.verifies() && citations.iter().any(|citation| !citation.refs.is_empty()) {
                return facts.push(shared.start_check(citations, Vec::new(), false));
            }
            shared.note_claims(&citations, facts);
        }
        let (stop_reason, detail) = (closing.stop_reason, closing.message.clone());
        facts.push(ReportCreated { report: self.report(shared, stop_reason, &detail) });
        match stop_reason.status() {
            Status::Completed => facts.push(Completed { detail: Some(detail), ended: Ended::default() }),
            Status::Canceled => facts.push(Canceled { detail: Some(detail), ended: Ended::default() }),
            Status::Failed => facts.push(Failed { stop_reason, error: detail, ended: Ended::default() }),
            _ => facts.push(Stopped { stop_reason, detail, ended: Ended::default() }),
        }
    }

    /// For every criterion, the newest of what the task created or changed.
    fn citations(&self, shared: &Shared) -> Vec<Citation> {
        let refs: Vec<String> =
            self.made_oldest_first().into_iter().rev().map(|made| made.reference).take(MAX_REFS).collect();
        let undecided = shared.criteria.iter().filter(|criterion| !criterion.is_decided_by_person());
        undecided.map(|criterion| Citation { criterion: criterion.id.clone(), refs: refs.clone() }).collect()
    }

    /// Whether its last action failed, which is then left undone.
    pub(super) fn left_undone(&self) -> EndState {
        let mut results = self.steps.iter().rev().filter_map(|step| step.result.as_ref());
        EndState {
            made: !self.made.is_empty(),
            failed: results.next().is_some_and(|result| !result.ok),
            dropped: false,
        }
    }

    /// What the task created or changed, oldest first.
    fn made_oldest_first(&self) -> Vec<Made> {
        let created = self.made.created_documents.iter().map(|named| ("doc", named, false));
        let updated = self.made.updated_documents.iter().map(|named| ("doc", named, true));
        let created = created.chain(self.made.created_tasks.iter().map(|named| ("task", named, false)));
        let updated = updated.chain(self.made.updated_tasks.iter().map(|named| ("task", named, true)));
        let mut all: Vec<Made> = Vec::new();
        for (kind, named, changed) in created.chain(updated) {
            let made = Made { changed, ..Made::of_reference(&format!("{kind}:{}", named.id), &named.title) };
            if !all.iter().any(|known| known.reference == made.reference) {
                all.push(made);
            }
        }
        all
    }

    /// What was tried and, when it was tried last, did not work.
    fn failures(&self) -> Vec<Failure> {
        let mut failures: Vec<Failure> = Vec::new();
        for step in &self.steps {
            let Some(result) = &step.result else { continue };
            let title = step.headline();
            failures.retain(|known| known.title != title);
            if !result.ok {
                let why = words::reason(&result.summary);
                failures.push(Failure { kind: "step", title, state: "failed", why, ..Failure::default() });
            }
        }
        failures
    }

    pub(crate) fn report(&self, shared: &Shared, reason: StopReason, detail: &str) -> Value {
        let said = |action: StepAction| {
            let last = self.steps.last().filter(|step| step.action == action);
            last.and_then(|step| step.message.clone())
        };
        let mut made = self.made_oldest_first();
        made.reverse();
        let account = Account {
            title: headline(&shared.brief.objective),
            summary: said(StepAction::Done).or_else(|| said(StepAction::Error)).unwrap_or_default(),
            not_done: if reason == StopReason::Completed { Vec::new() } else { vec![words::reason(detail)] },
            made,
            failed: self.failures(),
            ..Account::default()
        };
        let mut report = account.report(shared, reason, detail);
        report["agent"] = json!(shared.brief.agent.as_ref().map(|agent| &agent.handle));
        report["steps"] = self.actions().into();
        report["what_changed"] = json!(self.made);
        report
    }
}
