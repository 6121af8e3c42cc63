//! The MCP client. Each MCP server is a toolbox with one connection, which is opened when it is first needed and again after it
//! was lost. Other modules decide whether a call is allowed or may be repeated.

mod call;
mod child;
mod config;
mod connection;
mod elicitation;
mod http;
pub mod messages;
mod result;

pub use config::{ConfigError, ServerConfig, Transport, variables};

use async_trait::async_trait;
use call::{RunningCall, WaitingCall};
use connection::Connection;
use effects::tools::{Approval, OfferedTool, OfferedTools, Toolbox};
use engine::effect::{EffectId, Outcome, RepeatSafety, ToolCall};
use engine::ids::ProjectId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Mutex as AsyncMutex;

/// Separates the name of a server from the name of its tool.
pub const SEPARATOR: &str = "__";
/// How long a list of tools is used before it is requested again.
const LIST_VALID_FOR: Duration = Duration::from_secs(30);
/// How long a server that could not be reached is left alone.
const RETRY_AFTER_FAILURE: Duration = Duration::from_secs(5);
/// The most calls that wait for a person's answer with their connection open.
const MAX_WAITING_CALLS: usize = 200;

/// One MCP server.
pub struct McpServer {
    config: ServerConfig,
    connection: AsyncMutex<ConnectionState>,
    waiting: Mutex<HashMap<EffectId, WaitingCall>>,
}

/// The connection and its list of tools. With a recent `failure`, calls do not try the server again.
#[derive(Default)]
struct ConnectionState {
    connection: Option<Arc<Connection>>,
    offers: Option<(Instant, OfferedTools)>,
    failure: Option<(Instant, String)>,
}

impl McpServer {
    pub fn new(config: ServerConfig) -> McpServer {
        McpServer { config, connection: AsyncMutex::default(), waiting: Mutex::default() }
    }

    async fn connection(&self) -> Result<Arc<Connection>, String> {
        let mut state = self.connection.lock().await;
        self.open(&mut state).await
    }

    async fn open(&self, state: &mut ConnectionState) -> Result<Arc<Connection>, String> {
        if let Some(connection) = state.connection.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        if let Some((_, why)) = state.failure.as_ref().filter(|(when, _)| when.elapsed() < RETRY_AFTER_FAILURE) {
            return Err(why.clone());
        }
        // The old process exits before a new one starts: both may need the same port or file.
        if let Some(old) = state.connection.take() {
            old.close().await;
        }
        state.offers = None;
        match Connection::open(&self.config).await {
            Ok(connection) => {
                state.failure = None;
                Ok(state.connection.insert(Arc::new(connection)).clone())
            }
            Err(why) => {
                state.failure = Some((Instant::now(), why.clone()));
                Err(why)
            }
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<EffectId, WaitingCall>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Toolbox for McpServer {
    fn server(&self) -> &str {
        &self.config.name
    }

    fn projects(&self) -> &[ProjectId] {
        &self.config.projects
    }

    /// A tool that the configuration calls read-only needs no approval.
    fn approval(&self, offer: &OfferedTool) -> Approval {
        if offer.class == RepeatSafety::ReadOnly { Approval::Never } else { self.config.approval }
    }

    fn destination(&self, _call: &ToolCall) -> String {
        let name = &self.config.name;
        match &self.config.transport {
            Transport::Stdio { command, .. } => {
                format!("the tool server {name}, the program {command} on this machine, which may send it anywhere")
            }
            Transport::Http { url, .. } => {
                let url = reqwest::Url::parse(url).ok();
                let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or("an unknown host").to_owned();
                format!("the tool server {name} at {host}")
            }
        }
    }

    async fn offers(&self) -> Result<OfferedTools, String> {
        let mut state = self.connection.lock().await;
        let connection = self.open(&mut state).await?;
        let fresh = |(when, _): &&(Instant, OfferedTools)| when.elapsed() < LIST_VALID_FOR && !connection.has_changed();
        if let Some((_, offers)) = state.offers.as_ref().filter(fresh) {
            return Ok(offers.clone());
        }
        let offers = connection.offers(&self.config).await?;
        state.offers = Some((Instant::now(), offers.clone()));
        Ok(offers)
    }

    async fn call(&self, offer: &OfferedTool, call: &ToolCall, effect: &EffectId) -> Outcome {
        let connection = match self.connection().await {
            Ok(connection) => connection,
            Err(why) => return Outcome::Unavailable(format!("{} cannot be reached: {why}", self.config.name)),
        };
        let tool = offer.name.strip_prefix(&self.config.prefix()).unwrap_or(&offer.name);
        let waiting = call.answered.as_ref().and_then(|_| self.waiting().remove(effect));
        let running = match (waiting, &call.answered) {
            (Some(waiting), Some(answered)) => waiting.resume(answered),
            (None, Some(answered)) => RunningCall::resumed(&self.config, &connection, tool, call, effect, answered),
            (_, None) => Ok(RunningCall::begin(&self.config, &connection, tool, call, effect)),
        };
        let (outcome, waiting) = match running {
            Ok(running) => running.outcome().await,
            Err(paused) => *paused,
        };
        if let Some(call) = waiting {
            let mut waiting = self.waiting();
            waiting.retain(|_, call| !call.is_stale());
            if waiting.len() < MAX_WAITING_CALLS {
                waiting.insert(effect.clone(), call);
            }
        }
        outcome
    }

    async fn close(&self) {
        self.waiting().clear();
        let connection = self.connection.lock().await.connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }
}
