//! 12, 13: a node has one result in each generation, and when it has ended nothing happens to it any more but the
//! settling of its bills, until an event opens it again.

use super::super::Story;
use engine::event::Event;
use engine::facts::{Effect as E, Fact, Tree as T};
use engine::ids::NodeId;
use std::collections::BTreeMap;

#[derive(Default)]
struct Life {
    generation: u32,
    results: u32,
    ended: Option<&'static str>,
}

pub fn check(story: &Story, wrongs: &mut Vec<String>) {
    let mut lives: BTreeMap<NodeId, Life> = BTreeMap::new();
    for event in &story.events {
        let Some(id) = event.node_id else { continue };
        let mut wrong = |why: String| wrongs.push(format!("{why}: node {id} of run {} at {}", story.id, event.seq));
        if matches!(event.fact, Fact::Tree(T::NodeCreated(_))) {
            if lives.insert(id, Life { generation: 1, ..Life::default() }).is_some() {
                wrong("10: made twice".into());
            }
            continue;
        }
        let Some(life) = lives.get_mut(&id) else {
            wrong(format!("10: {} before it was made", event.kind()));
            continue;
        };
        if let Some(ended) = life.ended
            && !follows_an_end(event, ended)
        {
            wrong(format!("13: {} after it was {ended}", event.kind()));
        }
        live_on(life, event, &mut wrong);
    }
}

fn live_on(life: &mut Life, event: &Event, wrong: &mut impl FnMut(String)) {
    let mut end = |life: &mut Life, how, results| {
        if life.results != results {
            wrong(format!("12: {how} with {} results in generation {}", life.results, life.generation));
        }
        life.ended = Some(how);
    };
    match &event.fact {
        Fact::Tree(T::NodeResult(_)) => life.results += 1,
        Fact::Tree(T::NodeCompleted(_)) => end(life, "completed", 1),
        Fact::Tree(T::NodeFailed(_)) => end(life, "failed", 0),
        Fact::Tree(T::NodeCanceled(_)) => end(life, "canceled", 0),
        Fact::Tree(T::ReplanRequested(_)) => *life = Life { generation: life.generation + 1, ..Life::default() },
        Fact::Tree(T::NodeReopened(fact)) => {
            if fact.generation != life.generation + 1 {
                wrong(format!("13: generation {} follows {}", fact.generation, life.generation));
            }
            *life = Life { generation: fact.generation, ..Life::default() };
        }
        _ => {}
    }
}

/// Bills are settled late; a pause may be lifted from what has ended under it; only what was not canceled reopens.
fn follows_an_end(event: &Event, ended: &str) -> bool {
    match &event.fact {
        Fact::Effect(E::Finished(_)) | Fact::Tree(T::NodeResumed(_)) => true,
        Fact::Tree(T::NodeReopened(_)) => ended != "canceled",
        _ => false,
    }
}
