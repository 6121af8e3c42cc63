//! Takes people's commands to runs. The driver of a run in this process decides them itself, between two commits. Any other
//! run is folded here and the command is appended at the expected seq; a driver in another process notices that.

use crate::live::Live;
use crate::load::{is_stored, load};
use crate::ports::{Append, AppendError, Claimed, Clock, Log, StoreError};
use engine::actor::Actor;
use engine::batch::RunRow;
use engine::event::Event;
use engine::facts::run::Queued;
use engine::ids::RunId;
use engine::projection;
use engine::run::{Command, Refusal, Run, check_brief};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};

/// A command to a driver, with the channel for its answer.
pub(crate) struct PendingCommand {
    pub command: Command,
    pub actor: Actor,
    pub reply: oneshot::Sender<Result<RunRow, CommandError>>,
}

pub(crate) enum DriverMessage {
    PendingCommand(PendingCommand),
    /// The log ends here now; another process may have appended.
    LogGrew {
        last_seq: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("there is no run {0}")]
    NotFound(RunId),
    #[error("{}", .0.message)]
    Refused(Refusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The entry of every command to a run, and of every new run.
#[derive(Clone)]
pub struct RunCommands {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub log: Arc<dyn Log>,
    pub clock: Arc<dyn Clock>,
    pub live: Live,
    pub drivers: Mutex<HashMap<RunId, mpsc::UnboundedSender<DriverMessage>>>,
    /// Runs passed to `drive`, until they are at rest.
    pub wanted: Mutex<HashSet<RunId>>,
    /// Notified when there may be something to claim.
    pub work_available: Notify,
    /// Set once this process cannot go on driving with its store: the reason.
    pub unable: watch::Sender<Option<String>>,
}

/// How often one command may lose to other appends before it is given up.
const MAX_APPEND_ATTEMPTS: usize = 50;
/// The time between a claim in this process and the mailbox of its new driver.
const DRIVER_START_DELAY: Duration = Duration::from_millis(5);
/// The lease of a command on a run that nobody drove: no driver starts meanwhile.
const COMMAND_LEASE: Duration = Duration::from_secs(5);
/// How often a waiting client looks for a run that another process drives.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

impl Inner {
    pub(crate) fn drivers(&self) -> MutexGuard<'_, HashMap<RunId, mpsc::UnboundedSender<DriverMessage>>> {
        self.drivers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wanted(&self) -> MutexGuard<'_, HashSet<RunId>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunCommands {
    pub fn new(log: Arc<dyn Log>, clock: Arc<dyn Clock>) -> RunCommands {
        RunCommands::with_live(log, clock, Live::default())
    }

    /// Publishes what is decided here on this `live`.
    pub fn with_live(log: Arc<dyn Log>, clock: Arc<dyn Clock>, live: Live) -> RunCommands {
        let inner = Inner {
            log,
            clock,
            live,
            drivers: Mutex::default(),
            wanted: Mutex::default(),
            work_available: Notify::new(),
            unable: watch::Sender::default(),
        };
        RunCommands { inner: Arc::new(inner) }
    }

    pub fn live(&self) -> &Live {
        &self.inner.live
    }

    pub fn log(&self) -> &Arc<dyn Log> {
        &self.inner.log
    }

    pub async fn create(&self, id: RunId, brief: Queued, actor: Actor) -> Result<RunRow, CommandError> {
        check_brief(&brief).map_err(CommandError::Refused)?;
        let now = self.inner.clock.now();
        let Some(run) = Run::create(id, brief, actor, now) else {
            let refusal = Refusal::new("invalid_brief", "the run's brief cannot be written down");
            return Err(CommandError::Refused(refusal));
        };
        match self.append(run).await {
            Ok(row) => Ok(row),
            Err(AppendError::Store(error)) => Err(error.into()),
            // The caller may not be allowed to see that run, so nothing is said about it.
            Err(_) => {
                let message = format!("the id {id} cannot be used for a run; leave it out and one is chosen");
                Err(CommandError::Refused(Refusal::new("id_taken", message)))
            }
        }
    }

    pub async fn command(&self, id: RunId, command: Command, actor: Actor) -> Result<RunRow, CommandError> {
        match self.ask_driver(id, &command, actor).await {
            Some(answer) => answer,
            None => self.record(id, command, actor).await,
        }
    }

    /// The answer of the driver in this process. `None`: there is none, or it ended before it read the command, which is
    /// still ours to record.
    async fn ask_driver(&self, id: RunId, command: &Command, actor: Actor) -> Option<Result<RunRow, CommandError>> {
        let driver = self.inner.drivers().get(&id).cloned()?;
        let (reply, answer) = oneshot::channel();
        let pending = PendingCommand { command: command.clone(), actor, reply };
        driver.send(DriverMessage::PendingCommand(pending)).ok()?;
        answer.await.ok()
    }

    async fn record(&self, id: RunId, command: Command, actor: Actor) -> Result<RunRow, CommandError> {
        // These settle how long it has worked, so it matters whether anybody was at work until now.
        if !matches!(command, Command::Pause | Command::Cancel) {
            return self.record_as(id, command, actor, None).await;
        }
        let log = &self.inner.log;
        let idle_claim = log.claim(&format!("command:{id}"), 1, COMMAND_LEASE, Some(id), &[]).await?.pop();
        if idle_claim.is_none() {
            // Somebody has taken it up. If that was here and now, they know since when nobody was at work, and we do not.
            tokio::time::sleep(DRIVER_START_DELAY).await;
            if let Some(answer) = self.ask_driver(id, &command, actor).await {
                return answer;
            }
        }
        let recorded = self.record_as(id, command, actor, idle_claim.as_ref()).await;
        if let Some(claimed) = idle_claim {
            // What was recorded stays recorded; a lease that is not given back lapses.
            let _ = log.release(&[claimed.lease]).await;
        }
        recorded
    }

    /// `idle_claim`: the claim of a run that nobody drives; it says when somebody last did.
    async fn record_as(
        &self,
        id: RunId,
        command: Command,
        actor: Actor,
        idle_claim: Option<&Claimed>,
    ) -> Result<RunRow, CommandError> {
        // By the clock that all processes share: the run's driver may be elsewhere.
        let time = self.inner.log.time().await?;
        for _ in 0..MAX_APPEND_ATTEMPTS {
            let mut run = load(self.inner.log.as_ref(), id).await?.ok_or(CommandError::NotFound(id))?;
            let now = time.max(run.shared.updated_at);
            if let Some(claimed) = idle_claim {
                run.find_abandoned(claimed.last_seen, now);
            }
            run.command(command.clone(), actor, now).map_err(CommandError::Refused)?;
            if !run.has_draft() {
                return Ok(projection::run_row(&run));
            }
            match self.append(run).await {
                Ok(row) => return Ok(row),
                Err(AppendError::Store(error)) => return Err(error.into()),
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
        Err(StoreError::Busy(format!("run {id} is changing too fast to take the command; try again")).into())
    }

    async fn append(&self, mut run: Run) -> Result<RunRow, AppendError> {
        let batch = run.take_batch();
        let events = batch.events.clone();
        let rows = projection::rows(&run, &events);
        let row = rows.run.clone();
        let log = self.inner.log.as_ref();
        if let Err(error) = log.append(Append { batch, rows, fence: None, claim_for: None }).await {
            // Not knowing is an error of its own: trying again could write it twice.
            let stored = is_stored(log, &events).await?;
            if !stored {
                return Err(error);
            }
        }
        self.inner.live.publish(&events);
        if let Some(driver) = self.inner.drivers().get(&row.id) {
            let _ = driver.send(DriverMessage::LogGrew { last_seq: row.last_seq });
        }
        self.inner.work_available.notify_one();
        Ok(row)
    }

    /// Returns when a run can neither be driven nor marked as failed here, with the reason: waiting for its end is in
    /// vain. Other runs may go on.
    pub async fn unable(&self) -> String {
        let mut unable = self.inner.unable.subscribe();
        loop {
            if let Some(why) = unable.borrow_and_update().clone() {
                return why;
            }
            if unable.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Asks this process to drive the run, even with `ClaimPolicy::RequestedOnly`.
    pub fn drive(&self, id: RunId) {
        self.inner.wanted().insert(id);
        self.inner.work_available.notify_one();
    }

    /// The run once it is no longer queued or running, whoever drives it.
    pub async fn settled(&self, id: RunId) -> Result<RunRow, CommandError> {
        let mut lifecycle = self.inner.live.lifecycle();
        loop {
            let row = self.inner.log.run_row(id).await?.ok_or(CommandError::NotFound(id))?;
            if !row.status.is_live() {
                return Ok(row);
            }
            tokio::select! {
                biased;
                () = lifecycle_changed(&mut lifecycle, id) => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
    }
}

/// Until the run's next `run.*` event, or until messages were missed.
async fn lifecycle_changed(lifecycle: &mut broadcast::Receiver<Arc<Event>>, run: RunId) {
    loop {
        match lifecycle.recv().await {
            Ok(event) if event.run_id != run => {}
            _ => return,
        }
    }
}
