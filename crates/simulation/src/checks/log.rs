//! 1–4: the log has no gap, its hashes chain, and every row is what the log says, at every commit.

use super::Story;
use super::fold::replay;
use crate::world::Lived;
use crate::world::witness::TreeRows;
use engine::batch::RunRow;
use engine::event::genesis;
use engine::facts::effect::FinishedAs;
use engine::facts::{Effect, Fact};
use engine::projection;
use engine::workspace::Scope;
use runtime::ports::Slice;
use std::collections::BTreeMap;

pub async fn check(lived: &Lived, story: &Story, wrongs: &mut Vec<String>) {
    chain(story, wrongs);
    drivers_are_fenced(lived, story, wrongs);
    rows_at_commits(lived, story, wrongs);
    rows_at_end(lived, story, wrongs).await;
}

fn chain(story: &Story, wrongs: &mut Vec<String>) {
    let (mut head, mut last_at) = (genesis(story.id), engine::time::Timestamp(0));
    for (index, event) in story.events.iter().enumerate() {
        if event.seq != index as u64 + 1 {
            wrongs.push(format!("1: run {} has seq {} at place {}", story.id, event.seq, index + 1));
        }
        if event.hash != event.link(head) {
            wrongs.push(format!("3: the chain of run {} breaks at {}", story.id, event.seq));
        }
        if event.at < last_at {
            wrongs.push(format!("2: run {} goes back in time at {}", story.id, event.seq));
        }
        (head, last_at) = (event.hash, event.at);
    }
    if story.row.head != head || story.row.last_seq != story.events.len() as u64 {
        wrongs.push(format!("3: the row of run {} names another head than its log", story.id));
    }
}

/// 21: only who holds the run begins a call or takes its answer.
fn drivers_are_fenced(lived: &Lived, story: &Story, wrongs: &mut Vec<String>) {
    let unfenced = lived.record.commits.iter().filter(|commit| commit.run == story.id && commit.fence.is_none());
    for commit in unfenced {
        let seqs = commit.first_seq as usize..=commit.row.last_seq as usize;
        let events = story.events.iter().filter(|event| seqs.contains(&(event.seq as usize)));
        for event in events {
            let answered =
                matches!(&event.fact, Fact::Effect(Effect::Finished(fact)) if fact.outcome == FinishedAs::Ok);
            if answered || matches!(event.fact, Fact::Effect(Effect::Started(_))) {
                wrongs.push(format!("21: run {} got {} at {} from nobody's driver", story.id, event.kind(), event.seq));
            }
        }
    }
}

/// What was committed as the run's row is what a fold of the log up to there gives.
fn rows_at_commits(lived: &Lived, story: &Story, wrongs: &mut Vec<String>) {
    let commits = lived.record.commits.iter().filter(|commit| commit.run == story.id);
    let rows: BTreeMap<u64, &RunRow> = commits.map(|commit| (commit.row.last_seq, &commit.row)).collect();
    replay(&story.events, |run, event| {
        if let Some(row) = rows.get(&event.seq)
            && projection::run_row(run) != **row
        {
            wrongs.push(format!("4: the row of run {} committed at {} is not what its log says", story.id, event.seq));
        }
    });
}

async fn rows_at_end(lived: &Lived, story: &Story, wrongs: &mut Vec<String>) {
    let Some(run) = replay(&story.events, |_, _| ()) else {
        return wrongs.push(format!("4: run {} cannot be folded", story.id));
    };
    let expected = projection::rows(&run, &story.events);
    let mut differ =
        |what: &str| wrongs.push(format!("4: the stored {what} of run {} differ from a rebuild", story.id));
    if expected.run != story.row {
        differ("row");
    }
    let told = lived.record.trees.get(&story.id).cloned().unwrap_or_default();
    if told != TreeRows::after(&expected) {
        differ("nodes, plans or artifacts");
    }
    let store = &lived.store;
    let mut iterations = store.iterations(&Scope::Platform, story.id, Slice::first(10_000)).await.unwrap_or_default();
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
    let mut stored: Vec<_> = stored.into_iter().filter(|row| row.run_id == story.id).collect();
    stored.sort_by_key(|row| row.seq);
    if stored != expected.notifications {
        differ("notifications");
    }
}
