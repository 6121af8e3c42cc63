//! The view of a run after any event of its log. A separate fold, lighter than the one that drives a run (no plans, no
//! accounts), so that it can be stored as a checkpoint and continued from the middle of the log. It decides nothing;
//! tests compare it with the full fold.

mod snapshot;
mod tree_columns;

pub use tree_columns::{Columns, TreeColumns};

use crate::batch::{RunRow, StepRow};
use crate::event::Event;
use crate::facts::{self, Fact};
use crate::homework;
use crate::metrics::{Metrics, Running};
use crate::projection::{self, KindFields};
use crate::run::{Kind, Rules, Shared};
use crate::task;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

/// Stored checkpoints of another format are folded anew.
pub const CHECKPOINT_FORMAT: i64 = 4;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct View {
    shared: Shared,
    body: Body,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Body {
    /// The machine's own state is bounded in everything but ids, and so small enough.
    Homework {
        state: Box<homework::State>,
        /// Rows as JSON text: as values they take ten times the memory, and there is one per iteration.
        iterations: BTreeMap<u32, Box<RawValue>>,
    },
    Tree(Box<TreeColumns>),
    Task(Box<task::State>),
}

impl View {
    /// The view after a run's first event; `None` when the log does not begin with `run.queued`.
    pub fn from_first_event(first: &Event) -> Option<View> {
        let Fact::Run(facts::RunFact::Queued(brief)) = &first.fact else { return None };
        let body = match brief.kind {
            Kind::Homework => Body::Homework { state: Box::default(), iterations: BTreeMap::new() },
            Kind::Tree => Body::Tree(Box::default()),
            Kind::Task => Body::Task(Box::default()),
        };
        let mut view = View { shared: Shared::new(first.run_id, brief.clone(), first.at), body };
        view.apply(first);
        Some(view)
    }

    pub fn apply(&mut self, event: &Event) {
        if let Body::Tree(columns) = &mut self.body {
            // Before the shared state: after that, it is no longer known whether the call was in flight.
            columns.apply(&self.shared, event);
        }
        self.shared.apply(event);
        match &mut self.body {
            Body::Homework { state, iterations } => {
                state.apply(&self.shared, event);
                for row in projection::iterations(self.shared.id, std::slice::from_ref(event)) {
                    iterations.extend(to_raw_value(&row).ok().map(|written| (row.iteration, written)));
                }
            }
            Body::Task(state) => state.apply(&self.shared, event),
            Body::Tree(_) => {}
        }
    }

    pub fn seq(&self) -> u64 {
        self.shared.last_seq
    }

    fn iterations(&self) -> Vec<&RawValue> {
        match &self.body {
            Body::Homework { iterations, .. } => iterations.values().map(Box::as_ref).collect(),
            Body::Tree(_) | Body::Task(_) => Vec::new(),
        }
    }

    pub fn tree(&self) -> Option<&TreeColumns> {
        match &self.body {
            Body::Tree(columns) => Some(columns),
            Body::Homework { .. } | Body::Task(_) => None,
        }
    }

    /// A task's steps so far.
    pub fn steps(&self) -> Option<Vec<StepRow>> {
        match &self.body {
            Body::Task(state) => Some(state.rows(self.shared.id)),
            Body::Homework { .. } | Body::Tree(_) => None,
        }
    }

    /// The run object at this event.
    pub fn run(&self) -> RunRow {
        match &self.body {
            Body::Homework { state, .. } => {
                let activity = self.shared.activity(|| state.activity(&self.shared));
                projection::row(&self.shared, KindFields::homework(&self.shared, state), activity)
            }
            Body::Tree(columns) => {
                let activity = self.shared.activity(|| columns.describe(&self.shared));
                projection::row(&self.shared, columns.kind_fields(), activity)
            }
            Body::Task(state) => {
                let activity = self.shared.activity(|| state.activity(&self.shared));
                projection::row(&self.shared, KindFields::task(state), activity)
            }
        }
    }

    /// The run between its newest event and the next one: the metrics up to `now`, and what runs then.
    pub fn at(&self, now: Timestamp) -> (Metrics, Option<Running>) {
        let metrics = self.shared.metrics_at(now);
        let running = self.shared.running_at(now, metrics.cost_usd);
        (metrics, running)
    }

    /// The same of the newest iteration of homework, with its number.
    pub fn iteration_at(&self, now: Timestamp) -> Option<(u32, Metrics, Option<Running>)> {
        let Body::Homework { state, .. } = &self.body else { return None };
        let metrics = self.shared.metrics_at(now).since(&state.current.metrics_before);
        let running = self.shared.running_at(now, metrics.cost_usd);
        Some((state.iteration, metrics, running))
    }

    /// The text of a checkpoint, in the format `CHECKPOINT_FORMAT`.
    pub fn encode(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    pub fn decode(text: &str) -> serde_json::Result<View> {
        serde_json::from_str(text)
    }
}
