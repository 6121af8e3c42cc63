//! Templates of scratchpad entries. Equal inputs give equal bytes: nothing here reads a clock.

use super::state::{Branch, Executor, LastOutcome, State};
use crate::calls::{self, RecordedCall};
use crate::facts::homework::{HomeworkStepStatus, NextAction, Progress, Verdict};
use crate::workspace::Artifacts;
use std::fmt::Write;

const MAX_LINE_CHARS: usize = 240;
/// In characters. An executor's outcome is longer than a line and shorter than a document.
const MAX_OUTCOME_CHARS: usize = 2_000;
/// The most branches listed one by one.
const MAX_ROLLUP_LINES: usize = 40;
/// The arguments that tell one call of a tool from another, the first that is there.
const NAMING_ARGUMENTS: [&str; 10] =
    ["title", "query", "path", "url", "document_id", "task_id", "project_id", "name", "text", "src_id"];

/// What is known when an iteration closes, besides the state.
pub(super) struct Closing<'a> {
    /// Why the planner's answer could not be used.
    pub lost: Option<&'a str>,
    pub progress: &'a Progress,
    /// Why the planner may not end the run.
    pub objections: &'a [String],
    /// How many repeats in a row this iteration makes.
    pub repeats: Option<u32>,
    pub verdict: &'a Verdict,
}

/// One iteration's entry in the main scratchpad.
pub(super) fn iteration(state: &State, closing: &Closing<'_>) -> String {
    let planned = state.current.planned.as_ref();
    let mut text = format!("## Iteration {}\n\n", state.iteration);
    match (planned, closing.lost) {
        (Some(planned), _) => text.push_str(&planned.progress_summary),
        (None, Some(why)) => {
            let _ = write!(text, "There is no usable answer of the planner: {}", line(why));
        }
        (None, None) => text.push_str("The planner had not answered yet."),
    }
    section(&mut text, "Messages and answers", state.heard.iter().cloned().collect());
    section(&mut text, "Actions", actions(state));
    section(&mut text, "Results", results(state));
    section(&mut text, "New and changed", entities(&state.current.artifacts));
    section(&mut text, "Plan", step_changes(state));
    section(&mut text, "Replan forced", replan(state, closing.repeats));
    let remaining = planned.map(|planned| planned.remaining_work.as_slice()).unwrap_or_default();
    section(&mut text, "Remaining work", remaining.iter().map(|item| line(item)).collect());
    let asked = planned.filter(|planned| planned.needs_user_input);
    section(&mut text, "Questions", asked.map(|planned| planned.blocking_questions.clone()).unwrap_or_default());
    section(&mut text, "The planner may not end the run yet", refusals(state, closing.objections));
    let worked = state.current.executors.iter();
    let pads = worked.map(|of| format!("{} {:?}: doc:{}", of.task.branch_id, of.task.title, of.pad));
    section(&mut text, "Branches", pads.collect());
    section(&mut text, "Branch rollup", rollup(state));
    if let Some(rollup) = planned.and_then(|planned| planned.branch_rollup.as_ref()) {
        let heading = if state.branches.is_empty() { "\n\n**Branch rollup**" } else { "" };
        let _ = write!(text, "{heading}\n\n{rollup}");
    }
    let Closing { progress, verdict, .. } = closing;
    let made = if progress.made { progress.reasons.join(", ") } else { "none".into() };
    let next = planned.map_or(NextAction::Replan, |planned| planned.next_action_hint);
    let asked_again = state.gives_up() && **verdict == Verdict::On;
    let then = if asked_again { "asked once more whether it can be done".into() } else { verdict_text(verdict) };
    let _ = write!(text, "\n\n**Progress**: {made}\n**Next**: {} ({then})", next.name());
    text
}

/// One executor's entry in the scratchpad of its branch. What the next executor needs comes first.
pub(super) fn executor(iteration: u32, executor: &Executor, error: Option<&str>) -> String {
    let mut text = format!("## Iteration {iteration}: {}\n\n{}", executor.task.title, executor.task.objective);
    let outcome = match (error, &executor.summary) {
        (Some(error), _) => format!("failed: {}", line(error)),
        (None, Some(summary)) => crate::shorten::text(summary, MAX_OUTCOME_CHARS),
        (None, None) => "done".into(),
    };
    let _ = write!(text, "\n\n**Outcome**: {outcome}");
    if let Some(snippet) = executor.snippet.as_deref().filter(|snippet| !snippet.trim().is_empty()) {
        let _ = write!(text, "\n\n**Found**: {}", crate::shorten::text(snippet, MAX_OUTCOME_CHARS));
    }
    section(&mut text, "New and changed", entities(&executor.artifacts));
    section(&mut text, "Actions", executor.calls.iter().map(action).collect());
    section(&mut text, "Results", executor.calls.iter().map(result).collect());
    let thoughts = executor.thoughts.iter().filter(|thought| !thought.is_empty());
    section(&mut text, "Thoughts", thoughts.map(|thought| line(thought)).collect());
    text
}

pub(super) fn section(text: &mut String, title: &str, lines: Vec<String>) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(text, "\n\n**{title}**\n");
    for line in lines {
        let _ = write!(text, "\n- {line}");
    }
}

fn actions(state: &State) -> Vec<String> {
    let withheld = state.current.planned.iter().filter(|planned| planned.withheld).flat_map(|planned| &planned.actions);
    let executors = state.current.executors.iter();
    let tasks = executors.map(|of| format!("executor {:?} on branch {}", of.task.title, of.task.branch_id));
    let calls = state.current.calls.iter().map(action);
    calls.chain(tasks).chain(withheld.map(|action| format!("not carried out again: {}", line(action)))).collect()
}

fn action(call: &RecordedCall) -> String {
    let purpose = if call.purpose.is_empty() { String::new() } else { format!(": {}", line(&call.purpose)) };
    let repair = if call.repair_of.is_some() { " (corrected)" } else { "" };
    format!("{}({}){repair}{purpose}", call.tool, calls::key_arguments(&call.arguments))
}

/// The tool, and what tells this call of it from another.
pub(super) fn call_name(call: &RecordedCall) -> String {
    let named = NAMING_ARGUMENTS.iter().find_map(|name| call.arguments.get(*name).filter(|value| value.is_string()));
    named.map_or_else(|| call.tool.clone(), |value| format!("{} {}", call.tool, calls::argument(value)))
}

fn results(state: &State) -> Vec<String> {
    let calls = state.current.calls.iter().map(result);
    let executors = state.current.executors.iter().map(|executor| {
        let said = match &executor.finished {
            Some(finished) => match &finished.error {
                Some(error) => format!("failed: {}", line(error)),
                None => format!("done: {}", line(&finished.snippet)),
            },
            None => "was at work when the run ended".into(),
        };
        format!("executor {:?} on branch {} {said}", executor.task.title, executor.task.branch_id)
    });
    let not_run = state.current.not_run.iter().map(|task| format!("executor {:?} {}", task.title, line(&task.why)));
    calls.chain(executors).chain(not_run).collect()
}

fn result(call: &RecordedCall) -> String {
    let name = call_name(call);
    match &call.result {
        Some(result) if result.ok => format!("{name}: {} (event:{})", line(&result.summary), result.seq),
        Some(result) => format!("{name} failed: {}", line(&result.summary)),
        None => format!("{name}: no result"),
    }
}

pub(super) fn entities(artifacts: &Artifacts) -> Vec<String> {
    let list = |what: &str, kind: &str, named: &[crate::workspace::Named]| -> Vec<String> {
        named.iter().map(|named| format!("{what} {kind}:{} {:?}", named.id, named.title)).collect()
    };
    [
        list("created", "doc", &artifacts.created_documents),
        list("changed", "doc", &artifacts.updated_documents),
        list("created", "task", &artifacts.created_tasks),
        list("changed", "task", &artifacts.updated_tasks),
    ]
    .concat()
}

pub(super) fn step_changes(state: &State) -> Vec<String> {
    let before = &state.current.plan_before.steps;
    let mut lines = Vec::new();
    for step in &state.plan.steps {
        match before.iter().find(|old| old.id == step.id) {
            None => lines.push(format!("{} {:?}: new, {}", step.id, step.title, step.status.name())),
            Some(old) if old.status != step.status => {
                lines.push(format!("{} {:?}: {} → {}", step.id, step.title, old.status.name(), step.status.name()));
            }
            Some(_) => {}
        }
    }
    let gone = before.iter().filter(|old| !state.plan.steps.iter().any(|step| step.id == old.id));
    lines.extend(gone.map(|step| format!("{} {:?}: dropped", step.id, step.title)));
    lines
}

/// Written with the first repeat, which bars the actions.
fn replan(state: &State, repeats: Option<u32>) -> Vec<String> {
    let barred = state.current.planned.iter().filter(|_| repeats == Some(1)).flat_map(|planned| &planned.actions);
    barred.map(|action| format!("repeated without progress, and not carried out again: {}", line(action))).collect()
}

/// The reasons, and each reference that was cited and is no evidence.
fn refusals(state: &State, objections: &[String]) -> Vec<String> {
    if objections.is_empty() {
        return Vec::new();
    }
    let claims = state.current.planned.iter().flat_map(|planned| &planned.completion_evidence);
    let cited = claims.flat_map(|claim| &claim.refs).filter(|reference| !state.holds(reference));
    let refused = cited.map(|reference| format!("{} is nothing that this run made or found", line(reference)));
    objections.iter().map(|reason| line(reason)).chain(refused).collect()
}

/// Where every open branch stands: its pad, how it last ended, what it made.
fn rollup(state: &State) -> Vec<String> {
    let open: Vec<&Branch> = state.branches.iter().filter(|branch| is_open(state, branch)).collect();
    let left_out = open.len().saturating_sub(MAX_ROLLUP_LINES);
    let mut lines: Vec<String> = open[left_out..].iter().map(|branch| rollup_line(branch)).collect();
    if left_out > 0 {
        lines.insert(0, format!("{left_out} older branches, each in its own pad"));
    }
    lines
}

/// Open until its step is done; one that worked just now, or failed, is open in any case.
fn is_open(state: &State, branch: &Branch) -> bool {
    let worked = state.current.executors.iter().any(|executor| executor.task.branch_id == branch.id);
    let step = state.plan.steps.iter().find(|step| Some(&step.id) == branch.step_id.as_ref());
    let is_done = step.is_some_and(|step| step.status == HomeworkStepStatus::Done);
    worked || !is_done || branch.last_outcome.as_ref().is_none_or(|outcome| !outcome.ok)
}

fn rollup_line(branch: &Branch) -> String {
    let outcome = branch.last_outcome.as_ref().map_or_else(|| "nothing yet".into(), outcome_text);
    let made: Vec<String> =
        branch.made.iter().map(|made| format!("{} {:?}", made.reference, line(&made.title))).collect();
    let made = if made.is_empty() { String::new() } else { format!("; made {}", made.join(", ")) };
    format!("{} {:?}, pad doc:{}: {outcome}{made}", branch.id, branch.title, branch.document)
}

pub(super) fn outcome_text(LastOutcome { iteration, ok, said }: &LastOutcome) -> String {
    format!("{} in iteration {iteration}: {said}", if *ok { "done" } else { "failed" })
}

fn verdict_text(verdict: &Verdict) -> String {
    match verdict {
        Verdict::On => "goes on".into(),
        Verdict::Wait => "waits for an answer".into(),
        Verdict::Stop { reason, detail } => format!("ends: {}: {}", reason.name(), line(detail)),
    }
}

/// One line of bounded length.
pub(super) fn line(text: &str) -> String {
    let flat = crate::lines::one_line(text);
    match flat.char_indices().nth(MAX_LINE_CHARS) {
        None => flat,
        Some((end, _)) => format!("{}…", &flat[..end]),
    }
}
