//! What the homework roles answer. A plan with two equal step ids or a question without words is refused
//! with the reason, so that one repair can put it right.

pub use crate::answer::{CallAnswer, CheckedAnswer, MAX_TOOL_CALLS, read};
use crate::answer::{arguments, nullable, too_long, too_many};
use crate::facts::homework::{EvidenceClaim, ExecutorTask, HomeworkStep, HomeworkStepStatus, NextAction, StepOwner};
use crate::model::Role;
use crate::shorten;
use crate::words::words;
use serde::Deserialize;
use serde_json::Value;

pub const MAX_EXECUTOR_TASKS: usize = 3;
pub const MAX_CORRECTED_CALLS: usize = 2;
pub const MAX_ROUNDS: u32 = 4;
const MAX_STEPS: usize = 40;
/// In characters. Longer text is cut with a note, not refused, because the work it describes is done.
const MAX_TEXT_CHARS: usize = 4_000;
const MAX_ITEM_CHARS: usize = 500;
/// In characters; ids are shown in many places.
const MAX_ID_CHARS: usize = 64;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct EvidenceAnswer {
    #[serde(default)]
    pub criterion: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub claim: String,
    #[serde(default, deserialize_with = "nullable")]
    pub refs: Vec<String>,
}

impl From<EvidenceAnswer> for EvidenceClaim {
    fn from(EvidenceAnswer { criterion, claim, refs }: EvidenceAnswer) -> EvidenceClaim {
        EvidenceClaim { criterion, claim, refs }
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TaskAnswer {
    pub branch_id: String,
    #[serde(default)]
    pub step_id: Option<String>,
    pub title: String,
    pub objective: String,
    #[serde(default, deserialize_with = "nullable")]
    pub tools: Vec<String>,
    /// The handle of the subagent it is delegated to.
    #[serde(default)]
    pub agent: Option<String>,
}

impl From<TaskAnswer> for ExecutorTask {
    fn from(TaskAnswer { branch_id, step_id, title, objective, tools, agent }: TaskAnswer) -> ExecutorTask {
        ExecutorTask { branch_id, step_id, title, objective, tools, agent }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct PlanAnswer {
    #[serde(default, deserialize_with = "nullable")]
    pub steps: Vec<StepAnswer>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StepAnswer {
    pub id: String,
    pub title: String,
    #[serde(default, deserialize_with = "nullable")]
    pub status: HomeworkStepStatus,
    #[serde(default, deserialize_with = "nullable")]
    pub owner: StepOwner,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PlannerAnswer {
    pub progress_summary: String,
    #[serde(default, deserialize_with = "nullable")]
    pub plan: PlanAnswer,
    #[serde(default, deserialize_with = "nullable")]
    pub tool_calls: Vec<CallAnswer>,
    #[serde(default, deserialize_with = "nullable")]
    pub executor_tasks: Vec<TaskAnswer>,
    #[serde(default, deserialize_with = "nullable")]
    pub remaining_work: Vec<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub completion_evidence: Vec<EvidenceAnswer>,
    #[serde(default, deserialize_with = "nullable")]
    pub exit_signal: bool,
    #[serde(default, deserialize_with = "nullable")]
    pub needs_user_input: bool,
    #[serde(default, deserialize_with = "nullable")]
    pub blocking_questions: Vec<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub next_action_hint: NextAction,
    #[serde(default, deserialize_with = "nullable")]
    pub confidence: Confidence,
    #[serde(default)]
    pub branch_rollup: Option<String>,
}

words! {
    #[derive(Default)]
    Confidence {
        Low = "low",
        #[default]
        Medium = "medium",
        High = "high",
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ExecutorAnswer {
    #[serde(default, deserialize_with = "nullable")]
    pub thought: String,
    #[serde(default, deserialize_with = "nullable")]
    pub tool_calls: Vec<CallAnswer>,
    /// Absent when the model did not say.
    #[serde(default)]
    pub done: Option<bool>,
    #[serde(default)]
    pub summary: Option<String>,
    #[serde(default)]
    pub result_snippet: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub completed_step_ids: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct RepairAnswer {
    pub corrected_calls: Vec<CorrectedCall>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CorrectedCall {
    pub for_call_id: String,
    pub tool: String,
    #[serde(default, deserialize_with = "arguments")]
    pub arguments: Value,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ReportAnswer {
    pub title: String,
    pub summary: String,
    #[serde(default, deserialize_with = "nullable")]
    pub findings: Vec<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub not_done: Vec<String>,
}

impl CheckedAnswer for PlannerAnswer {
    fn role() -> Option<Role> {
        Some(Role::HomeworkPlanner)
    }

    fn errors(&self) -> Vec<String> {
        let mut errors = Vec::new();
        let steps = &self.plan.steps;
        if steps.len() > MAX_STEPS {
            errors.push(format!("the plan has {} steps; {MAX_STEPS} is the most", steps.len()));
        }
        for (index, step) in steps.iter().enumerate() {
            if step.id.trim().is_empty() || step.title.trim().is_empty() {
                errors.push(format!("plan step {} has no id or no title", index + 1));
            }
            if step.id.chars().count() > MAX_ID_CHARS {
                errors.push(format!("the id of plan step {} is longer than {MAX_ID_CHARS} characters", index + 1));
            }
            if steps[..index].iter().any(|earlier| earlier.id == step.id) {
                errors.push(format!("plan step id {:?} is used twice", step.id));
            }
        }
        if self.needs_user_input && self.blocking_questions.iter().all(|question| question.trim().is_empty()) {
            errors.push("needs_user_input is true but blocking_questions is empty".into());
        }
        // What is over the limit is not run, and so not judged.
        let tasks = &self.executor_tasks[..self.executor_tasks.len().min(MAX_EXECUTOR_TASKS)];
        for (index, task) in tasks.iter().enumerate() {
            if task.branch_id.trim().is_empty() || task.title.trim().is_empty() || task.objective.trim().is_empty() {
                errors.push(format!("executor task {} needs branch_id, title and objective", index + 1));
            }
            if task.branch_id.chars().count() > MAX_ID_CHARS {
                errors.push(format!(
                    "the branch_id of executor task {} is longer than {MAX_ID_CHARS} characters",
                    index + 1
                ));
            }
            if tasks[..index].iter().any(|earlier| earlier.branch_id == task.branch_id) {
                errors.push(format!("branch_id {:?} is given to two executor tasks of one iteration", task.branch_id));
            }
        }
        for task in tasks {
            errors.extend(too_long("the objective of an executor task", &task.objective));
        }
        errors.extend(too_many("remaining_work", self.remaining_work.len()));
        errors.extend(too_many("completion_evidence", self.completion_evidence.len()));
        errors.extend(too_many("blocking_questions", self.blocking_questions.len()));
        errors
    }
}

impl CheckedAnswer for ExecutorAnswer {
    fn role() -> Option<Role> {
        Some(Role::HomeworkExecutor)
    }

    fn errors(&self) -> Vec<String> {
        match self.done {
            None if self.tool_calls.is_empty() => {
                vec!["neither tool_calls nor done: call a tool, or set done to true with a summary".into()]
            }
            _ => Vec::new(),
        }
    }
}

impl CheckedAnswer for RepairAnswer {
    fn role() -> Option<Role> {
        Some(Role::HomeworkRepair)
    }

    fn errors(&self) -> Vec<String> {
        Vec::new()
    }
}

impl CheckedAnswer for ReportAnswer {
    fn role() -> Option<Role> {
        Some(Role::HomeworkReport)
    }

    fn errors(&self) -> Vec<String> {
        too_long("summary", &self.summary).into_iter().collect()
    }
}

impl PlanAnswer {
    pub fn steps(&self) -> impl Iterator<Item = HomeworkStep> + '_ {
        self.steps.iter().map(|step| HomeworkStep {
            id: step.id.clone(),
            title: shorten::text(&step.title, MAX_ITEM_CHARS),
            status: step.status,
            owner: step.owner,
            iteration_last_touched: 0,
        })
    }
}

impl PlannerAnswer {
    /// A hint to ask the user, with something to ask, is a question.
    pub fn asks_by_hint(&self) -> bool {
        self.next_action_hint == NextAction::AskUser
            && self.blocking_questions.iter().any(|question| !question.trim().is_empty())
    }

    /// The answer with every text cut to its limit, so that state, prompts and documents stay bounded.
    pub fn bounded(mut self) -> PlannerAnswer {
        self.progress_summary = shorten::text(&self.progress_summary, MAX_TEXT_CHARS);
        self.branch_rollup = self.branch_rollup.map(|rollup| shorten::text(&rollup, MAX_TEXT_CHARS));
        cut_each(&mut self.remaining_work, MAX_ITEM_CHARS);
        cut_each(&mut self.blocking_questions, MAX_TEXT_CHARS);
        for claim in &mut self.completion_evidence {
            claim.claim = shorten::text(&claim.claim, MAX_ITEM_CHARS);
        }
        for task in &mut self.executor_tasks {
            task.title = shorten::text(&task.title, MAX_ITEM_CHARS);
        }
        self
    }
}

impl ExecutorAnswer {
    pub fn bounded(mut self) -> ExecutorAnswer {
        self.thought = shorten::text(&self.thought, MAX_TEXT_CHARS);
        self.summary = self.summary.map(|summary| shorten::text(&summary, MAX_TEXT_CHARS));
        self.result_snippet = self.result_snippet.map(|snippet| shorten::text(&snippet, MAX_TEXT_CHARS));
        self.completed_step_ids.truncate(MAX_STEPS);
        self
    }
}

fn cut_each(texts: &mut [String], most: usize) {
    texts.iter_mut().for_each(|text| *text = shorten::text(text, most));
}
