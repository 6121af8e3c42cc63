//! 1–4: the log has no gap, its hashes chain, and every row is what the log says, at every commit.

use super::RunLog;
use super::fold::replay;
use crate::world::FinishedWorld;
use crate::world::witness::TreeRows;
use engine::batch::RunRow;
use engine::event::genesis;
use engine::facts::effect::FinishedAs;
use engine::facts::{EffectFact, Fact};
use engine::projection;
use engine::workspace::Scope;
use runtime::ports::Slice;
use std::collections::BTreeMap;

pub async fn check(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    chain(log, violations);
    drivers_are_fenced(finished, log, violations);
    rows_at_commits(finished, log, violations);
    rows_at_end(finished, log, violations).await;
}

fn chain(log: &RunLog, violations: &mut Vec<String>) {
    let (mut head, mut last_at) = (genesis(log.id), engine::time::Timestamp(0));
    for (index, event) in log.events.iter().enumerate() {
        if event.seq != index as u64 + 1 {
            violations.push(format!("1: run {} has seq {} at place {}", log.id, event.seq, index + 1));
        }
        if event.hash != event.link(head) {
            violations.push(format!("3: the chain of run {} breaks at {}", log.id, event.seq));
        }
        if event.at < last_at {
            violations.push(format!("2: run {} goes back in time at {}", log.id, event.seq));
        }
        (head, last_at) = (event.hash, event.at);
    }
    if log.row.head != head || log.row.last_seq != log.events.len() as u64 {
        violations.push(format!("3: the row of run {} names another head than its log", log.id));
    }
}

/// 21: only the lease holder starts a call or records its answer.
fn drivers_are_fenced(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    let unfenced = finished.record.commits.iter().filter(|commit| commit.run == log.id && commit.fence.is_none());
    for commit in unfenced {
        let seqs = commit.first_seq as usize..=commit.row.last_seq as usize;
        let events = log.events.iter().filter(|event| seqs.contains(&(event.seq as usize)));
        for event in events {
            let answered =
                matches!(&event.fact, Fact::Effect(EffectFact::Finished(fact)) if fact.outcome == FinishedAs::Ok);
            if answered || matches!(event.fact, Fact::Effect(EffectFact::Started(_))) {
                violations.push(format!(
                    "21: run {} got {} at {} from nobody's driver",
                    log.id,
                    event.kind(),
                    event.seq
                ));
            }
        }
    }
}

/// Each committed run row equals the fold of the log up to there.
fn rows_at_commits(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    let commits = finished.record.commits.iter().filter(|commit| commit.run == log.id);
    let rows: BTreeMap<u64, &RunRow> = commits.map(|commit| (commit.row.last_seq, &commit.row)).collect();
    replay(&log.events, |run, event| {
        if let Some(row) = rows.get(&event.seq)
            && projection::run_row(run) != **row
        {
            violations
                .push(format!("4: the row of run {} committed at {} is not what its log says", log.id, event.seq));
        }
    });
}

async fn rows_at_end(finished: &FinishedWorld, log: &RunLog, violations: &mut Vec<String>) {
    let Some(run) = replay(&log.events, |_, _| ()) else {
        return violations.push(format!("4: run {} cannot be folded", log.id));
    };
    let expected = projection::rows(&run, &log.events);
    let mut differ =
        |what: &str| violations.push(format!("4: the stored {what} of run {} differ from a rebuild", log.id));
    if expected.run != log.row {
        differ("row");
    }
    let recorded = finished.record.trees.get(&log.id).cloned().unwrap_or_default();
    if recorded != TreeRows::after(&expected) {
        differ("nodes, plans or artifacts");
    }
    let store = &finished.store;
    let mut iterations = store.iterations(&Scope::Platform, log.id, Slice::first(10_000)).await.unwrap_or_default();
    iterations.sort_by_key(|row| row.iteration);
    let mut rebuilt: BTreeMap<u32, _> = BTreeMap::new();
    rebuilt.extend(expected.iterations.into_iter().map(|row| (row.iteration, row)));
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
    let stored = store.notifications(&Scope::Platform, 10_000).await.unwrap_or_default();
    let mut stored: Vec<_> = stored.into_iter().filter(|row| row.run_id == log.id).collect();
    stored.sort_by_key(|row| row.seq);
    if stored != expected.notifications {
        differ("notifications");
    }
}
