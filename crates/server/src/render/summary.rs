//! How a run ended or why it waits, in a few lines, with the commands to type next.

use super::style::{Color, Style, line};
use super::{Question, limits};
use crate::api::resume_node_commands;
use engine::batch::RunRow;
use engine::run::{Status, StopReason};
use engine::workspace::Document;

/// The beginning of a line with a command to type.
pub(crate) const NEXT: &str = "next    ";

/// `pleach show` lists the others.
const MAX_DOCUMENTS_SHOWN: usize = 5;

/// The exit code of a command that followed a run.
pub(crate) fn exit_code(run: &RunRow) -> u8 {
    match (run.stop_reason, run.status) {
        (Some(reason), _) => reason.exit_code(),
        (None, Status::Paused | Status::WaitingOnUser) => StopReason::UserInput.exit_code(),
        (None, Status::Failed) => StopReason::Error.exit_code(),
        (None, Status::Canceled) => StopReason::Canceled.exit_code(),
        (None, _) => 0,
    }
}

pub(crate) fn lines(run: &RunRow, documents: &[Document], style: Style) -> Vec<String> {
    let mut lines = vec![headline(run, style)];
    if let Some(title) = run.report["title"].as_str() {
        lines.push(format!("report  {}", line(title)));
    }
    lines.extend(super::criteria(run, style));
    lines.push(limits(run).iter().map(|limit| limit.to_string()).collect::<Vec<_>>().join("  "));
    lines.extend(run.warnings.iter().map(|warning| style.paint(Color::Yellow, &format!("note    {}", line(warning)))));
    let newest = documents.iter().take(MAX_DOCUMENTS_SHOWN);
    lines.extend(newest.map(|document| format!("doc     {}  {}", document.id, line(&document.title))));
    if documents.len() > MAX_DOCUMENTS_SHOWN {
        let more = documents.len() - MAX_DOCUMENTS_SHOWN;
        lines.push(format!("doc     … and {more} more: pleach show {}", run.id));
    }
    let open = Question::open(run);
    let asked = open.iter().flat_map(|question| question.marked("?       "));
    lines.extend(asked.map(|line| style.paint(Color::Yellow, &line)));
    let fallbacks = open.iter().filter_map(|question| question.fallback.as_ref());
    lines.extend(fallbacks.map(|fallback| format!("        without an answer, {fallback}")));
    lines.extend(next(run, &open).into_iter().map(|command| format!("{NEXT}{command}")));
    lines
}

fn headline(run: &RunRow, style: Style) -> String {
    // That it waits says already that somebody is asked.
    let reason =
        run.stop_reason.filter(|reason| *reason != StopReason::UserInput && reason.name() != run.status.name());
    let detail = line(run.stop_detail.as_deref().unwrap_or_default());
    let why = reason.map_or(detail.clone(), |reason| reason.with_detail(&detail));
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    let (color, status) = super::outcome_words(run);
    format!("run     {}  {}{why}", run.id, style.paint(color, &status))
}

/// The commands to type next, most useful first.
fn next(run: &RunRow, open: &[Question]) -> Vec<String> {
    let id = run.id;
    match run.status {
        Status::WaitingOnUser => open.iter().map(|question| question.command(run, open.len())).collect(),
        Status::Paused => resume_commands(run),
        Status::Stopped => vec![extend(run), format!("pleach report {id}")],
        Status::Failed => vec![format!("pleach extend {id}"), format!("pleach log {id}")],
        Status::Completed => vec![format!("pleach report {id}"), format!("pleach show {id}")],
        Status::Canceled => vec![format!("pleach show {id}")],
        Status::Queued | Status::Running => vec![format!("pleach watch {id}")],
    }
}

/// What resumes a paused run: the run itself, or the first of the nodes that hold it up.
pub(crate) fn resume_commands(run: &RunRow) -> Vec<String> {
    match run.paused_nodes.as_slice() {
        [] => vec![format!("pleach resume {}", run.id)],
        nodes => resume_node_commands(run.id, nodes),
    }
}

fn extend(run: &RunRow) -> String {
    let raise = match run.stop_reason {
        Some(StopReason::BudgetCost) => " --max-cost …",
        Some(StopReason::BudgetTokens) => " --max-tokens …",
        Some(StopReason::BudgetWallClock) => " --max-minutes …",
        Some(StopReason::MaxIterations) => " --max-iterations …",
        _ => "",
    };
    format!("pleach extend {}{raise}", run.id)
}
