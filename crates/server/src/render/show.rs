//! `pleach show`: the state of a run on one screen.

use super::style::{Color, Style, field, line, moment, plain};
use super::tree_view::TreeView;
use super::{Question, activity, limits, section, steps, tree};
use crate::api::Workspace;
use engine::batch::{RunRow, StepRow};
use engine::facts::run::ProviderWaiting;
use engine::run::{Kind, StopReason};
use engine::workspace::Entry;
use serde_json::Value;

const WIDE: usize = 400;
const WIDE_TREE: usize = 110;
const MAX_NODES_SHOWN: usize = 200;

/// Everything `show` needs, fetched by the command.
pub(crate) struct Parts {
    pub run: RunRow,
    /// Empty unless it is a tree run.
    pub tree_view: TreeView,
    pub workspace: Workspace,
    /// Newest first.
    pub entries: Vec<Entry>,
    pub facts: EventFacts,
    /// Empty unless it is a task run.
    pub steps: Vec<StepRow>,
}

/// What only the log has: which references verified a criterion, and which effects are unknown.
#[derive(Debug, Default)]
pub(crate) struct EventFacts {
    /// The criterion, if one was named, and the references that verified it.
    evidence: Vec<(Option<String>, String)>,
    /// Effects whose outcome is unknown.
    unknown: Vec<String>,
}

impl EventFacts {
    pub(crate) fn see(&mut self, event: &Value) {
        let payload = &event["payload"];
        let effect = payload["effect"].as_str().unwrap_or_default();
        match event["type"].as_str() {
            Some("homework.iteration_completed") => {
                self.evidence.extend(payload["evidence"].as_array().into_iter().flatten().map(verified))
            }
            Some("effect.unknown") => self.unknown.push(effect.to_owned()),
            Some("effect.resolved") => self.unknown.retain(|known| known != effect),
            _ => {}
        }
    }
}

fn verified(item: &Value) -> (Option<String>, String) {
    let refs = item["refs"].as_array().into_iter().flatten().filter_map(Value::as_str).map(line);
    let text = format!("{}  {}", refs.collect::<Vec<_>>().join(", "), field(item, "claim"));
    (item["criterion"].as_str().map(str::to_owned), text)
}

pub(crate) fn lines(parts: &mut Parts, style: Style) -> Vec<String> {
    let nodes = parts.tree_view.lines(MAX_NODES_SHOWN, WIDE_TREE, style);
    let run = &parts.run;
    let mut lines = head(run, style);
    section(&mut lines, "Tree", nodes.into_iter().map(|text| format!("  {text}")), style);
    section(&mut lines, "Plan", steps(run).iter().map(|step| step.painted(WIDE, style)), style);
    let evidence = super::criteria(run, style).into_iter().chain(other_evidence(&parts.facts));
    section(&mut lines, "Criteria and evidence", evidence, style);
    match run.kind {
        Kind::Homework => {
            let documents = tree::lines(&parts.workspace).into_iter().map(|text| format!("  {text}"));
            section(&mut lines, "Workspace", documents, style);
        }
        Kind::Tree => section(&mut lines, "Documents", made(&parts.workspace), style),
        Kind::Task => {
            section(&mut lines, "Steps", parts.steps.iter().flat_map(|step| step_lines(step, style)), style);
            section(&mut lines, "Documents", made(&parts.workspace), style);
        }
    }
    section(&mut lines, "Failed and dropped", super::report::failed_and_dropped(&run.report, style), style);
    section(&mut lines, "Scratchpad, last entries", parts.entries.iter().rev().flat_map(entry), style);
    section(&mut lines, "Questions", questions(run), style);
    let unknown = parts.facts.unknown.iter().map(|effect| unknown(run, effect));
    section(&mut lines, "Unknown: these may have happened", unknown, style);
    lines
}

/// The documents that the run wrote. Scratchpads are shown with their nodes.
fn made(workspace: &Workspace) -> Vec<String> {
    let documents = workspace.documents.iter().rev().filter(|document| !document.is_platform());
    documents.map(|document| format!("  {}  {}", document.id, line(&document.title))).collect()
}

fn step_lines(step: &StepRow, style: Style) -> Vec<String> {
    let (color, mark) = match step.ok {
        Some(true) => (Color::Green, "✓"),
        Some(false) => (Color::Red, "✗"),
        None => (Color::Dim, "·"),
    };
    let what = match (&step.action_name, &step.path) {
        (Some(action), path) => format!("{} at {}", line(action), line(path.as_deref().unwrap_or_default())),
        (None, Some(path)) => line(path),
        (None, None) => line(step.message.as_deref().unwrap_or_default()),
    };
    let mut lines = vec![format!("  {} {:>2} {} {what}", style.paint(color, mark), step.step, step.action.name())];
    lines.extend(step.thought.iter().map(|thought| style.paint(Color::Dim, &format!("       {}", line(thought)))));
    if let (Some(false), Some(summary)) = (step.ok, &step.summary) {
        lines.push(format!("       {}", line(summary)));
    }
    lines
}

/// The status, and the activity unless it only repeats it.
fn status(run: &RunRow, style: Style) -> String {
    let (color, words) = super::outcome_words(run);
    let status = style.paint(color, &words);
    if run.activity == run.status.name() { status } else { format!("{status}  {}", activity(run)) }
}

/// The provider it waits for, until when, why, and the command that tries now.
fn waits(run: &RunRow, wait: &ProviderWaiting) -> Vec<String> {
    let mut lines = vec![format!("waits      for provider {} until {}", line(&wait.provider), moment(wait.until))];
    lines.extend(wait.error.iter().map(|error| format!("           {}", line(error))));
    lines.push(format!("           pleach resume {} tries now", run.id));
    lines
}

fn head(run: &RunRow, style: Style) -> Vec<String> {
    let mut lines = vec![
        style.paint(Color::Bold, &line(&run.objective)),
        format!("run        {}", run.id),
        format!("status     {}", status(run, style)),
    ];
    lines.extend(run.provider_wait.iter().flat_map(|wait| waits(run, wait)));
    let detail = line(run.stop_detail.as_deref().unwrap_or_default());
    let why = run.stop_reason.filter(|reason| *reason != StopReason::UserInput);
    lines.extend(why.map(|reason| format!("why        {}", reason.with_detail(&detail))));
    if run.kind == Kind::Homework {
        lines.push(format!("iteration  {} of {}", run.iteration, run.budgets["max_iterations"]));
    }
    if let Some(agent) = run.agent.as_deref().map(line) {
        lines.push(format!("agent      {agent}  (pleach agents show {agent})"));
        lines.push(format!("steps      {} of {}", run.iteration, run.max_steps.unwrap_or_default()));
    }
    if !run.agents.is_empty() {
        lines.push(format!("agents     may delegate to {}", line(&run.agents.join(", "))));
    }
    lines.extend(limits(run).iter().map(|limit| format!("           {limit}")));
    lines.push(format!("calls      {} to models, {} to tools", run.metrics.llm_calls, run.metrics.tool_calls));
    lines.push(format!("model      {}", line(&run.model)));
    if !run.project_ids.is_empty() {
        let projects: Vec<String> = run.project_ids.iter().map(ToString::to_string).collect();
        lines.push(format!("projects   {}", projects.join(" ")));
    }
    let note = |warning: &String| style.paint(Color::Yellow, &format!("note       {}", line(warning)));
    lines.extend(run.warnings.iter().map(note));
    let title = run.report["title"].as_str().map(line);
    lines.extend(title.map(|title| format!("report     {title}  (pleach report {})", run.id)));
    lines
}

/// What is cited without a criterion, for a run that has none.
fn other_evidence(facts: &EventFacts) -> Vec<String> {
    facts.evidence.iter().filter(|(named, _)| named.is_none()).map(|(_, text)| format!("  {text}")).collect()
}

fn entry(entry: &Entry) -> Vec<String> {
    plain(&entry.markdown).lines().map(|text| format!("  {text}")).chain([String::new()]).collect()
}

fn questions(run: &RunRow) -> Vec<String> {
    let open = Question::open(run).len();
    Question::all(run).iter().flat_map(|question| question_lines(run, question, open)).collect()
}

fn question_lines(run: &RunRow, question: &Question, open: usize) -> Vec<String> {
    let mut lines = question.marked("  ? ");
    match lines.as_mut_slice() {
        [only] => only.push_str(&format!("  {}", question.id)),
        _ => lines.push(format!("    {}", question.id)),
    }
    if !question.options.is_empty() {
        lines.push(format!("    options: {}", question.options.join(" | ")));
    }
    match &question.answer {
        Some(answer) => lines.push(format!("    answered: {answer}")),
        None if question.open && !run.status.is_terminal() => {
            lines.extend(question.fallback.iter().map(|fallback| format!("    without an answer, {fallback}")));
            lines.push(format!("    {}", question.command(run, open)));
        }
        None => {}
    }
    lines
}

fn unknown(run: &RunRow, effect: &str) -> String {
    format!("  {}   pleach resolve {} {} happened|did_not|retry", line(effect), run.id, line(effect))
}
