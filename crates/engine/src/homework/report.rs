//! The end of a run: the platform's report, with the model's prose where it gave any.

use super::answer::ReportAnswer;
use super::state::{DroppedStep, Phase, State};
use crate::facts::homework::{HomeworkStepStatus, Verdict};
use crate::facts::run::{Completed, Ended, ReportCreated, Stopped};
use crate::lessons;
use crate::metrics::ModelMetrics;
use crate::report::{Account, Dropped, Failure, Made, words};
use crate::run::{Facts, Shared, StopReason, headline};
use serde_json::{Value, json};
use std::collections::HashSet;

/// Why a replan is forced.
const REPEATED: &str = "the same actions had come back without progress";

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
        let mut account = Account {
            title: headline(&shared.brief.objective),
            summary: self.last_reported(detail),
            not_done: self.still_open(reason),
            made: self.made_newest_first(),
            left_out: self.changed_entities.len().saturating_sub(self.made.len()),
            failed: self.failures(),
            dropped: self.dropped.iter().map(dropped).collect(),
            replans: self.replans.iter().map(|iteration| json!({ "iteration": iteration, "why": REPEATED })).collect(),
            owned: Some(self.used_by_iterations(shared)),
            ..Account::default()
        };
        if let Some(prose) = prose {
            (account.title, account.summary, account.findings) = (prose.title, prose.summary, prose.findings);
            account.not_done.extend(prose.not_done);
            account.by_model = true;
        }
        let mut report = account.report(shared, reason, detail);
        report["iterations"] = self.iteration.into();
        report["what_changed"] = json!(self.totals);
        report["plan"] = json!(self.plan);
        report
    }

    /// The planner's last words, for want of a report's, unless they are how the run ended.
    fn last_reported(&self, detail: &str) -> String {
        let said = self.last.as_ref().map(|last| last.summary.trim());
        let said = said.filter(|said| !said.is_empty() && !detail.contains(said));
        said.map(|said| format!("Last reported: {said}")).unwrap_or_default()
    }

    /// Steps that are not done, and what the planner said remains.
    fn still_open(&self, reason: StopReason) -> Vec<String> {
        let open = self.plan.steps.iter().filter(|step| step.status != HomeworkStepStatus::Done);
        let mut lines: Vec<String> = open.map(|step| format!("{} ({})", step.title, step.status.name())).collect();
        let remaining = self.last.iter().flat_map(|last| &last.remaining_work);
        lines.extend(remaining.filter(|_| reason != StopReason::Completed).cloned());
        lines
    }

    fn made_newest_first(&self) -> Vec<Made> {
        let created = self.totals.created_documents.iter().chain(&self.totals.created_tasks);
        let created: HashSet<String> = created.map(|named| named.id.to_string()).collect();
        let made = self.made.iter().rev().map(|made| {
            let id = made.reference.split_once(':').map_or("", |(_, id)| id);
            Made { changed: !created.contains(id), ..Made::of_reference(&made.reference, &made.title) }
        });
        made.collect()
    }

    /// Branches that nothing has made good, those that were at work when the run ended, and tools whose last call failed.
    pub(super) fn failures(&self) -> Vec<Failure> {
        let at_work = self.current.executors.iter().chain(self.last.iter().flat_map(|last| &last.executors));
        let at_work = at_work.filter(|executor| executor.finished.is_none());
        let at_work = at_work.map(|executor| Failure {
            kind: "branch",
            title: executor.task.title.clone(),
            state: "canceled",
            why: "not finished when the run ended".into(),
            iteration: Some(self.iteration),
            node_id: None,
        });
        let branches =
            self.failed_branches.values().map(|failed| ("branch", &failed.title, failed.iteration, &failed.error));
        let tools = self.failed_tools.iter().map(|(tool, failed)| ("tool", tool, failed.iteration, &failed.error));
        let failed = branches.chain(tools).map(|(kind, title, iteration, error)| Failure {
            kind,
            title: title.clone(),
            state: "failed",
            why: words::reason(error),
            iteration: Some(iteration),
            node_id: None,
        });
        at_work.chain(failed).collect()
    }

    /// The closed iterations and the one in progress.
    fn used_by_iterations(&self, shared: &Shared) -> ModelMetrics {
        let mut used = self.in_iterations.calls();
        if self.phase == Phase::Iterating && self.current.verdict.is_none() {
            used.add(&shared.metrics.since(&self.current.metrics_before).calls());
        }
        used
    }
}

pub(super) fn dropped(step: &DroppedStep) -> Dropped {
    let instead = if step.replaced { "other steps were planned instead" } else { "nothing was planned instead" };
    Dropped {
        title: step.title.clone(),
        why: format!("left out of the plan in iteration {}; {instead}", step.iteration),
        iteration: Some(step.iteration),
        node_id: None,
    }
}
