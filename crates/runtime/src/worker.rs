//! Holds leases: claims runs that nobody drives, gives each a driver, renews the leases, and releases them when the process
//! stops.

use crate::breaker::Breaker;
use crate::driver::{DriveEnd, Driver};
use crate::live::Live;
use crate::ports::{Append, Claimed, Clock, Lease, Log, Performer, StoreError};
use crate::run_commands::{DriverMessage, RunCommands};
use engine::ids::RunId;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Which runs a worker claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimPolicy {
    /// Every live run of the database.
    AnyRun,
    /// Only those passed to `RunCommands::drive`.
    RequestedOnly,
}

#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// Unique per process: leases are held by it.
    pub id: String,
    /// How many runs it drives at once.
    pub slots: usize,
    pub lease: Duration,
    pub claims: ClaimPolicy,
    /// Whether other processes use this database too. They may append commands to runs that this worker drives.
    pub shared: bool,
}

/// Ready runs are looked for at least this often, even if no wakeup arrives.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How long a database file on this machine may fail before waiting clients are told.
const DATABASE_GRACE: Duration = Duration::from_secs(30);
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

pub struct Worker {
    commands: RunCommands,
    performer: Arc<dyn Performer>,
    breaker: Arc<Breaker>,
    config: WorkerConfig,
    held: BTreeMap<RunId, (Lease, CancellationToken)>,
    drivers: JoinSet<DriveEnd>,
    tasks: HashMap<Id, Lease>,
    /// Runs that this process cannot read or drive. A claim that returns one is left to lapse, so that another process can try.
    unusable: HashSet<RunId>,
    stopping: CancellationToken,
    /// Since when every claim and renewal failed.
    failing_since: Option<Instant>,
}

impl Worker {
    pub fn new(
        log: Arc<dyn Log>,
        performer: Arc<dyn Performer>,
        clock: Arc<dyn Clock>,
        config: WorkerConfig,
    ) -> Worker {
        Worker::with_live(Live::default(), log, performer, clock, config)
    }

    /// Publishes what is committed on this `live`.
    pub fn with_live(
        live: Live,
        log: Arc<dyn Log>,
        performer: Arc<dyn Performer>,
        clock: Arc<dyn Clock>,
        config: WorkerConfig,
    ) -> Worker {
        Worker {
            commands: RunCommands::with_live(log, clock, live),
            performer,
            breaker: Arc::default(),
            config,
            held: BTreeMap::new(),
            drivers: JoinSet::new(),
            tasks: HashMap::new(),
            unusable: HashSet::new(),
            stopping: CancellationToken::new(),
            failing_since: None,
        }
    }

    pub fn commands(&self) -> RunCommands {
        self.commands.clone()
    }

    /// Drive until `cancel`, then stop the drivers, which wait for calls in flight for a limited time, and release every lease.
    pub async fn serve(mut self, cancel: CancellationToken) {
        let mut renewal = tokio::time::interval(self.config.lease / 3);
        let mut watch = tokio::time::interval(WATCH_INTERVAL);
        renewal.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        watch.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut poll = tokio::time::interval(POLL_INTERVAL);
        poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let commands = self.commands.clone();
            // Renewing and watching free no slot, so they do not lead to a claim.
            tokio::select! {
                biased;
                () = cancel.cancelled() => break,
                _ = renewal.tick() => { self.renew().await; continue }
                _ = watch.tick(), if self.config.shared && !self.held.is_empty() => { self.watch().await; continue }
                Some(ended) = self.drivers.join_next_with_id(), if !self.drivers.is_empty() => self.driver_ended(ended).await,
                () = commands.inner.work_available.notified() => {}
                () = commands.inner.log.wakeup(POLL_INTERVAL) => {}
                _ = poll.tick() => {}
            }
            self.claim().await;
        }
        self.drain().await;
    }

    async fn claim(&mut self) {
        let free = self.config.slots.saturating_sub(self.held.len());
        if free == 0 {
            return;
        }
        let claims: Vec<(usize, Option<RunId>)> = match self.config.claims {
            ClaimPolicy::AnyRun => vec![(free, None)],
            ClaimPolicy::RequestedOnly => {
                let mut asked: Vec<RunId> =
                    self.commands.inner.wanted().iter().copied().filter(|id| !self.held.contains_key(id)).collect();
                asked.sort();
                asked.into_iter().take(free).map(|id| (1, Some(id))).collect()
            }
        };
        for (limit, only) in claims {
            // A lease lapses when the database is away for long; its driver lives on, with answers that are paid for.
            let driving: Vec<RunId> = self.held.keys().copied().collect();
            match self.commands.log().claim(&self.config.id, limit, self.config.lease, only, &driving).await {
                Ok(claimed) => {
                    self.failing_since = None;
                    claimed.into_iter().for_each(|claimed| self.spawn_driver(claimed));
                }
                Err(error) => {
                    tracing::warn!(%error, "claiming postponed");
                    self.store_failed(&error);
                }
            }
        }
    }

    fn spawn_driver(&mut self, claimed: Claimed) {
        let id = claimed.lease.run_id;
        if self.unusable.contains(&id) {
            return;
        }
        let (sender, messages) = mpsc::unbounded_channel();
        let mailbox = sender.downgrade();
        self.commands.inner.drivers().insert(id, sender);
        // A child: a lost lease stops one driver, the process stops all.
        let stopping = self.stopping.child_token();
        let lease = claimed.lease.clone();
        self.held.insert(id, (lease.clone(), stopping.clone()));
        let (commands, performer, breaker) = (self.commands.clone(), self.performer.clone(), self.breaker.clone());
        let task = self.drivers.spawn(async move {
            let _guard = MailboxGuard { commands: commands.clone(), run: id, mailbox };
            Driver::drive(commands, performer, breaker, claimed, messages, stopping).await
        });
        self.tasks.insert(task.id(), lease);
    }

    async fn driver_ended(&mut self, ended: Result<(Id, DriveEnd), JoinError>) {
        let (task, end) = match ended {
            Ok(ended) => ended,
            Err(error) => (error.id(), DriveEnd::Unusable(format!("the driver panicked: {error}"))),
        };
        let Some(lease) = self.tasks.remove(&task) else { return };
        let id = lease.run_id;
        if self.held.get(&id).is_none_or(|(held, _)| *held != lease) {
            return;
        }
        self.held.remove(&id);
        match end {
            DriveEnd::AtRest => {
                self.commands.inner.wanted().remove(&id);
                self.release(vec![lease]).await;
            }
            DriveEnd::Drained => self.release(vec![lease]).await,
            DriveEnd::LeaseLost => tracing::warn!(run = %id, "lease lost; another worker goes on"),
            DriveEnd::Unusable(why) => self.give_up_run(lease, why).await,
        }
    }

    async fn release(&self, leases: Vec<Lease>) {
        if let Err(error) = self.commands.log().release(&leases).await {
            tracing::warn!(%error, "leases not released; they lapse by themselves");
        }
    }

    /// One unreadable run never stops the others. It is marked failed from its row, because its log cannot be folded.
    async fn give_up_run(&mut self, lease: Lease, why: String) {
        tracing::error!(run = %lease.run_id, why, "run cannot be driven here");
        self.unusable.insert(lease.run_id);
        self.commands.inner.wanted().remove(&lease.run_id);
        if let Err(error) = self.mark_failed(&lease, &why).await {
            tracing::error!(run = %lease.run_id, %error, "the failed run could not be marked");
            self.commands.inner.unable.send_replace(Some(why));
        }
    }

    async fn mark_failed(&self, lease: &Lease, why: &str) -> Result<(), String> {
        let row = self.commands.log().run_row(lease.run_id).await;
        let row = row.map_err(|error| error.to_string())?.ok_or("it has no row")?;
        let (batch, rows) = engine::projection::fail_unreadable(row, why, self.commands.inner.clock.now());
        let events = batch.events.clone();
        let append = Append { batch, rows, fence: Some(lease.clone()), claim_for: None };
        self.commands.log().append(append).await.map_err(|error| error.to_string())?;
        // No driver publishes this: clients that wait for the run's end learn of it only here.
        self.commands.inner.live.publish(&events);
        Ok(())
    }

    async fn renew(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let leases: Vec<Lease> = self.held.values().map(|(lease, _)| lease.clone()).collect();
        match self.commands.log().renew(&leases, self.config.lease).await {
            Ok(lost) => {
                self.failing_since = None;
                for id in lost {
                    if let Some((_, stop)) = self.held.get(&id) {
                        stop.cancel();
                    }
                }
            }
            Err(error) => {
                tracing::warn!(%error, "leases not renewed");
                self.store_failed(&error);
            }
        }
    }

    /// A shared database comes back. A file on this machine that fails for long does not, so waiting clients are told.
    fn store_failed(&mut self, error: &StoreError) {
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        let lasting =
            !self.config.shared && matches!(error, StoreError::Unavailable(_)) && since.elapsed() > DATABASE_GRACE;
        if lasting || matches!(error, StoreError::Unusable(_)) {
            self.commands.inner.unable.send_replace(Some(error.to_string()));
        }
    }

    /// Another process may have recorded commands: tells the drivers of those runs.
    async fn watch(&self) {
        let Ok(heads) = self.commands.log().last_seqs_of_worker(&self.config.id).await else { return };
        let drivers = self.commands.inner.drivers();
        for (id, last_seq) in heads {
            if let Some(driver) = drivers.get(&id) {
                let _ = driver.send(DriverMessage::LogGrew { last_seq });
            }
        }
    }

    async fn drain(&mut self) {
        self.stopping.cancel();
        while let Some(ended) = self.drivers.join_next_with_id().await {
            self.driver_ended(ended).await;
        }
        let left: Vec<Lease> = self.held.values().map(|(lease, _)| lease.clone()).collect();
        if !left.is_empty() {
            self.release(left).await;
        }
    }
}

/// Removes the driver's mailbox when it ends, even by panic, so that commands are recorded without it.
struct MailboxGuard {
    commands: RunCommands,
    run: RunId,
    mailbox: mpsc::WeakUnboundedSender<DriverMessage>,
}

impl Drop for MailboxGuard {
    fn drop(&mut self) {
        let mut drivers = self.commands.inner.drivers();
        // The mailbox of a later driver of the same run stays.
        if self
            .mailbox
            .upgrade()
            .is_some_and(|own| drivers.get(&self.run).is_some_and(|known| known.same_channel(&own)))
        {
            drivers.remove(&self.run);
        }
    }
}
