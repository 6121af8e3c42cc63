//! `pleach up`, and its owner on the other side of the socket: requests, streams, and a restart in one line.

use crate::home::Home;
use eventsource_stream::{Event, Eventsource};
use futures::StreamExt;
use futures::stream::BoxStream;
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::Child;
use std::time::Duration;

pub struct Owner {
    pub home: Home,
    child: Child,
    client: Client,
    url: String,
}

pub type Frames = BoxStream<'static, Event>;

impl Owner {
    pub fn of(home: Home) -> Owner {
        let (child, client, url) = up(&home);
        Owner { home, child, client, url }
    }

    /// The same address after every restart.
    pub fn at_a_port_of_its_own(home: Home) -> Owner {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
        Owner::of(home.set("PLEACH_LISTEN", &free.to_string()))
    }

    /// Where it is on the network.
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

    /// `kill -9`, and up again.
    pub fn restart(&mut self) {
        self.kill();
        (self.child, self.client, self.url) = up(&self.home);
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

    /// As somebody with a token, over the network.
    pub fn stream_as(&self, token: &str, path: &str) -> Frames {
        let response = self.ask_as(token, path, &[]);
        assert_eq!(response.status(), 200, "{path}");
        response.bytes_stream().eventsource().filter_map(|event| async { event.ok() }).boxed()
    }

    /// The status and text of what is no stream.
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

    /// The next frame, if there is one within so long.
    pub fn next(&self, frames: &mut Frames, patience: Duration) -> Option<Event> {
        self.home.runtime.block_on(async { tokio::time::timeout(patience, frames.next()).await.ok().flatten() })
    }

    /// The run, once it is no longer moving.
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

impl Drop for Owner {
    fn drop(&mut self) {
        self.kill();
    }
}

fn up(home: &Home) -> (Child, Client, String) {
    let mut child = home.start(&["up"]);
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut greeting = Vec::new();
    for line in lines {
        greeting.push(line.expect("text"));
        if greeting.last().is_some_and(|line| line.starts_with("resumed")) {
            break;
        }
    }
    let address = greeting.iter().find_map(|line| line.split_once("http://")).map(|(_, rest)| rest);
    let address = address.unwrap_or_else(|| panic!("no address in {greeting:?}"));
    let end = address.find(|c: char| c == ',' || c == '/' || c.is_whitespace()).unwrap_or(address.len());
    let url = format!("http://{}", &address[..end]);
    let _ = rustls::crypto::ring::default_provider().install_default();
    let socket = home.data().join("pleach.sock");
    let client = Client::builder().unix_socket(socket).no_proxy().build().expect("a client");
    (child, client, url)
}
