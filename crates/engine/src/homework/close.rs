//! Closes an iteration: measures progress, detects repeats, writes the scratchpad entry and decides how the run goes on.

use super::state::{Phase, State};
use super::{SUMMARY, entry};
use crate::facts::homework as fact;
use crate::facts::homework::Verdict;
use crate::facts::run::{QuestionAsked, WaitingOnUser};
use crate::ids::{DocumentId, QuestionId};
use crate::run::{Facts, Shared, StopReason};
use crate::workspace::Mutation;
use serde_json::json;

/// A summary document is written every this many iterations.
const ITERATIONS_PER_SUMMARY: u32 = 10;

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
        let exit_refused = objections.as_ref().is_some_and(|reasons| !reasons.is_empty());
        if exit_refused {
            let reasons = objections.clone().unwrap_or_default();
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
        let mut metrics = shared.metrics.clone();
        metrics.running_ms = shared.running_ms(facts.now);
        let mut metrics = metrics.since(&self.current.metrics_before);
        metrics.no_progress_streak = streak;

        self.write_entry(&lost, &progress, &objections.unwrap_or_default(), &verdict, facts);
        self.write_summary(shared, facts);
        let summary =
            planned.map(|planned| planned.progress_summary.clone()).or_else(|| lost.clone()).unwrap_or_default();
        facts.push(fact::IterationCompleted {
            iteration: self.iteration,
            started_at: self.current.started_at,
            progress,
            metrics,
            artifacts: self.current.artifacts.clone(),
            summary,
            evidence: found,
            exit_refused,
            lost,
            verdict: verdict.clone(),
        });
        if verdict == Verdict::Wait {
            self.ask(facts);
        }
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

    /// In the order of docs/protocol.md: completed, user_input, no_progress, budgets, max_iterations.
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

    fn write_entry(
        &self,
        lost: &Option<String>,
        progress: &fact::Progress,
        objections: &[String],
        verdict: &Verdict,
        facts: &mut Facts,
    ) {
        let Some(workspace) = self.workspace else { return };
        facts.push(fact::ScratchpadAppended {
            iteration: self.iteration,
            scratchpad_document_id: workspace.scratchpad,
            entry_key: format!("iteration-{}", self.iteration),
            markdown: entry::iteration(self, lost.as_deref(), progress, objections, verdict),
        });
    }

    /// Summarises the last ten iterations in one document, from their scratchpad entries and without a model call.
    fn write_summary(&self, shared: &Shared, facts: &mut Facts) {
        let Some(workspace) = self.workspace.filter(|_| self.iteration.is_multiple_of(ITERATIONS_PER_SUMMARY)) else {
            return;
        };
        let (id, project_id): (DocumentId, _) = (facts.new_id(), shared.home_project());
        let from = self.iteration + 1 - ITERATIONS_PER_SUMMARY;
        let lines: Vec<&str> =
            self.history.iter().rev().take(ITERATIONS_PER_SUMMARY as usize - 1).map(String::as_str).collect();
        let this = self.current.planned.as_ref().map(|planned| planned.progress_summary.clone()).unwrap_or_default();
        let older: String = lines.iter().rev().map(|line| format!("- {line}\n")).collect();
        facts.mutate(Mutation::CreateDocument {
            id,
            project_id,
            title: format!("Summary of iterations {from} to {}", self.iteration),
            type_key: SUMMARY.into(),
            content: format!(
                "# Iterations {from} to {}\n\n{older}- iteration {}: {this}\n",
                self.iteration, self.iteration
            ),
            props: json!({
                "homework_run_id": shared.id, "doc_role": "iteration_summary", "iteration": self.iteration,
                "owner": "planner", "tags": ["homework"],
            }),
        });
        facts.link(shared, workspace.scratchpad, id);
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
