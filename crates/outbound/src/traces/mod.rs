//! Exports traces of runs to a collector over OTLP. Spans are made from the log, so a restart loses none; how far each run was
//! exported is in the database. A span whose export was interrupted is sent again with the same id.

mod exporter;
mod span;
mod span_builder;

pub use exporter::{Collector, Exporter};

use engine::ids::RunId;
use exporter::NotAccepted;
use runtime::live::Live;
use runtime::ports::{Log, StoreError};
use span_builder::SpanBuilder;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use store::SqlStore;
use tokio_util::sync::CancellationToken;

const PAGE: usize = 500;
/// Spans in one request.
const MAX_SPANS_PER_REQUEST: usize = 256;
const RUNS_AT_ONCE: usize = 16;
/// Another process may export a run this long after its exporter died.
const CLAIM_TIME: Duration = Duration::from_secs(60);
/// What happens within this time is exported together.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// Runs that changed without a message on `live` are found this often.
const POLL_INTERVAL: Duration = Duration::from_secs(60);
/// The longest wait between two attempts at a collector that accepts nothing.
const MAX_BACKOFF: Duration = Duration::from_secs(60);
/// How long the last export may take when the process stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);
/// Unfinished runs whose builder is cached; the others are folded again from their log.
const MAX_CACHED_BUILDERS: usize = 1_000;

pub struct Tracer {
    store: Arc<SqlStore>,
    exporter: Exporter,
    builders: HashMap<RunId, SpanBuilder>,
}

/// Why the export waits.
enum Pause {
    Store(StoreError),
    Collector(NotAccepted),
}

impl From<StoreError> for Pause {
    fn from(error: StoreError) -> Pause {
        Pause::Store(error)
    }
}

impl Tracer {
    pub fn new(store: Arc<SqlStore>, exporter: Exporter) -> Tracer {
        Tracer { store, exporter, builders: HashMap::new() }
    }

    /// Exports until `stop`, then once more what is already in the log.
    pub async fn serve(mut self, live: Live, stop: CancellationToken) {
        let mut changed = live.changed();
        let (mut changed_runs, mut failures) = (None, 0);
        while !stop.is_cancelled() {
            let wait = match self.round(changed_runs.as_ref()).await {
                Ok(()) => {
                    failures = 0;
                    BATCH_DELAY
                }
                Err(pause) => {
                    failures += 1;
                    backoff(&pause, failures)
                }
            };
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(wait) => {}
            }
            let first = tokio::select! {
                () = stop.cancelled() => break,
                changed = changed.recv(), if failures == 0 => changed.ok(),
                () = tokio::time::sleep(if failures == 0 { POLL_INTERVAL } else { Duration::ZERO }) => None,
            };
            changed_runs = first.map(|run| BTreeSet::from([run]));
            if let Some(changed_runs) = &mut changed_runs {
                while let Ok(run) = changed.try_recv() {
                    changed_runs.insert(run);
                }
            }
        }
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.round(None)).await;
    }

    /// Exports everything there is, of these runs or of all.
    async fn round(&mut self, of: Option<&BTreeSet<RunId>>) -> Result<(), Pause> {
        if of.is_none() {
            self.store.begin_tracing().await?;
        }
        let of: Option<Vec<RunId>> = of.map(|runs| runs.iter().copied().collect());
        loop {
            let taken = self.store.take_unexported(of.as_deref(), RUNS_AT_ONCE, CLAIM_TIME).await?;
            if taken.is_empty() {
                return Ok(());
            }
            let mut failed = None;
            for (run, mut exported) in taken {
                if failed.is_none() {
                    failed = self.export(run, &mut exported).await.err();
                }
                self.store.mark_exported(run, exported, Duration::ZERO).await?;
            }
            if let Some(pause) = failed {
                return Err(pause);
            }
        }
    }

    /// The spans that end after `exported`, which moves along. After a failure the run is folded again: its builder has passed
    /// events whose spans were not sent.
    async fn export(&mut self, run: RunId, exported: &mut u64) -> Result<(), Pause> {
        let mut builder = self.builders.remove(&run).unwrap_or_else(|| SpanBuilder::new(run));
        let mut spans = Vec::new();
        loop {
            let page = self.store.events(run, builder.seq, PAGE).await?;
            let is_last = page.len() < PAGE;
            for event in page {
                let ended = builder.take(&event.decode());
                if builder.seq > *exported {
                    spans.extend(ended);
                }
            }
            if spans.len() >= MAX_SPANS_PER_REQUEST || (is_last && !spans.is_empty()) {
                for some in spans.chunks(MAX_SPANS_PER_REQUEST) {
                    self.exporter.send(some).await.map_err(Pause::Collector)?;
                }
                spans.clear();
                *exported = builder.seq.max(*exported);
                self.store.mark_exported(run, *exported, CLAIM_TIME).await?;
            }
            if is_last {
                break;
            }
        }
        *exported = builder.seq.max(*exported);
        if !builder.is_over() && self.builders.len() < MAX_CACHED_BUILDERS {
            self.builders.insert(run, builder);
        }
        Ok(())
    }
}

fn backoff(pause: &Pause, failures: u32) -> Duration {
    let doubled = BATCH_DELAY.saturating_mul(1 << failures.min(6)).min(MAX_BACKOFF);
    match pause {
        Pause::Store(error) => {
            tracing::warn!(%error, "the export of traces waits for the database");
            doubled
        }
        Pause::Collector(NotAccepted { why, retry_after }) => {
            tracing::warn!(why, "the export of traces waits for the collector");
            doubled.max(*retry_after)
        }
    }
}
