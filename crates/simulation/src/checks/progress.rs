//! 65: progress is a change of the world or something read for the first time. Found in what the witness saw committed and in the
//! stored results, not as the product does it: no fingerprint is compared here.

use super::RunLog;
use super::quotes::folded;
use crate::world::witness::EntityText;
use engine::blob::Hash;
use engine::event::Event;
use engine::facts::evidence::CriterionState;
use engine::facts::homework::{HomeworkStepStatus, IterationCompleted, ToolCallResult};
use engine::facts::{Fact, HomeworkFact as H, RunFact as R};
use engine::workspace::{Change, Mutation};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

pub fn check(log: &RunLog<'_>) {
    let mut world = World::of(log);
    for event in &log.events {
        match &event.fact {
            Fact::Homework(H::ToolCallResult(fact)) if fact.ok => world.result(log, event, fact),
            Fact::Homework(H::ExecutorFinished(fact)) if fact.ok => world.executors_done += 1,
            Fact::Homework(H::PlanUpdated(fact)) => {
                let done = fact.steps.iter().filter(|step| step.status == HomeworkStepStatus::Done);
                world.steps_done.extend(done.map(|step| step.id.clone()));
            }
            Fact::Run(R::CriterionChecked(fact)) => world.verified |= fact.state == CriterionState::Verified,
            Fact::Homework(H::IterationCompleted(fact)) => world.iteration(log, event, fact),
            _ => {}
        }
    }
}

#[derive(Default)]
struct World<'w> {
    /// The run's changes by the event that they belong to.
    changes: BTreeMap<u64, Vec<&'w Change>>,
    results: BTreeSet<Hash>,
    made: BTreeSet<(String, String)>,
    /// Results that were new, in the whole run and in this iteration.
    new_results: usize,
    new_now: usize,
    executors_done: usize,
    steps_done: BTreeSet<String>,
    steps_before: usize,
    verified: bool,
}

impl<'w> World<'w> {
    fn of(log: &RunLog<'w>) -> World<'w> {
        let mut world = World::default();
        for change in log.commits.iter().flat_map(|commit| &commit.changes) {
            world.changes.entry(change.seq).or_default().push(change);
        }
        world
    }

    fn result(&mut self, log: &RunLog<'_>, event: &Event, fact: &ToolCallResult) {
        let is_new_text = self.results.insert(fact.result.hash);
        if fact.new_reading && !is_new_text {
            log.violation_at(event, format_args!("65: {} read what it had read before, and counts as new", fact.tool));
        }
        let changes = self.changes.remove(&event.seq).unwrap_or_default();
        let changed = changes.iter().filter(|change| self.is_change(log, &change.mutation)).count() > 0;
        let counts = !fact.known_change && !fact.artifacts.is_empty();
        if counts && !changed {
            log.violation_at(event, format_args!("65: {} changed nothing, and counts as a change", fact.tool));
        }
        let is_new = (fact.new_reading && is_new_text) || (counts && changed);
        self.new_results += usize::from(is_new);
        self.new_now += usize::from(is_new);
    }

    /// Whether the world has something now that it had not had: white space and a return to an earlier text apart.
    fn is_change(&mut self, log: &RunLog<'_>, mutation: &Mutation) -> bool {
        match mutation {
            Mutation::CreateDocument { title, content, .. } => self.made.insert((folded(title), folded(content))),
            Mutation::CreateTask { title, description, .. } => self.made.insert((folded(title), folded(description))),
            Mutation::UpdateDocument { id, expected_version: Some(before), title, props, .. } => {
                title.is_some() || props.is_some() || is_new_text(log, id.0, *before)
            }
            Mutation::UpdateTask { id, expected_version, props, .. } => {
                props.is_some() || is_new_text(log, id.0, *expected_version)
            }
            _ => true,
        }
    }

    fn iteration(&mut self, log: &RunLog<'_>, event: &Event, fact: &IterationCompleted) {
        // A step that was done counts for work of any iteration before, and work counts for one step.
        let steps = self.steps_done.len() > self.steps_before && self.new_results + self.executors_done > 0;
        if fact.progress.made && self.new_now == 0 && !steps && !self.verified {
            let why = fact.progress.reasons.join(", ");
            log.violation_at(event, format_args!("65: progress ({why}) although nothing changed and nothing was new"));
        }
        (self.new_now, self.steps_before, self.verified) = (0, self.steps_done.len(), false);
    }
}

/// Whether the version after `before` has a text that no earlier version had.
fn is_new_text(log: &RunLog<'_>, id: Uuid, before: i64) -> bool {
    let text = |version| match log.world.record.text(id, version)? {
        EntityText::Document(text) => Some(folded(text)),
        EntityText::Task { title, state, description } => {
            Some(folded(&format!("{title} {} {description}", state.name())))
        }
    };
    let now = text(before + 1);
    now.is_none() || (1..=before).all(|version| text(version) != now)
}
