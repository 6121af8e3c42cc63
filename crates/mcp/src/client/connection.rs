//! One connection to an MCP server: negotiates the protocol, lists the tools, and passes the server's questions on.

use super::call::{Calls, Elicitation};
use super::child::Process;
use super::config::{ServerConfig, Transport};
use super::http::BoundedClient;
use super::messages;
use effects::tools::{Approval, Offer, Offers};
use engine::effect::Class;
use rmcp::ClientHandler;
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
    FormElicitationCapability, Implementation, ProgressNotificationParam, ProtocolVersion, Tool,
};
use rmcp::service::{
    ClientLifecycleMode, NotificationContext, Peer, RequestContext, RoleClient, RunningService,
    RunningServiceCancellationToken, serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex as AsyncMutex;

/// To start, to agree on a protocol, and to list. The probe for the newer protocol alone may take ten seconds.
const OPEN_TIMEOUT: Duration = Duration::from_secs(40);
const LIST_TIMEOUT: Duration = Duration::from_secs(20);
const MOST_TOOLS: usize = 200;

pub struct Connection {
    peer: Peer<RoleClient>,
    pub calls: Calls,
    changed: Arc<AtomicBool>,
    stop: std::sync::Mutex<Option<RunningServiceCancellationToken>>,
    process: AsyncMutex<Option<Process>>,
    protocol: String,
}

impl Connection {
    pub async fn open(config: &ServerConfig) -> Result<Connection, String> {
        match &config.transport {
            Transport::Stdio { .. } => {
                let opened = Connection::start(config, newest_protocol_first()).await;
                let Err(first) = opened else { return opened };
                // A simple server may end, or be lost for good, at a word it does not know. A new one hears only words of
                // the older protocol; if it does not answer either, what the first said is what is wrong with it.
                Connection::start(config, ClientLifecycleMode::Initialize).await.map_err(|_| first)
            }
            Transport::Http { url, headers } => {
                let us = ClientState::default();
                let known = us.clone();
                let transport = http_transport(url, headers)?;
                Ok(Connection::over(
                    agree(serve_client_with_lifecycle(us, transport, newest_protocol_first())).await?,
                    known,
                    None,
                ))
            }
        }
    }

    /// A process of its own, spoken to in this way.
    async fn start(config: &ServerConfig, way: ClientLifecycleMode) -> Result<Connection, String> {
        let us = ClientState::default();
        let known = us.clone();
        let (mut process, stdout, stdin) = Process::start(config)?;
        match agree(serve_client_with_lifecycle(us, (messages::bounded(stdout), stdin), way)).await {
            Ok(service) => Ok(Connection::over(service, known, Some(process))),
            Err(why) => {
                process.end().await;
                let words = process.stderr_tail();
                let words = if words.is_empty() { String::new() } else { format!("; it said: {words}") };
                Err(format!("{why}{words}"))
            }
        }
    }

    fn over(service: RunningService<RoleClient, ClientState>, us: ClientState, process: Option<Process>) -> Connection {
        let protocol = service.peer().peer_info().map_or_else(String::new, |info| info.protocol_version.to_string());
        let peer = service.peer().clone();
        let stop = std::sync::Mutex::new(Some(service.cancellation_token()));
        tokio::spawn(run_to_end(service));
        let ClientState { calls, changed } = us;
        Connection { peer, calls, changed, stop, process: AsyncMutex::new(process), protocol }
    }

    pub fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    pub fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Its tools are not what they were when they were last listed.
    pub fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    pub async fn offers(&self, config: &ServerConfig) -> Result<Offers, String> {
        self.changed.store(false, Ordering::Relaxed);
        let listed = tokio::time::timeout(LIST_TIMEOUT, self.peer.list_all_tools()).await;
        let tools = match listed {
            Ok(Ok(tools)) => tools,
            Ok(Err(error)) => return Err(format!("it does not list its tools: {error}")),
            Err(_) => return Err(format!("it did not list its tools within {} s", LIST_TIMEOUT.as_secs())),
        };
        let wanted = |tool: &Tool| config.tools.as_ref().is_none_or(|only| only.iter().any(|name| *name == tool.name));
        let mut tools: Vec<Offer> =
            tools.into_iter().filter(wanted).map(|tool| offered(config, tool)).take(MOST_TOOLS).collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Offers { protocol: self.protocol.clone(), tools })
    }

    pub async fn close(&self) {
        let stop = self.stop.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(stop) = stop {
            stop.cancel();
        }
        if let Some(mut process) = self.process.lock().await.take() {
            process.end().await;
        }
    }
}

/// Keeps the conversation going until it ends.
async fn run_to_end(service: RunningService<RoleClient, ClientState>) {
    let _ = service.waiting().await;
}

/// The stateless protocol where it is spoken, the older one with its handshake where not.
fn newest_protocol_first() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::V_2026_07_28], legacy_version: None }
}

async fn agree<E: std::fmt::Display>(
    opening: impl Future<Output = Result<RunningService<RoleClient, ClientState>, E>>,
) -> Result<RunningService<RoleClient, ClientState>, String> {
    match tokio::time::timeout(OPEN_TIMEOUT, opening).await {
        Ok(Ok(service)) => Ok(service),
        Ok(Err(error)) => Err(format!("it does not answer as an MCP server does: {error}")),
        Err(_) => Err(format!("it did not answer within {} s", OPEN_TIMEOUT.as_secs())),
    }
}

fn http_transport(
    url: &str,
    headers: &std::collections::BTreeMap<String, String>,
) -> Result<StreamableHttpClientTransport<BoundedClient>, String> {
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let name = name.parse().map_err(|_| format!("the header {name} is none"))?;
        let mut value: reqwest::header::HeaderValue =
            value.parse().map_err(|_| format!("the value of header {name} cannot be sent"))?;
        value.set_sensitive(true);
        custom.insert(name, value);
    }
    // Redirects are not followed: another address is not the server that was configured.
    let client = http_client::builder().connect_timeout(Duration::from_secs(10)).build();
    let client = client.map_err(|error| format!("no client for it can be made: {error}"))?;
    let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(custom);
    Ok(StreamableHttpClientTransport::with_client(BoundedClient(client), config))
}

/// A tool with the class that our configuration gives it. Only the configuration makes a tool read-only; the server's hint
/// does not. The hint that a call may be repeated counts only where no approval is needed: a person who approved a call
/// approved one call.
fn offered(config: &ServerConfig, tool: Tool) -> Offer {
    let hints = tool.annotations.unwrap_or_default();
    // What is not claimed is not assumed.
    let hint = match (hints.read_only_hint, hints.idempotent_hint) {
        (Some(true), _) => Class::ReadOnly,
        (_, Some(true)) => Class::Idempotent,
        _ => Class::Once,
    };
    let class = match (config.read_only.iter().any(|name| *name == tool.name), hint, config.approval) {
        (true, ..) => Class::ReadOnly,
        (false, Class::ReadOnly | Class::Idempotent, Approval::Never) => Class::Idempotent,
        (false, ..) => Class::Once,
    };
    Offer {
        name: format!("{}{}", config.prefix(), tool.name),
        description: tool.description.or(tool.title.map(Into::into)).unwrap_or_default().into_owned(),
        schema: Value::Object((*tool.input_schema).clone()),
        class,
        hint: Some(hint),
    }
}

/// What this client tells a server about itself, and takes from it: questions to the run's people, progress, changed lists.
#[derive(Clone, Default)]
struct ClientState {
    calls: Calls,
    changed: Arc<AtomicBool>,
}

impl ClientHandler for ClientState {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(FormElicitationCapability::default()));
        // What the handshake names; who is asked without one is told the newer version with every request.
        ClientConfig::new(capabilities, Implementation::new("pleach", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = serde_json::to_value(request).unwrap_or_default();
        let (elicited, reply) = Elicitation::new(request);
        match self.calls.ask(elicited) {
            true => Ok(reply.await.unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Cancel))),
            // Nobody called anything: there is nobody to ask.
            false => Ok(ElicitResult::new(ElicitationAction::Decline)),
        }
    }

    async fn on_progress(&self, _progress: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        self.calls.progressed();
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}
