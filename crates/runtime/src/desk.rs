//! Where people's commands arrive. A run driven in this process decides them itself, between two
//! commits; any other run is folded here and the command appended by its expected seq, which its
//! driver elsewhere notices.

use crate::live::Live;
use crate::load::{is_stored, load};
use crate::ports::{Append, AppendError, Claimed, Clock, Store, StoreError};
use engine::actor::Actor;
use engine::batch::RunRow;
use engine::event::Event;
use engine::facts::run::Queued;
use engine::ids::RunId;
use engine::projection;
use engine::run::{Command, Refusal, Run, check_brief};
use engine::workspace::Scope;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};

/// A command to a driver, with who waits for the answer.
pub(crate) struct Order {
    pub command: Command,
    pub actor: Actor,
    pub reply: oneshot::Sender<Result<RunRow, CommandError>>,
}

pub(crate) enum Note {
    Order(Order),
    /// The log ends here now, perhaps by someone else's hand.
    Grown {
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

#[derive(Clone)]
pub struct Desk {
    pub(crate) office: Arc<Office>,
}

pub(crate) struct Office {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub live: Live,
    pub drivers: Mutex<HashMap<RunId, mpsc::UnboundedSender<Note>>>,
    pub wanted: Mutex<HashSet<RunId>>,
    /// Rung when there may be something to claim.
    pub bell: Notify,
    /// Why this process cannot go on driving with its store, once it cannot.
    pub unable: watch::Sender<Option<String>>,
}

/// Appends of one command that may meet a moving log before we give up.
const TRIES: usize = 50;
/// From a claim to the mailbox of whoever made it.
const TAKING_UP: Duration = Duration::from_millis(5);
/// For how long a command may keep drivers away from a run that nobody drove.
const ABSENCE: Duration = Duration::from_secs(5);
/// How often a waiting client looks for a run that another process drives.
const LOOK_EVERY: Duration = Duration::from_millis(250);

impl Office {
    pub fn drivers(&self) -> MutexGuard<'_, HashMap<RunId, mpsc::UnboundedSender<Note>>> {
        self.drivers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wanted(&self) -> MutexGuard<'_, HashSet<RunId>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Desk {
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Desk {
        Desk::heard_by(store, clock, Live::default())
    }

    /// What is decided here is told there.
    pub fn heard_by(store: Arc<dyn Store>, clock: Arc<dyn Clock>, live: Live) -> Desk {
        let office = Office {
            store,
            clock,
            live,
            drivers: Mutex::default(),
            wanted: Mutex::default(),
            bell: Notify::new(),
            unable: watch::Sender::default(),
        };
        Desk { office: Arc::new(office) }
    }

    pub fn live(&self) -> &Live {
        &self.office.live
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.office.store
    }

    pub async fn create(&self, id: RunId, brief: Queued, actor: Actor) -> Result<RunRow, CommandError> {
        check_brief(&brief).map_err(CommandError::Refused)?;
        let now = self.office.clock.now();
        let Some(run) = Run::create(id, brief, actor, now) else {
            let refusal = Refusal { slug: "invalid_brief", message: "the run's brief cannot be written down".into() };
            return Err(CommandError::Refused(refusal));
        };
        match self.append(run).await {
            Ok(row) => Ok(row),
            Err(AppendError::Store(error)) => Err(error.into()),
            // Whose run that is and how far it got is nobody else's business.
            Err(_) => {
                let message = format!("the id {id} cannot be used for a run; leave it out and one is chosen");
                Err(CommandError::Refused(Refusal { slug: "id_taken", message }))
            }
        }
    }

    pub async fn command(&self, id: RunId, command: Command, actor: Actor) -> Result<RunRow, CommandError> {
        match self.told_driver(id, &command, actor).await {
            Some(answer) => answer,
            None => self.record(id, command, actor).await,
        }
    }

    /// What the driver in this process says to it. `None`: there is none, or it left with the order unread, and the command
    /// is still ours to record.
    async fn told_driver(&self, id: RunId, command: &Command, actor: Actor) -> Option<Result<RunRow, CommandError>> {
        let driver = self.office.drivers().get(&id).cloned()?;
        let (reply, answer) = oneshot::channel();
        let order = Order { command: command.clone(), actor, reply };
        driver.send(Note::Order(order)).ok()?;
        answer.await.ok()
    }

    async fn record(&self, id: RunId, command: Command, actor: Actor) -> Result<RunRow, CommandError> {
        // These settle how long it has worked, so it matters whether anybody was at work until now.
        if !matches!(command, Command::Pause | Command::Cancel) {
            return self.record_as(id, command, actor, None).await;
        }
        let store = &self.office.store;
        let absence = store.claim(&format!("desk:{id}"), 1, ABSENCE, Some(id), &[]).await?.pop();
        if absence.is_none() {
            // Somebody has taken it up. If that was here and now, they know since when nobody was at work, and we do not.
            tokio::time::sleep(TAKING_UP).await;
            if let Some(answer) = self.told_driver(id, &command, actor).await {
                return answer;
            }
        }
        let recorded = self.record_as(id, command, actor, absence.as_ref()).await;
        if let Some(claimed) = absence {
            // What was recorded stays recorded; a lease that is not given back lapses.
            let _ = store.release(&[claimed.lease]).await;
        }
        recorded
    }

    /// `absence`: nobody drives the run, and this is when somebody last did.
    async fn record_as(
        &self,
        id: RunId,
        command: Command,
        actor: Actor,
        absence: Option<&Claimed>,
    ) -> Result<RunRow, CommandError> {
        // By the clock that all processes share: the run's driver may be elsewhere.
        let time = self.office.store.time().await?;
        for _ in 0..TRIES {
            let mut run = load(self.office.store.as_ref(), id).await?.ok_or(CommandError::NotFound(id))?;
            let now = time.max(run.shared.updated_at);
            if let Some(claimed) = absence {
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
        let store = self.office.store.as_ref();
        if let Err(error) = store.append(Append { batch, rows, fence: None, claim_for: None }).await {
            // Not knowing is an error of its own: trying again could write it twice.
            let stored = is_stored(store, &events).await?;
            if !stored {
                return Err(error);
            }
        }
        self.office.live.publish(&events);
        if let Some(driver) = self.office.drivers().get(&row.id) {
            let _ = driver.send(Note::Grown { last_seq: row.last_seq });
        }
        self.office.bell.notify_one();
        Ok(row)
    }

    /// Returns when a run can neither be driven nor marked as failed here, with the reason: waiting for its end is in
    /// vain. Other runs may go on.
    pub async fn unable(&self) -> String {
        let mut told = self.office.unable.subscribe();
        loop {
            if let Some(why) = told.borrow_and_update().clone() {
                return why;
            }
            if told.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Ask this process to drive the run too, though it is not on general duty.
    pub fn drive(&self, id: RunId) {
        self.office.wanted().insert(id);
        self.office.bell.notify_one();
    }

    /// The run once it is no longer queued or running, whoever drives it.
    pub async fn settled(&self, id: RunId) -> Result<RunRow, CommandError> {
        let mut turns = self.office.live.turns();
        loop {
            let row = self.office.store.run(&Scope::Platform, id).await?.ok_or(CommandError::NotFound(id))?;
            if !row.status.is_live() {
                return Ok(row);
            }
            tokio::select! {
                biased;
                () = turned(&mut turns, id) => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }
}

/// Until this run's life takes a turn, or something was missed.
async fn turned(turns: &mut broadcast::Receiver<Arc<Event>>, run: RunId) {
    loop {
        match turns.recv().await {
            Ok(event) if event.run_id != run => {}
            _ => return,
        }
    }
}
