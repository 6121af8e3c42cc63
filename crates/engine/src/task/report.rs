//! The end of a task: the platform's report, and the event that ends the run.

use super::state::{Phase, State};
use crate::criteria::MAX_REFS;
use crate::facts::evidence::{Citation, EndState};
use crate::facts::run::{Canceled, Completed, Ended, Failed, ReportCreated, Stopped};
use crate::facts::task::StepAction;
use crate::run::{Facts, Shared, Status, StopReason, headline};
use crate::workspace::Named;
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
        let refs = self.refs().into_iter().rev().filter_map(|made| made["ref"].as_str().map(str::to_owned));
        let refs: Vec<String> = refs.take(MAX_REFS).collect();
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

    /// What the task created or changed, as reports cite it.
    fn refs(&self) -> Vec<Value> {
        let documents = self.made.created_documents.iter().chain(&self.made.updated_documents);
        let tasks = self.made.created_tasks.iter().chain(&self.made.updated_tasks);
        let cited = |kind: &str, named: &Named| json!({ "ref": format!("{kind}:{}", named.id), "title": named.title });
        documents.map(|named| cited("doc", named)).chain(tasks.map(|named| cited("task", named))).collect()
    }

    pub(crate) fn report(&self, shared: &Shared, reason: StopReason, detail: &str) -> Value {
        let said = |action: StepAction| {
            let last = self.steps.last().filter(|step| step.action == action);
            last.and_then(|step| step.message.clone())
        };
        let not_done: Vec<&str> = if reason == StopReason::Completed { Vec::new() } else { vec![detail] };
        json!({
            "title": headline(&shared.brief.objective),
            "summary": said(StepAction::Done).or_else(|| said(StepAction::Error)).unwrap_or_else(|| detail.to_owned()),
            "findings": [],
            "evidence": [],
            "artifacts": self.refs(),
            "questions": shared.questions,
            "not_done": not_done,
            "prose_by": "platform",
            "objective": shared.brief.objective,
            "status": reason.status(),
            "stop_reason": reason,
            "stop_detail": detail,
            "agent": shared.brief.agent.as_ref().map(|agent| &agent.handle),
            "steps": self.actions(),
            "what_changed": self.made,
            "metrics": shared.metrics,
            "models": shared.brief.models.names(),
        })
    }
}
