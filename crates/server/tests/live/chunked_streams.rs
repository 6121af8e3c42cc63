//! Streams on the wire: chunks of one response, complete also for slow readers, with a proper end.

use crate::history::long_run;
use crate::home::Home;
use crate::live_server::LiveServer;
use simulation::scripted::scripts;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

struct Wire {
    stream: BufReader<TcpStream>,
    token: String,
}

impl Wire {
    fn to(owner: &LiveServer) -> Wire {
        let stream = TcpStream::connect(owner.url().trim_start_matches("http://")).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        Wire { stream: BufReader::new(stream), token: owner.token("local", "read") }
    }

    /// The head of the answer.
    fn get(&mut self, path: &str, version: &str) -> String {
        let token = &self.token;
        write!(
            self.stream.get_mut(),
            "GET {path} {version}\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
        )
        .expect("asked");
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.stream.read_line(&mut head).expect("a line"), 0, "{head}");
        }
        assert!(head.contains(" 200 OK\r\n"), "{head}");
        head
    }

    /// The next chunk; the last one is empty.
    fn chunk(&mut self) -> String {
        let mut size = String::new();
        self.stream.read_line(&mut size).expect("a size");
        let size = usize::from_str_radix(size.trim_end(), 16).unwrap_or_else(|_| panic!("{size:?} is no size"));
        let mut bytes = vec![0; size + 2];
        self.stream.read_exact(&mut bytes).expect("a chunk");
        assert_eq!(bytes.split_off(size), b"\r\n", "a chunk ends where it said");
        String::from_utf8(bytes).expect("text")
    }

    /// The next chunk that is no heartbeat.
    fn event_chunk(&mut self) -> String {
        std::iter::repeat_with(|| self.chunk()).find(|text| !text.starts_with(':')).expect("endless")
    }
}

fn seqs(text: &str) -> Vec<u64> {
    text.lines().filter_map(|line| line.strip_prefix("id: ")).map(|id| id.parse().expect("a seq")).collect()
}

#[test]
fn t14_after_a_stream_the_connection_serves_the_next_request() {
    let owner = LiveServer::up(Home::with(scripts::complete_in(1)));
    let run = owner.start("homework", "End well");
    let last = owner.settled(&run)["last_seq"].as_u64().expect("a seq");
    let mut wire = Wire::to(&owner);
    for after in [0, last - 2] {
        let head = wire.get(&format!("/api/runs/{run}/stream?until=ended&after={after}"), "HTTP/1.1");
        assert!(head.contains("transfer-encoding: chunked\r\n"), "{head}");
        let chunks: Vec<String> = std::iter::from_fn(|| Some(wire.chunk()).filter(|text| !text.is_empty())).collect();
        let text = chunks.concat();
        assert_eq!(seqs(&text), (after + 1..=last).collect::<Vec<_>>());
        assert!(chunks.last().is_some_and(|text| text.starts_with("event: settled\n")), "{text}");
    }
    let head = wire.get(&format!("/api/runs/{run}"), "HTTP/1.1");
    assert!(head.contains("application/json"), "{head}");
}

#[test]
fn t14_a_slow_reader_gets_everything_and_a_disconnected_one_is_dropped() {
    const LENGTH: u64 = 20_000;
    let home = Home::bare();
    let run = long_run(&home, LENGTH);
    let owner = LiveServer::up(home);
    let mut wire = Wire::to(&owner);
    wire.get(&format!("/api/runs/{run}/stream"), "HTTP/1.1");
    // More than the socket buffers hold, so that the server has to wait for this reader.
    std::thread::sleep(Duration::from_secs(1));
    let (mut received, mut size) = (Vec::new(), 0);
    while received.len() < LENGTH as usize {
        let text = wire.chunk();
        size += text.len();
        received.extend(seqs(&text));
    }
    assert!(size > 8_000_000, "{size} bytes are taken at once");
    assert!(received.into_iter().eq(1..=LENGTH), "each once, in order");

    // A new event reaches both; after one has left, one is counted.
    let mut other = Wire::to(&owner);
    other.get(&format!("/api/runs/{run}/stream?after={LENGTH}"), "HTTP/1.1");
    other.chunk();
    owner.post(&format!("/api/runs/{run}/messages"), serde_json::json!({"text": "hear, hear"}));
    for wire in [&mut wire, &mut other] {
        assert!(wire.chunk().contains("hear, hear"));
    }
    drop(other);
    let listeners = || owner.ask(reqwest::Method::GET, "/metrics", None).1.as_str().expect("text").to_owned();
    owner.home.until("one is left", || listeners().contains("pleach_streams 1\n").then_some(()));
}

#[test]
fn t14_a_full_connection_holds_up_no_other_reader_and_its_own_reads_the_log() {
    const MESSAGES: u64 = 300;
    // Together more than the socket buffers hold.
    let text = "x".repeat(32_000);
    let owner = LiveServer::up(Home::bare().set("PLEACH_REHEARSAL_MS", "60000"));
    let run = owner.start("homework", "Be read at two speeds");
    owner.post(&format!("/api/runs/{run}/pause"), serde_json::json!({}));
    let before = owner.settled(&run)["last_seq"].as_u64().expect("a seq");
    let [mut quick, mut slow] = [(); 2].map(|()| Wire::to(&owner));
    for wire in [&mut quick, &mut slow] {
        wire.get(&format!("/api/runs/{run}/stream?after={before}"), "HTTP/1.1");
        wire.chunk();
    }
    let last = before + MESSAGES;
    let mut received = Vec::new();
    for _ in 0..MESSAGES {
        owner.post(&format!("/api/runs/{run}/messages"), serde_json::json!({ "text": text }));
        received.extend(seqs(&quick.event_chunk()));
    }
    assert!(received.into_iter().eq(before + 1..=last), "each once, in order, while the other reads nothing");
    let (mut received, mut behind) = (Vec::new(), false);
    while received.last() != Some(&last) {
        let text = slow.chunk();
        behind |= text.starts_with("event: behind\n");
        received.extend(seqs(&text));
    }
    assert!(received.into_iter().eq(before + 1..=last), "each once, in order");
    assert!(behind, "it is told that it was too slow");
    // Caught up, it is served live again.
    owner.post(&format!("/api/runs/{run}/messages"), serde_json::json!({"text": "hear, hear"}));
    for wire in [&mut quick, &mut slow] {
        assert!(wire.event_chunk().contains("hear, hear"));
    }
}

#[test]
fn t14_an_http_1_0_client_gets_no_chunks() {
    let owner = LiveServer::up(Home::with(scripts::complete_in(1)));
    let run = owner.start("homework", "Be old");
    let last = owner.settled(&run)["last_seq"].as_u64().expect("a seq");
    let mut wire = Wire::to(&owner);
    let head = wire.get(&format!("/api/runs/{run}/stream?until=ended"), "HTTP/1.0");
    assert!(!head.contains("transfer-encoding"), "{head}");
    let mut text = String::new();
    wire.stream.read_to_string(&mut text).expect("text");
    assert_eq!(seqs(&text), (1..=last).collect::<Vec<_>>());
    assert!(text.starts_with("retry: "), "{text}");
}
