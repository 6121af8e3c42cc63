//! Checks the invariants on a world that has ended. Every violation begins with the number of its invariant, which the module
//! that checks it explains.

mod breaker;
mod evidence;
pub mod fold;
mod lifecycle;
mod log;
mod money;
mod outcome;
mod people;
mod progress;
mod quotes;
mod requests;
mod standing;
mod takeover;
mod task;
mod tree;
mod verifier;
mod workspace;

use crate::world::FinishedWorld;
use crate::world::provider::Request;
use crate::world::witness::Commit;
use engine::batch::RunRow;
use engine::event::{Event, StoredEvent};
use engine::facts::homework::Verdict;
use engine::facts::run::Queued;
use engine::facts::{Fact, RunFact as R};
use engine::ids::RunId;
use engine::run::Kind;
use engine::workspace::Scope;
use runtime::ports::{Library, Log};
use std::cell::RefCell;
use std::fmt::Display;

/// One run's stored events and row, with what the provider and the witness recorded of it.
pub struct RunLog<'w> {
    pub id: RunId,
    pub events: Vec<Event>,
    pub row: RunRow,
    world: &'w FinishedWorld,
    bill: Vec<&'w Request>,
    commits: Vec<&'w Commit>,
    violations: RefCell<Vec<String>>,
}

/// Whether the iteration was closed because its run was canceled or failed.
fn breaks_off(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Stop { reason, .. } if reason.breaks_off())
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
        log::check(&log).await;
        lifecycle::check(&log);
        match log.row.kind {
            Kind::Homework => {
                evidence::check(&log);
                breaker::check(&log);
                progress::check(&log);
            }
            Kind::Tree => tree::check(&log).await,
            Kind::Task => task::check(&log),
        }
        quotes::check(&log).await;
        verifier::check(&log);
        outcome::check(&log);
        money::check(&log);
        requests::check(&log);
        lost += takeover::check(&log);
        people::check(&log);
        workspace::check(&log).await;
        violations.extend(log.violations.into_inner());
    }
    CheckResult { violations, lost }
}

impl RunLog<'_> {
    pub async fn read(world: &FinishedWorld, id: RunId) -> Option<RunLog<'_>> {
        let row = world.store.run(&Scope::Platform, id).await.ok().flatten()?;
        let stored = world.store.events(id, 0, usize::MAX >> 1).await.ok()?;
        let events = stored.into_iter().map(StoredEvent::decode).collect();
        let bill = world.bill.iter().filter(|request| request.run == id).collect();
        let commits = world.record.commits.iter().filter(|commit| commit.run == id).collect();
        Some(RunLog { id, events, row, world, bill, commits, violations: RefCell::default() })
    }

    fn violation(&self, why: impl Display) {
        self.violations.borrow_mut().push(format!("{why}: run {}", self.id));
    }

    fn violation_at(&self, event: &Event, why: impl Display) {
        let node = event.node_id.map(|node| format!("node {node} of ")).unwrap_or_default();
        self.violations.borrow_mut().push(format!("{why}: {node}run {} at {}", self.id, event.seq));
    }

    fn brief(&self) -> Option<&Queued> {
        match &self.events.first()?.fact {
            Fact::Run(R::Queued(brief)) => Some(brief),
            _ => None,
        }
    }

    /// The commit that contains this event.
    fn commit_of(&self, seq: u64) -> Option<&Commit> {
        self.commits.iter().find(|commit| commit.first_seq <= seq && seq <= commit.row.last_seq).copied()
    }

    /// When the log reached this seq.
    fn committed_at(&self, seq: u64) -> Option<u64> {
        self.commit_of(seq).map(|commit| commit.at_ms)
    }

    /// Whether nothing may be lost: no process dies or stalls, and no call to the store fails.
    fn has_no_store_faults_or_crashes(&self) -> bool {
        self.world.setup.fault_rates.has_no_store_faults_or_crashes() && self.world.setup.crash_at.is_none()
    }
}
