//! Templates of scratchpad entries. Equal inputs give equal bytes: nothing here reads a clock.

use super::state::{Executor, State};
use crate::calls::RecordedCall;
use crate::facts::homework::Progress;
use crate::facts::homework::Verdict;
use crate::workspace::Artifacts;
use serde_json::Value;
use std::fmt::Write;

const MAX_LINE_CHARS: usize = 240;
/// In characters. An executor's outcome is longer than a line and shorter than a document.
const MAX_OUTCOME_CHARS: usize = 2_000;

/// One iteration's entry in the main scratchpad.
pub(crate) fn iteration(
    state: &State,
    lost: Option<&str>,
    progress: &Progress,
    objections: &[String],
    verdict: &Verdict,
) -> String {
    let planned = state.current.planned.as_ref();
    let mut text = format!("## Iteration {}\n\n", state.iteration);
    match (planned, lost) {
        (Some(planned), _) => text.push_str(&planned.progress_summary),
        (None, Some(why)) => {
            let _ = write!(text, "No usable answer from the planner: {}", line(why));
        }
        (None, None) => {}
    }
    section(&mut text, "Actions", actions(state));
    section(&mut text, "Results", results(state));
    section(&mut text, "New and changed", entities(&state.current.artifacts));
    section(&mut text, "Plan", step_changes(state));
    section(
        &mut text,
        "Remaining work",
        planned.map(|planned| planned.remaining_work.iter().map(|item| line(item)).collect()).unwrap_or_default(),
    );
    section(
        &mut text,
        "Questions",
        planned
            .filter(|planned| planned.needs_user_input)
            .map(|planned| planned.blocking_questions.clone())
            .unwrap_or_default(),
    );
    section(&mut text, "Not let go", objections.iter().map(|reason| line(reason)).collect());
    section(
        &mut text,
        "Branches",
        state
            .current
            .executors
            .iter()
            .map(|executor| format!("{} {:?}: doc:{}", executor.task.branch_id, executor.task.title, executor.pad))
            .collect(),
    );
    if let Some(rollup) = planned.and_then(|planned| planned.branch_rollup.as_ref()) {
        let _ = write!(text, "\n\n**Branch rollup**\n\n{rollup}");
    }
    let made = if progress.made { progress.reasons.join(", ") } else { "none".into() };
    let next = planned.map_or("replan", |planned| planned.next_action_hint.name());
    let _ = write!(text, "\n\n**Progress**: {made}\n**Next**: {next} ({})", verdict_text(verdict));
    text
}

/// One executor's entry in the scratchpad of its branch.
pub(crate) fn executor(iteration: u32, executor: &Executor, error: Option<&str>) -> String {
    let mut text = format!("## Iteration {iteration}: {}\n\n{}", executor.task.title, executor.task.objective);
    section(&mut text, "Actions", executor.calls.iter().map(action).collect());
    section(&mut text, "Results", executor.calls.iter().map(result).collect());
    section(
        &mut text,
        "Thoughts",
        executor.thoughts.iter().filter(|thought| !thought.is_empty()).map(|thought| line(thought)).collect(),
    );
    let outcome = match (error, &executor.summary) {
        (Some(error), _) => format!("failed: {}", line(error)),
        (None, Some(summary)) => crate::shorten::text(summary, MAX_OUTCOME_CHARS),
        (None, None) => "done".into(),
    };
    let _ = write!(text, "\n\n**Outcome**: {outcome}");
    text
}

fn section(text: &mut String, title: &str, lines: Vec<String>) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(text, "\n\n**{title}**\n");
    for line in lines {
        let _ = write!(text, "\n- {line}");
    }
}

fn actions(state: &State) -> Vec<String> {
    let withheld = state.current.planned.as_ref().filter(|planned| planned.withheld);
    let mut lines: Vec<String> = state.current.calls.iter().map(action).collect();
    lines.extend(
        state
            .current
            .executors
            .iter()
            .map(|executor| format!("executor {:?} on branch {}", executor.task.title, executor.task.branch_id)),
    );
    lines.extend(
        withheld
            .into_iter()
            .flat_map(|planned| &planned.actions)
            .map(|action| format!("not carried out again: {}", line(action))),
    );
    lines
}

fn action(call: &RecordedCall) -> String {
    let purpose = if call.purpose.is_empty() { String::new() } else { format!(": {}", line(&call.purpose)) };
    let repair = if call.repair_of.is_some() { " (corrected)" } else { "" };
    format!("{}({}){repair}{purpose}", call.tool, key_arguments(&call.arguments))
}

/// The arguments worth showing: short ones whole, the beginning of long ones.
fn key_arguments(arguments: &Value) -> String {
    let Some(map) = arguments.as_object() else { return line(&arguments.to_string()) };
    let shown = map.iter().map(|(name, value)| {
        let text = value.to_string();
        let short: String = text.chars().take(60).collect();
        if short.len() < text.len() { format!("{name}: {short}…") } else { format!("{name}: {short}") }
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn results(state: &State) -> Vec<String> {
    let calls = state.current.calls.iter().map(result);
    let executors = state.current.executors.iter().filter_map(|executor| {
        let finished = executor.finished.as_ref()?;
        let said = finished
            .error
            .as_ref()
            .map_or_else(|| format!("done: {}", line(&finished.snippet)), |error| format!("failed: {}", line(error)));
        Some(format!("executor {:?} {said}", executor.task.title))
    });
    let not_run = state.current.not_run.iter().map(|task| format!("executor {:?} {}", task.title, line(&task.why)));
    calls.chain(executors).chain(not_run).collect()
}

fn result(call: &RecordedCall) -> String {
    match &call.result {
        Some(result) if result.ok => format!("{}: {} (event:{})", call.tool, line(&result.summary), result.seq),
        Some(result) => format!("{} failed: {}", call.tool, line(&result.summary)),
        None => format!("{}: no result", call.tool),
    }
}

fn entities(artifacts: &Artifacts) -> Vec<String> {
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

fn step_changes(state: &State) -> Vec<String> {
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

fn verdict_text(verdict: &Verdict) -> String {
    match verdict {
        Verdict::On => "goes on".into(),
        Verdict::Wait => "waits for an answer".into(),
        Verdict::Stop { reason, .. } => format!("ends: {}", reason.name()),
    }
}

/// One line of bounded length.
fn line(text: &str) -> String {
    let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= MAX_LINE_CHARS {
        flat
    } else {
        format!("{}…", flat.chars().take(MAX_LINE_CHARS).collect::<String>())
    }
}
