//! A webhook receiver that records requests and answers as configured.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

#[derive(Clone, Debug)]
pub struct Taken {
    pub headers: BTreeMap<String, String>,
    pub body: String,
    /// How it was answered.
    pub status: u16,
}

impl Taken {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).expect("JSON")
    }
}

pub struct Receiver {
    pub url: String,
    taken: Arc<Mutex<Vec<Taken>>>,
}

impl Receiver {
    /// Answers with these, one after the other, and then 204. A status may carry headers: `429\r\nretry-after: 1`.
    pub fn answering(answers: &[&str]) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let taken: Arc<Mutex<Vec<Taken>>> = Arc::default();
        let (ledger, mut answers) =
            (taken.clone(), answers.iter().map(|&answer| answer.to_owned()).collect::<Vec<_>>());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = if answers.is_empty() { "204".into() } else { answers.remove(0) };
                let (status, headers) = answer.split_once("\r\n").unwrap_or((&answer, ""));
                if let Some(request) = read(&stream, status.parse().expect("a status")) {
                    ledger.lock().expect("the ledger").push(request);
                }
                let more = if headers.is_empty() { String::new() } else { format!("{headers}\r\n") };
                let _ = write!(
                    &stream,
                    "HTTP/1.1 {status} As told\r\ncontent-length: 0\r\nconnection: close\r\n{more}\r\n"
                );
            }
        });
        Receiver { url, taken }
    }

    pub fn taken(&self) -> Vec<Taken> {
        self.taken.lock().expect("the ledger").clone()
    }

    /// Requests that were answered with a success.
    pub fn accepted(&self) -> Vec<Taken> {
        self.taken().into_iter().filter(|taken| (200..300).contains(&taken.status)).collect()
    }
}

fn read(stream: &TcpStream, status: u16) -> Option<Taken> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Taken { headers, body: String::from_utf8(body).ok()?, status })
}
