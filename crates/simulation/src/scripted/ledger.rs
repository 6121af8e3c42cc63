//! A record of every request that the server received. Tests compare it with the log to show that no call was paid
//! twice.

use super::request::Request;
use serde::Serialize;
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Milliseconds since 1970.
    pub at: u64,
    pub role: String,
    /// The role that the body names, if it names one.
    pub named_role: Option<String>,
    pub key: String,
    pub model: String,
    pub status: u16,
    pub body: Value,
    /// Whether the whole answer was written to the connection.
    pub delivered: bool,
    /// The input and output tokens that an honest provider would charge for.
    pub tokens: (u64, u64),
}

#[derive(Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<Vec<Entry>>>);

impl Ledger {
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().clone()
    }

    /// Records the request, and sets its number among those of its role.
    pub fn enter(&self, request: &mut Request) -> usize {
        let mut entries = self.lock();
        request.nth = entries.iter().filter(|entry| entry.role == request.role).count();
        let at = now_ms();
        entries.push(Entry {
            at,
            role: request.role.clone(),
            named_role: request.named_role().map(str::to_owned),
            key: request.key.clone(),
            model: request.model().to_owned(),
            status: 0,
            body: request.body.clone(),
            delivered: false,
            tokens: (0, 0),
        });
        entries.len() - 1
    }

    pub fn answered(&self, at: usize, status: u16, tokens: (u64, u64)) {
        let mut entries = self.lock();
        entries[at].status = status;
        entries[at].tokens = tokens;
    }

    pub fn delivered(&self, at: usize) {
        self.lock()[at].delivered = true;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(clippy::disallowed_methods, reason = "a real server keeps real time; the simulated world never asks it")]
fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
