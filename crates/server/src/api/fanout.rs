//! Writes what is published about a run to all readers that are caught up, from one task. Waking a task for each of a
//! thousand readers costs about as much as the write itself. A reader whose connection is full, or that missed something,
//! gets its connection back: it reads the log by itself and joins again.

use super::stream::aside;
use crate::connections::{RawStream, write_chunk};
use bytes::{Bytes, BytesMut};
use engine::ids::RunId;
use runtime::live::{Commit, Live, Message};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::Notify;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_util::task::AbortOnDropHandle;

/// Messages are gathered up to this size and written at once.
const MAX_WRITE: usize = 64 << 10;
/// Writes between which other tasks get their turn.
const YIELD_AFTER: usize = 128;

/// The fan-outs of all runs that have readers.
#[derive(Clone, Default)]
pub(crate) struct Fanouts(Arc<Mutex<HashMap<RunId, Weak<Fanout>>>>);

impl Fanouts {
    pub(super) fn of(&self, live: &Live, run: RunId) -> Arc<Fanout> {
        let mut fanouts = lock(&self.0);
        if let Some(fanout) = fanouts.get(&run).and_then(Weak::upgrade) {
            return fanout;
        }
        let readers = Arc::<Mutex<Readers>>::default();
        let _task = AbortOnDropHandle::new(tokio::spawn(fan_out(live.listen(run).messages, readers.clone())));
        let fanout = Arc::new(Fanout { run, readers, fanouts: self.clone(), _task });
        fanouts.insert(run, Arc::downgrade(&fanout));
        fanout
    }
}

/// The fan-out of one run, until its last reader drops it.
pub(super) struct Fanout {
    run: RunId,
    readers: Arc<Mutex<Readers>>,
    fanouts: Fanouts,
    _task: AbortOnDropHandle<()>,
}

impl Drop for Fanout {
    fn drop(&mut self) {
        let mut fanouts = lock(&self.fanouts.0);
        // Another one may have taken its place.
        if fanouts.get(&self.run).is_some_and(|fanout| fanout.strong_count() == 0) {
            fanouts.remove(&self.run);
        }
    }
}

#[derive(Default)]
struct Readers {
    joined: Vec<Arc<Reader>>,
    /// The run was removed.
    closed: bool,
}

impl Fanout {
    /// Lets the fan-out write everything after this seq to the connection. `None` when something newer was published, or
    /// when the run was removed.
    pub(super) fn join(&self, live: &Live, connection: &RawStream, after: u64) -> Option<Membership> {
        let mut readers = lock(&self.readers);
        // Compared under the lock: what is published later finds the reader here.
        if readers.closed || live.published_seq(self.run) > after {
            return None;
        }
        if readers.joined.len() == readers.joined.capacity() {
            // Those that left while nothing was published.
            readers.joined.retain(|reader| reader.is_joined());
        }
        let place = Place { connection: Some(connection.clone()), after, unsent: Bytes::new() };
        let reader = Arc::new(Reader { place: Mutex::new(place), returned: Notify::new() });
        readers.joined.push(reader.clone());
        Some(Membership(reader))
    }
}

struct Reader {
    place: Mutex<Place>,
    /// Notified when the reader has its connection back.
    returned: Notify,
}

struct Place {
    /// None once the reader writes by itself again.
    connection: Option<RawStream>,
    /// The seq of the last event that was sent.
    after: u64,
    /// The rest of what was begun when the connection was full.
    unsent: Bytes,
}

impl Reader {
    /// False when the fan-out no longer writes for this reader.
    fn deliver(&self, seqs: Option<(u64, u64)>, bytes: &Bytes) -> bool {
        let mut place = lock(&self.place);
        if place.connection.is_none() {
            return false;
        }
        if let Some((first, last)) = seqs {
            if last <= place.after {
                return true;
            }
            if first != place.after + 1 {
                return self.give_back(&mut place);
            }
            place.after = last;
        }
        self.write(&mut place, bytes)
    }

    fn write(&self, place: &mut Place, bytes: &Bytes) -> bool {
        let Some(connection) = &place.connection else { return false };
        // Whatever else is wrong with the connection, its reader will meet it too.
        let sent = connection.try_write(bytes).unwrap_or(0);
        if sent == bytes.len() {
            return true;
        }
        place.unsent = bytes.slice(sent..);
        self.give_back(place)
    }

    fn is_joined(&self) -> bool {
        lock(&self.place).connection.is_some()
    }

    fn give_back(&self, place: &mut Place) -> bool {
        place.connection = None;
        self.returned.notify_one();
        false
    }
}

/// A reader's place in a fan-out, which ends when it is dropped.
pub(super) struct Membership(Arc<Reader>);

impl Membership {
    /// Completes when the reader has to write by itself again. Cancel-safe.
    pub(super) async fn returned(&self) {
        self.0.returned.notified().await;
    }

    /// Sends something to this reader only.
    pub(super) fn send(&self, frame: &[u8]) {
        let mut bytes = BytesMut::new();
        write_chunk(&mut bytes, frame);
        self.0.write(&mut lock(&self.0.place), &bytes.freeze());
    }

    /// The seq of the last event that was sent, and what is left to send of it.
    pub(super) fn leave(self) -> (u64, Bytes) {
        let mut place = lock(&self.0.place);
        place.connection = None;
        (place.after, std::mem::take(&mut place.unsent))
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        lock(&self.0.place).connection = None;
    }
}

/// Messages that are written at once.
struct Batch {
    /// The first and the last event in it.
    seqs: Option<(u64, u64)>,
    /// Chunks of a response.
    bytes: BytesMut,
}

impl Batch {
    /// Waits for a message and takes all that are there. `Lagged` when commits are missing.
    async fn receive(messages: &mut Receiver<Message>, last: &mut Option<u64>) -> Result<Batch, RecvError> {
        let mut batch = Batch { seqs: None, bytes: BytesMut::new() };
        let mut message = messages.recv().await?;
        loop {
            match &message {
                Message::Delta(json) => write_chunk(&mut batch.bytes, &aside("delta", json)),
                // Another process's commits may come again.
                Message::Commit(commit) if last.is_some_and(|last| commit.last <= last) => {}
                Message::Commit(commit) => batch.add(commit, last)?,
            }
            if batch.bytes.len() > MAX_WRITE {
                return Ok(batch);
            }
            message = match messages.try_recv() {
                Ok(message) => message,
                Err(TryRecvError::Lagged(count)) => return Err(RecvError::Lagged(count)),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return Ok(batch),
            };
        }
    }

    fn add(&mut self, commit: &Commit, last: &mut Option<u64>) -> Result<(), RecvError> {
        let before = match last.replace(commit.last) {
            Some(last) if commit.first > last + 1 => return Err(RecvError::Lagged(1)),
            Some(last) => last,
            None => commit.first - 1,
        };
        let first = self.seqs.map_or(before + 1, |(first, _)| first);
        self.seqs = Some((first, commit.last));
        write_chunk(&mut self.bytes, &commit.text_after(before));
        Ok(())
    }
}

async fn fan_out(mut messages: Receiver<Message>, readers: Arc<Mutex<Readers>>) {
    // The seq of the last event that was sent.
    let mut last = None;
    loop {
        match Batch::receive(&mut messages, &mut last).await {
            Ok(batch) => deliver(batch, &readers).await,
            Err(error) => {
                let mut readers = lock(&readers);
                readers.closed = error == RecvError::Closed;
                for reader in readers.joined.drain(..) {
                    reader.give_back(&mut lock(&reader.place));
                }
                if readers.closed {
                    return;
                }
            }
        }
    }
}

async fn deliver(batch: Batch, readers: &Mutex<Readers>) {
    let (seqs, bytes) = (batch.seqs, batch.bytes.freeze());
    let mut joined = std::mem::take(&mut lock(readers).joined);
    let mut all = true;
    for (nth, reader) in joined.iter().enumerate() {
        all &= reader.deliver(seqs, &bytes);
        if nth % YIELD_AFTER == YIELD_AFTER - 1 {
            tokio::task::yield_now().await;
        }
    }
    if !all {
        joined.retain(|reader| reader.is_joined());
    }
    let mut readers = lock(readers);
    joined.append(&mut readers.joined);
    readers.joined = joined;
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
