//! 62, 63: what the run object says of the criteria and of the outcome is what the events say, at every commit. `verified` means
//! that nothing that failed was left, a person's word stands, and what was dropped is reported.

use super::RunLog;
use super::standing::{Criterion, Standing};
use engine::batch::RunRow;
use engine::event::Event;
use engine::facts::evidence::{CriterionState, RunOutcome};
use engine::facts::{Fact, RunFact as R};
use std::collections::BTreeMap;

pub fn check(log: &RunLog<'_>) {
    let rows: BTreeMap<u64, &RunRow> = log.commits.iter().map(|commit| (commit.row.last_seq, &commit.row)).collect();
    let mut standing = Standing::default();
    for event in &log.events {
        standing.learn(event);
        if let Some(named) = named_outcome(event).filter(|named| *named != standing.outcome()) {
            log.violation_at(event, format_args!("62: says {named:?}, the events say {:?}", standing.outcome()));
        }
        if let Some(row) = rows.get(&event.seq) {
            compare(log, event, row, &standing);
        }
    }
    nothing_unsaid(log, &standing);
}

/// What the event that ends the run says of its outcome.
fn named_outcome(event: &Event) -> Option<Option<RunOutcome>> {
    match &event.fact {
        Fact::Run(R::Completed(fact)) => Some(fact.ended.outcome),
        Fact::Run(R::Stopped(fact)) => Some(fact.ended.outcome),
        Fact::Run(R::Failed(fact)) => Some(fact.ended.outcome),
        Fact::Run(R::Canceled(fact)) => Some(fact.ended.outcome),
        _ => None,
    }
}

fn compare(log: &RunLog<'_>, event: &Event, row: &RunRow, standing: &Standing) {
    if row.outcome != standing.outcome() {
        let (failures, expected) = (standing.failures().join(", "), standing.outcome());
        log.violation_at(
            event,
            format_args!("62: came to {:?}, the events say {expected:?} ({failures})", row.outcome),
        );
    }
    let differs = |(known, expected): &(&engine::criteria::CriterionRecord, &Criterion)| known.state != expected.state;
    if let Some((known, expected)) = row.success_criteria.iter().zip(&standing.criteria).find(differs) {
        let number = if expected.is_decided_by_person() { 63 } else { 62 };
        let (state, expected) = (known.state, expected.state);
        log.violation_at(event, format_args!("{number}: {} is {state:?}, the events say {expected:?}", known.id));
    }
    let unmet = |known: &engine::criteria::CriterionRecord| {
        !matches!(known.state, CriterionState::Verified | CriterionState::Accepted)
    };
    if row.outcome == Some(RunOutcome::Verified)
        && (row.success_criteria.is_empty() || row.success_criteria.iter().any(unmet))
    {
        log.violation_at(event, "62: verified, and not every criterion is");
    }
}

/// Steps that left the plan undone are in the report, by id or by title, whatever the outcome.
fn nothing_unsaid(log: &RunLog<'_>, standing: &Standing) {
    let reported = match &log.row.report["dropped"] {
        serde_json::Value::Null => return,
        reported => reported.to_string(),
    };
    for (id, dropped) in &standing.homework.dropped {
        if !reported.contains(id) && !reported.contains(&dropped.title) {
            log.violation(format_args!("62: dropped {id} ({}) and did not report it", dropped.title));
        }
    }
}
