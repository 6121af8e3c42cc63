//! Events and JSON in the documents match recorded logs and the schemas of the server.

use super::{blocks, documents, read, root};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Field names by event type, and whether a field may be absent.
type Documented = BTreeMap<String, BTreeMap<String, bool>>;

/// `a, b?, c[{d,e}], f: x|y`: names at the outermost level.
fn fields(list: &str) -> BTreeMap<String, bool> {
    let (mut depth, mut pieces) = (0_i32, vec![String::new()]);
    for c in list.chars() {
        depth += i32::from("{[(".contains(c)) - i32::from("}])".contains(c));
        match c {
            ',' if depth == 0 => pieces.push(String::new()),
            c => pieces.last_mut().expect("a piece").push(c),
        }
    }
    let named = pieces.iter().map(|piece| piece.trim()).filter(|piece| !piece.is_empty());
    named
        .map(|piece| {
            let name: String = piece.chars().take_while(char::is_ascii_alphanumeric).collect();
            let rest = piece[name.len()..].split(':').next().unwrap_or_default();
            (name, rest.starts_with('?') || rest.ends_with('?'))
        })
        .collect()
}

fn documented() -> Documented {
    let text = read("docs/protocol.md").replace("\\|", "/");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let rows = rows.filter(|(kind, _)| kind.contains('.') && !kind.contains(' '));
    rows.map(|(kind, rest)| {
        let payload = rest.split(" |").next().unwrap_or_default();
        let list = payload.strip_prefix('`').and_then(|list| list.split('`').next()).unwrap_or_default();
        (kind.to_owned(), fields(list))
    })
    .collect()
}

/// Stored events of the engine's golden logs and of the logs the page is tested with.
fn recorded() -> Vec<Value> {
    let mut found = Vec::new();
    for folder in ["crates/engine/tests/golden", "ui/tests/logs"] {
        for entry in std::fs::read_dir(root().join(folder)).expect("recorded logs") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|kind| kind == "jsonl") {
                let text = std::fs::read_to_string(path).expect("a log");
                let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
                found.extend(lines.filter(|line| line["payload"].is_object()));
            }
        }
    }
    assert!(found.len() > 300, "only {} events", found.len());
    found
}

#[test]
fn events_have_the_fields_that_the_protocol_names() {
    let documented = documented();
    assert!(documented.len() > 70, "only {} types", documented.len());
    let mut wrong = BTreeSet::new();
    for event in recorded() {
        let kind = event["type"].as_str().expect("a type");
        let Some(fields) = documented.get(kind) else {
            wrong.insert(format!("{kind} is not documented"));
            continue;
        };
        let payload = event["payload"].as_object().expect("an object");
        let unnamed = payload.keys().filter(|name| !fields.contains_key(*name));
        wrong.extend(unnamed.map(|name| format!("{kind} has {name}, which is not documented")));
        let missing = fields.iter().filter(|(name, optional)| !**optional && !payload.contains_key(*name));
        wrong.extend(missing.map(|(name, _)| format!("{kind} may lack {name}, which is documented as always there")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The OpenAPI document of this binary, over the socket of its data directory.
fn published() -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Command::new(env!("CARGO_BIN_EXE_pleach"))
        .args(["up", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path())
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let until = Instant::now() + Duration::from_secs(30);
    let mut socket = loop {
        match UnixStream::connect(folder.path().join("pleach.sock")) {
            Ok(socket) => break socket,
            Err(error) => assert!(Instant::now() < until, "nobody listens: {error}"),
        }
        std::thread::yield_now();
    };
    socket.write_all(b"GET /openapi.json HTTP/1.0\r\nHost: localhost\r\n\r\n").expect("it listens");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("it answers");
    server.kill().expect("it can be ended");
    server.wait().expect("it ends");
    serde_json::from_str(answer.split_once("\r\n\r\n").expect("a body").1).expect("JSON")
}

#[test]
fn json_in_the_documents_matches_the_published_schemas() {
    let shapes = published();
    let event = &shapes["components"]["schemas"]["Event"];
    let mut events = 0;
    for document in documents() {
        for block in blocks(&read(&document), "json") {
            let shown: Value =
                serde_json::from_str(&block).unwrap_or_else(|error| panic!("{document}: {error}: {block}"));
            if shown["runId"].is_null() {
                continue;
            }
            events += 1;
            let required = event["required"].as_array().expect("required fields").iter().filter_map(Value::as_str);
            required.for_each(|name| assert!(!shown[name].is_null(), "{document}: the event lacks {name}"));
            let properties = event["properties"].as_object().expect("properties");
            let names = shown.as_object().expect("an object").keys();
            names.for_each(|name| assert!(properties.contains_key(name), "{document}: an event has no {name}"));
        }
    }
    assert!(events > 0, "the protocol shows no event");
}
