//! Connections that send nothing, send too slowly, or send an ambiguous request.

use crate::home::Home;
use crate::raw::{connected, until_closed};
use crate::server::{Server, Visitor};
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

#[test]
fn sec_s55_slow_heads_and_bodies_are_cut_off_and_nobody_else_waits() {
    let server = Server::start(Home::bare());
    let owner = server.owner();
    let token = owner.headers[0].1.clone();
    let silent: Vec<TcpStream> = (0..200).map(|_| connected(&server)).collect();
    let mut heads = connected(&server);
    write!(heads, "GET /healthz HTTP/1.1\r\nhost: localhost\r\n").unwrap();
    let mut dripping = heads.try_clone().unwrap();
    let drip = std::thread::spawn(move || {
        for number in 0..60 {
            if write!(dripping, "x-{number}: 1\r\n").is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    });
    let mut bodies = connected(&server);
    write!(
        bodies,
        "POST /api/projects HTTP/1.1\r\nhost: localhost\r\nauthorization: {token}\r\ncontent-type: application/json\r\n\
         content-length: 100000\r\n\r\n{{\"title\":"
    )
    .unwrap();
    let mut slowest = Duration::ZERO;
    for _ in 0..100 {
        let began = Instant::now();
        server.get(&owner, "/api/projects").is(200);
        slowest = slowest.max(began.elapsed());
    }
    assert!(slowest < Duration::from_secs(1), "others waited {slowest:?}");
    let (text, took) = until_closed(heads);
    assert!(took < Duration::from_secs(25), "{took:?} for a head that never ends: {text}");
    let (text, took) = until_closed(bodies);
    assert!(took < Duration::from_secs(30), "{took:?} for a body that never ends: {text}");
    assert!(text.starts_with("HTTP/1.1 408") && text.contains("body_too_slow"), "{text}");
    for stream in silent {
        let (text, _) = until_closed(stream);
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 4"), "{text}");
    }
    drip.join().unwrap();
    server.post(&owner, "/api/projects", &json!({"title": "Still here"})).is(201);
}

#[test]
fn sec_s55_an_ambiguous_request_is_never_read_as_two() {
    let server = Server::start(Home::bare());
    let token = server.token(&["--scope", "run"]);
    let smuggled = "GET /api/projects HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let about = format!("host: localhost\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n");
    let ambiguous = [
        format!("content-length: 5\r\ncontent-length: 6\r\n\r\n{smuggled}"),
        format!("content-length: 5, 6\r\n\r\n{smuggled}"),
        format!("content-length: +5\r\n\r\n{smuggled}"),
        format!("transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n{smuggled}"),
        format!("transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n{smuggled}"),
        format!("content-length: 4\r\ntransfer-encoding: xchunked\r\n\r\n{smuggled}"),
        format!("transfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n{smuggled}"),
        format!("transfer-encoding : chunked\r\n\r\n0\r\n\r\n{smuggled}"),
        format!("x: y\n content-length: 0\r\n\r\n{smuggled}"),
    ];
    for headers in ambiguous {
        let mut stream = connected(&server);
        write!(stream, "POST /api/projects HTTP/1.1\r\n{about}{headers}").unwrap();
        let (text, _) = until_closed(stream);
        assert!(text.starts_with("HTTP/1.1 400") || text.is_empty(), "{headers:?} gave {text}");
        assert_eq!(text.matches("HTTP/1.1 ").count() + usize::from(text.is_empty()), 1, "{headers:?} gave {text}");
    }
    server.get(&Visitor::with_token(&token), "/api/projects").is(200);
}

#[test]
fn sec_s92_it_listens_on_this_machine_only_and_warns_about_other_addresses() {
    let server = Server::start(Home::bare());
    assert!(server.url.starts_with("http://127.0.0.1:") && server.log().is_empty(), "{}", server.log());
    server.get(&Visitor::default(), "/api/runs").is(401);
    let exposed = Server::start(Home::bare().set("PLEACH_LISTEN", "0.0.0.0:0"));
    assert!(
        exposed.log().contains("warning: other machines can reach 0.0.0.0:") && exposed.log().contains("TLS"),
        "{}",
        exposed.log()
    );
    exposed.get(&Visitor::default(), "/api/runs").is(401);
    let behind = Home::bare().set("PLEACH_LISTEN", "0.0.0.0:0").set("PLEACH_PUBLIC_URL", "https://pleach.example.org");
    assert_eq!(Server::start(behind).log(), "", "somebody in front encrypts");
}
