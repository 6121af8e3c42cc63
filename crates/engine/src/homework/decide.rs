//! From an input to facts: the transitions of one iteration.

use super::answer::{self, CallAnswer, ExecutorAnswer, PlannerAnswer, RepairAnswer};
use super::effect_id::EffectPosition;
use super::progress::News;
use super::state::{Executor, Phase, State, new_workspace};
use super::{PLAN, SCRATCHPAD_ROOT, WORKSPACE, platform_props};
use crate::blob::BlobRef;
use crate::budget::{Admission, Reserve};
use crate::calls;
use crate::effect::{EffectId, ModelReply, ToolOutcome};
use crate::facts::homework::{self as fact, Verdict};
use crate::facts::run::{Ended, Failed, ReportCreated, Stopped};
use crate::ids::DocumentId;
use crate::lessons::LessonQuota;
use crate::model::Role;
use crate::run::{Facts, Shared, StopReason, headline};
use crate::sightings;
use crate::workspace::Mutation;
use serde_json::json;

impl State {
    pub(super) fn proceed(&self, shared: &Shared, facts: &mut Facts) {
        match self.phase {
            Phase::NotStarted => self.start(shared, facts),
            Phase::Waiting if self.iteration >= shared.budgets.max_iterations => self.out_of_iterations(shared, facts),
            Phase::Waiting => self.go_on(shared, facts),
            Phase::Iterating => self.iterate(shared, facts),
            Phase::Reporting | Phase::Ended => {}
        }
    }

    /// A run that had closed its iteration begins the next one; any other goes on where it was.
    pub(super) fn go_on(&self, shared: &Shared, facts: &mut Facts) {
        if self.begins_iteration() {
            self.begin(shared, facts);
        }
    }

    /// The next iteration begins, unless its planner call does not fit the limits: then there is none.
    fn begin(&self, shared: &Shared, facts: &mut Facts) {
        match shared.admit(self.planner_reserve(shared), facts.now) {
            Admission::Fits | Admission::Wait => {
                facts.push(fact::IterationStarted { iteration: self.iteration + 1 });
            }
            Admission::Never(limit) => {
                shared.near_limits(Some(limit), facts.now).into_iter().for_each(|warning| facts.push(warning));
                let detail = "there is no room for another call".to_owned();
                facts.push(fact::LimitReached { stop_reason: limit.into(), detail });
            }
        }
    }

    /// The most that the next iteration's planner call may use.
    pub(super) fn planner_reserve(&self, shared: &Shared) -> Reserve {
        let sections = self.planner(shared, self.iteration + 1);
        self.model_call(shared, Role::HomeworkPlanner, sections, None).reserve()
    }

    /// The last iteration ended with a question; its answer waits for whoever raises the limit.
    fn out_of_iterations(&self, shared: &Shared, facts: &mut Facts) {
        let detail = format!("all {} iterations are used", shared.budgets.max_iterations);
        facts.push(ReportCreated { report: self.report(shared, StopReason::MaxIterations, &detail, None) });
        facts.push(Stopped { stop_reason: StopReason::MaxIterations, detail, ended: Ended::default() });
    }

    fn start(&self, shared: &Shared, facts: &mut Facts) {
        let project = shared.home_project();
        let workspace = new_workspace(shared);
        let (scratchpad, plan): (DocumentId, DocumentId) = (facts.new_id(), facts.new_id());
        facts.open_home(shared);
        let title = headline(&shared.brief.objective);
        for (id, name, type_key, role, content) in [
            (workspace, format!("Workspace: {title}"), WORKSPACE, "workspace", shared.brief.objective.clone()),
            (scratchpad, format!("Scratchpad: {title}"), SCRATCHPAD_ROOT, "scratchpad_root", String::new()),
            (plan, format!("Plan: {title}"), PLAN, "plan", self.plan.markdown()),
        ] {
            let props = platform_props(shared, role, "planner", 0, None);
            facts.mutate(Mutation::CreateDocument {
                id,
                project_id: project,
                title: name,
                type_key: type_key.into(),
                content,
                props,
            });
        }
        for child in [scratchpad, plan] {
            facts.link(shared, workspace, child);
        }
        facts.push(fact::RunStarted {
            workspace_project_id: project,
            workspace_document_id: workspace,
            scratchpad_document_id: scratchpad,
            plan_document_id: plan,
        });
        self.begin(shared, facts);
    }

    /// What the iteration can do without waiting for a model or a tool.
    fn iterate(&self, shared: &Shared, facts: &mut Facts) {
        if self.current.verdict.is_some() {
            return self.begin(shared, facts);
        }
        let unusable = self.current.rejected.get(&EffectPosition::Plan { fix: true }.id(&self.tag, self.iteration));
        match (&self.current.planned, unusable) {
            (None, Some(rejected)) => self.close(shared, Some(rejected.errors.join("; ")), facts),
            (None, None) => {}
            (Some(planned), _) => {
                if calls::open(&self.current.calls).next().is_some() || self.wants_repair() {
                    return;
                }
                let ready_to_start =
                    self.current.executors.is_empty() && !planned.executor_tasks.is_empty() && !planned.withheld;
                if ready_to_start && self.current.not_run.is_empty() {
                    return self.start_executors(shared, &planned.executor_tasks, facts);
                }
                match self.executor_to_finish() {
                    Some(index) => self.finish_executor(index, None, facts),
                    // The check is done before the iteration closes, and its result decides how.
                    None if shared.is_checking() => {}
                    None if self.current.executors.iter().all(|executor| executor.finished.is_some()) => {
                        match self.check_due(shared) {
                            Some(check) => facts.push(check),
                            None => self.close(shared, None, facts),
                        }
                    }
                    None => {}
                }
            }
        }
    }

    pub(super) fn plan_answered(
        &self,
        shared: &Shared,
        effect: &EffectId,
        reply: &ModelReply,
        response: BlobRef,
        facts: &mut Facts,
    ) {
        let read = answer::read::<PlannerAnswer>(reply).and_then(|mut answer| {
            shared.assign(answer.executor_tasks.iter_mut().map(|task| &mut task.agent))?;
            Ok(answer)
        });
        match read {
            Ok(answer) => self.planned(answer.bounded(), facts),
            Err(errors) => facts.push(fact::AnswerRejected { effect: effect.clone(), errors, response }),
        }
    }

    fn planned(&self, answer: PlannerAnswer, facts: &mut Facts) {
        let actions = actions_of(&answer);
        let withheld = !actions.is_empty() && self.barred.as_ref() == Some(&actions);
        let asks = answer.needs_user_input || answer.asks_by_hint();
        let (steps, changed) = self.plan.revised(answer.plan.steps(), self.iteration, answer.exit_signal);
        facts.push(fact::Planned {
            iteration: self.iteration,
            progress_summary: answer.progress_summary,
            remaining_work: answer.remaining_work,
            completion_evidence: answer.completion_evidence.into_iter().map(Into::into).collect(),
            exit_signal: answer.exit_signal,
            needs_user_input: asks,
            blocking_questions: answer.blocking_questions,
            next_action_hint: answer.next_action_hint,
            confidence: answer.confidence.name().into(),
            branch_rollup: answer.branch_rollup,
            executor_tasks: answer.executor_tasks.into_iter().map(Into::into).collect(),
            actions,
            withheld,
        });
        self.update_plan(steps, changed, facts);
        if !withheld {
            let calls = answer.tool_calls.into_iter().enumerate();
            let calls: Vec<_> = calls
                .map(|(index, call)| (EffectPosition::Tool(index).id(&self.tag, self.iteration), call, None))
                .collect();
            self.request(calls, answer::MAX_TOOL_CALLS, None, facts);
        }
    }

    pub(super) fn update_plan(&self, steps: Vec<fact::HomeworkStep>, changed: Vec<String>, facts: &mut Facts) {
        if changed.is_empty() {
            return;
        }
        let plan = super::plan::Plan { version: self.plan.version + 1, steps };
        if let Some(workspace) = self.workspace {
            facts.mutate(Mutation::UpdateDocument {
                id: workspace.plan,
                expected_version: None,
                title: None,
                content: Some(plan.markdown()),
                props: Some(json!({ "plan": plan, "iteration": self.iteration })),
            });
        }
        facts.push(fact::PlanUpdated { iteration: self.iteration, version: plan.version, steps: plan.steps, changed });
    }

    /// Records calls. Calls beyond the limit get a refusal as their result at once, so that the model sees it.
    fn request(
        &self,
        calls: Vec<(EffectId, CallAnswer, Option<EffectId>)>,
        most: usize,
        executor: Option<&Executor>,
        facts: &mut Facts,
    ) {
        let mut lessons = LessonQuota::after(executor.map_or(&[], |executor| &executor.calls));
        let (calls, left_out) = calls::calls_to_record(calls, most);
        for (index, (call_id, call, repair_of)) in calls.into_iter().enumerate() {
            facts.push(fact::ToolCallRequested {
                call_id: call_id.clone(),
                iteration: self.iteration,
                tool: call.tool.clone(),
                arguments: if call.arguments.is_null() { json!({}) } else { call.arguments },
                purpose: call.purpose,
                branch_id: executor.map(|executor| executor.task.branch_id.clone()),
                repair_of,
            });
            let for_all = calls::refusal_of_left_out(index, most, left_out);
            if let Some(why) = for_all.or_else(|| lessons.refusal(&call.tool, index, most)) {
                let record = calls::refused(&why, facts);
                let refused = result_of(call_id, call.tool, record, News::default());
                facts.push(fact::ToolCallResult { not_run: true, ..refused });
            }
        }
    }

    pub(super) fn tool_answered(&self, shared: &Shared, effect: &EffectId, outcome: &ToolOutcome, facts: &mut Facts) {
        let own = self.current.calls.iter().map(|call| (call, None));
        let executors = self.current.executors.iter();
        let of_executors =
            executors.flat_map(|executor| executor.calls.iter().map(|call| (call, executor.task.agent.as_deref())));
        let mut calls = own.chain(of_executors);
        let Some((call, agent)) = calls.find(|(call, _)| &call.id == effect && call.result.is_none()) else { return };
        let by = agent.map(|handle| shared.agent_id(handle));
        let news = self.news(shared, call, outcome);
        let record = calls::record(outcome, by, facts);
        facts.push(result_of(effect.clone(), call.tool.clone(), record, news));
    }

    pub(super) fn repair_answered(&self, effect: &EffectId, reply: &ModelReply, response: BlobRef, facts: &mut Facts) {
        match answer::read::<RepairAnswer>(reply) {
            Ok(answer) => self.corrected(answer, facts),
            Err(errors)
                if EffectPosition::of(effect, &self.tag, self.iteration)
                    == Some(EffectPosition::Repair { fix: false }) =>
            {
                facts.push(fact::AnswerRejected { effect: effect.clone(), errors, response });
            }
            Err(errors) => self.repair_over(0, Some(errors.join("; ")), facts),
        }
    }

    fn corrected(&self, answer: RepairAnswer, facts: &mut Facts) {
        let first = self.current.calls.len();
        let mut failed: Vec<_> = self.failed_calls().cloned().collect();
        // By its id; where that is none of theirs, the one that failed with the same tool, or the only one there is.
        let mut meant = |call: &answer::CorrectedCall| {
            let named = failed.iter().position(|failed| failed.id.0 == call.for_call_id);
            let alike = || failed.iter().position(|failed| failed.tool == call.tool);
            let only = || (failed.len() == 1).then_some(0);
            named.or_else(alike).or_else(only).map(|at| failed.remove(at))
        };
        let calls: Vec<_> = answer
            .corrected_calls
            .into_iter()
            .filter_map(|call| meant(&call).map(|failed| (call, failed)))
            .take(answer::MAX_CORRECTED_CALLS)
            .enumerate()
            .map(|(index, (call, failed))| {
                let corrected =
                    CallAnswer { tool: call.tool, arguments: call.arguments, purpose: failed.purpose.clone() };
                (EffectPosition::Tool(first + index).id(&self.tag, self.iteration), corrected, Some(failed.id))
            })
            .collect();
        self.repair_over(calls.len() as u32, None, facts);
        self.request(calls, answer::MAX_CORRECTED_CALLS, None, facts);
    }

    fn repair_over(&self, corrected: u32, error: Option<String>, facts: &mut Facts) {
        let for_call_ids = self.failed_calls().map(|call| call.id.clone()).collect();
        facts.push(fact::RepairAttempted { iteration: self.iteration, for_call_ids, corrected, error });
    }

    pub(super) fn round_answered(
        &self,
        index: usize,
        round: u32,
        effect: &EffectId,
        reply: &ModelReply,
        response: BlobRef,
        facts: &mut Facts,
    ) {
        let Some(executor) = self.current.executors.get(index).filter(|executor| executor.round == round) else {
            return;
        };
        match answer::read::<ExecutorAnswer>(reply) {
            Ok(answer) => {
                let answer = answer.bounded();
                facts.push(fact::ExecutorAnswered {
                    index: index as u32,
                    branch_id: executor.task.branch_id.clone(),
                    round,
                    thought: answer.thought,
                    done: answer.done == Some(true),
                    idle: answer.done != Some(true) && answer.tool_calls.is_empty(),
                    summary: answer.summary,
                    result_snippet: answer.result_snippet,
                    completed_step_ids: answer.completed_step_ids,
                });
                let calls = answer.tool_calls.into_iter().enumerate().map(|(call, answer)| {
                    (
                        EffectPosition::RoundTool { executor: index, round, call }.id(&self.tag, self.iteration),
                        answer,
                        None,
                    )
                });
                self.request(calls.collect(), answer::MAX_TOOL_CALLS, Some(executor), facts);
            }
            Err(errors)
                if EffectPosition::of(effect, &self.tag, self.iteration)
                    == Some(EffectPosition::Round { executor: index, round, fix: false }) =>
            {
                facts.push(fact::AnswerRejected { effect: effect.clone(), errors, response });
            }
            Err(errors) => self.finish_executor(
                index,
                Some(format!("its answers did not fit the schema: {}", errors.join("; "))),
                facts,
            ),
        }
    }

    /// A call failed for good. A failed planner ends the run; any other failure affects only its own part.
    pub(super) fn call_failed(&self, shared: &Shared, effect: &EffectId, error: &str, facts: &mut Facts) {
        match EffectPosition::of(effect, &self.tag, self.iteration) {
            Some(EffectPosition::Plan { .. }) if shared.exhausted.is_some() => {
                self.close(shared, Some(error.to_owned()), facts)
            }
            Some(EffectPosition::Plan { .. }) => {
                self.break_off(shared, StopReason::Error, error, facts);
                let report = self.report(shared, StopReason::Error, error, None);
                facts.push(ReportCreated { report });
                facts.push(Failed { stop_reason: StopReason::Error, error: error.to_owned(), ended: Ended::default() });
            }
            Some(EffectPosition::Repair { .. }) => self.repair_over(0, Some(error.to_owned()), facts),
            Some(EffectPosition::Round { executor, .. }) => {
                self.finish_executor(executor, Some(error.to_owned()), facts)
            }
            Some(EffectPosition::Report) => self.end(shared, None, facts),
            Some(EffectPosition::Tool(_) | EffectPosition::RoundTool { .. } | EffectPosition::Recall { .. }) | None => {
            }
        }
    }

    pub(super) fn verdict(&self) -> Option<&Verdict> {
        self.current.verdict.as_ref()
    }
}

fn result_of(call_id: EffectId, tool: String, record: calls::CallRecord, news: News) -> fact::ToolCallResult {
    let calls::CallRecord { ok, summary, result, chars, artifacts, lesson } = record;
    let News { seen, new_reading, known_change } = news;
    let reading = None;
    fact::ToolCallResult {
        call_id,
        tool,
        ok,
        summary,
        result,
        chars,
        new_reading,
        reading,
        seen,
        known_change,
        not_run: false,
        artifacts,
        lesson,
    }
}

/// The canonical set of an answer's actions. Order, white space, limits and cursors, and the wording around the actions do not
/// matter when sets are compared.
fn actions_of(answer: &PlannerAnswer) -> Vec<String> {
    let calls = answer
        .tool_calls
        .iter()
        .map(|call| format!("{} {}", call.tool.trim(), sightings::action_arguments(&call.arguments)));
    let tasks = answer.executor_tasks.iter().map(|task| {
        let to = task.agent.as_ref().map(|agent| format!(" to {agent}")).unwrap_or_default();
        format!("executor {:?} {:?}{to}", sightings::folded(&task.title), sightings::folded(&task.objective))
    });
    let mut actions: Vec<String> = calls.chain(tasks).collect();
    actions.sort();
    actions.dedup();
    actions
}
