//! 1–4: the log has no gap, its hashes chain, and every row is what the log says, at every commit.

use super::RunLog;
use super::fold::replay;
use crate::world::witness::TreeRows;
use engine::batch::RunRow;
use engine::event::genesis;
use engine::facts::effect::FinishedAs;
use engine::facts::{EffectFact, Fact};
use engine::projection;
use engine::run::Run;
use engine::workspace::Scope;
use runtime::ports::Slice;
use std::collections::BTreeMap;

pub async fn check(log: &RunLog<'_>) {
    chain(log);
    drivers_are_fenced(log);
    match rows_at_commits(log) {
        Some(run) => rows_at_end(log, &run).await,
        None => log.violation("4: the log cannot be folded"),
    }
}

fn chain(log: &RunLog<'_>) {
    let (mut head, mut last_at) = (genesis(log.id), engine::time::Timestamp(0));
    for (event, place) in log.events.iter().zip(1..) {
        if event.seq != place {
            log.violation_at(event, format_args!("1: the event is at place {place}"));
        }
        if event.hash != event.link(head) {
            log.violation_at(event, "3: the chain breaks");
        }
        if event.at < last_at {
            log.violation_at(event, "2: time goes back");
        }
        (head, last_at) = (event.hash, event.at);
    }
    if log.row.head != head || log.row.last_seq != log.events.len() as u64 {
        log.violation("3: the row names another head than the log");
    }
}

/// 21: only the lease holder starts a call or records its answer.
fn drivers_are_fenced(log: &RunLog<'_>) {
    for event in &log.events {
        let of_driver = match &event.fact {
            Fact::Effect(EffectFact::Finished(fact)) => fact.outcome == FinishedAs::Ok,
            Fact::Effect(EffectFact::Started(_)) => true,
            _ => false,
        };
        if of_driver && log.commit_of(event.seq).is_some_and(|commit| commit.fence.is_none()) {
            log.violation_at(event, format_args!("21: {} is from nobody's driver", event.kind()));
        }
    }
}

/// Each committed run row equals the fold of the log up to there. Returns the whole fold.
fn rows_at_commits(log: &RunLog<'_>) -> Option<Run> {
    let rows: BTreeMap<u64, &RunRow> = log.commits.iter().map(|commit| (commit.row.last_seq, &commit.row)).collect();
    replay(&log.events, |run, event| {
        if rows.get(&event.seq).is_some_and(|row| projection::run_row(run) != **row) {
            log.violation_at(event, "4: the committed row is not what the log says");
        }
    })
}

async fn rows_at_end(log: &RunLog<'_>, run: &Run) {
    let expected = projection::rows(run, &log.events);
    let differ = |what: &str| log.violation(format_args!("4: the stored {what} differ from a rebuild"));
    if expected.run != log.row {
        differ("row");
    }
    let recorded = log.world.record.trees.get(&log.id).cloned().unwrap_or_default();
    if recorded != TreeRows::after(&expected) {
        differ("nodes, plans or artifacts");
    }
    let store = &log.world.store;
    let mut iterations = store.iterations(&Scope::Platform, log.id, Slice::first(10_000)).await.unwrap_or_default();
    iterations.sort_by_key(|row| row.iteration);
    let rebuilt: BTreeMap<u32, _> = expected.iterations.into_iter().map(|row| (row.iteration, row)).collect();
    if iterations != rebuilt.into_values().collect::<Vec<_>>() {
        differ("iterations");
    }
    let mut pads: BTreeMap<_, Vec<(String, String)>> = BTreeMap::new();
    for entry in expected.entries {
        pads.entry(entry.document_id).or_default().push((entry.key, entry.markdown));
    }
    for (pad, entries) in pads {
        let mut stored = store.entries(&Scope::Platform, pad, None, 10_000).await.unwrap_or_default();
        stored.reverse();
        if stored.into_iter().map(|entry| (entry.key, entry.markdown)).collect::<Vec<_>>() != entries {
            differ("scratchpad entries");
        }
    }
    let mut stored = store.notifications(&Scope::Platform, 10_000).await.unwrap_or_default();
    stored.retain(|row| row.run_id == log.id);
    stored.sort_by_key(|row| row.seq);
    if stored != expected.notifications {
        differ("notifications");
    }
}
