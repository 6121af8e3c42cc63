//! MCP over HTTP with a limit on the size of answers. The MCP library would read a body of any size, and treats an event that is
//! too large as a broken connection. Here both become an error that answers the call.

use super::messages::{MAX_MESSAGE_BYTES, MessageError, MessageScanner, error};
use futures::stream::{BoxStream, StreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::{Client, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use serde_json::Value;
use sse_stream::{Sse, SseStream};
use std::collections::HashMap;
use std::sync::Arc;

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The most that is read of an error response.
const MAX_ERROR_BYTES: usize = 64 * 1024;

type Failure = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

#[derive(Clone)]
pub(super) struct BoundedClient(pub Client);

impl StreamableHttpClient for BoundedClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let mut request = self.0.post(uri.as_ref()).headers(custom_headers.into_iter().collect::<HeaderMap>());
        request = request.header(ACCEPT, format!("{EVENTS}, {JSON}"));
        if let Some(token) = auth_header {
            request = request.bearer_auth(token);
        }
        if let Some(session) = &session_id {
            request = request.header(SESSION, session.as_ref());
        }
        let response = request.json(&message).send().await?;
        let sent = SentMessage { in_session: session_id.is_some(), message };
        match response.status().is_success() {
            true => sent.answered(response).await,
            false => sent.refused(response).await,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failure> {
        self.0.delete_session(uri, session_id, auth_header, custom_headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        self.0
            .get_stream_with_max_sse_event_size(
                uri,
                session_id,
                last_event_id,
                auth_header,
                custom_headers,
                MAX_MESSAGE_BYTES,
            )
            .await
    }
}

/// A message that was sent.
struct SentMessage {
    message: ClientJsonRpcMessage,
    in_session: bool,
}

impl SentMessage {
    /// The id of a request, which expects an answer.
    fn request_id(&self) -> Option<&RequestId> {
        match &self.message {
            JsonRpcMessage::Request(request) => Some(&request.id),
            _ => None,
        }
    }

    async fn answered(self, response: Response) -> Result<StreamableHttpPostResponse, Failure> {
        let kind = text_of(response.headers(), &CONTENT_TYPE);
        let session = text_of(response.headers(), &SESSION);
        let has_no_content = matches!(response.status(), StatusCode::ACCEPTED | StatusCode::NO_CONTENT);
        if has_no_content || (response.content_length() == Some(0) && self.request_id().is_none()) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let id = self.request_id().and_then(|id| serde_json::to_value(id).ok());
        match kind.as_deref() {
            Some(kind) if kind.starts_with(EVENTS) => {
                Ok(StreamableHttpPostResponse::Sse(events(response, id), session))
            }
            Some(kind) if kind.starts_with(JSON) => {
                let body = body(response, MAX_MESSAGE_BYTES).await?.and_then(|body| check(&body).map(|()| body));
                let read = match (&body, &id) {
                    (Ok(body), _) => serde_json::from_slice(body),
                    (Err(why), Some(id)) => serde_json::from_value(error(id, *why)),
                    (Err(_), None) => return Ok(StreamableHttpPostResponse::Accepted),
                };
                match read {
                    Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
                    Err(_) if id.is_none() => Ok(StreamableHttpPostResponse::Accepted),
                    Err(why) => Err(unexpected(format!("its answer is not an MCP message: {why}"))),
                }
            }
            _ => Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
    }

    async fn refused(self, response: Response) -> Result<StreamableHttpPostResponse, Failure> {
        let status = response.status();
        if status == StatusCode::NOT_FOUND && self.in_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            let challenge = text_of(response.headers(), &WWW_AUTHENTICATE).unwrap_or_default();
            return Err(unexpected(format!("HTTP {status} {challenge}").trim_end().to_owned()));
        }
        let retry_after = text_of(response.headers(), &RETRY_AFTER);
        let session = text_of(response.headers(), &SESSION);
        let body = body(response, MAX_ERROR_BYTES).await?.unwrap_or_default();
        let reported = match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(JsonRpcMessage::Error(reported)) => Some(reported),
            Ok(_) | Err(_) => None,
        };
        let body = String::from_utf8_lossy(&body);
        match (reported, self.request_id()) {
            // A server of the older protocol version does not know this request. Its error may lack the id, so it is set here.
            (reported, Some(id)) if status.is_client_error() && self.is_discovery() => {
                let otherwise = || ErrorData::invalid_request(format!("refused with HTTP {status}: {body}"), None);
                let error = reported.map_or_else(otherwise, |reported| reported.error);
                Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error, Some(id.clone())), None))
            }
            (Some(reported), _) if status != StatusCode::TOO_MANY_REQUESTS => {
                Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(reported), session))
            }
            _ if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() => {
                Err(HttpStatusError::new(status.as_u16(), retry_after).into())
            }
            _ => Err(unexpected(format!("HTTP {status}: {body}"))),
        }
    }

    fn is_discovery(&self) -> bool {
        match &self.message {
            JsonRpcMessage::Request(sent) => {
                matches!(sent.request, ClientRequest::DiscoverRequest(_)) && !self.in_session
            }
            _ => false,
        }
    }
}

fn unexpected(why: String) -> Failure {
    StreamableHttpError::UnexpectedServerResponse(why.into())
}

fn text_of(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// A body of at most `most` bytes. The rest of a longer one is not read.
async fn body(mut response: Response, most: usize) -> Result<Result<Vec<u8>, MessageError>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > most {
            let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
            return Ok(Err(MessageError::TooLarge(announced.unwrap_or_default().max(body.len() + chunk.len()))));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Ok(body))
}

fn check(message: &[u8]) -> Result<(), MessageError> {
    let mut scanner = MessageScanner::default();
    scanner.scan(message);
    scanner.error().map_or(Ok(()), Err)
}

/// Why a stream of events ended.
#[derive(Debug, thiserror::Error)]
enum EventStreamError {
    #[error("an event has more than {MAX_MESSAGE_BYTES} bytes")]
    TooLarge(usize),
    #[error(transparent)]
    Connection(#[from] reqwest::Error),
}

/// The events of an answer. An event that is too large ends the stream with an error that answers the call.
fn events(response: Response, id: Option<Value>) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut size = EventSize::default();
    let bytes = response.bytes_stream().map(move |chunk| {
        let chunk = chunk?;
        size.take(&chunk)?;
        Ok::<_, EventStreamError>(chunk)
    });
    SseStream::from_bytes_stream(bytes).map(move |event| error_for_call(event, id.as_ref())).boxed()
}

/// Replaces an event that is too large or too deep by an error under the id of the call.
fn error_for_call(event: Result<Sse, SseError>, id: Option<&Value>) -> Result<Sse, SseError> {
    let refused = match &event {
        Ok(event) => event.data.as_deref().and_then(|data| check(data.as_bytes()).err()),
        Err(SseError::Body(why)) => match why.downcast_ref() {
            Some(EventStreamError::TooLarge(bytes)) => Some(MessageError::TooLarge(*bytes)),
            _ => None,
        },
        Err(_) => None,
    };
    match (refused, id) {
        (Some(why), Some(id)) => Ok(Sse { data: Some(error(id, why).to_string()), ..Sse::default() }),
        _ => event,
    }
}

/// Counts bytes since the last empty line, which ends an event.
#[derive(Default)]
struct EventSize {
    bytes: usize,
    line: usize,
    after_cr: bool,
}

impl EventSize {
    fn take(&mut self, chunk: &[u8]) -> Result<(), EventStreamError> {
        for byte in chunk {
            let follows_cr = std::mem::replace(&mut self.after_cr, *byte == b'\r');
            match byte {
                b'\n' if follows_cr => {}
                b'\n' | b'\r' => {
                    self.bytes = if self.line == 0 { 0 } else { self.bytes + 1 };
                    self.line = 0;
                }
                _ => {
                    self.line += 1;
                    self.bytes += 1;
                }
            }
        }
        if self.bytes > MAX_MESSAGE_BYTES { Err(EventStreamError::TooLarge(self.bytes)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_the_size_of_an_event_is_counted_over_all_its_lines() {
        let mut size = EventSize::default();
        for _ in 0..100 {
            size.take(b"data: 12345\r\n").unwrap();
        }
        assert_eq!((size.bytes, size.line), (1_200, 0));
        size.take(b"\r\ndata: x\n").unwrap();
        assert_eq!(size.bytes, 8);
        assert!(size.take(&vec![b'x'; MAX_MESSAGE_BYTES]).is_err());
    }
}
