//! `pleach up` on a port of its own, and requests to it.

use crate::home::Home;
use reqwest::{Client, Method, Response};
use std::io::{BufRead, BufReader};
use std::process::Child;

pub struct Server {
    pub home: Home,
    pub child: Child,
    pub url: String,
    pub greeting: Vec<String>,
    pub client: Client,
}

impl Server {
    pub fn start(home: Home) -> Server {
        let mut child = home.start(&["up"]);
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut greeting = Vec::new();
        for line in lines {
            greeting.push(line.expect("text"));
            if greeting.last().is_some_and(|line| line.starts_with("resumed")) {
                break;
            }
        }
        let url = greeting.iter().find_map(|line| {
            let start = line.find("http://")?;
            Some(line[start..].split(|c: char| c == ',' || c.is_whitespace()).next().unwrap_or_default().to_owned())
        });
        let url = url.unwrap_or_else(|| panic!("no address in {greeting:?}"));
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().no_proxy().build().expect("a client");
        Server { home, child, url, greeting, client }
    }

    /// Without credentials.
    pub fn stranger(&self, method: Method, path: &str) -> Response {
        let request = self.client.request(method, format!("{}{path}", self.url));
        self.home.runtime.block_on(request.send()).expect("an answer")
    }

    pub fn text(&self, response: Response) -> String {
        self.home.runtime.block_on(response.text()).expect("a text")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
