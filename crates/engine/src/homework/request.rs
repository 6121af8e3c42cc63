//! What each role is told. Instructions are prose in the system message; everything else is data: one
//! JSON value per line under a `## name` line, so no text a model or a tool wrote can pass for a heading.

use super::place::Place;
use super::prompts;
use super::state::{Call, CallResult, Executor, Last, State};
use super::{MAX_ANSWER_TOKENS, answer};
use crate::effect::{EffectId, ModelCall, ToolCall, ToolSpec, Work};
use crate::model::Role;
use crate::request::{Message, Part, Request, Speaker};
use crate::run::{Shared, Status};
use serde::Serialize;
use serde_json::{Value, json};

/// Prompts stay below 24,000 tokens, three bytes each, unless one result alone needs more.
const PROMPT_BYTES: usize = 72_000;
/// One result in full, up to here.
const RESULT_BYTES: u32 = 24_000;
const LEAST_RESULT_BYTES: u32 = 1_500;
const KEPT_QUESTIONS: usize = 20;
const SHOWN_BRANCHES: usize = 12;

pub const REPEAT_HINT: &str = "Do not repeat the same action; choose a different approach or replan.";

/// The user message, section by section.
struct Sections(Vec<Part>);

impl Sections {
    fn add(&mut self, name: &str, value: impl Serialize) {
        let json = serde_json::to_string(&value).unwrap_or_else(|_| "null".into());
        self.0.push(Part::Text(format!("## {name}\n{json}\n\n")));
    }

    fn add_some<T: Serialize>(&mut self, name: &str, list: &[T]) {
        if !list.is_empty() {
            self.add(name, list);
        }
    }

    /// One line per text: each is stored once, however often it is shown.
    fn lines<'a>(&mut self, name: &str, texts: impl IntoIterator<Item = &'a String>) {
        let mut texts = texts.into_iter().peekable();
        if texts.peek().is_none() {
            return;
        }
        self.0.push(Part::Text(format!("## {name}\n")));
        for text in texts {
            self.0.push(Part::Text(format!("{}\n", Value::from(text.as_str()))));
        }
        self.0.push(Part::Text("\n".into()));
    }

    /// Results are stored texts; only their frame is new.
    fn results<'a>(&mut self, calls: impl Iterator<Item = (&'a Call, &'a CallResult)>, limit: u32) {
        let mut calls = calls.peekable();
        if calls.peek().is_none() {
            return;
        }
        self.0.push(Part::Text("## tool_results\n".into()));
        for (call, result) in calls {
            let field = if result.ok { "result" } else { "error" };
            let frame = json!({ "call_id": call.id, "tool": call.tool, "arguments": call.arguments, "ok": result.ok, "event": format!("event:{}", result.seq) });
            let frame = frame.to_string();
            self.0.push(Part::Text(format!("{},\"{field}\":", &frame[..frame.len() - 1])));
            self.0.push(Part::Stored { blob: result.content, limit });
            self.0.push(Part::Text("}\n".into()));
        }
        self.0.push(Part::Text("\n".into()));
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(Part::bytes).sum()
    }
}

impl State {
    pub(super) fn work_for(&self, shared: &Shared, effect: &EffectId) -> Option<Work> {
        let place = Place::of(effect, &self.tag, self.iteration)?;
        let call = |role, sections, fix: Option<Place>| Some(Work::Model(self.model_call(shared, role, sections, fix)));
        match place {
            Place::Plan { fix } => {
                call(Role::HomeworkPlanner, self.planner(shared), fix.then_some(Place::Plan { fix: false }))
            }
            Place::Repair { fix } => {
                call(Role::HomeworkRepair, self.repair(shared), fix.then_some(Place::Repair { fix: false }))
            }
            Place::Round { executor, round, fix } => {
                let sections = self.executor_round(shared, self.now.executors.get(executor)?);
                call(Role::HomeworkExecutor, sections, fix.then_some(Place::Round { executor, round, fix: false }))
            }
            Place::Report => call(Role::HomeworkReport, self.report_request(shared), None),
            Place::Tool(_) => {
                let call = self.now.calls.iter().find(|call| &call.id == effect)?;
                Some(Work::Tool(self.tool_call(shared, call, None)))
            }
            Place::RoundTool { executor, .. } => {
                let executor = self.now.executors.get(executor)?;
                let call = executor.calls.iter().find(|call| &call.id == effect)?;
                Some(Work::Tool(self.tool_call(shared, call, Some(executor))))
            }
        }
    }

    fn tool_call(&self, shared: &Shared, call: &Call, executor: Option<&Executor>) -> ToolCall {
        let all = || shared.brief.tools.iter().map(|tool| tool.name.clone()).collect();
        let home = executor.map(|executor| executor.pad).or(self.workspace.map(|workspace| workspace.document));
        let mut props = json!({ "homework_run_id": shared.id, "iteration": self.iteration });
        if let Some(executor) = executor {
            props["branch_id"] = executor.task.branch_id.clone().into();
        }
        ToolCall {
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            granted: executor.map_or_else(all, |executor| executor.task.tools.clone()),
            home_document: home.unwrap_or(crate::ids::DocumentId(uuid::Uuid::nil())),
            props,
        }
    }

    fn model_call(&self, shared: &Shared, role: Role, sections: Sections, fix: Option<Place>) -> ModelCall {
        let model = shared.brief.models.for_role(role).clone();
        let mut request = Request::default();
        request.say(Speaker::System, vec![Part::Text(prompts::system(role).to_owned())]);
        request.say(Speaker::User, sections.0);
        if let Some(rejected) = fix.and_then(|place| self.now.rejected.get(&place.id(&self.tag, self.iteration))) {
            request.say(Speaker::Assistant, vec![Part::Stored { blob: rejected.response, limit: RESULT_BYTES }]);
            let errors = json!(rejected.errors);
            request.messages.push(Message {
                speaker: Speaker::User,
                parts: vec![Part::Text(format!("That answer cannot be used. Answer again with one JSON object of the same schema.\n\n## errors\n{errors}\n"))],
            });
        }
        let room = (model.context_window as usize).saturating_sub(request.bytes() / 3);
        let max_tokens =
            role_answer_tokens(role).min(model.max_output).min(u32::try_from(room.max(256)).unwrap_or(u32::MAX));
        ModelCall { role, model, request, max_tokens }
    }

    fn planner(&self, shared: &Shared) -> Sections {
        let mut trimmed = Vec::new();
        let full = self.planner_sections(shared, RESULT_BYTES, true, &trimmed);
        if full.bytes() + prompts::system(Role::HomeworkPlanner).len() <= PROMPT_BYTES {
            return full;
        }
        trimmed.push("older history left out".to_owned());
        let results = self.last.iter().flat_map(last_results).count().max(1);
        let bare =
            self.planner_sections(shared, 0, false, &trimmed).bytes() + prompts::system(Role::HomeworkPlanner).len();
        let each = (PROMPT_BYTES.saturating_sub(bare) / results) as u32;
        let limit = if results == 1 { RESULT_BYTES } else { each.clamp(LEAST_RESULT_BYTES, RESULT_BYTES) };
        if limit < RESULT_BYTES {
            trimmed.push(format!("tool results over {limit} bytes are cut; read a document again to see it whole"));
        }
        self.planner_sections(shared, limit, false, &trimmed)
    }

    fn planner_sections(&self, shared: &Shared, result_limit: u32, with_history: bool, trimmed: &[String]) -> Sections {
        let mut out = Sections(Vec::new());
        out.add("objective", &shared.brief.objective);
        out.add_some("success_criteria", &shared.brief.success_criteria);
        out.add("scope", self.scope(shared));
        out.add_some("tools", &shared.brief.tools.iter().map(tool_line).collect::<Vec<_>>());
        out.add("iteration", self.iteration);
        out.add("budgets_left", budgets_left(shared, self.iteration));
        out.add_some("artifacts", &self.made.iter().collect::<Vec<_>>());
        if !self.plan.steps.is_empty() {
            out.add("plan", &self.plan);
        }
        if let Some(last) = &self.last {
            self.last_iteration(last, result_limit, &mut out);
            out.add("no_progress_streak", shared.metrics.no_progress_streak);
        }
        out.add_some("exit_refused", &self.refused_exit);
        out.lines("scratchpad", &self.entries);
        if with_history && self.history.len() > self.entries.len() {
            out.add("history", self.older_history());
        }
        out.add_some("branches", &self.shown_branches());
        out.add_some("questions", &questions(shared));
        out.add_some("messages", &messages(shared));
        out.add_some("hints", &self.hints());
        out.add_some("trimmed", trimmed);
        out
    }

    fn scope(&self, shared: &Shared) -> Value {
        json!({
            "scope": shared.brief.scope,
            "project_ids": shared.brief.project_ids,
            "home_project_id": shared.home_project(),
            "workspace_document_id": self.workspace.map(|workspace| workspace.document),
        })
    }

    fn last_iteration(&self, last: &Last, result_limit: u32, out: &mut Sections) {
        out.add(
            "last_iteration",
            json!({
                "iteration": last.iteration,
                "summary": last.summary,
                "progress": last.progress.made,
                "progress_reasons": last.progress.reasons,
                "new_artifacts": last.artifacts,
                "planner_error": last.lost,
            }),
        );
        out.results(last_results(last), result_limit);
        let executors = last.executors.iter().filter_map(|executor| {
            let finished = executor.finished.as_ref()?;
            Some(json!({
                "branch_id": executor.task.branch_id,
                "title": executor.task.title,
                "ok": finished.ok,
                "result_snippet": finished.snippet,
                "completed_step_ids": executor.completed_step_ids,
                "error": finished.error,
            }))
        });
        let not_run = last.not_run.iter().map(|task| json!({ "branch_id": task.branch_id, "title": task.title, "ok": false, "error": super::decide::NOT_RUN }));
        out.add_some("executor_results", &executors.chain(not_run).collect::<Vec<_>>());
        out.add_some("remaining_work_last", &last.remaining_work);
    }

    fn older_history(&self) -> String {
        let older = self.history.len() - self.entries.len();
        let mut lines: Vec<String> = self.history.iter().take(older).cloned().collect();
        if self.forgotten > 0 {
            lines.insert(0, format!("({} earlier iterations are in the summary documents)", self.forgotten));
        }
        lines.join("\n")
    }

    fn shown_branches(&self) -> Vec<Value> {
        let newest = self.branches.iter().rev().take(SHOWN_BRANCHES);
        newest.map(|branch| json!({ "branch_id": branch.id, "document_id": branch.document, "title": branch.title, "last_entries": branch.tail })).collect()
    }

    fn hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        if self.hint {
            hints.push(REPEAT_HINT.to_owned());
        }
        if let Some(actions) = &self.barred {
            let set = json!(actions);
            hints.push(format!("Replan: this exact set of actions was repeated without progress and will not be carried out again: {set}"));
        }
        hints
    }

    fn executor_round(&self, shared: &Shared, executor: &Executor) -> Sections {
        let mut out = Sections(Vec::new());
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
        let tools = shared.brief.tools.iter().filter(|tool| task.tools.contains(&tool.name));
        out.add("tools", tools.map(tool_line).collect::<Vec<_>>());
        out.lines("branch_scratchpad", self.branch(&task.branch_id).iter().flat_map(|branch| &branch.tail));
        out.add("round", json!({ "round": executor.round, "of": answer::MAX_ROUNDS }));
        out.lines("thoughts", &executor.thoughts);
        let results = executor.calls.iter().filter_map(|call| Some((call, call.result.as_ref()?)));
        let room = PROMPT_BYTES.saturating_sub(out.bytes() + prompts::system(Role::HomeworkExecutor).len());
        let each = (room / executor.calls.len().max(1)) as u32;
        out.results(
            results,
            if executor.calls.len() <= 1 { RESULT_BYTES } else { each.clamp(LEAST_RESULT_BYTES, RESULT_BYTES) },
        );
        out
    }

    fn repair(&self, shared: &Shared) -> Sections {
        let mut out = Sections(Vec::new());
        out.add_some("tools", &shared.brief.tools.iter().map(tool_line).collect::<Vec<_>>());
        let failed = self.failed_calls().filter_map(|call| {
            let error = &call.result.as_ref()?.summary;
            Some(json!({ "call_id": call.id, "tool": call.tool, "arguments": call.arguments, "error": error }))
        });
        out.0.push(Part::Text(format!(
            "## failed_calls\n{}\n",
            failed.map(|call| call.to_string() + "\n").collect::<String>()
        )));
        out
    }

    fn report_request(&self, shared: &Shared) -> Sections {
        let mut out = Sections(Vec::new());
        out.add("objective", &shared.brief.objective);
        out.add_some("success_criteria", &shared.brief.success_criteria);
        if let Some(super::state::Verdict::Stop { reason, detail }) = self.verdict() {
            let status: Status = reason.status();
            out.add(
                "outcome",
                json!({ "status": status, "stop_reason": reason, "detail": detail, "iterations": self.iteration }),
            );
        }
        out.add_some("evidence", &self.evidence.values().collect::<Vec<_>>());
        out.add_some("artifacts", &self.made.iter().collect::<Vec<_>>());
        if !self.plan.steps.is_empty() {
            out.add("plan", &self.plan);
        }
        out.lines("scratchpad", &self.entries);
        if self.history.len() > self.entries.len() {
            out.add("history", self.older_history());
        }
        out.add_some("questions", &questions(shared));
        out
    }
}

/// A report must fit the wrap-up reserve; the others get room to think.
fn role_answer_tokens(role: Role) -> u32 {
    match role {
        Role::HomeworkReport => 3_000,
        Role::HomeworkRepair => 4_096,
        Role::HomeworkPlanner | Role::HomeworkExecutor => MAX_ANSWER_TOKENS,
    }
}

fn last_results(last: &Last) -> impl Iterator<Item = (&Call, &CallResult)> {
    last.calls.iter().filter_map(|call| Some((call, call.result.as_ref()?)))
}

fn tool_line(tool: &ToolSpec) -> Value {
    json!({ "name": tool.name, "arguments": tool.arguments, "description": tool.description })
}

fn budgets_left(shared: &Shared, iteration: u32) -> Value {
    let budgets = &shared.budgets;
    let spent = &shared.ledger.spent;
    json!({
        "iterations_after_this": budgets.max_iterations.saturating_sub(iteration),
        "cost_usd": budgets.max_cost_usd.map(|limit| limit.saturating_sub(spent.cost_usd)),
        "tokens": budgets.max_tokens.map(|limit| limit.saturating_sub(spent.tokens)),
        "working_ms": budgets.max_wall_ms.map(|limit| (limit - shared.metrics.running_ms).max(0)),
    })
}

fn questions(shared: &Shared) -> Vec<Value> {
    let newest = shared.questions.iter().rev().take(KEPT_QUESTIONS).collect::<Vec<_>>();
    newest
        .into_iter()
        .rev()
        .map(|question| json!({ "question_id": question.id, "text": question.text, "answer": question.answer }))
        .collect()
}

fn messages(shared: &Shared) -> Vec<Value> {
    shared.messages.iter().map(|message| json!({ "text": message.text, "unread": !message.delivered })).collect()
}
