//! The fold of homework facts: each arm records what its fact says happened.

use super::effect_id::EffectPosition;
use super::entry::{self, Closing};
use super::state::{
    Branch, CitableEntity, CitableResult, CurrentIteration, DocumentExcerpt, Executor, ExecutorOutcome, LastIteration,
    LastOutcome, Phase, State, TaskNotRun, Workspace,
};
use super::summary::ITERATIONS_PER_SUMMARY;
use crate::calls::{self, CallResult, RecordedCall, RejectedAnswer};
use crate::event::Event;
use crate::facts::evidence::CriterionState;
use crate::facts::homework::{
    ExecutorFinished, ExecutorStarted, ExecutorTask, IterationCompleted, ToolCallRequested, ToolCallResult, Verdict,
};
use crate::facts::{HomeworkFact, RunFact, run::ResumeReason};
use crate::run::Shared;
use crate::workspace::{Artifacts, Named};
use std::collections::VecDeque;

const MAX_ENTRIES: usize = 3;
const MAX_TAIL_ENTRIES: usize = 2;
const MAX_HISTORY_LINES: usize = 40;
const MAX_ARTIFACTS: usize = 50;
/// In characters: what is remembered of one entry of a branch. The whole is in its pad.
const MAX_TAIL_CHARS: usize = 4_000;
const MAX_BRANCH_ARTIFACTS: usize = 20;
const MAX_HEARD: usize = 40;
const MAX_TOTALS: usize = 200;
const MAX_TEXTS: usize = 6;
/// All texts together are about what fits the request of the report.
const MAX_TEXT_CHARS: usize = 6_000;

impl State {
    pub(super) fn record_shared(&mut self, shared: &Shared, fact: &RunFact) {
        self.hear(shared, fact);
        match fact {
            // In the middle of an iteration only a call waits: the iteration goes on with its answer.
            RunFact::WaitingOnUser(_) if self.current.verdict.is_some() => self.phase = Phase::Waiting,
            RunFact::Completed(_) | RunFact::Stopped(_) | RunFact::Canceled(_) => self.phase = Phase::Ended,
            // Logs of earlier versions fail in the middle of an iteration, and go on in it.
            RunFact::Failed(_) if self.current.verdict.is_some() => self.phase = Phase::Ended,
            RunFact::Resumed(resumed) if resumed.reason == ResumeReason::Continued => {
                self.repeats = 0;
                self.barred = None;
                self.gave_up = None;
            }
            RunFact::CheckStarted(_) => self.current.check_started = true,
            RunFact::CriterionChecked(fact) if fact.state == CriterionState::Verified => {
                self.current.newly_verified += u32::from(self.verified_criteria.insert(fact.criterion.clone()));
            }
            RunFact::MessageDelivered(fact) => {
                let position = EffectPosition::of(&fact.effect.clone().into(), &self.tag, self.iteration);
                if let Some(EffectPosition::Round { .. }) = position {
                    self.unread_by_planner.insert(fact.message_id);
                }
            }
            _ => {}
        }
    }

    /// What people said and answered goes into the next entry of the journal.
    fn hear(&mut self, shared: &Shared, fact: &RunFact) {
        let question = |id| {
            let asked = shared.questions.iter().find(|question| question.id == id);
            asked.map(|question| entry::line(&question.text)).unwrap_or_default()
        };
        let heard = match fact {
            RunFact::MessageQueued(fact) => format!("a message: {:?}", entry::line(&fact.text)),
            RunFact::Answered(fact) => {
                format!("an answer to {:?}: {:?}", question(fact.question_id), entry::line(&fact.text))
            }
            RunFact::QuestionExpired(fact) => match &fact.default {
                Some(default) => format!(
                    "no answer in time to {:?}: {:?} was taken",
                    question(fact.question_id),
                    entry::line(default)
                ),
                None => format!("no answer in time to {:?}", question(fact.question_id)),
            },
            RunFact::Resumed(fact) if fact.reason == ResumeReason::Continued => "a person let the run go on".into(),
            _ => return,
        };
        self.heard.push_back(heard);
        retain_newest(&mut self.heard, MAX_HEARD);
    }

    pub(super) fn record_own(&mut self, shared: &Shared, fact: &HomeworkFact, event: &Event) {
        match fact {
            HomeworkFact::RunStarted(fact) => {
                self.tag = event.run_id.tag();
                self.workspace = Some(Workspace {
                    document: fact.workspace_document_id,
                    scratchpad: fact.scratchpad_document_id,
                    plan: fact.plan_document_id,
                });
            }
            HomeworkFact::IterationStarted(fact) => {
                self.iteration = fact.iteration;
                self.phase = Phase::Iterating;
                self.current = CurrentIteration {
                    started_at: event.at,
                    metrics_before: shared.metrics.clone(),
                    plan_before: self.plan.clone(),
                    ..CurrentIteration::default()
                };
            }
            HomeworkFact::AnswerRejected(fact) => {
                let rejected = RejectedAnswer { errors: fact.errors.clone(), response: fact.response };
                self.current.rejected.insert(fact.effect.clone(), rejected);
            }
            HomeworkFact::Planned(fact) => {
                self.current.planned = Some(fact.clone());
                self.unread_by_planner.clear();
            }
            HomeworkFact::PlanUpdated(fact) => {
                self.steps_dropped(fact);
                self.plan.version = fact.version;
                self.plan.steps = fact.steps.clone();
            }
            HomeworkFact::ToolCallRequested(fact) => self.requested(fact),
            HomeworkFact::ToolCallResult(fact) => {
                self.answered(fact, event.seq);
                self.made_good(fact);
                self.tool_ended(fact);
            }
            HomeworkFact::RepairAttempted(_) => self.current.repaired = true,
            HomeworkFact::ExecutorStarted(fact) => self.executor_started(shared, fact),
            HomeworkFact::ExecutorAnswered(fact) => {
                if let Some(executor) = self.current.executors.get_mut(fact.index as usize) {
                    executor.answered = fact.round;
                    executor.thoughts.push(fact.thought.clone());
                    executor.said_done = fact.done;
                    executor.summary = fact.summary.clone().or(executor.summary.take());
                    executor.snippet = fact.result_snippet.clone().or(executor.snippet.take());
                    executor.completed_step_ids.extend(fact.completed_step_ids.iter().cloned());
                    executor.round += u32::from(fact.idle);
                }
            }
            HomeworkFact::ExecutorFinished(fact) => self.executor_finished(fact),
            HomeworkFact::RepeatDetected(fact) => {
                self.repeats = fact.repeats;
                self.barred = Some(fact.actions.clone());
            }
            HomeworkFact::ReplanForced(fact) => {
                self.current.replan_forced = fact.actions.clone();
                self.replans.push(fact.iteration);
            }
            HomeworkFact::ExitRefused(fact) => self.refused_exit = fact.reasons.clone(),
            HomeworkFact::ScratchpadAppended(fact) => {
                self.entries.push_back(fact.markdown.clone());
                retain_newest(&mut self.entries, MAX_ENTRIES);
            }
            HomeworkFact::LimitReached(fact) => {
                self.phase = Phase::Reporting;
                self.current.verdict = Some(Verdict::Stop { reason: fact.stop_reason, detail: fact.detail.clone() });
            }
            HomeworkFact::IterationCompleted(fact) => self.completed(fact),
        }
    }

    fn requested(&mut self, fact: &ToolCallRequested) {
        let call = RecordedCall {
            id: fact.call_id.clone(),
            tool: fact.tool.clone(),
            arguments: fact.arguments.clone(),
            purpose: fact.purpose.clone(),
            repair_of: fact.repair_of.clone(),
            result: None,
        };
        match &fact.branch_id {
            None => self.current.calls.push(call),
            Some(branch) => {
                if let Some(executor) =
                    self.current.executors.iter_mut().find(|executor| &executor.task.branch_id == branch)
                {
                    executor.calls.push(call);
                }
            }
        }
    }

    fn answered(&mut self, fact: &ToolCallResult, seq: u64) {
        let result =
            CallResult { ok: fact.ok, summary: fact.summary.clone(), content: fact.result, chars: fact.chars, seq };
        let of_executors = self.current.executors.iter_mut().flat_map(|executor| &mut executor.calls);
        if let Some(call) = self.current.calls.iter_mut().chain(of_executors).find(|call| call.id == fact.call_id) {
            call.result = Some(result);
            let text = call.arguments["content"].as_str().map(|text| crate::shorten::text(text, MAX_TEXT_CHARS));
            self.wrote(&fact.artifacts, text);
        }
        let mut executors = self.current.executors.iter_mut();
        if let Some(executor) = executors.find(|executor| executor.calls.iter().any(|call| call.id == fact.call_id)) {
            executor.artifacts.extend(&fact.artifacts);
        }
        let (tag, iteration) = (self.tag.clone(), self.iteration);
        for (index, executor) in self.current.executors.iter_mut().enumerate() {
            if executor.answered < executor.round || executor.calls.iter().any(|call| call.result.is_none()) {
                continue;
            }
            if executor
                .failed_in_round(|id| EffectPosition::round_of(id, &tag, iteration) == Some((index, executor.round)))
            {
                // It may not have known: what it said of this round's calls does not hold.
                executor.said_done = false;
                executor.completed_step_ids.clear();
            }
            if !executor.said_done {
                executor.round += 1;
            }
        }
        self.lessons.extend(fact.lesson);
        if fact.ok && !crate::lessons::is_memory(&fact.tool) {
            self.successful_results.insert(seq, CitableResult { tool: fact.tool.clone(), content: fact.result });
        }
        self.known.extend(&fact.seen);
        self.current.new_readings += u32::from(fact.new_reading);
        self.current.artifacts.extend(&fact.artifacts);
        let advances = !fact.known_change && !fact.artifacts.is_empty();
        if advances {
            self.current.advances.extend(&fact.artifacts);
        }
        let of_planner = self.current.calls.iter().any(|call| call.id == fact.call_id);
        self.unclaimed_work += u32::from(of_planner && (fact.new_reading || advances));
        self.made(&fact.artifacts);
    }

    fn made(&mut self, artifacts: &Artifacts) {
        self.changed_entities.extend(entities(artifacts).map(|(_, named)| named.id));
        cite(&mut self.made, artifacts, MAX_ARTIFACTS);
        self.totals.extend(artifacts);
        self.left_out += self.totals.retain_newest(MAX_TOTALS);
    }

    /// Remembers a written text for the report when its document is known.
    fn wrote(&mut self, artifacts: &Artifacts, text: Option<String>) {
        let mut documents = artifacts.created_documents.iter().chain(&artifacts.updated_documents);
        let (Some(text), Some(Named { id, title }), None) = (text, documents.next(), documents.next()) else { return };
        let reference = format!("doc:{id}");
        self.written.retain(|written| written.reference != reference);
        self.written.push_back(DocumentExcerpt { reference, title: title.clone(), text });
        retain_newest(&mut self.written, MAX_TEXTS);
    }

    fn executor_started(&mut self, shared: &Shared, fact: &ExecutorStarted) {
        if self.branch(&fact.branch_id).is_none() {
            let branch = Branch {
                id: fact.branch_id.clone(),
                document: fact.scratchpad_document_id,
                title: fact.title.clone(),
                step_id: None,
                tail: VecDeque::new(),
                last_outcome: None,
                made: VecDeque::new(),
            };
            self.branches.push(branch);
        }
        let mut branches = self.branches.iter_mut();
        if let Some(branch) = branches.find(|branch| branch.id == fact.branch_id) {
            branch.step_id = fact.step_id.clone().or(branch.step_id.take());
        }
        self.current.executors.push(Executor {
            task: ExecutorTask {
                branch_id: fact.branch_id.clone(),
                step_id: fact.step_id.clone(),
                title: fact.title.clone(),
                objective: fact.objective.clone(),
                tools: fact.tools.clone(),
                agent: fact.agent.clone(),
            },
            pad: fact.scratchpad_document_id,
            round: 1,
            answered: 0,
            thoughts: Vec::new(),
            calls: Vec::new(),
            said_done: false,
            summary: None,
            snippet: None,
            completed_step_ids: Vec::new(),
            artifacts: Artifacts::default(),
            finished: None,
            refused_tools: super::executor::refused_tools(shared, &fact.refused_tools),
        });
    }

    fn executor_finished(&mut self, fact: &ExecutorFinished) {
        let Some(pad_entry) = &fact.entry else {
            let mut tasks = self.current.planned.iter().flat_map(|planned| &planned.executor_tasks);
            let task = tasks.find(|task| task.branch_id == fact.branch_id);
            self.current.not_run.extend(task.map(|task| TaskNotRun {
                branch_id: task.branch_id.clone(),
                title: task.title.clone(),
                why: fact.error.clone().unwrap_or_default(),
            }));
            return;
        };
        if let Some(task) = self.current.executors.get(fact.index as usize).map(|executor| executor.task.clone()) {
            self.branch_ended(fact, &task);
        }
        if let Some(executor) = self.current.executors.get_mut(fact.index as usize) {
            let results = calls::answered(&executor.calls).filter(|(call, _)| !crate::lessons::is_memory(&call.tool));
            let worked = results.filter(|(_, result)| result.ok).count();
            let mut steps = fact.completed_step_ids.iter().chain(&executor.task.step_id).peekable();
            match fact.ok && worked > 0 {
                true if steps.peek().is_some() => self.worked_steps.extend(steps.cloned()),
                true => self.unclaimed_work += worked as u32,
                false => {}
            }
            executor.completed_step_ids = fact.completed_step_ids.clone();
            executor.finished = Some(ExecutorOutcome {
                ok: fact.ok,
                summary: fact.summary.clone(),
                snippet: fact.result_snippet.clone(),
                error: fact.error.clone(),
            });
        }
        // The branch moves to the end: of the newest ones the planner is shown the entries.
        if let Some(at) = self.branches.iter().position(|branch| branch.id == fact.branch_id) {
            let mut branch = self.branches.remove(at);
            branch.tail.push_back(crate::shorten::text(&pad_entry.markdown, MAX_TAIL_CHARS));
            retain_newest(&mut branch.tail, MAX_TAIL_ENTRIES);
            let said = fact.error.as_deref().unwrap_or(&fact.result_snippet);
            let said = if said.trim().is_empty() { "done" } else { said };
            branch.last_outcome = Some(LastOutcome { iteration: fact.iteration, ok: fact.ok, said: entry::line(said) });
            if let Some(executor) = self.current.executors.get(fact.index as usize) {
                cite(&mut branch.made, &executor.artifacts, MAX_BRANCH_ARTIFACTS);
            }
            self.branches.push(branch);
        }
    }

    fn completed(&mut self, fact: &IterationCompleted) {
        self.remember_results(fact);
        let given_up = self.gives_up();
        let Some(planned) = self.current.planned.take() else { return self.completed_without_plan(fact) };
        self.gave_up = given_up.then_some(planned.progress_summary);
        let (remaining_work, actions) = (planned.remaining_work, planned.actions);
        let repeats_last = self.last.as_ref().is_some_and(|last| {
            (!actions.is_empty() && last.actions == actions)
                || (!remaining_work.is_empty() && last.remaining_work == remaining_work)
        });
        self.hint = repeats_last;
        if fact.progress.made {
            self.repeats = 0;
            self.barred = None;
        }
        self.count_steps();
        for found in &fact.evidence {
            let key = found.criterion.clone().unwrap_or_default();
            self.evidence.insert(key, found.clone());
        }
        // A refusal is shown to the iteration after it, and no longer.
        if !fact.exit_refused {
            self.refused_exit.clear();
        }
        self.end_iteration(fact);
        self.last = Some(LastIteration {
            iteration: fact.iteration,
            summary: fact.summary.clone(),
            progress: fact.progress.clone(),
            artifacts: fact.artifacts.clone(),
            calls: std::mem::take(&mut self.current.calls),
            executors: std::mem::take(&mut self.current.executors),
            not_run: std::mem::take(&mut self.current.not_run),
            remaining_work,
            actions,
            lost: fact.lost.clone(),
            results_of: None,
        });
    }

    /// What came of it, for the summary document, and what it used.
    fn remember_results(&mut self, fact: &IterationCompleted) {
        self.in_iterations.add(&fact.metrics);
        let objections = if fact.exit_refused { self.refused_exit.as_slice() } else { &[] };
        let closing = Closing {
            lost: fact.lost.as_deref(),
            progress: &fact.progress,
            objections,
            repeats: (!self.current.replan_forced.is_empty()).then_some(1),
            verdict: &fact.verdict,
        };
        let digest = self.digest(&closing);
        self.digests.push_back(digest);
        retain_newest(&mut self.digests, ITERATIONS_PER_SUMMARY as usize);
        self.heard.clear();
    }

    /// An iteration without a usable planner answer adds nothing and leaves the results of the iteration before.
    fn completed_without_plan(&mut self, fact: &IterationCompleted) {
        self.hint = false;
        self.end_iteration(fact);
        let known = self.last.take().unwrap_or_default();
        let results_of = (known.iteration > 0).then(|| known.results_of.unwrap_or(known.iteration));
        self.last = Some(LastIteration {
            iteration: fact.iteration,
            summary: fact.summary.clone(),
            progress: fact.progress.clone(),
            artifacts: fact.artifacts.clone(),
            lost: fact.lost.clone(),
            results_of,
            ..known
        });
    }

    fn end_iteration(&mut self, fact: &IterationCompleted) {
        self.remember(fact);
        self.phase = match &fact.verdict {
            Verdict::On => Phase::Iterating,
            Verdict::Wait => Phase::Waiting,
            Verdict::Stop { .. } => Phase::Reporting,
        };
        self.current.verdict = Some(fact.verdict.clone());
    }

    /// Older iterations shrink to one line each, and the oldest lines to a number.
    fn remember(&mut self, fact: &IterationCompleted) {
        let made = if fact.progress.made { "progress" } else { "no progress" };
        let summary: String = fact.summary.lines().next().unwrap_or_default().chars().take(160).collect();
        self.history.push_back(format!("iteration {} ({made}): {summary}", fact.iteration));
        if self.history.len() > MAX_HISTORY_LINES {
            self.history.pop_front();
            self.dropped_history += 1;
        }
    }
}

fn entities(artifacts: &Artifacts) -> impl Iterator<Item = (&'static str, &Named)> {
    let documents = artifacts.created_documents.iter().chain(&artifacts.updated_documents).map(|named| ("doc", named));
    documents.chain(artifacts.created_tasks.iter().chain(&artifacts.updated_tasks).map(|named| ("task", named)))
}

/// Moves the documents and tasks to the end of a list of the newest.
fn cite(list: &mut VecDeque<CitableEntity>, artifacts: &Artifacts, most: usize) {
    for (kind, Named { id, title }) in entities(artifacts) {
        let reference = format!("{kind}:{id}");
        list.retain(|made| made.reference != reference);
        list.push_back(CitableEntity { reference, title: title.clone() });
    }
    retain_newest(list, most);
}

fn retain_newest<T>(list: &mut VecDeque<T>, most: usize) {
    while list.len() > most {
        list.pop_front();
    }
}
