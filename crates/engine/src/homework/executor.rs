//! Executors: parallel tasks of one iteration, each on a branch with its own scratchpad.

use super::answer::{MAX_EXECUTOR_TASKS, MAX_ROUNDS};
use super::effect_id::EffectPosition;
use super::state::{Executor, State};
use super::{SCRATCHPAD_EXEC, entry, platform_props};
use crate::answer::NOT_RUN;
use crate::calls;
use crate::facts::homework::{self as fact, ExecutorTask};
use crate::ids::DocumentId;
use crate::run::{Facts, Shared};
use crate::task::READ_SCRATCHPAD;
use crate::workspace::Mutation;
use serde_json::json;

const MAX_SNIPPET_CHARS: usize = 300;

impl State {
    pub(super) fn start_executors(&self, shared: &Shared, tasks: &[ExecutorTask], facts: &mut Facts) {
        let mut started = 0;
        let mut steps = Vec::new();
        for (index, task) in tasks.iter().enumerate() {
            let refused = unknown_tools(shared, task);
            let why = match &refused {
                _ if index >= MAX_EXECUTOR_TASKS => Some(NOT_RUN.to_owned()),
                refused if !refused.is_empty() && refused.len() == task.tools.len() => refused_tools(shared, refused),
                _ => None,
            };
            if let Some(why) = why {
                facts.push(not_run(self.iteration, index, task, why));
                continue;
            }
            let pad = self.branch(&task.branch_id).map(|branch| branch.document);
            let pad = pad.unwrap_or_else(|| self.open_branch(shared, task, facts));
            facts.push(fact::ExecutorStarted {
                iteration: self.iteration,
                index: started,
                branch_id: task.branch_id.clone(),
                step_id: task.step_id.clone(),
                title: task.title.clone(),
                objective: task.objective.clone(),
                tools: granted(shared, task),
                refused_tools: refused,
                scratchpad_document_id: pad,
                agent: task.agent.clone(),
            });
            if let Some(agent) = &task.agent {
                facts.push(self.recall(started, agent, task));
            }
            started += 1;
            steps.extend(task.step_id.clone());
        }
        let (steps, changed) = self.plan.with_touched(&steps, self.iteration);
        self.update_plan(steps, changed, facts);
    }

    /// Reads the subagent's scratchpad before its first model call.
    fn recall(&self, index: u32, agent: &str, task: &ExecutorTask) -> fact::ToolCallRequested {
        fact::ToolCallRequested {
            call_id: EffectPosition::Recall { executor: index as usize }.id(&self.tag, self.iteration),
            iteration: self.iteration,
            tool: READ_SCRATCHPAD.into(),
            arguments: json!({}),
            purpose: format!("what {agent} remembers"),
            branch_id: Some(task.branch_id.clone()),
            repair_of: None,
        }
    }

    /// Creates a branch's scratchpad when the branch is first used; later tasks on the branch continue it.
    fn open_branch(&self, shared: &Shared, task: &ExecutorTask, facts: &mut Facts) -> DocumentId {
        let (id, project_id): (DocumentId, _) = (facts.new_id(), shared.home_project());
        let props = platform_props(shared, "scratchpad_exec", "executor", self.iteration, Some(&task.branch_id));
        facts.mutate(Mutation::CreateDocument {
            id,
            project_id,
            title: format!("Branch {}: {}", task.branch_id, task.title),
            type_key: SCRATCHPAD_EXEC.into(),
            content: String::new(),
            props,
        });
        if let Some(workspace) = self.workspace {
            facts.link(shared, workspace.scratchpad, id);
        }
        id
    }

    /// The first executor that has nothing more to do.
    pub(super) fn executor_to_finish(&self) -> Option<usize> {
        self.current.executors.iter().position(|executor| {
            let idle = calls::open(&executor.calls).next().is_none();
            let said_so = executor.said_done && executor.answered == executor.round;
            executor.finished.is_none() && idle && (said_so || executor.round > MAX_ROUNDS)
        })
    }

    pub(super) fn finish_executor(&self, index: usize, error: Option<String>, facts: &mut Facts) {
        let Some(executor) = self.current.executors.get(index).filter(|executor| executor.finished.is_none()) else {
            return;
        };
        let error = error.or_else(|| (!executor.said_done).then(|| unfinished(executor)));
        let ok = error.is_none();
        let summary = executor.summary.clone().or_else(|| executor.thoughts.last().cloned()).unwrap_or_default();
        let snippet = executor.snippet.clone().unwrap_or_else(|| summary.clone());
        let completed_step_ids = if ok { self.steps_behind(executor) } else { Vec::new() };
        let (steps, changed) = self.plan.with_done(&completed_step_ids, self.iteration);
        let markdown = entry::executor(self.iteration, executor, error.as_deref());
        facts.push(fact::ExecutorFinished {
            iteration: self.iteration,
            index: index as u32,
            branch_id: executor.task.branch_id.clone(),
            ok,
            rounds: executor.answered,
            summary,
            result_snippet: snippet.chars().take(MAX_SNIPPET_CHARS).collect(),
            completed_step_ids,
            error,
            entry: Some(fact::PadEntry {
                scratchpad_document_id: executor.pad,
                entry_key: format!("iteration-{}", self.iteration),
                markdown,
            }),
        });
        self.update_plan(steps, changed, facts);
    }

    /// The steps an executor says it has done, if the plan has them.
    fn steps_behind(&self, executor: &Executor) -> Vec<String> {
        let known = |id: &&String| self.plan.steps.iter().any(|step| &step.id == *id);
        let mut ids: Vec<String> = executor.completed_step_ids.iter().filter(known).cloned().collect();
        ids.dedup();
        ids
    }
}

/// The tools its task names, as far as the run has them. A task that names none gets the read-only ones.
fn granted(shared: &Shared, task: &ExecutorTask) -> Vec<String> {
    let tools = shared.brief.tools.iter();
    let granted = tools.filter(|tool| if task.tools.is_empty() { tool.read } else { task.tools.contains(&tool.name) });
    granted.map(|tool| tool.name.clone()).collect()
}

/// Tools its task names that the run does not have.
fn unknown_tools(shared: &Shared, task: &ExecutorTask) -> Vec<String> {
    let known = |name: &str| shared.brief.tools.iter().any(|tool| tool.name == name);
    task.tools.iter().filter(|name| !known(name)).cloned().collect()
}

/// The error shown to the planner: tools that do not exist, and those that do.
pub(super) fn refused_tools(shared: &Shared, unknown: &[String]) -> Option<String> {
    let valid: Vec<&str> = shared.brief.tools.iter().map(|tool| tool.name.as_str()).collect();
    (!unknown.is_empty()).then(|| format!("unknown tools: {}; valid: {}", unknown.join(", "), valid.join(", ")))
}

/// Why an executor ended without finishing its task.
fn unfinished(executor: &Executor) -> String {
    let last = executor.calls.iter().filter_map(|call| Some((call, call.result.as_ref()?))).next_back();
    match last {
        Some((call, result)) if !result.ok => {
            format!("not done after {MAX_ROUNDS} rounds; its last call, {}, failed: {}", call.tool, result.summary)
        }
        _ => format!("not done after {MAX_ROUNDS} rounds"),
    }
}

fn not_run(iteration: u32, index: usize, task: &ExecutorTask, why: String) -> fact::ExecutorFinished {
    fact::ExecutorFinished {
        iteration,
        index: index as u32,
        branch_id: task.branch_id.clone(),
        ok: false,
        rounds: 0,
        summary: why.clone(),
        result_snippet: why.chars().take(MAX_SNIPPET_CHARS).collect(),
        completed_step_ids: Vec::new(),
        error: Some(why),
        entry: None,
    }
}
