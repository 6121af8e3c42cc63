//! Which connections are open, and which one is closed when there are too many. A newcomer is let in, and the oldest
//! connection that nobody would miss goes: so that the health check answers while others hold sockets open for nothing.

use super::Network;
use socket2::SockRef;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Shutdown};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;
use tokio::net::TcpStream;

/// Ten thousand readers, and everybody else.
const MOST: usize = 16_384;
/// Descriptors for the database, models and tools: a quarter of what there is, within these bounds.
const LEAST_RESERVE: usize = 64;
const MOST_RESERVE: usize = 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub total: usize,
    /// Connections on which nobody has logged in, from one network.
    pub anonymous_per_network: usize,
    /// WebSockets on which nobody has logged in.
    pub websockets: usize,
    pub websockets_per_network: usize,
}

impl Limits {
    /// For a process that may have this many files open.
    pub fn for_descriptors(limit: usize) -> Limits {
        let reserve = (limit / 4).clamp(LEAST_RESERVE, MOST_RESERVE);
        let total = limit.saturating_sub(reserve).clamp(LEAST_RESERVE, MOST);
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
    /// Waits for a request, the first or the next.
    Idle,
    /// A request is being answered.
    Busy,
    WebSocket,
}

struct Entry {
    network: Network,
    stream: Weak<TcpStream>,
    activity: AtomicU8,
    /// A valid credential was shown on it.
    authenticated: AtomicBool,
    /// Of its activity, in milliseconds since the registry began.
    since: AtomicU64,
}

impl Entry {
    fn is(&self, activity: Activity) -> bool {
        self.activity.load(Ordering::Relaxed) == activity as u8
    }

    fn is_anonymous(&self) -> bool {
        !self.authenticated.load(Ordering::Relaxed)
    }

    /// The lower, the sooner it is closed; never for one that serves somebody who logged in.
    fn rank(&self) -> Option<u8> {
        match (self.is_anonymous(), self.is(Activity::Idle), self.is(Activity::WebSocket)) {
            (true, true, _) => Some(0),
            (true, _, true) => Some(1),
            // A client opens another when it has something to ask.
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

    /// Closes the one among these that is missed least: whoever reads from it or writes to it finds that it has ended.
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
pub struct Registry(Arc<Inner>);

struct Inner {
    limits: Limits,
    began: Instant,
    open: Mutex<Open>,
}

impl Registry {
    pub fn new(limits: Limits) -> Registry {
        Registry(Arc::new(Inner { limits, began: Instant::now(), open: Mutex::default() }))
    }

    /// `None` when every place is taken by somebody who logged in and is being served.
    pub fn admit(&self, stream: &Arc<TcpStream>, peer: IpAddr) -> Option<Connection> {
        let (network, limits) = (Network::from(peer), self.0.limits);
        let mut open = self.0.open();
        if open.by_network.get(&network).is_some_and(|count| *count >= limits.anonymous_per_network) {
            let theirs = |entry: &Entry| entry.network == network && entry.is_anonymous();
            if open.count(theirs) >= limits.anonymous_per_network {
                open.close_one(theirs);
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

    /// Frees a descriptor when there are none left. False when nobody can be asked to go.
    pub fn close_one(&self) -> bool {
        self.0.open().close_one(|_| true)
    }
}

impl Inner {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A connection's place among the others, kept until the last clone is dropped.
#[derive(Clone)]
pub struct Connection(Arc<Registration>);

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
    /// Somebody showed a valid credential here.
    pub fn authenticate(&self) {
        self.0.entry.authenticated.store(true, Ordering::Relaxed);
    }

    /// It carries a WebSocket from now on. Of those without a login there may be so many; the oldest gives way.
    pub fn upgrade(&self) {
        self.turn(Activity::WebSocket);
        let (limits, network) = (self.0.registry.limits, self.0.entry.network);
        let mut open = self.0.registry.open();
        let waiting = |entry: &Entry| entry.is_anonymous() && entry.is(Activity::WebSocket);
        let theirs = |entry: &Entry| waiting(entry) && entry.network == network;
        if open.count(theirs) > limits.websockets_per_network {
            open.close_one(theirs);
        }
        if open.count(waiting) > limits.websockets {
            open.close_one(waiting);
        }
    }

    /// A request is being answered until this is dropped.
    pub fn answering(&self) -> BusyGuard {
        self.turn(Activity::Busy);
        BusyGuard(self.clone())
    }

    pub fn is_idle(&self) -> bool {
        self.0.entry.is(Activity::Idle)
    }

    fn turn(&self, activity: Activity) {
        self.0.entry.activity.store(activity as u8, Ordering::Relaxed);
        self.0.entry.since.store(self.0.registry.now(), Ordering::Relaxed);
    }
}

pub struct BusyGuard(Connection);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        if self.0.0.entry.is(Activity::Busy) {
            self.0.turn(Activity::Idle);
        }
    }
}

#[cfg(test)]
mod tests;
