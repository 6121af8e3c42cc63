//! 12, 13: a node has one result in each generation. After its end only late bills are settled, until an event reopens it.

use super::super::RunLog;
use engine::event::Event;
use engine::facts::{EffectFact as E, Fact, TreeFact as T};
use engine::ids::NodeId;
use std::collections::BTreeMap;

#[derive(Default)]
struct NodeGeneration {
    generation: u32,
    results: u32,
    ended: Option<&'static str>,
}

pub fn check(log: &RunLog, violations: &mut Vec<String>) {
    let mut generations: BTreeMap<NodeId, NodeGeneration> = BTreeMap::new();
    for event in &log.events {
        let Some(id) = event.node_id else { continue };
        let mut violation =
            |why: String| violations.push(format!("{why}: node {id} of run {} at {}", log.id, event.seq));
        if matches!(event.fact, Fact::Tree(T::NodeCreated(_))) {
            if generations.insert(id, NodeGeneration { generation: 1, ..NodeGeneration::default() }).is_some() {
                violation("10: made twice".into());
            }
            continue;
        }
        let Some(node) = generations.get_mut(&id) else {
            violation(format!("10: {} before it was made", event.kind()));
            continue;
        };
        if let Some(ended) = node.ended
            && !follows_an_end(event, ended)
        {
            violation(format!("13: {} after it was {ended}", event.kind()));
        }
        observe(node, event, &mut violation);
    }
}

fn observe(node: &mut NodeGeneration, event: &Event, violation: &mut impl FnMut(String)) {
    let mut end = |node: &mut NodeGeneration, how, results| {
        if node.results != results {
            violation(format!("12: {how} with {} results in generation {}", node.results, node.generation));
        }
        node.ended = Some(how);
    };
    match &event.fact {
        Fact::Tree(T::NodeResult(_)) => node.results += 1,
        Fact::Tree(T::NodeCompleted(_)) => end(node, "completed", 1),
        Fact::Tree(T::NodeFailed(_)) => end(node, "failed", 0),
        Fact::Tree(T::NodeCanceled(_)) => end(node, "canceled", 0),
        Fact::Tree(T::ReplanRequested(_)) => {
            *node = NodeGeneration { generation: node.generation + 1, ..NodeGeneration::default() }
        }
        Fact::Tree(T::NodeReopened(fact)) => {
            if fact.generation != node.generation + 1 {
                violation(format!("13: generation {} follows {}", fact.generation, node.generation));
            }
            *node = NodeGeneration { generation: fact.generation, ..NodeGeneration::default() };
        }
        _ => {}
    }
}

/// After an end, calls may still be settled, a pause may be lifted, and a node that was not canceled may be reopened.
fn follows_an_end(event: &Event, ended: &str) -> bool {
    match &event.fact {
        Fact::Effect(E::Finished(_)) | Fact::Tree(T::NodeResumed(_)) => true,
        Fact::Tree(T::NodeReopened(_)) => ended != "canceled",
        _ => false,
    }
}
