//! The invariants, held against one world that has ended. Numbers are those of the reliability programme;
//! every line of a verdict begins with one.

mod breaker;
mod evidence;
pub mod fold;
mod lifecycle;
mod log;
mod money;
mod people;
mod requests;
mod takeover;
mod task;
mod tree;
mod workspace;

use crate::world::Lived;
use engine::batch::RunRow;
use engine::event::Event;
use engine::ids::RunId;
use engine::run::Kind;
use engine::workspace::Scope;
use runtime::ports::{Library, Log};

/// One run as the store tells it.
pub struct Story {
    pub id: RunId,
    pub events: Vec<Event>,
    pub row: RunRow,
}

/// What a world came to.
pub struct Judged {
    /// Everything wrong with it; empty when nothing is.
    pub wrongs: Vec<String>,
    /// Calls that a driver found without their answer.
    pub lost: usize,
}

pub async fn judge(lived: &Lived) -> Judged {
    let (mut wrongs, mut lost) = (lived.record.wrongs.clone(), 0);
    for errand in &lived.errands {
        let Some(story) = Story::read(lived, errand.id).await else { continue };
        log::check(lived, &story, &mut wrongs).await;
        lifecycle::check(lived, &story, &mut wrongs);
        match story.row.kind {
            Kind::Homework => {
                evidence::check(&story, &mut wrongs);
                breaker::check(&story, &mut wrongs);
            }
            Kind::Tree => tree::check(lived, &story, &mut wrongs).await,
            Kind::Task => task::check(&story, &mut wrongs),
        }
        money::check(lived, &story, &mut wrongs);
        requests::check(lived, &story, &mut wrongs);
        lost += takeover::check(lived, &story, &mut wrongs);
        people::check(lived, &story, &mut wrongs);
        workspace::check(lived, &story, &mut wrongs).await;
    }
    Judged { wrongs, lost }
}

impl Story {
    pub async fn read(lived: &Lived, id: RunId) -> Option<Story> {
        let row = lived.store.run(&Scope::Platform, id).await.ok().flatten()?;
        let stored = lived.store.events(id, 0, usize::MAX >> 1).await.ok()?;
        Some(Story { id, row, events: stored.into_iter().map(engine::event::StoredEvent::decode).collect() })
    }
}
