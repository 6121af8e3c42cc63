//! The fold of homework facts: each arm records what its fact says happened.

use super::effect_id::EffectPosition;
use super::state::{
    Branch, CitableEntity, CitableResult, CurrentIteration, DocumentExcerpt, DroppedStep, Executor, ExecutorOutcome,
    FailedBranch, FailedTool, LastIteration, Phase, State, TaskNotRun, Workspace,
};
use crate::calls::{CallResult, RecordedCall, RejectedAnswer};
use crate::event::Event;
use crate::facts::evidence::CriterionState;
use crate::facts::homework::{
    ExecutorFinished, ExecutorStarted, ExecutorTask, HomeworkStep, HomeworkStepStatus, IterationCompleted, PlanUpdated,
    ToolCallRequested, ToolCallResult, Verdict,
};
use crate::facts::{HomeworkFact, RunFact, run::ResumeReason};
use crate::run::Shared;
use crate::workspace::{Artifacts, Named};
use std::collections::VecDeque;

const MAX_ENTRIES: usize = 3;
const MAX_TAIL_ENTRIES: usize = 2;
const MAX_HISTORY_LINES: usize = 40;
const MAX_ARTIFACTS: usize = 50;
const MAX_BRANCHES: usize = 30;
const MAX_TOTALS: usize = 200;
const MAX_FAILED_TOOLS: usize = 20;
const MAX_TEXTS: usize = 6;
/// All texts together are about what fits the request of the report.
const MAX_TEXT_CHARS: usize = 6_000;

impl State {
    pub(super) fn record_shared(&mut self, fact: &RunFact) {
        match fact {
            // In the middle of an iteration only a call waits: the iteration goes on with its answer.
            RunFact::WaitingOnUser(_) if self.current.verdict.is_some() => self.phase = Phase::Waiting,
            RunFact::Completed(_) | RunFact::Stopped(_) | RunFact::Canceled(_) => self.phase = Phase::Ended,
            RunFact::Resumed(resumed) if resumed.reason == ResumeReason::Continued => {
                self.repeats = 0;
                self.barred = None;
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
            HomeworkFact::ReplanForced(fact) => self.replans.push(fact.iteration),
            HomeworkFact::ExitRefused(fact) => self.refused_exit = fact.reasons.clone(),
            HomeworkFact::ScratchpadAppended(fact) => {
                self.entries.push_back(fact.markdown.clone());
                retain_newest(&mut self.entries, MAX_ENTRIES);
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
        if fact.new_reading {
            self.current.new_readings += 1;
            self.readings.extend(fact.reading);
        }
        self.current.artifacts.extend(&fact.artifacts);
        self.made(&fact.artifacts);
    }

    /// Steps that were not done and are missing, by id and by title; one that comes back is no longer dropped.
    fn steps_dropped(&mut self, fact: &PlanUpdated) {
        let stays = |id: &str, title: &str| fact.steps.iter().any(|step| step.id == id || step.title == title);
        let known =
            |step: &&HomeworkStep| self.plan.steps.iter().any(|old| old.id == step.id || old.title == step.title);
        let replaced = fact.steps.iter().any(|step| !known(&step));
        self.dropped.retain(|step| !stays(&step.id, &step.title));
        let gone = self.plan.steps.iter().filter(|step| step.status != HomeworkStepStatus::Done);
        let gone = gone.filter(|step| !stays(&step.id, &step.title));
        self.dropped.extend(gone.map(|step| DroppedStep {
            id: step.id.clone(),
            title: step.title.clone(),
            iteration: fact.iteration,
            replaced,
        }));
    }

    /// A successful call of a later iteration makes up for an executor that failed at a step.
    fn made_good(&mut self, fact: &ToolCallResult) {
        let iteration = self.iteration;
        if fact.ok && !crate::lessons::is_memory(&fact.tool) {
            self.failed_branches.retain(|_, failed| failed.iteration >= iteration || failed.step_id.is_none());
        }
    }

    /// The newest call of a tool says how it stands.
    fn tool_ended(&mut self, fact: &ToolCallResult) {
        match fact.ok {
            true => drop(self.failed_tools.remove(&fact.tool)),
            false => {
                let failed = FailedTool { iteration: self.iteration, error: fact.summary.clone() };
                self.failed_tools.insert(fact.tool.clone(), failed);
                // Models call tools that do not exist by any number of names.
                if self.failed_tools.len() > MAX_FAILED_TOOLS {
                    let oldest = self.failed_tools.iter().min_by_key(|(_, failed)| failed.iteration);
                    let oldest = oldest.map(|(tool, _)| tool.clone());
                    oldest.and_then(|tool| self.failed_tools.remove(&tool));
                }
            }
        }
    }

    /// The newest executor of a branch, or of a step, says how it stands.
    fn branch_ended(&mut self, fact: &ExecutorFinished, task: &ExecutorTask) {
        let step = task.step_id.clone();
        let same = |of: &Option<String>| step.is_some() && *of == step;
        self.failed_branches.retain(|branch, failed| *branch != fact.branch_id && !same(&failed.step_id));
        if let Some(error) = &fact.error {
            let failed = FailedBranch {
                iteration: fact.iteration,
                step_id: step,
                title: task.title.clone(),
                error: error.clone(),
            };
            self.failed_branches.insert(fact.branch_id.clone(), failed);
        }
    }

    fn made(&mut self, artifacts: &Artifacts) {
        let documents =
            artifacts.created_documents.iter().chain(&artifacts.updated_documents).map(|named| ("doc", named));
        let tasks = artifacts.created_tasks.iter().chain(&artifacts.updated_tasks).map(|named| ("task", named));
        for (kind, Named { id, title }) in documents.chain(tasks) {
            self.changed_entities.insert(*id);
            let reference = format!("{kind}:{id}");
            self.made.retain(|made| made.reference != reference);
            self.made.push_back(CitableEntity { reference, title: title.clone() });
        }
        retain_newest(&mut self.made, MAX_ARTIFACTS);
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
                tail: VecDeque::new(),
            };
            self.branches.push(branch);
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
            finished: None,
            refused_tools: super::executor::refused_tools(shared, &fact.refused_tools),
        });
    }

    fn executor_finished(&mut self, fact: &ExecutorFinished) {
        let Some(entry) = &fact.entry else {
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
            executor.completed_step_ids = fact.completed_step_ids.clone();
            executor.finished = Some(ExecutorOutcome {
                ok: fact.ok,
                summary: fact.summary.clone(),
                snippet: fact.result_snippet.clone(),
                error: fact.error.clone(),
            });
        }
        // The branch moves to the end: the newest ones are what the planner is shown, and what is remembered.
        if let Some(at) = self.branches.iter().position(|branch| branch.id == fact.branch_id) {
            let mut branch = self.branches.remove(at);
            branch.tail.push_back(entry.markdown.clone());
            retain_newest(&mut branch.tail, MAX_TAIL_ENTRIES);
            self.branches.push(branch);
        }
        let quiet = self.branches.len().saturating_sub(MAX_BRANCHES);
        self.branches.iter_mut().take(quiet).for_each(|branch| branch.tail.clear());
    }

    fn completed(&mut self, fact: &IterationCompleted) {
        self.in_iterations.add(&fact.metrics.calls());
        let Some(planned) = self.current.planned.take() else { return self.completed_without_plan(fact) };
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
        for step in self.plan.steps.iter().filter(|step| step.status == HomeworkStepStatus::Done) {
            self.counted_steps.insert(step.id.clone());
        }
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

fn retain_newest<T>(list: &mut VecDeque<T>, most: usize) {
    while list.len() > most {
        list.pop_front();
    }
}
