//! The end of a run: the platform's report, with the model's prose where it gave any.

use super::answer::ReportAnswer;
use super::state::State;
use crate::facts::homework::Verdict;
use crate::facts::run::{Completed, Ended, ReportCreated, Stopped};
use crate::lessons;
use crate::run::{Facts, Shared, StopReason};
use serde_json::{Value, json};

impl State {
    /// After the report call, whatever came of it. Its failure changes nothing.
    pub(super) fn end(&self, shared: &Shared, prose: Option<ReportAnswer>, facts: &mut Facts) {
        let Some(Verdict::Stop { reason, detail }) = self.verdict() else { return };
        let (reason, detail) = (*reason, detail.clone());
        facts.push(ReportCreated { report: self.report(shared, reason, &detail, prose) });
        match reason {
            StopReason::Completed => {
                lessons::promote(self.lessons.iter().copied(), facts);
                facts.push(Completed { detail: Some(detail), ended: Ended::default() });
            }
            stop_reason => facts.push(Stopped { stop_reason, detail, ended: Ended::default() }),
        }
    }

    pub(crate) fn report(
        &self,
        shared: &Shared,
        reason: StopReason,
        detail: &str,
        prose: Option<ReportAnswer>,
    ) -> Value {
        let open_steps =
            self.plan.steps.iter().filter(|step| step.status != crate::facts::homework::HomeworkStepStatus::Done);
        let mut not_done: Vec<String> =
            open_steps.map(|step| format!("{} ({})", step.title, step.status.name())).collect();
        let remaining = self.last.as_ref().map(|last| last.remaining_work.clone()).unwrap_or_default();
        not_done.extend(remaining.into_iter().filter(|_| reason != StopReason::Completed));
        let (title, summary, findings, written_by) = match prose {
            Some(prose) => {
                not_done.extend(prose.not_done.into_iter().filter(|item| !not_done.contains(item)).collect::<Vec<_>>());
                (prose.title, prose.summary, prose.findings, "model")
            }
            None => (
                crate::run::headline(&shared.brief.objective),
                self.last.as_ref().map(|last| last.summary.clone()).unwrap_or_default(),
                Vec::new(),
                "platform",
            ),
        };
        json!({
            "title": title,
            "summary": summary,
            "findings": findings,
            "not_done": not_done,
            "prose_by": written_by,
            "objective": shared.brief.objective,
            "status": reason.status(),
            "stop_reason": reason,
            "stop_detail": detail,
            "iterations": self.iteration,
            "what_changed": self.totals,
            "left_out": self.left_out,
            "evidence": shared.brief.success_criteria.iter().map(|criterion| json!({
                "criterion": criterion.id,
                "text": criterion.text,
                "verified": self.evidence.get(&criterion.id),
            })).collect::<Vec<_>>(),
            "artifacts": self.made,
            "plan": self.plan,
            "questions": shared.questions,
            "metrics": shared.metrics,
            "models": shared.brief.models.names(),
        })
    }
}
