//! A model server on the loopback interface that answers by script. The role of a request selects the script, which
//! gets the request. The server speaks OpenAI Chat Completions and Anthropic Messages, fails on demand in the ways real
//! servers do, and keeps a ledger of its requests and of the answers that were sent whole.
//!
//! It must know nothing of the product but the wire formats, because tests use its ledger as an independent record.

mod anthropic;
pub mod file;
mod http;
mod ledger;
mod openai;
mod reply;
mod request;
pub mod scripts;

pub use ledger::Entry;
pub use reply::Reply;
pub use request::{Request, Wire};

use ledger::Ledger;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The reply of one role to a request.
pub type Answer = Arc<dyn Fn(&Request) -> Reply + Send + Sync>;

/// The replies by role.
#[derive(Clone, Default)]
pub struct Script {
    roles: BTreeMap<String, Answer>,
    otherwise: Option<Reply>,
    latency: Duration,
    models: Vec<String>,
}

impl Script {
    /// Sends these replies in turn. The last one repeats.
    pub fn on(self, role: &str, replies: Vec<Reply>) -> Script {
        assert!(!replies.is_empty(), "a role needs at least one reply");
        self.answer(role, move |request| replies[request.nth.min(replies.len() - 1)].clone())
    }

    /// Computes a reply for each request.
    pub fn answer(mut self, role: &str, answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Script {
        self.roles.insert(role.to_owned(), Arc::new(answer));
        self
    }

    /// The reply for roles without a script.
    pub fn otherwise(mut self, reply: Reply) -> Script {
        self.otherwise = Some(reply);
        self
    }

    /// The least time that every answer takes.
    pub fn latency(mut self, latency: Duration) -> Script {
        self.latency = latency;
        self
    }

    /// The models that `/v1/models` lists, instead of the one model `scripted`.
    pub fn models(mut self, models: &[&str]) -> Script {
        self.models = models.iter().map(ToString::to_string).collect();
        self
    }
}

/// A running server. It stops when it is dropped.
pub struct Scripted {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    script: Mutex<Script>,
    ledger: Ledger,
}

impl Scripted {
    /// Starts on a free port, with an empty script.
    pub async fn start() -> Scripted {
        Scripted::start_at(0).await
    }

    pub async fn start_at(port: u16) -> Scripted {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("a loopback port");
        let address = listener.local_addr().expect("a bound address");
        let shared = Arc::new(Shared { script: Mutex::default(), ledger: Ledger::default() });
        let task = tokio::spawn(http::serve(listener, shared.clone()));
        Scripted { address, shared, task }
    }

    /// `http://127.0.0.1:PORT`, as the base URL of either provider.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn play(&self, script: Script) -> &Scripted {
        *self.script() = script;
        self
    }

    pub fn on(&self, role: &str, replies: Vec<Reply>) -> &Scripted {
        self.change(|script| script.on(role, replies))
    }

    pub fn answer(&self, role: &str, answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> &Scripted {
        self.change(|script| script.answer(role, answer))
    }

    /// Every request so far, in order of arrival.
    pub fn ledger(&self) -> Vec<Entry> {
        self.shared.ledger.entries()
    }

    fn change(&self, change: impl FnOnce(Script) -> Script) -> &Scripted {
        let mut script = self.script();
        *script = change(std::mem::take(&mut *script));
        drop(script);
        self
    }

    fn script(&self) -> std::sync::MutexGuard<'_, Script> {
        self.shared.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}
