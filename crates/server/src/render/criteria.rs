//! Success criteria and the outcome of a run, as the terminal shows them. `completed` never stands alone: what it came to is beside it.

use super::style::{Color, Style, line};
use super::{status_color, status_words};
use engine::batch::RunRow;
use engine::criteria::CriterionRecord;
use engine::facts::evidence::{CriterionState, RunOutcome};
use engine::run::Status;

/// The status, and of a completed run what it came to.
pub(crate) fn outcome_words(run: &RunRow) -> (Color, String) {
    let (status, color) = (status_words(run.status), status_color(run.status));
    match run.outcome.filter(|_| run.status == Status::Completed) {
        Some(RunOutcome::Partial | RunOutcome::Nothing) => (Color::Yellow, format!("{status}, partial")),
        Some(outcome) => (color, format!("{status}, {}", outcome.name())),
        None => (color, status.to_owned()),
    }
}

/// Each criterion with its state, why, and the quotes that show it.
pub(crate) fn criteria(run: &RunRow, style: Style) -> Vec<String> {
    run.success_criteria.iter().flat_map(|criterion| criterion_lines(criterion, style)).collect()
}

fn criterion_lines(criterion: &CriterionRecord, style: Style) -> Vec<String> {
    let (color, mark) = match criterion.state {
        CriterionState::Verified | CriterionState::Accepted => (Color::Green, "✓"),
        CriterionState::Refuted | CriterionState::Rejected => (Color::Red, "✗"),
        CriterionState::Claimed => (Color::Yellow, "~"),
        CriterionState::Open => (Color::Dim, "·"),
    };
    let stale = if criterion.stale { ", stale: what was checked has changed since" } else { "" };
    let state =
        if criterion.checking { "being checked".to_owned() } else { format!("{}{stale}", criterion.state.name()) };
    let mut lines = vec![format!("  {} {} {}: {state}", style.paint(color, mark), criterion.id, line(&criterion.text))];
    lines.extend(criterion.reason.iter().map(|reason| format!("      {}", line(reason))));
    for cited in &criterion.evidence {
        let version = cited.version.map(|version| format!(" version {version}")).unwrap_or_default();
        lines.push(style.paint(Color::Dim, &format!("      {}{version}", line(&cited.reference))));
        lines.extend(cited.quotes.iter().map(|quote| format!("        “{}”", line(quote))));
    }
    lines
}
