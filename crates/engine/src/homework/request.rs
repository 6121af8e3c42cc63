//! Builds the request of each homework role, section by section.

use super::answer;
use super::effect_id::EffectPosition;
use super::entry;
use super::state::{Branch, Executor, LastIteration, State};
use crate::calls::{self, RecordedCall};
use crate::effect::{ModelCall, ToolCall};
use crate::lessons::{self, ADD_LESSON};
use crate::model::Role;
use crate::prompt::{self, Sections, Size};
use crate::run::{Lane, Shared, Status, UserMessage};
use crate::task::READ_SCRATCHPAD;
use serde_json::{Value, json};

pub(crate) const REPEAT_HINT: &str = "Do not repeat the same action; choose a different approach or replan.";

/// Of so many branches the planner is shown the last entries, of the others how they last ended.
const BRANCHES_WITH_ENTRIES: usize = 30;

impl State {
    pub(super) fn tool_call(&self, shared: &Shared, call: &RecordedCall, executor: Option<&Executor>) -> ToolCall {
        let all = || shared.brief.tools.iter().map(|tool| tool.name.clone()).collect();
        let home = executor.map(|executor| executor.pad).or(self.workspace.map(|workspace| workspace.document));
        let mut props = json!({ "homework_run_id": shared.id, "iteration": self.iteration });
        if let Some(executor) = executor {
            props["branch_id"] = executor.task.branch_id.clone().into();
        }
        let agent = executor.and_then(|executor| executor.task.agent.as_deref());
        let mut granted = executor.map_or_else(all, |executor| executor.task.tools.clone());
        match EffectPosition::of(&call.id, &self.tag, self.iteration) {
            Some(EffectPosition::Recall { .. }) => granted = vec![READ_SCRATCHPAD.into()],
            _ => granted.extend(agent.map(|_| ADD_LESSON.into())),
        }
        ToolCall {
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            granted,
            home_document: home,
            props,
            external: shared.external_tool(&call.tool).cloned(),
            answered: shared.answered_question(&call.id),
            agent: agent.map(|handle| shared.agent_id(handle)),
        }
    }

    pub(super) fn model_call(
        &self,
        shared: &Shared,
        role: Role,
        sections: Sections,
        fix: Option<EffectPosition>,
    ) -> ModelCall {
        let rejected = fix.and_then(|position| self.current.rejected.get(&position.id(&self.tag, self.iteration)));
        prompt::model_call(shared, role, sections, rejected, size_of(role))
    }

    /// The planner's request in this iteration, or in the next one.
    pub(super) fn planner(&self, shared: &Shared, iteration: u32) -> Sections {
        let mut out = Sections::default();
        out.share(4).add("objective", &shared.brief.objective);
        out.share(2).add_some("success_criteria", &shared.brief.success_criteria);
        out.add("scope", self.scope(shared));
        out.share(2).add_written("tools", prompt::tool_lines(shared.brief.tools.iter()));
        lessons::list_agents(shared, &mut out);
        out.add("iteration", iteration);
        out.add("budgets_left", budgets_left(shared, iteration));
        out.share(2).newest("artifacts", &self.made.iter().collect::<Vec<_>>());
        if !self.plan.steps.is_empty() {
            out.share(3).add("plan", &self.plan);
        }
        if let Some(last) = &self.last {
            self.last_iteration(last, &mut out);
            out.add("no_progress_streak", shared.metrics.no_progress_streak);
        }
        out.add_some("exit_refused", &self.refused_exit);
        out.share(3).lines("scratchpad", &self.entries);
        if self.history.len() > self.entries.len() {
            out.add("history", self.older_history());
        }
        self.shown_branches(3, &mut out);
        out.share(2).newest("questions", &prompt::questions(shared));
        self.messages(shared.messages.iter(), &mut out);
        out.add_some("hints", &self.hints());
        out
    }

    /// Every branch with where it stands; the newest also with their entries. A note counts the others.
    fn shown_branches(&self, shares: usize, out: &mut Sections) {
        let older = self.branches.len().saturating_sub(BRANCHES_WITH_ENTRIES);
        if older > 0 {
            let all = self.branches.len();
            out.note(format!(
                "branches: the entries of {older} of {all} are left out; each branch's document has them"
            ));
        }
        let shown = self.branches.iter().enumerate().map(|(at, branch)| shown_branch(branch, at >= older));
        out.share(shares).newest("branches", &shown.collect::<Vec<_>>());
    }

    /// The messages this call is shown; a note counts those that are left out.
    fn messages<'a>(&self, heard: impl Iterator<Item = &'a UserMessage>, out: &mut Sections) {
        let heard: Vec<&UserMessage> = heard.collect();
        let unread = |message: &UserMessage| !message.delivered || self.unread_by_planner.contains(&message.id);
        let shown = prompt::messages(heard.iter().copied(), unread);
        if shown.len() < heard.len() {
            out.note(format!("messages: the newest {} of {} shown", shown.len(), heard.len()));
        }
        out.share(3).newest("messages", &shown);
    }

    fn scope(&self, shared: &Shared) -> Value {
        json!({
            "scope": shared.brief.scope,
            "project_ids": shared.brief.project_ids,
            "home_project_id": shared.home_project(),
            "workspace_document_id": self.workspace.map(|workspace| workspace.document),
        })
    }

    fn last_iteration(&self, last: &LastIteration, out: &mut Sections) {
        out.add(
            "last_iteration",
            json!({
                "iteration": last.iteration,
                "summary": last.summary,
                "progress": last.progress.made,
                "progress_reasons": last.progress.reasons,
                "new_artifacts": last.artifacts,
                "planner_error": last.lost,
                "results_of_iteration": last.results_of,
            }),
        );
        out.share(8).results(calls::answered(&last.calls));
        let executors = last.executors.iter().filter_map(|executor| {
            let finished = executor.finished.as_ref()?;
            Some(json!({
                "branch_id": executor.task.branch_id,
                "title": executor.task.title,
                "ok": finished.ok,
                "result_snippet": finished.snippet,
                "completed_step_ids": executor.completed_step_ids,
                "error": finished.error,
                "tools_refused": executor.refused_tools,
            }))
        });
        let not_run = last
            .not_run
            .iter()
            .map(|task| json!({ "branch_id": task.branch_id, "title": task.title, "ok": false, "error": task.why }));
        out.share(2).add_some("executor_results", &executors.chain(not_run).collect::<Vec<_>>());
        out.share(2).add_some("remaining_work_last", &last.remaining_work);
    }

    fn older_history(&self) -> String {
        let older = self.history.len() - self.entries.len();
        let mut lines: Vec<String> = self.history.iter().take(older).cloned().collect();
        if self.dropped_history > 0 {
            lines.insert(0, format!("({} earlier iterations are in the summary documents)", self.dropped_history));
        }
        lines.join("\n")
    }

    fn hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        if self.hint {
            hints.push(REPEAT_HINT.to_owned());
        }
        if let Some(said) = &self.gave_up {
            let said = json!(said);
            hints.push(format!("You said stop, with work remaining and nothing made: {said}. If it cannot be done, say stop again with the reason in progress_summary, and the run ends. Otherwise choose another way, or ask in blocking_questions."));
        }
        if let Some(actions) = &self.barred {
            let set = json!(actions);
            hints.push(format!("Replan: this exact set of actions was repeated without progress and will not be carried out again: {set}"));
        }
        hints
    }

    pub(super) fn executor_round(&self, shared: &Shared, executor: &Executor) -> Sections {
        let mut out = Sections::default();
        out.add("objective", &shared.brief.objective);
        let task = &executor.task;
        out.add("task", json!({ "branch_id": task.branch_id, "step_id": task.step_id, "title": task.title, "objective": task.objective }));
        out.add(
            "workspace",
            json!({
                "branch_document_id": executor.pad,
                "workspace_document_id": self.workspace.map(|workspace| workspace.document),
                "home_project_id": shared.home_project(),
                "project_ids": shared.brief.project_ids,
            }),
        );
        if let Some(handle) = &task.agent {
            lessons::describe_agent(shared, handle, &executor.calls, &mut out);
        }
        let tools = shared.brief.tools.iter().filter(|tool| task.tools.contains(&tool.name));
        out.add_json("tools", format!("[{}]", lessons::tool_lines(tools, task.agent.is_some()).join(",")));
        out.share(4).lines("branch_scratchpad", self.branch(&task.branch_id).iter().flat_map(|branch| &branch.tail));
        out.add("round", json!({ "round": executor.round, "of": answer::MAX_ROUNDS }));
        out.lines("thoughts", &executor.thoughts);
        out.newest("questions", &prompt::questions(shared));
        let heard = shared.messages.iter().filter(|message| message.delivered || self.steers(message));
        self.messages(heard, &mut out);
        out.share(8).results(lessons::results(&executor.calls));
        out
    }

    /// Whether executors are shown the message: it is in the steer lane, and no planner was shown it yet.
    pub(super) fn steers(&self, message: &UserMessage) -> bool {
        message.lane == Lane::Steer && (!message.delivered || self.unread_by_planner.contains(&message.id))
    }

    pub(super) fn repair(&self, shared: &Shared) -> Sections {
        let mut out = Sections::default();
        out.add("objective", &shared.brief.objective);
        out.add("scope", self.scope(shared));
        out.share(2).add_written("tools", prompt::tool_lines(shared.brief.tools.iter()));
        out.newest("artifacts", &self.made.iter().collect::<Vec<_>>());
        let failed = self.failed_calls().filter_map(|call| {
            let error = &call.result.as_ref()?.summary;
            Some(json!({ "call_id": call.id, "tool": call.tool, "arguments": call.arguments, "error": error }))
        });
        out.share(6).records("failed_calls", failed);
        out
    }

    /// What the report may use. The texts come first, so that it can lead with the answer.
    pub(super) fn report_request(&self, shared: &Shared) -> Sections {
        let mut out = Sections::default();
        out.share(2).add("objective", &shared.brief.objective);
        out.share(2).add_some("criteria", &criteria_states(shared));
        if let Some(crate::facts::homework::Verdict::Stop { reason, detail }) = self.verdict() {
            let status: Status = reason.status();
            out.add(
                "outcome",
                json!({ "status": status, "stop_reason": reason, "detail": detail, "iterations": self.iteration }),
            );
        }
        out.add_some("failed", &self.failures());
        out.add_some("dropped", &self.dropped.iter().map(super::report::dropped).collect::<Vec<_>>());
        out.add_some("evidence", &self.evidence.values().collect::<Vec<_>>());
        out.newest("artifacts", &self.made.iter().collect::<Vec<_>>());
        out.share(6).newest("documents", &self.written.iter().collect::<Vec<_>>());
        self.shown_branches(2, &mut out);
        if !self.plan.steps.is_empty() {
            out.add("plan", &self.plan);
        }
        out.add_some("remaining_work", &self.last.iter().flat_map(|last| &last.remaining_work).collect::<Vec<_>>());
        out.share(2).lines("scratchpad", &self.entries);
        if self.history.len() > self.entries.len() {
            out.add("history", self.older_history());
        }
        out.newest("questions", &prompt::questions(shared));
        out
    }
}

/// What was checked of each criterion, so that the report claims no more.
fn criteria_states(shared: &Shared) -> Vec<Value> {
    let states = shared.criteria.iter().map(|criterion| {
        json!({ "id": criterion.id, "text": criterion.text, "state": criterion.state, "reason": criterion.reason })
    });
    states.collect()
}

fn shown_branch(branch: &Branch, with_entries: bool) -> Value {
    let outcome = branch.last_outcome.as_ref().map(entry::outcome_text);
    let mut shown = json!({ "branch_id": branch.id, "document_id": branch.document, "title": branch.title, "last_outcome": outcome });
    if with_entries {
        shown["last_entries"] = json!(branch.tail);
    }
    shown
}

/// A report must fit the wrap-up reserve and a correction is short; other calls get the ordinary size.
fn size_of(role: Role) -> Size {
    match role {
        Role::HomeworkReport => Size::WrapUp,
        Role::HomeworkRepair => Size::Brief(4_096),
        _ => Size::Ordinary,
    }
}

/// What the planner may still use; excludes the wrap-up reserve.
fn budgets_left(shared: &Shared, iteration: u32) -> Value {
    let budgets = &shared.budgets;
    let (spent, wrap_up) = (&shared.ledger.spent, shared.kept_reserve());
    json!({
        "iterations_after_this": budgets.max_iterations.saturating_sub(iteration),
        "cost_usd": budgets.max_cost_usd.map(|limit| limit.saturating_sub(spent.cost_usd + wrap_up.cost_usd)),
        "tokens": budgets.max_tokens.map(|limit| limit.saturating_sub(spent.tokens.saturating_add(wrap_up.tokens))),
        "working_ms": budgets.max_wall_ms.map(|limit| (limit - shared.metrics.running_ms).max(0)),
    })
}
