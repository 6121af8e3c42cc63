//! One connection to an MCP server: negotiates the protocol version, lists tools, and passes on the server's questions.

use super::call::{Calls, Elicitation};
use super::child::Process;
use super::config::{ServerConfig, Transport};
use super::http::BoundedClient;
use super::messages;
use effects::tools::{Approval, OfferedTool, OfferedTools};
use engine::effect::RepeatSafety;
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

/// To start the server and negotiate a protocol version. The probe for the newer version alone may take ten seconds.
const OPEN_TIMEOUT: Duration = Duration::from_secs(40);
const LIST_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_TOOLS_PER_SERVER: usize = 200;

pub(super) struct Connection {
    peer: Peer<RoleClient>,
    pub calls: Calls,
    changed: Arc<AtomicBool>,
    stop: std::sync::Mutex<Option<RunningServiceCancellationToken>>,
    process: AsyncMutex<Option<Process>>,
    protocol: String,
}

impl Connection {
    pub(super) async fn open(config: &ServerConfig) -> Result<Connection, String> {
        match &config.transport {
            Transport::Stdio { .. } => {
                let opened = Connection::start(config, newest_protocol_first()).await;
                let Err(first) = opened else { return opened };
                // A simple server may exit or hang on a message it does not know, so a second process is started with the
                // older protocol only. If it fails too, the first error is the more useful one.
                Connection::start(config, ClientLifecycleMode::Initialize).await.map_err(|_| first)
            }
            Transport::Http { url, headers } => {
                let state = ClientState::default();
                let transport = http_transport(url, headers)?;
                let opening = serve_client_with_lifecycle(state.clone(), transport, newest_protocol_first());
                Ok(Connection::over(negotiate(opening).await?, state, None))
            }
        }
    }

    /// Starts the server as a process and connects to it.
    async fn start(config: &ServerConfig, mode: ClientLifecycleMode) -> Result<Connection, String> {
        let state = ClientState::default();
        let (mut process, stdout, stdin) = Process::start(config)?;
        let opening = serve_client_with_lifecycle(state.clone(), (messages::bounded(stdout), stdin), mode);
        match negotiate(opening).await {
            Ok(service) => Ok(Connection::over(service, state, Some(process))),
            Err(why) => {
                process.end().await;
                let stderr = process.stderr_tail();
                let stderr = if stderr.is_empty() { String::new() } else { format!("; it said: {stderr}") };
                Err(format!("{why}{stderr}"))
            }
        }
    }

    fn over(
        service: RunningService<RoleClient, ClientState>,
        state: ClientState,
        process: Option<Process>,
    ) -> Connection {
        let protocol = service.peer().peer_info().map_or_else(String::new, |info| info.protocol_version.to_string());
        let peer = service.peer().clone();
        let stop = std::sync::Mutex::new(Some(service.cancellation_token()));
        tokio::spawn(run_to_end(service));
        let ClientState { calls, changed } = state;
        Connection { peer, calls, changed, stop, process: AsyncMutex::new(process), protocol }
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    pub(super) fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Whether the server changed its tools since they were last listed.
    pub(super) fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    pub(super) async fn offers(&self, config: &ServerConfig) -> Result<OfferedTools, String> {
        self.changed.store(false, Ordering::Relaxed);
        let listed = tokio::time::timeout(LIST_TIMEOUT, self.peer.list_all_tools()).await;
        let tools = match listed {
            Ok(Ok(tools)) => tools,
            Ok(Err(error)) => return Err(format!("it does not list its tools: {error}")),
            Err(_) => return Err(format!("it did not list its tools within {} s", LIST_TIMEOUT.as_secs())),
        };
        let wanted = |tool: &Tool| config.tools.as_ref().is_none_or(|only| only.iter().any(|name| *name == tool.name));
        let mut tools: Vec<OfferedTool> =
            tools.into_iter().filter(wanted).map(|tool| offered(config, tool)).take(MAX_TOOLS_PER_SERVER).collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(OfferedTools { protocol: self.protocol.clone(), tools })
    }

    pub(super) async fn close(&self) {
        let stop = self.stop.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(stop) = stop {
            stop.cancel();
        }
        if let Some(mut process) = self.process.lock().await.take() {
            process.end().await;
        }
    }
}

/// Drives the connection until it ends.
async fn run_to_end(service: RunningService<RoleClient, ClientState>) {
    let _ = service.waiting().await;
}

/// The stateless protocol version if the server supports it, otherwise the older one with its handshake.
fn newest_protocol_first() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::V_2026_07_28], legacy_version: None }
}

async fn negotiate<E: std::fmt::Display>(
    opening: impl Future<Output = Result<RunningService<RoleClient, ClientState>, E>>,
) -> Result<RunningService<RoleClient, ClientState>, String> {
    match tokio::time::timeout(OPEN_TIMEOUT, opening).await {
        Ok(Ok(service)) => Ok(service),
        Ok(Err(error)) => Err(format!("it does not answer as an MCP server: {error}")),
        Err(_) => Err(format!("it did not answer within {} s", OPEN_TIMEOUT.as_secs())),
    }
}

fn http_transport(
    url: &str,
    headers: &std::collections::BTreeMap<String, String>,
) -> Result<StreamableHttpClientTransport<BoundedClient>, String> {
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let name = name.parse().map_err(|_| format!("{name:?} is not a valid header name"))?;
        let mut value: reqwest::header::HeaderValue =
            value.parse().map_err(|_| format!("the value of header {name} cannot be sent"))?;
        value.set_sensitive(true);
        custom.insert(name, value);
    }
    // The builder follows no redirects: another address is not the configured server.
    let client = http_client::builder().connect_timeout(Duration::from_secs(10)).build();
    let client = client.map_err(|error| format!("no HTTP client can be built for it: {error}"))?;
    let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(custom);
    Ok(StreamableHttpClientTransport::with_client(BoundedClient(client), config))
}

/// A tool with its class. Only our configuration makes a tool read-only, never the server's hint. The hint that a call may be
/// repeated counts only if no approval is needed, since a person approves one call at a time.
fn offered(config: &ServerConfig, tool: Tool) -> OfferedTool {
    let hints = tool.annotations.unwrap_or_default();
    // A missing hint counts as unsafe.
    let hint = match (hints.read_only_hint, hints.idempotent_hint) {
        (Some(true), _) => RepeatSafety::ReadOnly,
        (_, Some(true)) => RepeatSafety::Idempotent,
        _ => RepeatSafety::Once,
    };
    let class = match (config.read_only.iter().any(|name| *name == tool.name), hint, config.approval) {
        (true, ..) => RepeatSafety::ReadOnly,
        (false, RepeatSafety::ReadOnly | RepeatSafety::Idempotent, Approval::Never) => RepeatSafety::Idempotent,
        (false, ..) => RepeatSafety::Once,
    };
    OfferedTool {
        name: format!("{}{}", config.prefix(), tool.name),
        description: tool.description.or(tool.title.map(Into::into)).unwrap_or_default().into_owned(),
        schema: Value::Object((*tool.input_schema).clone()),
        class,
        hint: Some(hint),
    }
}

/// Handles requests and notifications of a server: questions, progress, changed lists of tools.
#[derive(Clone, Default)]
struct ClientState {
    calls: Calls,
    changed: Arc<AtomicBool>,
}

impl ClientHandler for ClientState {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(FormElicitationCapability::default()));
        // The version in the handshake. Without a handshake, every request names the newer version.
        ClientConfig::new(capabilities, Implementation::new("pleach", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = serde_json::to_value(request).unwrap_or_default();
        let (elicitation, reply) = Elicitation::new(request);
        match self.calls.ask(elicitation) {
            true => Ok(reply.await.unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Cancel))),
            // No call is running, so there is nobody to ask.
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
