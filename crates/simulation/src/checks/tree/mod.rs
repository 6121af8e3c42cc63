//! Invariants 10 to 18 of trees, per generation. The audit of the log alone comes first; the rest also looks at the
//! provider's bill and the store.

mod audit;
mod children;
mod control;
mod ends;
mod limits;
mod lives;
mod money;
mod reads;

use super::Story;
use crate::world::Lived;
use engine::event::Event;
use engine::facts::{Fact, Tree as T};
use engine::ids::NodeId;
use std::collections::BTreeMap;

pub async fn check(lived: &Lived, story: &Story, wrongs: &mut Vec<String>) {
    if let Err(why) = audit::audit(&story.events) {
        wrongs.push(format!("audit: run {} {why}", story.id));
    }
    let family = Family::of(&story.events);
    lives::check(story, wrongs);
    children::check(story, wrongs);
    control::check(story, &family, wrongs);
    limits::check(lived, story, wrongs);
    money::check(story, wrongs);
    reads::check(lived, story, wrongs).await;
    ends::check(story, wrongs);
}

/// Who is whose child, by the events that made them.
pub struct Family(BTreeMap<NodeId, Option<NodeId>>);

impl Family {
    pub fn of(events: &[Event]) -> Family {
        let created = events.iter().filter(|event| matches!(event.fact, Fact::Tree(T::NodeCreated(_))));
        Family(created.filter_map(|event| Some((event.node_id?, event.parent_node_id))).collect())
    }

    /// The node, and everybody above it.
    pub fn path(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(node), |at| self.0.get(at).copied().flatten())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}
