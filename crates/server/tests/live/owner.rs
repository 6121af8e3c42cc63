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
}

pub type Frames = BoxStream<'static, Event>;

impl Owner {
    pub fn of(home: Home) -> Owner {
        let (child, client) = up(&home);
        Owner { home, child, client }
    }

    /// `kill -9`, and up again.
    pub fn restart(&mut self) {
        self.kill();
        (self.child, self.client) = up(&self.home);
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

fn up(home: &Home) -> (Child, Client) {
    let mut child = home.start(&["up"]);
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    for line in lines {
        if line.expect("text").starts_with("resumed") {
            break;
        }
    }
    let _ = rustls::crypto::ring::default_provider().install_default();
    let socket = home.data().join("pleach.sock");
    let client = Client::builder().unix_socket(socket).no_proxy().build().expect("a client");
    (child, client)
}
