//! One call of a tool: running, timed out, asking a question, or finished. In the older protocol a call that asks keeps its
//! connection and waits for the answer; in the newer one the server forgets the call and is sent it again with the answer.

use super::config::ServerConfig;
use super::connection::Connection;
use super::elicitation::{self, PendingInput};
use super::result;
use engine::effect::{ToolQuestion, EffectId, Outcome, AnsweredQuestion, ToolCall, ToolOutcome};
use rmcp::model::{CallToolRequestParams, CallToolResponse, ElicitResult, JsonObject, RequestMetaObject};
use rmcp::service::ServiceError;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

/// Whatever progress it reports, a call ends after this many times its timeout.
const MOST_TIMEOUTS: u32 = 10;
const WAIT_FOR_ANSWER: Duration = Duration::from_secs(24 * 3_600);
/// Where a server finds the key that stays the same however often one call is made.
const EFFECT_KEY: &str = "pleach/effect";

/// A question of the server, with the channel its answer goes to.
pub struct Elicitation {
    request: Value,
    reply: oneshot::Sender<ElicitResult>,
}

impl Elicitation {
    pub fn new(request: Value) -> (Elicitation, oneshot::Receiver<ElicitResult>) {
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
pub struct Calls {
    next: Arc<AtomicU64>,
    open: Arc<Mutex<BTreeMap<u64, mpsc::UnboundedSender<CallEvent>>>>,
}

impl Calls {
    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, mpsc::UnboundedSender<CallEvent>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The protocol does not say which call a question belongs to. Whichever is asked, the answer goes to the question.
    pub fn ask(&self, elicited: Elicitation) -> bool {
        let news = self.open().values().next().cloned();
        news.is_some_and(|news| news.send(CallEvent::Asks(elicited)).is_ok())
    }

    /// The server reported progress: no call on this connection is silent.
    pub fn progressed(&self) {
        self.open().values().for_each(|news| drop(news.send(CallEvent::Progress)));
    }
}

pub struct RunningCall {
    server: String,
    tool: String,
    timeout: Duration,
    begun: Instant,
    news: mpsc::UnboundedReceiver<CallEvent>,
    _guard: CallGuard,
}

/// Cancels a call when nobody waits for it any more.
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

/// A call that waits for a person, its connection open.
pub struct WaitingCall {
    running: RunningCall,
    elicited: Elicitation,
    since: Instant,
}

impl WaitingCall {
    pub fn is_stale(&self) -> bool {
        self.since.elapsed() > WAIT_FOR_ANSWER || self.elicited.reply.is_closed()
    }

    /// Give it the answer. One that does not fit the question is asked for again.
    pub fn go_on(self, told: &AnsweredQuestion) -> Result<RunningCall, Box<Paused>> {
        if self.elicited.reply.is_closed() {
            return Err(Box::new((gone(&self.running.server), None)));
        }
        match elicitation::read(&self.elicited.request, &told.answer) {
            Ok(result) => {
                let WaitingCall { running, elicited, .. } = self;
                let _ = elicited.reply.send(result);
                Ok(running)
            }
            Err(why) => Err(Box::new((self.asks(Some(&why)), Some(self)))),
        }
    }

    fn asks(&self, wrong: Option<&str>) -> Outcome {
        let request = &self.elicited.request;
        let text = elicitation::question(&self.running.server, request, wrong);
        Outcome::Asks(ToolQuestion { text, options: elicitation::options(request), kept: Value::Null })
    }
}

/// What a call came to for now, and the call itself where it waits for a person.
pub type Paused = (Outcome, Option<WaitingCall>);

fn gone(server: &str) -> Outcome {
    Outcome::Lost(format!("{server} asked over a connection that is gone, so its call cannot go on"))
}

impl RunningCall {
    pub fn begin(
        config: &ServerConfig,
        connection: &Arc<Connection>,
        tool: &str,
        call: &ToolCall,
        effect: &EffectId,
    ) -> RunningCall {
        RunningCall::send(config, connection, tool, parameters(tool, call, effect))
    }

    /// A call that asked before, and is not held here.
    pub fn resumed(
        config: &ServerConfig,
        connection: &Arc<Connection>,
        tool: &str,
        call: &ToolCall,
        effect: &EffectId,
        told: &AnsweredQuestion,
    ) -> Result<RunningCall, Box<Paused>> {
        let Some(mut kept) = PendingInput::read(&told.kept) else { return Err(Box::new((gone(&config.name), None))) };
        match kept.take(&told.answer) {
            Ok(true) => {
                let mut parameters = parameters(tool, call, effect).with_input_responses(kept.answered);
                parameters.request_state = kept.state;
                Ok(RunningCall::send(config, connection, tool, parameters))
            }
            Ok(false) => Err(Box::new((asks(&config.name, &kept, None), None))),
            Err(why) => Err(Box::new((asks(&config.name, &kept, Some(&why)), None))),
        }
    }

    fn send(
        config: &ServerConfig,
        connection: &Arc<Connection>,
        tool: &str,
        parameters: CallToolRequestParams,
    ) -> RunningCall {
        let (sender, news) = mpsc::unbounded_channel();
        let number = connection.calls.next.fetch_add(1, Ordering::Relaxed);
        connection.calls.open().insert(number, sender.clone());
        let peer = connection.peer().clone();
        let task = tokio::spawn(async move {
            let _ = sender.send(CallEvent::Finished(peer.call_tool_once(parameters).await));
        });
        let guard = CallGuard { calls: connection.calls.clone(), number, task: task.abort_handle() };
        let (server, tool, timeout) = (config.name.clone(), tool.to_owned(), config.timeout);
        RunningCall { server, tool, timeout, begun: Instant::now(), news, _guard: guard }
    }

    /// How it ended, or what it asks; then it is held, where it has to be.
    pub async fn outcome(mut self) -> Paused {
        let deadline = tokio::time::Instant::now() + self.timeout * MOST_TIMEOUTS;
        loop {
            let silence = tokio::time::timeout(self.timeout, self.news.recv());
            let news = tokio::select! {
                biased;
                news = silence => news,
                () = tokio::time::sleep_until(deadline) => return (self.too_long("it never came to an end"), None),
            };
            match news {
                Err(_) => return (self.too_long("it was silent"), None),
                Ok(None) => return (Outcome::Lost(format!("the call of {} broke off", self.tool)), None),
                Ok(Some(CallEvent::Progress)) => {}
                Ok(Some(CallEvent::Asks(elicited))) => {
                    let held = WaitingCall { running: self, elicited, since: Instant::now() };
                    return (held.asks(None), Some(held));
                }
                Ok(Some(CallEvent::Finished(result))) => return (self.over(result), None),
            }
        }
    }

    fn too_long(&self, why: &str) -> Outcome {
        let waited = self.begun.elapsed().as_secs_f64();
        Outcome::Lost(format!(
            "{} gave no answer to {}: {why}, and was given up after {waited:.1} s",
            self.server, self.tool
        ))
    }

    fn over(&self, result: Result<CallToolResponse, ServiceError>) -> Outcome {
        let refused = |why: String| Outcome::Tool(ToolOutcome::refused(why));
        match result {
            Ok(CallToolResponse::Complete(result)) => Outcome::Tool(result::outcome(&self.server, &self.tool, result)),
            Ok(CallToolResponse::InputRequired(required)) => match PendingInput::of(required) {
                Some(kept) => asks(&self.server, &kept, None),
                None => refused(format!("{} wants something that only a model or a program could give", self.server)),
            },
            Ok(_) => refused(format!("{} answered with something this program does not understand", self.server)),
            Err(ServiceError::McpError(error)) => {
                refused(format!("{}: {} ({})", self.server, result::short(&error.message), error.code.0))
            }
            Err(ServiceError::UnexpectedResponse) => refused(format!("{} answered with something else", self.server)),
            Err(error) => {
                let waited = self.begun.elapsed().as_secs_f64();
                Outcome::Lost(format!(
                    "The connection to {} broke {waited:.1} s into {}: {error}",
                    self.server, self.tool
                ))
            }
        }
    }
}

fn asks(server: &str, kept: &PendingInput, wrong: Option<&str>) -> Outcome {
    let request = kept.next().cloned().unwrap_or_default();
    Outcome::Asks(ToolQuestion {
        text: elicitation::question(server, &request, wrong),
        options: elicitation::options(&request),
        kept: serde_json::to_value(kept).unwrap_or_default(),
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
