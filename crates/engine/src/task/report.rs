//! The end of a task: the platform's report, and the event that ends the run.

use super::state::State;
use crate::facts::run::{Canceled, Completed, Failed, ReportCreated, Stopped};
use crate::facts::task::StepAction;
use crate::run::{Facts, Shared, Status, StopReason, headline};
use crate::workspace::Named;
use serde_json::{Value, json};

impl State {
    /// Ends the run after the reflection, whether or not that succeeded.
    pub(super) fn finish(&self, shared: &Shared, facts: &mut Facts) {
        let Some(closing) = &self.closing else { return };
        let (stop_reason, detail) = (closing.stop_reason, closing.message.clone());
        facts.push(ReportCreated { report: self.report(shared, stop_reason, &detail) });
        match stop_reason.status() {
            Status::Completed => facts.push(Completed { detail: Some(detail), messages_not_shown: Vec::new() }),
            Status::Canceled => facts.push(Canceled { detail: Some(detail), messages_not_shown: Vec::new() }),
            Status::Failed => facts.push(Failed { stop_reason, error: detail, messages_not_shown: Vec::new() }),
            _ => facts.push(Stopped { stop_reason, detail, messages_not_shown: Vec::new() }),
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
