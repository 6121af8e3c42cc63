//! `pleach show`: where a run stands, on one screen.

use super::style::{Ink, Style, line, plain};
use super::{Question, limits, status_ink, steps, tree};
use crate::api::Workspace;
use engine::batch::RunRow;
use engine::workspace::Entry;
use serde_json::Value;

const WIDE: usize = 400;

/// Everything `show` needs, fetched by the command.
pub struct Parts {
    pub run: RunRow,
    pub workspace: Workspace,
    /// Newest first.
    pub entries: Vec<Entry>,
    /// Effects whose outcome nobody knows.
    pub unknown: Vec<String>,
}

pub fn lines(parts: &Parts, style: Style) -> Vec<String> {
    let run = &parts.run;
    let mut lines = head(run, style);
    section(&mut lines, "Plan", steps(run).iter().map(|step| step.painted(WIDE, style)), style);
    section(&mut lines, "Success criteria", criteria(run), style);
    section(&mut lines, "Workspace", tree::lines(&parts.workspace).into_iter().map(|text| format!("  {text}")), style);
    section(&mut lines, "Scratchpad, last entries", parts.entries.iter().rev().flat_map(entry), style);
    section(&mut lines, "Questions", questions(run), style);
    section(&mut lines, "Nobody knows whether these happened", parts.unknown.iter().map(|effect| unknown(run, effect)), style);
    lines
}

fn head(run: &RunRow, style: Style) -> Vec<String> {
    let mut lines = vec![
        style.paint(Ink::Bold, &line(&run.objective)),
        format!("run        {}", run.id),
        format!("status     {}  {}", style.paint(status_ink(run.status), run.status.name()), line(&run.activity)),
    ];
    if let Some(reason) = run.stop_reason {
        lines.push(format!("why        {}  {}", reason.name(), line(run.stop_detail.as_deref().unwrap_or_default())));
    }
    lines.push(format!("iteration  {} of {}", run.iteration, run.budgets["max_iterations"]));
    lines.extend(limits(run).iter().map(|limit| format!("           {limit}")));
    lines.push(format!("calls      {} to models, {} to tools", run.metrics["llm_calls"], run.metrics["tool_calls"]));
    lines.push(format!("model      {}", line(&run.model)));
    if !run.project_ids.is_empty() {
        lines.push(format!("projects   {}", run.project_ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")));
    }
    lines.extend(run.warnings.iter().map(|warning| style.paint(Ink::Yellow, &format!("note       {}", line(warning)))));
    if let Some(title) = run.report["title"].as_str() {
        lines.push(format!("report     {}  (pleach report {})", line(title), run.id));
    }
    lines
}

fn section(lines: &mut Vec<String>, title: &str, content: impl IntoIterator<Item = String>, style: Style) {
    let content: Vec<String> = content.into_iter().collect();
    if !content.is_empty() {
        lines.push(String::new());
        lines.push(style.paint(Ink::Bold, title));
        lines.extend(content);
    }
}

/// The report knows which reference verified which criterion.
fn criteria(run: &RunRow) -> Vec<String> {
    let evidence = run.report["evidence"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut shown: Vec<String> = run
        .success_criteria
        .iter()
        .map(|criterion| {
            let refs = evidence.iter().find(|item| item["criterion"] == criterion.id.as_str()).map(refs).unwrap_or_default();
            let mark = if refs.is_empty() { "·".to_owned() } else { format!("✓ {refs} ") };
            format!("  {mark} {} {}", criterion.id, line(&criterion.text))
        })
        .collect();
    let unbound = evidence.iter().filter(|item| item["criterion"].is_null());
    shown.extend(unbound.map(|item| format!("  ✓ {} {}", refs(item), line(item["claim"].as_str().or(item["text"].as_str()).unwrap_or_default()))));
    shown
}

fn refs(item: &Value) -> String {
    let found = item["verified"]["refs"].as_array().or(item["refs"].as_array());
    found.into_iter().flatten().filter_map(Value::as_str).map(line).collect::<Vec<_>>().join(", ")
}

fn entry(entry: &Entry) -> Vec<String> {
    plain(&entry.markdown).lines().map(|text| format!("  {text}")).chain([String::new()]).collect()
}

fn questions(run: &RunRow) -> Vec<String> {
    let open = Question::open(run).len();
    Question::all(run).iter().flat_map(|question| question_lines(run, question, open)).collect()
}

fn question_lines(run: &RunRow, question: &Question, open: usize) -> Vec<String> {
    let mut lines = vec![format!("  ? {}  {}", question.text, question.id)];
    if !question.options.is_empty() {
        lines.push(format!("    options: {}", question.options.join(" | ")));
    }
    match &question.answer {
        Some(answer) => lines.push(format!("    answered: {answer}")),
        None if question.open && !run.status.is_terminal() => lines.push(format!("    {}", question.command(run, open))),
        None => {}
    }
    lines
}

fn unknown(run: &RunRow, effect: &str) -> String {
    format!("  {}   pleach resolve {} {} happened|did_not|retry", line(effect), run.id, line(effect))
}
