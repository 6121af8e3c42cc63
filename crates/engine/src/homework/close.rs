//! Closes an iteration: measures progress, detects repeats, writes the scratchpad entry and decides how the run goes on.

use super::entry::{self, Closing};
use super::state::{Phase, State};
use crate::calls;
use crate::facts::homework as fact;
use crate::facts::homework::{NextAction, Verdict};
use crate::facts::run::{QuestionAsked, WaitingOnUser};
use crate::ids::QuestionId;
use crate::metrics::Metrics;
use crate::run::{Facts, Shared, StopReason};

/// The most results of calls that an iteration's row shows.
const MAX_RESULTS: usize = 40;

impl State {
    /// `lost` says why the planner's answer could not be used.
    pub(super) fn close(&self, shared: &Shared, lost: Option<String>, facts: &mut Facts) {
        debug_assert_eq!(self.phase, Phase::Iterating);
        let planned = self.current.planned.as_ref();
        let found = planned.map(|planned| self.held(shared, planned)).unwrap_or_default();
        let progress = self.progress();
        let repeats = self.repeats_now(progress.made);
        if let (Some(repeats), Some(planned)) = (repeats, planned) {
            self.note_repeat(repeats, &planned.actions, facts);
        }
        let objections =
            planned.filter(|planned| planned.exit_signal).map(|planned| self.exit_objections(shared, planned));
        let asks = planned.is_some_and(|planned| planned.needs_user_input);
        if let Some(reasons) = objections.clone().filter(|reasons| !reasons.is_empty()) {
            facts.push(fact::ExitRefused { iteration: self.iteration, reasons });
        }
        let streak = match (progress.made, asks) {
            (true, _) => 0,
            // Asking is neither: the answer may be what was missing.
            (false, true) => shared.metrics.no_progress_streak,
            (false, false) => shared.metrics.no_progress_streak + 1,
        };
        let complete = objections.as_ref().is_some_and(Vec::is_empty);
        self.note_claims(shared, &found, complete, facts);
        let verdict = self.judge(shared, complete, asks, streak, repeats.unwrap_or(0), facts.now);
        let mut metrics = self.iteration_metrics(shared, facts.now);
        metrics.no_progress_streak = streak;
        let closing = Closing {
            lost: lost.as_deref(),
            progress: &progress,
            objections: objections.as_deref().unwrap_or_default(),
            repeats,
            verdict: &verdict,
        };
        self.write_up(shared, &closing, found, metrics, facts);
        if verdict == Verdict::Wait {
            self.ask(facts);
        }
    }

    /// Closes the iteration in which the run was canceled or failed: what was done so far is recorded, and nothing is judged.
    pub(super) fn break_off(&self, shared: &Shared, reason: StopReason, detail: &str, facts: &mut Facts) {
        if self.phase != Phase::Iterating || self.current.verdict.is_some() {
            return;
        }
        for index in 0..self.current.executors.len() {
            self.finish_executor(index, Some(format!("the run ended while it worked: {}", reason.name())), facts);
        }
        let progress = self.progress();
        let verdict = Verdict::Stop { reason, detail: detail.to_owned() };
        let mut metrics = self.iteration_metrics(shared, facts.now);
        metrics.no_progress_streak = if progress.made { 0 } else { shared.metrics.no_progress_streak };
        let closing = Closing { lost: None, progress: &progress, objections: &[], repeats: None, verdict: &verdict };
        self.write_up(shared, &closing, Vec::new(), metrics, facts);
    }

    /// What the iteration used so far.
    fn iteration_metrics(&self, shared: &Shared, now: crate::time::Timestamp) -> Metrics {
        let mut metrics = shared.metrics.clone();
        metrics.running_ms = shared.running_ms(now);
        metrics.since(&self.current.metrics_before)
    }

    /// The one scratchpad entry, the summary when it is due, and the fact that ends the iteration.
    fn write_up(
        &self,
        shared: &Shared,
        closing: &Closing<'_>,
        evidence: Vec<fact::VerifiedEvidence>,
        metrics: Metrics,
        facts: &mut Facts,
    ) {
        if let Some(workspace) = self.workspace {
            facts.push(fact::ScratchpadAppended {
                iteration: self.iteration,
                scratchpad_document_id: workspace.scratchpad,
                entry_key: format!("iteration-{}", self.iteration),
                markdown: entry::iteration(self, closing),
            });
        }
        self.write_summary(shared, closing, facts);
        let lost = closing.lost.map(str::to_owned);
        let summary = match (&self.current.planned, closing) {
            (Some(planned), _) => planned.progress_summary.clone(),
            (None, Closing { lost: None, verdict: Verdict::Stop { detail, .. }, .. }) => detail.clone(),
            (None, _) => lost.clone().unwrap_or_default(),
        };
        facts.push(fact::IterationCompleted {
            iteration: self.iteration,
            started_at: self.current.started_at,
            progress: closing.progress.clone(),
            metrics,
            artifacts: self.current.artifacts.clone(),
            results: self.results(),
            summary,
            evidence,
            exit_refused: !closing.objections.is_empty(),
            lost,
            verdict: closing.verdict.clone(),
        });
    }

    /// What the iteration's calls and executors brought, for its row.
    fn results(&self) -> Vec<fact::IterationResult> {
        let calls = calls::answered(&self.current.calls).map(|(call, result)| fact::IterationResult {
            call_id: Some(call.id.clone()),
            branch_id: None,
            name: entry::call_name(call),
            ok: result.ok,
            summary: entry::line(&result.summary),
            event: Some(result.seq),
        });
        let executors = self.current.executors.iter().map(|executor| {
            let finished = executor.finished.as_ref();
            let said = finished.map(|finished| finished.error.as_ref().unwrap_or(&finished.snippet));
            fact::IterationResult {
                call_id: None,
                branch_id: Some(executor.task.branch_id.clone()),
                name: executor.task.title.clone(),
                ok: finished.is_some_and(|finished| finished.ok),
                summary: said.map_or_else(|| "was at work when the run ended".into(), |said| entry::line(said)),
                event: None,
            }
        });
        calls.take(MAX_RESULTS).chain(executors).collect()
    }

    /// How many repeats in a row this iteration makes; `None` if it is none. A repeat is an equal, non-empty action set without
    /// progress.
    fn repeats_now(&self, progress: bool) -> Option<u32> {
        let planned = self.current.planned.as_ref().filter(|planned| !progress && !planned.actions.is_empty())?;
        let again = planned.withheld || self.last.as_ref().is_some_and(|last| last.actions == planned.actions);
        again.then_some(self.repeats + 1)
    }

    fn note_repeat(&self, repeats: u32, actions: &[String], facts: &mut Facts) {
        facts.push(fact::RepeatDetected { iteration: self.iteration, repeats, actions: actions.to_vec() });
        if repeats == 1 {
            facts.push(fact::ReplanForced { iteration: self.iteration, actions: actions.to_vec() });
        }
    }

    /// Whether the planner says that it cannot go on: it stops with work remaining, and made nothing.
    pub(super) fn gives_up(&self) -> bool {
        let stops = self.current.planned.as_ref().is_some_and(|planned| {
            planned.next_action_hint == NextAction::Stop
                && !planned.exit_signal
                && !planned.needs_user_input
                && !planned.remaining_work.is_empty()
        });
        stops && self.current.artifacts.is_empty()
    }

    /// In the order of docs/protocol.md: completed, user_input, cannot_be_done, no_progress, budgets, max_iterations.
    fn judge(
        &self,
        shared: &Shared,
        complete: bool,
        asks: bool,
        streak: u32,
        repeats: u32,
        now: crate::time::Timestamp,
    ) -> Verdict {
        let stop = |reason, detail: String| Verdict::Stop { reason, detail };
        let budgets = &shared.budgets;
        if complete {
            return stop(StopReason::Completed, completed_with(shared));
        }
        if asks {
            return Verdict::Wait;
        }
        if self.gives_up() && self.gave_up.is_some() {
            let said = self.current.planned.as_ref().map(|planned| planned.progress_summary.clone());
            return stop(StopReason::CannotBeDone, said.unwrap_or_default());
        }
        if repeats >= budgets.repeat_limit {
            return stop(
                StopReason::NoProgress,
                format!("the same actions came back {} times without progress", repeats),
            );
        }
        if streak >= budgets.no_progress_limit {
            return stop(StopReason::NoProgress, format!("{streak} iterations in a row without progress"));
        }
        if let Some(limit) = shared.exhausted {
            return stop(StopReason::from(limit), "there is no room for another call".into());
        }
        if let Some(limit) = budgets.max_wall_ms.filter(|limit| shared.running_ms(now) >= *limit) {
            return stop(StopReason::BudgetWallClock, format!("worked for {} of {} ms", shared.running_ms(now), limit));
        }
        if self.iteration >= budgets.max_iterations {
            return stop(StopReason::MaxIterations, format!("all {} iterations are used", budgets.max_iterations));
        }
        Verdict::On
    }

    fn ask(&self, facts: &mut Facts) {
        let planned = self.current.planned.iter();
        let questions: Vec<String> = planned
            .flat_map(|planned| &planned.blocking_questions)
            .filter(|text| !text.trim().is_empty())
            .cloned()
            .collect();
        let question_ids: Vec<QuestionId> = questions.iter().map(|_| facts.new_id()).collect();
        for (question_id, text) in question_ids.iter().zip(questions) {
            facts.push(QuestionAsked {
                question_id: *question_id,
                node_id: None,
                text,
                options: Vec::new(),
                deadline_at: None,
                default: None,
                effect: None,
            });
        }
        facts.push(WaitingOnUser { question_ids });
    }
}

/// What a completed run says of its criteria: never more than was checked.
fn completed_with(shared: &Shared) -> String {
    let (all, holding) = (shared.criteria.len(), shared.criteria.iter().filter(|criterion| criterion.holds()).count());
    match (all, holding) {
        (0, _) => "nothing remains; the run has no criteria that could be checked".into(),
        (all, holding) if all == holding => format!("nothing remains, and every criterion holds ({all} of {all})"),
        (all, holding) => {
            format!("nothing remains; {holding} of {all} criteria hold, the others are claimed and not verified")
        }
    }
}
