//! Test fixture: `pleach up` on a free port, and requests to it.

use crate::home::Home;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, Command};

pub struct Server {
    pub home: Home,
    pub child: Child,
    pub url: String,
    pub greeting: Vec<String>,
    pub client: Client,
}

/// A whole response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    #[track_caller]
    pub fn is(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Checks that this is a problem of that status and slug.
    #[track_caller]
    pub fn refuses(&self, status: u16, slug: &str) {
        assert_eq!((self.status, self.slug().as_str()), (status, slug), "{}", self.text);
    }

    /// The slug of the problem.
    pub fn slug(&self) -> String {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        self.json()["type"].as_str().unwrap_or_default().to_owned()
    }
}

/// A client with a token, a cookie, or no credential.
#[derive(Clone, Default)]
pub struct Visitor {
    pub headers: Vec<(String, String)>,
}

impl Visitor {
    pub fn with(&self, name: &str, value: &str) -> Visitor {
        let mut headers = self.headers.clone();
        headers.push((name.into(), value.into()));
        Visitor { headers }
    }

    pub fn with_token(token: &str) -> Visitor {
        Visitor::default().with("authorization", &format!("Bearer {token}"))
    }
}

impl Server {
    pub fn start(home: Home) -> Server {
        let command = home.command(&["up"]);
        Server::start_with(home, command)
    }

    /// Starts `up` through another command, which may prepare something first.
    pub fn start_with(home: Home, mut command: Command) -> Server {
        let log = std::fs::File::create(home.folder.path().join("up.log")).expect("a file");
        let mut child = command.stderr(log).spawn().expect("the binary starts");
        let greeting = greeting(&mut child);
        let url = link_in(&greeting, "pleach is up").unwrap_or_else(|| panic!("no address in {greeting:?}"));
        Server { home, child, url, greeting, client: client(None) }
    }

    /// Sends a request from another loopback address.
    pub fn ask_from(&self, host: u8, visitor: &Visitor, method: Method, path: &str) -> Answer {
        self.ask_by(&client(Some(host)), visitor, method, path, None)
    }

    /// Its standard error.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.home.folder.path().join("up.log")).expect("a log")
    }

    /// The one-time link it printed.
    pub fn login_link(&self) -> String {
        link_in(&self.greeting, "log in").unwrap_or_else(|| panic!("no link in {:?}", self.greeting))
    }

    /// A new token, made on the server's own machine.
    pub fn token(&self, more: &[&str]) -> String {
        let said = self.home.pleach(&[&["token", "create"], more].concat()).exits(0);
        said.out.trim().to_owned()
    }

    /// The owner of the data, with an admin token.
    pub fn owner(&self) -> Visitor {
        Visitor::with_token(&self.token(&["--scope", "admin"]))
    }

    /// A new person with a token.
    pub fn person(&self, handle: &str) -> Visitor {
        self.home.pleach(&["actor", "create", handle]).exits(0);
        Visitor::with_token(&self.token(&[handle, "--scope", "run"]))
    }

    pub fn ask(&self, visitor: &Visitor, method: Method, path: &str, body: Option<&Value>) -> Answer {
        self.ask_by(&self.client, visitor, method, path, body)
    }

    pub fn ask_by(
        &self,
        client: &Client,
        visitor: &Visitor,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Answer {
        let url = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.url) };
        let mut request = client.request(method, url);
        for (name, value) in &visitor.headers {
            request = request.header(name, value);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        self.home.runtime.block_on(async {
            let response = request.send().await.expect("an answer");
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            Answer { status, headers, text: response.text().await.expect("a text") }
        })
    }

    pub fn get(&self, visitor: &Visitor, path: &str) -> Answer {
        self.ask(visitor, Method::GET, path, None)
    }

    pub fn post(&self, visitor: &Visitor, path: &str, body: &Value) -> Answer {
        self.ask(visitor, Method::POST, path, Some(body))
    }

    /// Without credentials.
    pub fn anonymous(&self, method: Method, path: &str) -> Answer {
        self.ask(&Visitor::default(), method, path, None)
    }

    /// Method, path and access of every route, as the server publishes them.
    pub fn routes(&self) -> Vec<(Method, String, String)> {
        let document = self.anonymous(Method::GET, "/openapi.json").json();
        let mut routes = Vec::new();
        for (path, methods) in document["paths"].as_object().expect("paths") {
            for (method, operation) in methods.as_object().expect("methods") {
                let access = operation["x-access"].as_str().expect("an access");
                routes.push((method.to_uppercase().parse().expect("a method"), path.clone(), access.to_owned()));
            }
        }
        routes
    }
}

/// A client that sends from 127.0.0.`host`, or from any address.
pub fn client(host: Option<u8>) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let address = host.map(|host| IpAddr::V4(Ipv4Addr::new(127, 0, 0, host)));
    let client = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).local_address(address);
    client.build().expect("a client")
}

/// What `up` prints until it serves requests.
pub fn greeting(up: &mut Child) -> Vec<String> {
    let mut greeting = Vec::new();
    for line in BufReader::new(up.stdout.take().expect("its output")).lines() {
        greeting.push(line.expect("text"));
        if greeting.last().is_some_and(|line| line.starts_with("resumed")) {
            break;
        }
    }
    greeting
}

/// The URL in the line of the greeting that begins so.
pub fn link_in(greeting: &[String], after: &str) -> Option<String> {
    let line = greeting.iter().find(|line| line.starts_with(after))?;
    let link = line[line.find("http://")?..].split(|c: char| c == ',' || c.is_whitespace()).next()?;
    Some(link.to_owned())
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
