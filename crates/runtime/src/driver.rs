//! One run, from claim to rest: fold, do what is due, commit, act, wait.
//!
//! The run in memory is ahead of the log by one draft at most. When the draft cannot be committed (the log moved, a document
//! changed, the database is away) the run is folded again and every input since the last commit is applied again; a paid
//! answer is never thrown away.

use crate::breaker::Breaker;
use crate::load::{is_stored, load};
use crate::perform::perform;
use crate::ports::{Append, AppendError, Claimed, Lease, Performer, StoreError};
use crate::run_clock::RunClock;
use crate::run_commands::{CommandError, DriverMessage, PendingCommand, RunCommands};
use crate::views::CheckpointWriter;
use engine::actor::Actor;
use engine::batch::RunRow;
use engine::effect::{CallError, CallFailure, EffectAttempt, EffectId, Outcome, ToolOutcome, Work};
use engine::event::Event;
use engine::projection;
use engine::run::{Command, Parked, Run, Status};
use engine::time::Timestamp;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// How long calls in flight may take to finish once the process is asked to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(8);
/// Commits a tool may lose to other writers of the same document before it is refused.
const MAX_CONFLICTS: u32 = 3;

/// Why a driver let go of its run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DriveEnd {
    /// Nothing more to do: it ended, waits or is paused.
    AtRest,
    LeaseLost,
    /// The process stops; the lease is to be released.
    Drained,
    /// The log cannot be read by this program.
    Unusable(String),
}

/// What has happened to the run since its last commit.
enum Input {
    TakenOver(Option<Timestamp>),
    Outcome {
        effect: EffectId,
        attempt: u32,
        outcome: Outcome,
        parked: Option<Parked>,
    },
    Command {
        command: Command,
        actor: Actor,
        reply: Reply,
    },
    Tick,
    /// A deadline has passed by the database's clock, whatever this process's own says.
    Overdue(Timestamp),
}

/// Whoever waits until a command is stored.
type Reply = Option<oneshot::Sender<Result<RunRow, CommandError>>>;

pub(crate) struct Driver {
    commands: RunCommands,
    performer: Arc<dyn Performer>,
    breaker: Arc<Breaker>,
    lease: Lease,
    run: Run,
    time: RunClock,
    checkpoints: CheckpointWriter,
    messages: mpsc::UnboundedReceiver<DriverMessage>,
    in_flight: JoinSet<(EffectId, u32, Outcome)>,
    /// The provider of each model call in flight.
    providers: HashMap<EffectId, String>,
    since_commit: Vec<Input>,
    /// Attempts whose intents are drafted; they start once the draft is committed.
    ready: Vec<EffectAttempt>,
    wake_at: Option<Timestamp>,
    /// How often a commit failed because this entity had changed.
    conflicts: HashMap<Uuid, u32>,
    /// The entities whose version each drafted call relies on.
    drafted: Vec<(EffectId, Vec<Uuid>)>,
    /// Calls that lost to other writers too often, with the error the model is shown.
    denied: HashMap<EffectId, String>,
    stopping: CancellationToken,
    drain_until: Option<Instant>,
}

impl Driver {
    pub(crate) async fn drive(
        commands: RunCommands,
        performer: Arc<dyn Performer>,
        breaker: Arc<Breaker>,
        claimed: Claimed,
        messages: mpsc::UnboundedReceiver<DriverMessage>,
        stopping: CancellationToken,
    ) -> DriveEnd {
        let mut time = RunClock::starting_at(claimed.at);
        let run = match load_patiently(&commands, &claimed.lease, &stopping).await {
            Ok(run) => run,
            Err(end) => return end,
        };
        time.advance_to(run.shared.updated_at);
        let mut driver = Driver {
            commands,
            performer,
            breaker,
            lease: claimed.lease,
            run,
            time,
            checkpoints: CheckpointWriter::default(),
            messages,
            in_flight: JoinSet::new(),
            providers: HashMap::new(),
            since_commit: Vec::new(),
            ready: Vec::new(),
            wake_at: None,
            conflicts: HashMap::new(),
            drafted: Vec::new(),
            denied: HashMap::new(),
            stopping,
            drain_until: None,
        };
        driver.take_input(Input::TakenOver(claimed.last_seen));
        if driver.run.shared.status() == Status::WaitingOnUser
            && let Some(deadline) = driver.run.due(driver.now()).wake_at
        {
            // Nobody else would have been given a run that waits for people.
            driver.take_input(Input::Overdue(deadline));
        }
        match driver.drive_until_rest().await {
            Ok(()) => DriveEnd::AtRest,
            Err(end) => end,
        }
    }

    /// Until the run is at rest: act on all that is due, commit, let the calls go, wait for the next thing.
    async fn drive_until_rest(&mut self) -> Result<(), DriveEnd> {
        loop {
            self.advance().await?;
            // What is still in flight for a run that ended is nobody's any more, and is dropped with the driver.
            let over = self.run.shared.status().is_terminal();
            if !self.run.shared.is_moving() && (over || self.in_flight.is_empty()) {
                return Ok(());
            }
            self.wait().await?;
        }
    }

    fn now(&self) -> Timestamp {
        self.time.now().max(self.run.shared.updated_at)
    }

    /// Applies an input to the run, and remembers it until it is committed.
    fn take_input(&mut self, mut input: Input) {
        let now = self.now();
        Self::apply(&mut self.run, &mut input, now);
        self.since_commit.push(input);
    }

    fn apply(run: &mut Run, input: &mut Input, now: Timestamp) {
        match input {
            Input::TakenOver(last_seen) => run.take_over(*last_seen, now),
            Input::Outcome { effect, attempt, outcome, parked } => {
                run.outcome(effect, *attempt, outcome.clone(), parked.clone(), now)
            }
            // Nothing of this input is in the log yet. What is refused now, perhaps because of a command that was
            // recorded elsewhere meanwhile, never will be.
            Input::Command { command, actor, reply } => {
                if let Err(refusal) = run.command(command.clone(), *actor, now)
                    && let Some(reply) = reply.take()
                {
                    let _ = reply.send(Err(CommandError::Refused(refusal)));
                }
            }
            Input::Tick => run.tick(now),
            Input::Overdue(deadline) => run.tick(now.max(*deadline)),
        }
    }

    /// Perform what is built in, record what is intended, commit, and only then act on the outside.
    async fn advance(&mut self) -> Result<(), DriveEnd> {
        loop {
            self.perform_inline().await?;
            self.intend();
            if self.commit().await? && !self.has_inline() {
                break;
            }
        }
        for attempt in std::mem::take(&mut self.ready) {
            self.start_call(attempt);
        }
        Ok(())
    }

    fn has_inline(&self) -> bool {
        !self.run.due(self.now()).inline.is_empty()
    }

    async fn perform_inline(&mut self) -> Result<(), DriveEnd> {
        while let Some(effect) = self.run.due(self.now()).inline.into_iter().next() {
            let Some(attempt) = self.run.inline_attempt(&effect, self.now()) else { return Ok(()) };
            if self.run.has_drafted_changes() && self.sees_earlier_changes(&attempt) && !self.commit().await? {
                continue;
            }
            let outcome = match self.denied.get(&effect) {
                Some(why) => Outcome::Tool(ToolOutcome::refused(why.as_str())),
                None => perform(self.performer.as_ref(), attempt).await,
            };
            match &outcome {
                Outcome::Tool(ToolOutcome { mutations, .. }) => {
                    self.drafted.push((effect.clone(), mutations.iter().filter_map(versioned).collect()));
                }
                Outcome::Unavailable(error) => {
                    tracing::warn!(run = %self.lease.run_id, error, "a tool waits for the store");
                    self.pause_for_store().await?;
                }
                Outcome::Model(_) | Outcome::Asks(_) | Outcome::Lost(_) => {}
            }
            let now = self.now();
            // Not remembered: after a conflict the tool itself runs again, on the new version.
            self.run.outcome(&effect, 1, outcome, None, now);
        }
        Ok(())
    }

    fn sees_earlier_changes(&self, attempt: &EffectAttempt) -> bool {
        match &attempt.work {
            Work::Tool(call) => self.performer.sees_earlier_changes(call),
            Work::Check(_) => true,
            Work::Model(_) => false,
        }
    }

    /// Record the intents of every call that may go out now.
    fn intend(&mut self) {
        self.ready.clear();
        if self.stopping.is_cancelled() {
            return;
        }
        loop {
            let due = self.run.due(self.now());
            self.wake_at = due.wake_at;
            let mut moved = false;
            for effect in due.external {
                let seq = self.run.shared.last_seq;
                if let Err(parked) = self.admit(&effect) {
                    self.wake_at = Some(self.wake_at.map_or(parked.until, |at| at.min(parked.until)));
                    self.run.park(parked, self.now());
                    continue;
                }
                match self.run.intend(&effect, self.now()) {
                    Some(attempt) => self.ready.push(attempt),
                    // Refused for good: the state moved on, and so may what is due.
                    None => moved |= self.run.shared.last_seq != seq,
                }
            }
            if !moved || self.has_inline() {
                return;
            }
        }
    }

    fn admit(&self, effect: &EffectId) -> Result<(), Parked> {
        let Some(provider) = self.run.provider(effect) else { return Ok(()) };
        if self.run.shared.probe_wanted {
            self.breaker.probe_now(provider);
        }
        self.breaker.admit(provider, self.now())
    }

    fn start_call(&mut self, attempt: EffectAttempt) {
        if let Work::Model(call) = &attempt.work {
            self.providers.insert(attempt.effect.clone(), call.model.provider.clone());
        }
        let performer = self.performer.clone();
        self.in_flight.spawn(async move {
            let (effect, number) = (attempt.effect.clone(), attempt.number);
            (effect, number, perform(performer.as_ref(), attempt).await)
        });
    }

    /// True when everything drafted is stored. False when it had to be decided again.
    async fn commit(&mut self) -> Result<bool, DriveEnd> {
        if self.run.has_draft() {
            let batch = self.run.take_batch();
            let events = batch.events.clone();
            let rows = projection::rows(&self.run, &events);
            let append = Append { batch, rows, fence: Some(self.lease.clone()), claim_for: None };
            if let Err(error) = self.commands.inner.log.append(append).await
                && !self.recover_append(error, &events).await?
            {
                return Ok(false);
            }
            self.commands.inner.live.publish(&events);
            self.checkpoints.committed(self.commands.inner.log.as_ref(), self.lease.run_id, &events).await;
        }
        self.drafted.clear();
        let happened = std::mem::take(&mut self.since_commit).into_iter();
        let told = happened.filter_map(|input| match input {
            Input::Command { reply, .. } => reply,
            _ => None,
        });
        let told: Vec<_> = told.collect();
        if !told.is_empty() {
            let row = projection::run_row(&self.run);
            told.into_iter().for_each(|reply| drop(reply.send(Ok(row.clone()))));
        }
        Ok(true)
    }

    /// The draft could not be stored, or only its receipt was lost: the log says which. True when it is
    /// there after all; otherwise the log as it is now is told again what happened.
    async fn recover_append(&mut self, error: AppendError, draft: &[Event]) -> Result<bool, DriveEnd> {
        match error {
            AppendError::LeaseLost(_) if !self.is_stored(draft).await? => return Err(DriveEnd::LeaseLost),
            // Our own commit brought the run to rest, or its new holder has written the very same events. Either way no call is
            // ours to make.
            AppendError::LeaseLost(_) => self.ready.clear(),
            AppendError::Moved { .. } => {}
            AppendError::Conflict(entity) => self.count_conflict(entity),
            AppendError::Store(StoreError::Unusable(why)) => return Err(DriveEnd::Unusable(why)),
            AppendError::Store(error) => {
                tracing::warn!(run = %self.lease.run_id, %error, "commit postponed");
                self.pause_for_store().await?;
            }
        }
        if !self.is_stored(draft).await? {
            self.reload().await?;
            return Ok(false);
        }
        self.load().await?;
        // A command recorded since may have called an intended call off.
        let run = &self.run;
        self.ready.retain(|attempt| run.is_in_flight(&attempt.effect, attempt.number));
        Ok(true)
    }

    async fn is_stored(&self, draft: &[Event]) -> Result<bool, DriveEnd> {
        loop {
            match is_stored(self.commands.inner.log.as_ref(), draft).await {
                Ok(stored) => return Ok(stored),
                Err(StoreError::Unusable(why)) => return Err(DriveEnd::Unusable(why)),
                Err(_) => self.pause_for_store().await?,
            }
        }
    }

    async fn load(&mut self) -> Result<(), DriveEnd> {
        self.run = load_patiently(&self.commands, &self.lease, &self.stopping).await?;
        self.time.advance_to(self.run.shared.updated_at);
        Ok(())
    }

    async fn reload(&mut self) -> Result<(), DriveEnd> {
        self.load().await?;
        self.ready.clear();
        self.drafted.clear();
        let now = self.now();
        for input in &mut self.since_commit {
            Self::apply(&mut self.run, input, now);
        }
        Ok(())
    }

    fn count_conflict(&mut self, entity: Uuid) {
        let count = self.conflicts.entry(entity).or_default();
        *count += 1;
        if *count >= MAX_CONFLICTS {
            let writers = self.drafted.iter().filter(|(_, entities)| entities.contains(&entity));
            let why = format!("{entity} is being changed by others; read it again and retry");
            self.denied.extend(writers.map(|(effect, _)| (effect.clone(), why.clone())));
        }
    }

    async fn pause_for_store(&self) -> Result<(), DriveEnd> {
        tokio::select! {
            biased;
            () = self.stopping.cancelled() => Err(DriveEnd::Drained),
            () = tokio::time::sleep(Duration::from_millis(500)) => Ok(()),
        }
    }

    async fn wait(&mut self) -> Result<(), DriveEnd> {
        let wake_in = self.wake_at.map(|at| Duration::from_millis(at.since(self.now()) as u64 + 1));
        let drained = self.drain_until;
        tokio::select! {
            biased;
            message = self.messages.recv() => match message {
                Some(DriverMessage::PendingCommand(pending)) => self.take_command(pending),
                Some(DriverMessage::LogGrew { last_seq }) => self.catch_up(last_seq).await?,
                None => return Err(DriveEnd::LeaseLost),
            },
            Some(done) = self.in_flight.join_next(), if !self.in_flight.is_empty() => {
                self.call_finished(done);
                while let Some(done) = self.in_flight.try_join_next() {
                    self.call_finished(done);
                }
            }
            () = self.stopping.cancelled(), if drained.is_none() => {
                if self.in_flight.is_empty() {
                    return Err(DriveEnd::Drained);
                }
                self.drain_until = Some(Instant::now() + DRAIN_TIMEOUT);
            }
            () = until(drained) => return Err(DriveEnd::Drained),
            () = tokio::time::sleep(wake_in.unwrap_or_default()), if wake_in.is_some() => self.take_input(Input::Tick),
        }
        if drained.is_some() && self.in_flight.is_empty() {
            self.advance().await?;
            return Err(DriveEnd::Drained);
        }
        Ok(())
    }

    /// A command is answered when it is stored, or refused at once.
    fn take_command(&mut self, PendingCommand { command, actor, reply }: PendingCommand) {
        self.take_input(Input::Command { command, actor, reply: Some(reply) });
    }

    /// Another process recorded a command to this run.
    async fn catch_up(&mut self, last_seq: u64) -> Result<(), DriveEnd> {
        if last_seq > self.run.shared.last_seq {
            self.reload().await?;
        }
        Ok(())
    }

    fn call_finished(&mut self, done: Result<(EffectId, u32, Outcome), tokio::task::JoinError>) {
        // A task that was aborted has nothing to tell.
        let Ok((effect, attempt, outcome)) = done else { return };
        let parked = self.update_breaker(&effect, &outcome);
        self.take_input(Input::Outcome { effect, attempt, outcome, parked });
    }

    fn update_breaker(&mut self, effect: &EffectId, outcome: &Outcome) -> Option<Parked> {
        let provider = self.providers.remove(effect)?;
        match outcome {
            Outcome::Model(Ok(_)) => self.breaker.succeeded(&provider),
            Outcome::Model(Err(CallError { failure: CallFailure::Unreachable, .. })) => {
                return self.breaker.failed(&provider, self.now());
            }
            _ => {}
        }
        None
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn load_patiently(commands: &RunCommands, lease: &Lease, stopping: &CancellationToken) -> Result<Run, DriveEnd> {
    loop {
        match load(commands.inner.log.as_ref(), lease.run_id).await {
            Ok(Some(run)) => return Ok(run),
            Ok(None) => return Err(DriveEnd::Unusable(format!("run {} has no log", lease.run_id))),
            Err(StoreError::Unusable(why)) => return Err(DriveEnd::Unusable(why)),
            Err(error) => tracing::warn!(run = %lease.run_id, %error, "loading postponed"),
        }
        tokio::select! {
            biased;
            () = stopping.cancelled() => return Err(DriveEnd::Drained),
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
        }
    }
}

/// The entity whose version a mutation compares.
fn versioned(mutation: &engine::workspace::Mutation) -> Option<Uuid> {
    use engine::workspace::Mutation;
    match mutation {
        Mutation::UpdateProject { id, .. } => Some(id.0),
        Mutation::UpdateDocument { id, .. } => Some(id.0),
        Mutation::UpdateTask { id, .. } => Some(id.0),
        Mutation::Unlink { id } => Some(id.0),
        Mutation::WriteScratchpad { agent, .. } => Some(agent.0),
        Mutation::CreateProject { .. }
        | Mutation::CreateDocument { .. }
        | Mutation::CreateTask { .. }
        | Mutation::Link { .. } => None,
        Mutation::AddLesson { .. } | Mutation::PromoteLessons { .. } | Mutation::DismissLesson { .. } => None,
    }
}
