//! Which connections are open, and which one is closed when there are too many. A new connection is accepted and the least
//! useful old one is closed, so that the health check answers while others hold idle sockets.

use super::Network;
use socket2::SockRef;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Shutdown};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;
use tokio::net::TcpStream;

/// Ten thousand readers and some more.
const MAX_CONNECTIONS: usize = 16_384;
/// Descriptors kept for the database, models and tools: a quarter of the limit, within these bounds.
const MIN_RESERVE: usize = 64;
const MAX_RESERVE: usize = 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub total: usize,
    /// Unauthenticated connections from one network.
    pub anonymous_per_network: usize,
    /// Unauthenticated WebSockets.
    pub websockets: usize,
    pub websockets_per_network: usize,
}

impl Limits {
    /// For a process that may have this many files open.
    pub(super) fn for_descriptors(limit: usize) -> Limits {
        let reserve = (limit / 4).clamp(MIN_RESERVE, MAX_RESERVE);
        let total = limit.saturating_sub(reserve).clamp(MIN_RESERVE, MAX_CONNECTIONS);
        Limits {
            total,
            anonymous_per_network: (total / 2).min(1_024),
            websockets: (total / 4).min(512),
            websockets_per_network: (total / 8).min(32),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Activity {
    /// Waits for a request.
    Idle,
    /// A request is being answered.
    Busy,
    WebSocket,
}

struct Entry {
    network: Network,
    stream: Weak<TcpStream>,
    activity: AtomicU8,
    /// A valid credential was received on it.
    authenticated: AtomicBool,
    /// The start of its activity, in milliseconds since the registry was made.
    since: AtomicU64,
}

impl Entry {
    fn is(&self, activity: Activity) -> bool {
        self.activity.load(Ordering::Relaxed) == activity as u8
    }

    fn is_anonymous(&self) -> bool {
        !self.authenticated.load(Ordering::Relaxed)
    }

    /// Connections of the lowest rank are closed first; one that serves an authenticated caller is never closed.
    fn rank(&self) -> Option<u8> {
        match (self.is_anonymous(), self.is(Activity::Idle), self.is(Activity::WebSocket)) {
            (true, true, _) => Some(0),
            (true, _, true) => Some(1),
            // A client reconnects when it has another request.
            (false, true, _) => Some(2),
            (true, ..) => Some(3),
            (false, ..) => None,
        }
    }
}

#[derive(Default)]
struct Open {
    next: u64,
    entries: BTreeMap<u64, Arc<Entry>>,
    by_network: HashMap<Network, usize>,
}

impl Open {
    fn remove(&mut self, id: u64) -> Option<Arc<Entry>> {
        let entry = self.entries.remove(&id)?;
        if let Some(count) = self.by_network.get_mut(&entry.network) {
            *count -= 1;
            if *count == 0 {
                self.by_network.remove(&entry.network);
            }
        }
        Some(entry)
    }

    /// Closes the connection of the lowest rank, the oldest first; its tasks see an end of file.
    fn close_one(&mut self, among: impl Fn(&Entry) -> bool) -> bool {
        let candidates = self.entries.iter().filter(|(_, entry)| among(entry));
        let ranked = candidates
            .filter_map(|(id, entry)| entry.rank().map(|rank| (rank, entry.since.load(Ordering::Relaxed), *id)));
        let Some((_, _, id)) = ranked.min() else { return false };
        if let Some(stream) = self.remove(id).and_then(|entry| entry.stream.upgrade()) {
            let _ = SockRef::from(&*stream).shutdown(Shutdown::Both);
        }
        true
    }

    fn count(&self, which: impl Fn(&Entry) -> bool) -> usize {
        self.entries.values().filter(|entry| which(entry)).count()
    }
}

/// The connections of one listener.
#[derive(Clone)]
pub(super) struct Registry(Arc<Inner>);

struct Inner {
    limits: Limits,
    start: Instant,
    open: Mutex<Open>,
}

impl Registry {
    pub(super) fn new(limits: Limits) -> Registry {
        Registry(Arc::new(Inner { limits, start: Instant::now(), open: Mutex::default() }))
    }

    /// `None` when every connection serves an authenticated caller.
    pub(super) fn admit(&self, stream: &Arc<TcpStream>, peer: IpAddr) -> Option<Connection> {
        let (network, limits) = (Network::from(peer), self.0.limits);
        let mut open = self.0.open();
        if open.by_network.get(&network).is_some_and(|count| *count >= limits.anonymous_per_network) {
            let of_network = |entry: &Entry| entry.network == network && entry.is_anonymous();
            if open.count(of_network) >= limits.anonymous_per_network {
                open.close_one(of_network);
            }
        }
        if open.entries.len() >= limits.total && !open.close_one(|_| true) {
            return None;
        }
        let entry = Arc::new(Entry {
            network,
            stream: Arc::downgrade(stream),
            activity: AtomicU8::new(Activity::Idle as u8),
            authenticated: AtomicBool::new(false),
            since: AtomicU64::new(self.0.now()),
        });
        let id = open.next;
        open.next += 1;
        open.entries.insert(id, entry.clone());
        *open.by_network.entry(network).or_default() += 1;
        Some(Connection(Arc::new(Registration { id, entry, registry: self.0.clone() })))
    }

    /// Frees a descriptor when none are left. False when no connection can be closed.
    pub(super) fn close_one(&self) -> bool {
        self.0.open().close_one(|_| true)
    }
}

impl Inner {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A registered connection, until the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Connection(Arc<Registration>);

struct Registration {
    id: u64,
    entry: Arc<Entry>,
    registry: Arc<Inner>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.registry.open().remove(self.id);
    }
}

impl Connection {
    /// A valid credential was received on this connection.
    pub(crate) fn authenticate(&self) {
        self.0.entry.authenticated.store(true, Ordering::Relaxed);
    }

    /// The connection becomes a WebSocket. When too many are unauthenticated, the oldest of those is closed.
    pub(crate) fn upgrade(&self) {
        self.set(Activity::WebSocket);
        let (limits, network) = (self.0.registry.limits, self.0.entry.network);
        let mut open = self.0.registry.open();
        let anonymous = |entry: &Entry| entry.is_anonymous() && entry.is(Activity::WebSocket);
        let of_network = |entry: &Entry| anonymous(entry) && entry.network == network;
        if open.count(of_network) > limits.websockets_per_network {
            open.close_one(of_network);
        }
        if open.count(anonymous) > limits.websockets {
            open.close_one(anonymous);
        }
    }

    /// The connection is busy until the guard is dropped.
    pub(crate) fn answering(&self) -> BusyGuard {
        self.set(Activity::Busy);
        BusyGuard(self.clone())
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.0.entry.is(Activity::Idle)
    }

    fn set(&self, activity: Activity) {
        self.0.entry.activity.store(activity as u8, Ordering::Relaxed);
        self.0.entry.since.store(self.0.registry.now(), Ordering::Relaxed);
    }
}

pub(crate) struct BusyGuard(Connection);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        if self.0.0.entry.is(Activity::Busy) {
            self.0.set(Activity::Idle);
        }
    }
}

#[cfg(test)]
mod tests;
