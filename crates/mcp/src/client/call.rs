//! One tool call: running, timed out, asking a question, or finished. In the older protocol version, a call that asks holds its
//! connection open until the answer. In the newer one, the server forgets the call, and it is sent again with the answer.

use super::config::ServerConfig;
use super::connection::Connection;
use super::elicitation::{self, PendingInput};
use super::result;
use engine::effect::{AnsweredQuestion, EffectId, Outcome, ToolCall, ToolOutcome, ToolQuestion};
use rmcp::model::{CallToolRequestParams, CallToolResponse, ElicitResult, JsonObject, RequestMetaObject};
use rmcp::service::ServiceError;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

/// A call ends after this many times its timeout, whatever progress it reports.
const MAX_TIMEOUTS_PER_CALL: u32 = 10;
const WAIT_FOR_ANSWER: Duration = Duration::from_secs(24 * 3_600);
/// The field of `_meta` with the idempotency key: the effect id, the same for every attempt.
const EFFECT_KEY: &str = "pleach/effect";

/// A server's question and the channel for its answer.
pub(super) struct Elicitation {
    request: Value,
    reply: oneshot::Sender<ElicitResult>,
}

impl Elicitation {
    pub(super) fn new(request: Value) -> (Elicitation, oneshot::Receiver<ElicitResult>) {
        let (reply, answer) = oneshot::channel();
        (Elicitation { request, reply }, answer)
    }
}

enum CallEvent {
    Progress,
    Asks(Elicitation),
    Finished(Result<CallToolResponse, ServiceError>),
}

/// The calls running on one connection, oldest first.
#[derive(Clone, Default)]
pub(super) struct Calls {
    next: Arc<AtomicU64>,
    open: Arc<Mutex<BTreeMap<u64, mpsc::UnboundedSender<CallEvent>>>>,
}

impl Calls {
    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, mpsc::UnboundedSender<CallEvent>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a question to the oldest call. The protocol does not say which call a question belongs to, and the answer goes back
    /// to the question, not to the call. False if no call is running.
    pub(super) fn ask(&self, elicitation: Elicitation) -> bool {
        let oldest = self.open().values().next().cloned();
        oldest.is_some_and(|events| events.send(CallEvent::Asks(elicitation)).is_ok())
    }

    /// Restarts the timeout of every call on this connection, since progress does not name its call here.
    pub(super) fn progressed(&self) {
        self.open().values().for_each(|events| drop(events.send(CallEvent::Progress)));
    }
}

pub(super) struct RunningCall {
    server: String,
    tool: String,
    timeout: Duration,
    started: Instant,
    events: mpsc::UnboundedReceiver<CallEvent>,
    _guard: CallGuard,
}

/// Cancels the call when it is dropped.
struct CallGuard {
    calls: Calls,
    number: u64,
    task: AbortHandle,
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.calls.open().remove(&self.number);
        self.task.abort();
    }
}

/// A call that waits for a person's answer with its connection open.
pub(super) struct WaitingCall {
    running: RunningCall,
    elicitation: Elicitation,
    since: Instant,
}

impl WaitingCall {
    pub(super) fn is_stale(&self) -> bool {
        self.since.elapsed() > WAIT_FOR_ANSWER || self.elicitation.reply.is_closed()
    }

    /// Passes the answer on. If it does not fit the question, the person is asked again.
    pub(super) fn resume(self, answered: &AnsweredQuestion) -> Result<RunningCall, Box<OutcomeSoFar>> {
        if self.elicitation.reply.is_closed() {
            return Err(Box::new((connection_lost(&self.running.server), None)));
        }
        match elicitation::read(&self.elicitation.request, &answered.answer) {
            Ok(result) => {
                let WaitingCall { running, elicitation, .. } = self;
                let _ = elicitation.reply.send(result);
                Ok(running)
            }
            Err(why) => Err(Box::new((self.question(Some(&why)), Some(self)))),
        }
    }

    fn question(&self, wrong: Option<&str>) -> Outcome {
        let request = &self.elicitation.request;
        let text = elicitation::question(&self.running.server, request, wrong);
        Outcome::Asks(ToolQuestion { text, options: elicitation::options(request), tool_state: Value::Null })
    }
}

/// The outcome for now, and the call itself if it waits for a person over an open connection. As an `Err` it means: nothing
/// was sent, this is the outcome.
pub(super) type OutcomeSoFar = (Outcome, Option<WaitingCall>);

fn connection_lost(server: &str) -> Outcome {
    Outcome::Lost(format!("the connection over which {server} asked was lost, so the call cannot continue"))
}

impl RunningCall {
    pub(super) fn begin(
        config: &ServerConfig,
        connection: &Arc<Connection>,
        tool: &str,
        call: &ToolCall,
        effect: &EffectId,
    ) -> RunningCall {
        RunningCall::send(config, connection, tool, parameters(tool, call, effect))
    }

    /// Sends a call again with a person's answer, as the newer protocol wants. A call of the older protocol is lost if its
    /// connection is.
    pub(super) fn resumed(
        config: &ServerConfig,
        connection: &Arc<Connection>,
        tool: &str,
        call: &ToolCall,
        effect: &EffectId,
        answered: &AnsweredQuestion,
    ) -> Result<RunningCall, Box<OutcomeSoFar>> {
        let Some(mut pending) = PendingInput::read(&answered.tool_state) else {
            return Err(Box::new((connection_lost(&config.name), None)));
        };
        match pending.take(&answered.answer) {
            Ok(true) => {
                let mut parameters = parameters(tool, call, effect).with_input_responses(pending.answered);
                parameters.request_state = pending.state;
                Ok(RunningCall::send(config, connection, tool, parameters))
            }
            Ok(false) => Err(Box::new((question(&config.name, &pending, None), None))),
            Err(why) => Err(Box::new((question(&config.name, &pending, Some(&why)), None))),
        }
    }

    fn send(
        config: &ServerConfig,
        connection: &Arc<Connection>,
        tool: &str,
        parameters: CallToolRequestParams,
    ) -> RunningCall {
        let (sender, events) = mpsc::unbounded_channel();
        let number = connection.calls.next.fetch_add(1, Ordering::Relaxed);
        connection.calls.open().insert(number, sender.clone());
        let peer = connection.peer().clone();
        let task = tokio::spawn(async move {
            let _ = sender.send(CallEvent::Finished(peer.call_tool_once(parameters).await));
        });
        let guard = CallGuard { calls: connection.calls.clone(), number, task: task.abort_handle() };
        let (server, tool, timeout) = (config.name.clone(), tool.to_owned(), config.timeout);
        RunningCall { server, tool, timeout, started: Instant::now(), events, _guard: guard }
    }

    /// Waits until the call ends or asks. A call that needs its connection for the answer is returned too.
    pub(super) async fn outcome(mut self) -> OutcomeSoFar {
        let deadline = tokio::time::Instant::now() + self.timeout * MAX_TIMEOUTS_PER_CALL;
        loop {
            let next = tokio::time::timeout(self.timeout, self.events.recv());
            let event = tokio::select! {
                biased;
                event = next => event,
                () = tokio::time::sleep_until(deadline) => return (self.timed_out("it did not finish"), None),
            };
            match event {
                Err(_) => return (self.timed_out("it was silent"), None),
                Ok(None) => return (Outcome::Lost(format!("the call of {} was aborted", self.tool)), None),
                Ok(Some(CallEvent::Progress)) => {}
                Ok(Some(CallEvent::Asks(elicitation))) => {
                    let waiting = WaitingCall { running: self, elicitation, since: Instant::now() };
                    return (waiting.question(None), Some(waiting));
                }
                Ok(Some(CallEvent::Finished(result))) => return (self.finished(result), None),
            }
        }
    }

    fn timed_out(&self, why: &str) -> Outcome {
        let waited = self.started.elapsed().as_secs_f64();
        Outcome::Lost(format!(
            "{} gave no answer to {}: {why}; the call timed out after {waited:.1} s",
            self.server, self.tool
        ))
    }

    fn finished(&self, result: Result<CallToolResponse, ServiceError>) -> Outcome {
        let refused = |why: String| Outcome::Tool(ToolOutcome::refused(why));
        match result {
            Ok(CallToolResponse::Complete(result)) => Outcome::Tool(result::outcome(&self.server, &self.tool, result)),
            Ok(CallToolResponse::InputRequired(required)) => match PendingInput::of(required) {
                Some(pending) => question(&self.server, &pending, None),
                None => {
                    refused(format!("{} asks for input that no person can give, which is not supported", self.server))
                }
            },
            Ok(_) => refused(format!("{} answered with a kind of result that is not supported", self.server)),
            Err(ServiceError::McpError(error)) => {
                refused(format!("{}: {} ({})", self.server, result::short(&error.message), error.code.0))
            }
            Err(ServiceError::UnexpectedResponse) => {
                refused(format!("{} answered with a result of another request", self.server))
            }
            Err(error) => {
                let waited = self.started.elapsed().as_secs_f64();
                Outcome::Lost(format!(
                    "The connection to {} was lost {waited:.1} s after {} was called: {error}",
                    self.server, self.tool
                ))
            }
        }
    }
}

fn question(server: &str, pending: &PendingInput, wrong: Option<&str>) -> Outcome {
    let request = pending.next().cloned().unwrap_or_default();
    Outcome::Asks(ToolQuestion {
        text: elicitation::question(server, &request, wrong),
        options: elicitation::options(&request),
        tool_state: serde_json::to_value(pending).unwrap_or_default(),
    })
}

fn parameters(tool: &str, call: &ToolCall, effect: &EffectId) -> CallToolRequestParams {
    let arguments: JsonObject = call.arguments.as_object().cloned().unwrap_or_default();
    let mut parameters = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let mut meta = RequestMetaObject::new();
    meta.insert(EFFECT_KEY.into(), json!(effect.0));
    parameters.meta = Some(meta);
    parameters
}
