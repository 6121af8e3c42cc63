//! One HTTP request to a model server and its answer, with timeouts and size limits. It reports what happened on the wire;
//! `wire_error` decides what that means for the run.

use super::Timeouts;
use super::partial_reply::{MAX_ANSWER_BYTES, PartialReply};
use super::secrets::DeltaRedactor;
use super::wire::WireFormat;
use super::wire_error::WireError;
use http_client::{causes, retry_after, sse};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::Value;
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, timeout, timeout_at};

/// A stream adds a few hundred bytes of framing to each token.
const MAX_RESPONSE_BYTES: usize = 32 * 1024 * 1024;
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The same numbers on Linux and macOS.
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// An answer and the id the provider gave it.
pub(super) struct Received {
    pub reply: PartialReply,
    pub request_id: Option<String>,
}

pub(super) async fn send(
    request: reqwest::RequestBuilder,
    wire: &dyn WireFormat,
    role: &str,
    streaming: bool,
    timeouts: &Timeouts,
    deltas: &mut DeltaRedactor<'_>,
) -> Result<Received, WireError> {
    let exchange = async {
        // Without streaming, the first byte comes when the answer is complete, so only the total timeout applies.
        let first_byte = if streaming { timeouts.first_byte } else { timeouts.total };
        let response = timeout(first_byte, request.send()).await.map_err(|_| stalled(first_byte))?.map_err(not_sent)?;
        if !response.status().is_success() {
            return Err(refusal(response, timeouts.idle).await);
        }
        let request_id = request_id(response.headers());
        let reply = ReplyReader { wire, role, reply: PartialReply::default(), shown: 0, deltas }
            .all(response, streaming, first_byte, timeouts.idle)
            .await?;
        Ok(Received { reply, request_id })
    };
    timeout(timeouts.total, exchange)
        .await
        .map_err(|_| WireError::Broke(format!("the answer was not complete after {}", seconds(timeouts.total))))?
}

struct ReplyReader<'a, 'w> {
    wire: &'a dyn WireFormat,
    role: &'a str,
    reply: PartialReply,
    shown: usize,
    deltas: &'a mut DeltaRedactor<'w>,
}

impl ReplyReader<'_, '_> {
    async fn all(
        mut self,
        mut response: Response,
        streaming: bool,
        first_byte: Duration,
        idle: Duration,
    ) -> Result<PartialReply, WireError> {
        let kind = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default()
            .to_ascii_lowercase();
        if kind.contains("event-stream") || (streaming && !kind.contains("json")) {
            self.stream(&mut response, first_byte, idle).await?;
        } else {
            self.piece(&mut response, idle).await?;
        }
        self.finish()
    }

    /// Every chunk, even a keep-alive comment, restarts the timeout. Only the total limits a server that keeps sending.
    async fn stream(&mut self, response: &mut Response, first_byte: Duration, idle: Duration) -> Result<(), WireError> {
        let mut parser = sse::Parser::default();
        let (mut limit, mut raw) = (first_byte, 0);
        let mut until = Instant::now() + limit;
        while !self.reply.ended {
            let chunk = timeout_at(until, response.chunk()).await.map_err(|_| stalled(limit))?.map_err(cut)?;
            let Some(chunk) = chunk else { break };
            raw += chunk.len();
            let mut events = Vec::new();
            let parsed = parser.push(&chunk, |event| events.push(event));
            parsed.map_err(|sse::TooLong| {
                WireError::Broke("an event of the stream was too long and was cut off".into())
            })?;
            if self.take(&events)? {
                limit = idle;
            }
            until = Instant::now() + limit;
            if raw > MAX_RESPONSE_BYTES || self.reply.bytes() > MAX_ANSWER_BYTES {
                return Err(WireError::Broke(format!(
                    "the answer did not end within {} MiB and was cut off",
                    MAX_ANSWER_BYTES >> 20
                )));
            }
        }
        let mut rest = Vec::new();
        parser.finish(|event| rest.push(event));
        if !self.reply.ended {
            self.take(&rest)?;
        }
        Ok(())
    }

    fn take(&mut self, events: &[sse::Event]) -> Result<bool, WireError> {
        let mut has_content = false;
        for event in events {
            has_content |= self
                .wire
                .event(event, &mut self.reply)
                .map_err(|error| WireError::Broke(format!("an event of the stream is not JSON: {error}")))?;
            if let Some(error) = self.reply.error.take() {
                return Err(WireError::reported("it reported an error in the middle of the answer", error));
            }
            if self.reply.ended {
                break;
            }
        }
        self.show();
        Ok(has_content)
    }

    fn show(&mut self) {
        let fresh = self.reply.answer(self.role).get(self.shown..).unwrap_or_default();
        self.shown += fresh.len();
        self.deltas.push(fresh);
    }

    async fn piece(&mut self, response: &mut Response, idle: Duration) -> Result<(), WireError> {
        let body = body(response, MAX_RESPONSE_BYTES, idle).await?;
        let text = String::from_utf8_lossy(&body);
        let answer: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| WireError::Broke(format!("the answer is not JSON ({error}): {text}")))?;
        self.wire.whole(&answer, &mut self.reply);
        self.show();
        Ok(())
    }

    fn finish(self) -> Result<PartialReply, WireError> {
        let ReplyReader { reply, wire, role, .. } = self;
        if let Some(error) = reply.error {
            return Err(WireError::reported("it answered with an error", error));
        }
        if !wire.finished(&reply) {
            return Err(WireError::Broke("the answer ended without its terminator".into()));
        }
        // An answer without text that was counted as output is paid for: it goes to the run, which asks once more.
        if reply.answer(role).trim().is_empty() && !reply.was_written() {
            let stop = reply.stop.as_deref().unwrap_or("none given");
            return Err(WireError::Broke(format!("the answer is empty (finish reason: {stop})")));
        }
        if reply.bytes() > MAX_ANSWER_BYTES {
            return Err(WireError::Broke(format!("the answer is longer than {} MiB", MAX_ANSWER_BYTES >> 20)));
        }
        Ok(reply)
    }
}

/// A body of at most `most` bytes, with at most `idle` between two chunks.
pub(super) async fn body(response: &mut Response, most: usize, idle: Duration) -> Result<Vec<u8>, WireError> {
    let mut body = Vec::new();
    while let Some(chunk) = timeout(idle, response.chunk()).await.map_err(|_| stalled(idle))?.map_err(cut)? {
        body.extend_from_slice(&chunk);
        if body.len() > most {
            return Err(WireError::Broke(format!("the answer is larger than {} KiB", most >> 10)));
        }
    }
    Ok(body)
}

/// A refusal with as much of its body as can be read.
pub(super) async fn refusal(mut response: Response, idle: Duration) -> WireError {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers(), SystemTime::now());
    let retry_after_ms = retry_after.map(|wait| wait.as_millis() as i64);
    let body = body(&mut response, MAX_ERROR_BYTES, idle).await.unwrap_or_default();
    WireError::Refused { status, body: String::from_utf8_lossy(&body).into_owned(), retry_after_ms }
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    let id = ["x-request-id", "request-id"].iter().find_map(|name| headers.get(*name))?;
    id.to_str().ok().filter(|id| !id.is_empty() && id.len() <= 200).map(str::to_owned)
}

/// A request that was never written was not paid for. After that, it may have been.
pub(super) fn not_sent(error: reqwest::Error) -> WireError {
    let reason = causes(&error);
    if is_out_of_files(&error) {
        WireError::OutOfFiles
    } else if error.is_connect() || error.is_dns() || error.is_builder() {
        WireError::Unreached(reason)
    } else {
        WireError::Broke(format!("the connection was lost before an answer came: {reason}"))
    }
}

/// The process or the machine has no file descriptor left for a connection.
fn is_out_of_files(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |cause| cause.source());
    causes.any(|cause| {
        let os = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
        matches!(os, Some(ENFILE | EMFILE))
    })
}

fn cut(error: reqwest::Error) -> WireError {
    WireError::Broke(format!("the answer broke off: {}", causes(&error)))
}

fn stalled(limit: Duration) -> WireError {
    WireError::Broke(format!("it sent nothing for {}", seconds(limit)))
}

fn seconds(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}
