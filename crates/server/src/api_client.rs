//! Requests to the HTTP API: to the router of this process, over the socket of the process that holds the database, or over
//! the network. Commands do not know which.

use crate::api::problems::Problem;
use crate::data_dir::ShortPath;
use crate::failure::Failure;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use http_client::sse;
use runtime::ports::LOCAL_HANDLE;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tower_service::Service;

/// Names the acting person. Trusted, because only the owner of the data directory can reach the socket.
pub(crate) const ACTOR_HEADER: &str = "x-pleach-actor";

/// A server that takes longer to connect counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Streams have a heartbeat every ten seconds and requests end sooner: after this much silence the other side is stopped or gone.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(crate) struct ApiClient {
    transport: Transport,
    actor: String,
}

#[derive(Clone)]
enum Transport {
    InProcess {
        router: Router,
        /// Credentials of the caller, when a request is made on behalf of one.
        headers: Box<HeaderMap>,
        peer: Option<ConnectInfo<SocketAddr>>,
    },
    Remote {
        client: reqwest::Client,
        /// The beginning of every URL.
        server: String,
        /// None on the network, where the owner of the token acts.
        socket: Option<Arc<ShortPath>>,
    },
}

#[derive(Debug)]
pub(crate) enum ApiError {
    /// The server answered and refused.
    Refused(Box<Problem>),
    /// The connection was lost, or the answer cannot be read. Another process may hold the database now.
    Gone(String),
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Failure {
        match error {
            ApiError::Refused(problem) => problem.into_failure(),
            ApiError::Gone(why) => Failure::unreachable(format!("{why}\nRun the command again.")),
        }
    }
}

type Chunks = BoxStream<'static, Result<Bytes, String>>;
pub(crate) type Events = BoxStream<'static, Result<sse::Event, ApiError>>;

impl ApiClient {
    pub(crate) fn to_router(router: Router, actor: &str) -> ApiClient {
        let transport = Transport::InProcess { router, headers: Box::default(), peer: None };
        ApiClient { transport, actor: actor.to_owned() }
    }

    /// Through the router that received the caller's request, with the caller's credentials.
    pub(crate) fn on_behalf(router: Router, caller: &HeaderMap, peer: Option<ConnectInfo<SocketAddr>>) -> ApiClient {
        let actor = caller.get(ACTOR_HEADER).and_then(|actor| actor.to_str().ok()).unwrap_or(LOCAL_HANDLE).to_owned();
        let mut headers = HeaderMap::new();
        let site = HeaderName::from_static("sec-fetch-site");
        for name in [header::AUTHORIZATION, header::COOKIE, header::HOST, header::ORIGIN, site] {
            if let Some(value) = caller.get(&name) {
                headers.insert(name, value.clone());
            }
        }
        ApiClient { transport: Transport::InProcess { router, headers: Box::new(headers), peer }, actor }
    }

    pub(crate) fn to_socket(socket: &Path, actor: &str) -> Result<ApiClient, Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::unreachable(format!("{} cannot be used: {error}", socket.display()))
        };
        let path = ShortPath::new(socket).map_err(|error| failed(&error))?;
        let client = reqwest::Client::builder()
            .unix_socket(path.path())
            .no_proxy()
            .read_timeout(READ_TIMEOUT)
            .build()
            .map_err(|error| failed(&error))?;
        let transport = Transport::Remote { client, server: "http://pleach".into(), socket: Some(Arc::new(path)) };
        Ok(ApiClient { transport, actor: actor.to_owned() })
    }

    pub(crate) fn to_remote_server(server: &str, token: Option<&str>) -> Result<ApiClient, Failure> {
        let unusable = |what: &str| Failure::usage(format!("{what} cannot be used for {server}; nothing was sent"));
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.trim()))
                .map_err(|_| unusable("the token in PLEACH_TOKEN"))?;
            bearer.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, bearer);
        }
        let client = reqwest::Client::builder()
            .default_headers(headers)
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT);
        let client = client.build().map_err(|error| unusable(&error.to_string()))?;
        let server = server.trim_end_matches('/').to_owned();
        Ok(ApiClient { transport: Transport::Remote { client, server, socket: None }, actor: String::new() })
    }

    /// Whether another process answers.
    pub(crate) fn is_remote(&self) -> bool {
        !matches!(self.transport, Transport::InProcess { .. })
    }

    fn gone(&self, error: &reqwest::Error) -> ApiError {
        let own: &(dyn std::error::Error + 'static) = error;
        let why = std::iter::successors(Some(own), |error| error.source()).last().unwrap_or(own);
        ApiError::Gone(match &self.transport {
            Transport::Remote { server, socket: None, .. } => format!("the server {server} does not answer: {why}"),
            _ if error.is_timeout() => {
                let seconds = READ_TIMEOUT.as_secs();
                format!("the process that holds the database has not answered for {seconds} s; it may be stopped")
            }
            _ => format!("the connection to the process that holds the database was lost: {why}"),
        })
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        parse(&self.text(Method::GET, path, None).await?)
    }

    /// The body as it was sent.
    pub(crate) async fn get_text(&self, path: &str) -> Result<String, ApiError> {
        self.text(Method::GET, path, None).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ApiError> {
        parse(&self.send(Method::POST, path, body).await?)
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: &impl Serialize) -> Result<String, ApiError> {
        let body = serde_json::to_string(body).map_err(|error| ApiError::Gone(error.to_string()))?;
        self.text(method, path, Some(body)).await
    }

    pub(crate) async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        parse(&self.text(Method::DELETE, path, None).await?)
    }

    /// Server-sent events until the server ends the stream.
    pub(crate) async fn events(&self, path: &str) -> Result<Events, ApiError> {
        let (status, chunks) = self.call(Method::GET, path, None).await?;
        if !status.is_success() {
            return Err(refused(status, &collect(chunks).await?, path));
        }
        Ok(parsed(chunks))
    }

    async fn text(&self, method: Method, path: &str, body: Option<String>) -> Result<String, ApiError> {
        let (status, chunks) = self.call(method, path, body).await?;
        let text = collect(chunks).await?;
        if status.is_success() { Ok(text) } else { Err(refused(status, &text, path)) }
    }

    async fn call(&self, method: Method, path: &str, body: Option<String>) -> Result<(StatusCode, Chunks), ApiError> {
        match &self.transport {
            Transport::InProcess { router, headers, peer } => {
                let mut request = Request::builder()
                    .method(method)
                    .uri(path)
                    .header(ACTOR_HEADER, &self.actor)
                    .header(header::CONTENT_TYPE, "application/json")
                    .body(body.map_or_else(Body::empty, Body::from))
                    .map_err(|error| ApiError::Gone(error.to_string()))?;
                request.headers_mut().extend(headers.as_ref().clone());
                if let Some(peer) = peer {
                    request.extensions_mut().insert(*peer);
                }
                let Ok(response) = router.clone().call(request).await;
                let status = response.status();
                Ok((status, response.into_body().into_data_stream().map_err(|error| error.to_string()).boxed()))
            }
            Transport::Remote { client, server, socket } => {
                let mut request = client.request(method, format!("{server}{path}"));
                if socket.is_some() {
                    request = request.header(ACTOR_HEADER, &self.actor);
                }
                if let Some(body) = body {
                    request = request.header(header::CONTENT_TYPE, "application/json").body(body);
                }
                let response = request.send().await.map_err(|error| self.gone(&error))?;
                let status = response.status();
                Ok((status, response.bytes_stream().map_err(|error| error.to_string()).boxed()))
            }
        }
    }
}

/// Linear in the number of bytes, however large the chunks are: one commit may be tens of thousands of events.
fn parsed(chunks: Chunks) -> Events {
    let mut parser = sse::Parser::default();
    let events = chunks.map(move |chunk| {
        let mut events = Vec::new();
        match chunk {
            Ok(bytes) => {
                if parser.push(&bytes, |event| events.push(Ok(event))).is_err() {
                    events.push(Err(ApiError::Gone("the server sent an event that is too long".into())));
                }
            }
            Err(why) => events.push(Err(ApiError::Gone(why))),
        }
        stream::iter(events)
    });
    events.flatten().boxed()
}

async fn collect(mut chunks: Chunks) -> Result<String, ApiError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        bytes.extend_from_slice(
            &chunk.map_err(|why| ApiError::Gone(format!("the connection broke off during the answer: {why}")))?,
        );
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, ApiError> {
    serde_json::from_str(text).map_err(|error| {
        ApiError::Gone(format!("the answer cannot be read ({error}); is it a pleach server of this version?"))
    })
}

/// The server does not repeat the id of something it does not show, so it is added here from the path.
fn refused(status: StatusCode, text: &str, path: &str) -> ApiError {
    let mut problem = Problem::parse(status, text);
    if let Some(kind) = problem.slug.strip_suffix("_not_found") {
        let mut words = path.split(['/', '?']).skip_while(|word| *word != format!("{kind}s"));
        if let Some(id) = words.nth(1) {
            problem.detail = problem.detail.replace("with that id ", &format!("{id} "));
        }
    }
    ApiError::Refused(Box::new(problem))
}

/// The name of a stream event that carries an event of the log: none.
pub(crate) const STORED: &str = "";

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use simulation::fuzz::assert_linear;

    #[test]
    fn r6_following_twice_the_events_of_a_commit_costs_at_most_two_and_a_half_times() {
        let event = "id: 7\ndata: {\"seq\":7,\"type\":\"t\"}\n\n";
        let follow = |bytes: &[u8]| {
            let chunks = stream::iter([Ok(Bytes::copy_from_slice(bytes))]).boxed();
            let read = parsed(chunks).count().now_or_never();
            assert_eq!(read, Some(bytes.len() / event.len()), "a commit that has arrived is read without waiting");
        };
        assert_linear("a commit that is followed", event, 40_000 * event.len(), follow);
    }
}
