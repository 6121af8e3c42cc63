//! Checks the invariants on a world that has ended. Every violation begins with the number of its invariant, as in
//! `docs/promises.md`.

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

use crate::world::FinishedWorld;
use engine::batch::RunRow;
use engine::event::Event;
use engine::ids::RunId;
use engine::run::Kind;
use engine::workspace::Scope;
use runtime::ports::{Library, Log};

/// One run's stored events and row.
pub struct RunLog {
    pub id: RunId,
    pub events: Vec<Event>,
    pub row: RunRow,
}

/// The result of all checks of one world.
pub struct CheckResult {
    /// Broken invariants; empty when all hold.
    pub violations: Vec<String>,
    /// Calls that a new driver declared lost.
    pub lost: usize,
}

pub async fn check_world(finished: &FinishedWorld) -> CheckResult {
    let (mut violations, mut lost) = (finished.record.violations.clone(), 0);
    for planned_run in &finished.planned_runs {
        let Some(log) = RunLog::read(finished, planned_run.id).await else { continue };
        log::check(finished, &log, &mut violations).await;
        lifecycle::check(finished, &log, &mut violations);
        match log.row.kind {
            Kind::Homework => {
                evidence::check(&log, &mut violations);
                breaker::check(&log, &mut violations);
            }
            Kind::Tree => tree::check(finished, &log, &mut violations).await,
            Kind::Task => task::check(&log, &mut violations),
        }
        money::check(finished, &log, &mut violations);
        requests::check(finished, &log, &mut violations);
        lost += takeover::check(finished, &log, &mut violations);
        people::check(finished, &log, &mut violations);
        workspace::check(finished, &log, &mut violations).await;
    }
    CheckResult { violations, lost }
}

impl RunLog {
    pub async fn read(finished: &FinishedWorld, id: RunId) -> Option<RunLog> {
        let row = finished.store.run(&Scope::Platform, id).await.ok().flatten()?;
        let stored = finished.store.events(id, 0, usize::MAX >> 1).await.ok()?;
        Some(RunLog { id, row, events: stored.into_iter().map(engine::event::StoredEvent::decode).collect() })
    }
}
