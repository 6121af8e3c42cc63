//! Raw sockets, for requests that no well-behaved client sends.

use crate::server::Server;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

pub fn connected(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.url.trim_start_matches("http://")).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(40))).expect("a timeout");
    stream
}

/// Reads until the server closes, and says how long that took.
pub fn until_closed(mut stream: TcpStream) -> (String, Duration) {
    let (began, mut bytes) = (Instant::now(), Vec::new());
    let mut some = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut some) {
        bytes.extend_from_slice(&some[..count]);
    }
    (String::from_utf8_lossy(&bytes).into_owned(), began.elapsed())
}

/// The whole response to one request on a new connection.
pub fn answer_to(server: &Server, request: &[u8]) -> String {
    let mut stream = connected(server);
    // It may be refused before it was sent in full.
    let _ = stream.write_all(request);
    until_closed(stream).0
}

/// A WebSocket of the realtime protocol.
pub struct Socket {
    pub stream: TcpStream,
}

impl Socket {
    pub fn open(server: &Server, query: &str) -> Socket {
        let mut stream = connected(server);
        write!(
            stream,
            "GET /realtime/v1/websocket?vsn=2.0.0{query} HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        .expect("sent");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut one = [0; 1];
            stream.read_exact(&mut one).expect("an answer");
            head.push(one[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
        Socket { stream }
    }

    /// The head of a frame that says it is this long.
    pub fn announce(&mut self, first: u8, length: u64) -> std::io::Result<()> {
        self.stream.write_all(&head(first, length))
    }

    pub fn try_send(&mut self, text: &str) -> std::io::Result<()> {
        self.stream.write_all(&[&head(0x81, text.len() as u64), text.as_bytes()].concat())
    }

    pub fn send(&mut self, text: &str) {
        self.try_send(text).expect("sent");
    }

    /// The next text, `None` when it was closed instead.
    pub fn receive(&mut self) -> Option<String> {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head).ok()?;
        let length = match head[1] & 0x7f {
            126 => {
                let mut length = [0; 2];
                self.stream.read_exact(&mut length).ok()?;
                usize::from(u16::from_be_bytes(length))
            }
            short => usize::from(short),
        };
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        (head[0] == 0x81).then(|| String::from_utf8_lossy(&body).into_owned())
    }

    /// Joins a topic with this token and returns the reply.
    pub fn join(&mut self, topic: &str, token: &str) -> Option<String> {
        self.send(&format!(r#"["1","1","realtime:{topic}","phx_join",{{"access_token":"{token}"}}]"#));
        self.receive()
    }
}

/// Masked with zeros, so that the payload needs no masking.
fn head(first: u8, length: u64) -> Vec<u8> {
    [&[first, 0x80 | 127][..], &length.to_be_bytes(), &[0; 4]].concat()
}
