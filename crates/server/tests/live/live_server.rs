//! `pleach up` as its owner uses it over the Unix socket: requests, streams, kills and restarts.

use crate::home::Home;
use crate::server;
use eventsource_stream::{Event, Eventsource};
use futures::StreamExt;
use futures::stream::BoxStream;
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use std::process::Child;
use std::time::Duration;

pub struct LiveServer {
    pub home: Home,
    child: Child,
    client: Client,
    url: String,
}

pub type Frames = BoxStream<'static, Event>;

impl LiveServer {
    pub fn up(home: Home) -> LiveServer {
        let (child, client, url) = spawn(&home);
        LiveServer { home, child, client, url }
    }

    /// Listens on the same port after every restart.
    pub fn on_fixed_port(home: Home) -> LiveServer {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
        LiveServer::up(home.set("PLEACH_LISTEN", &free.to_string()))
    }

    /// Its URL on the network.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn token(&self, actor: &str, scope: &str) -> String {
        let made = self.post("/api/tokens", json!({"actor": actor, "scopes": [scope]}));
        made["token"].as_str().expect("a token").to_owned()
    }

    /// Kills it with SIGKILL and starts it again.
    pub fn restart(&mut self) {
        self.kill();
        (self.child, self.client, self.url) = spawn(&self.home);
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn send(&self, method: Method, path: &str, body: Option<Value>, headers: &[(&str, &str)]) -> Response {
        let mut request = self.client.request(method, format!("http://pleach{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        self.home.runtime.block_on(request.send()).expect("an answer")
    }

    pub fn get(&self, path: &str) -> Value {
        let (status, value) = self.ask(Method::GET, path, None);
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    pub fn post(&self, path: &str, body: Value) -> Value {
        let (status, value) = self.ask(Method::POST, path, Some(body));
        assert!((200..300).contains(&status), "{path}: {status} {value}");
        value
    }

    pub fn ask(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let response = self.send(method, path, body, &[]);
        let status = response.status().as_u16();
        let text = self.home.runtime.block_on(response.text()).expect("text");
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    pub fn start(&self, kind: &str, objective: &str) -> String {
        let run = self.post("/api/runs", json!({"kind": kind, "objective": objective}));
        run["id"].as_str().expect("an id").to_owned()
    }

    pub fn stream(&self, path: &str, last_seen: Option<&str>) -> Frames {
        let headers: Vec<(&str, &str)> = last_seen.map(|id| ("last-event-id", id)).into_iter().collect();
        let response = self.send(Method::GET, path, None, &headers);
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        response.bytes_stream().eventsource().filter_map(|event| async { event.ok() }).boxed()
    }

    /// A stream over the network, with a token.
    pub fn stream_as(&self, token: &str, path: &str) -> Frames {
        let response = self.ask_as(token, path, &[]);
        assert_eq!(response.status(), 200, "{path}");
        response.bytes_stream().eventsource().filter_map(|event| async { event.ok() }).boxed()
    }

    /// The status and text of a refused stream.
    pub fn refused_as(&self, token: &str, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let response = self.ask_as(token, path, headers);
        let status = response.status().as_u16();
        assert!(status >= 400, "{path}: {status}");
        (status, self.home.runtime.block_on(response.text()).expect("text"))
    }

    fn ask_as(&self, token: &str, path: &str, headers: &[(&str, &str)]) -> Response {
        let client = Client::builder().no_proxy().build().expect("a client");
        let mut request = client.get(format!("{}{path}", self.url)).bearer_auth(token);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.home.runtime.block_on(request.send()).expect("an answer")
    }

    /// The next frame, unless none arrives in time.
    pub fn next(&self, frames: &mut Frames, timeout: Duration) -> Option<Event> {
        self.home.runtime.block_on(async { tokio::time::timeout(timeout, frames.next()).await.ok().flatten() })
    }

    /// The run, once it has settled.
    pub fn settled(&self, run: &str) -> Value {
        let mut frames = self.stream(&format!("/api/runs/{run}/stream?until=settled"), None);
        loop {
            let frame = self.next(&mut frames, Duration::from_secs(60)).expect("the stream ends with the run");
            if frame.event == "settled" {
                return serde_json::from_str(&frame.data).expect("a run");
            }
        }
    }

    pub fn log(&self, run: &str) -> Vec<Value> {
        self.home.events(run)
    }
}

impl Drop for LiveServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(home: &Home) -> (Child, Client, String) {
    let mut child = home.start(&["up"]);
    let greeting = server::greeting(&mut child);
    let url = server::link_in(&greeting, "pleach is up").unwrap_or_else(|| panic!("no address in {greeting:?}"));
    let _ = rustls::crypto::ring::default_provider().install_default();
    let socket = home.data().join("pleach.sock");
    let client = Client::builder().unix_socket(socket).no_proxy().build().expect("a client");
    (child, client, url)
}
