//! Schemathesis against the API document: it sends everything that the document allows, and much that it does not.

use crate::home::Home;
use crate::server::{Server, Visitor};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn schemathesis() -> PathBuf {
    let peers = std::env::var("PLEACH_PEERS_DIR").expect("PLEACH_PEERS_DIR: `./test` or `scripts/peers` says where");
    PathBuf::from(peers).join("schemathesis/bin/schemathesis")
}

/// Every status must be documented, and none may be a server error. Left out: endless streams, routes that end the session,
/// and routes that send to other servers.
fn tried_by(server: &Server, visitor: &Visitor) {
    let examples = std::env::var("PLEACH_SCHEMATHESIS_EXAMPLES").unwrap_or_else(|_| "5".into());
    let mut command = Command::new(schemathesis());
    command.args(["run", &format!("{}/openapi.json", server.url), "--no-color", "--workers", "1"]);
    command.args(["--checks", "not_a_server_error,status_code_conformance,content_type_conformance"]);
    command.args(["--phases", "examples,coverage,fuzzing,stateful", "--max-examples", &examples]);
    let record = server.home.folder.path().join("tried.har");
    command.args(["--generation-deterministic", "--report", "har", "--report-har-path", &record.display().to_string()]);
    command.args([
        "--request-timeout",
        "20",
        "--exclude-path-regex",
        "stream$|^/logout|^/api/tokens/|^/realtime|^/mcp|/test$",
    ]);
    for (name, value) in &visitor.headers {
        command.args(["--header", &format!("{name}: {value}")]);
    }
    let said = command.current_dir(server.home.folder.path()).env("NO_PROXY", "*").output().expect("schemathesis runs");
    let out = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success(), "{out}\n{}", String::from_utf8_lossy(&said.stderr));
    let counts = answered(&record);
    println!("{counts:?}");
    let of = |statuses: std::ops::Range<u16>| counts.range(statuses).map(|(_, count)| count).sum::<usize>();
    let all = of(0..1000);
    assert!(all > 500, "only {all} requests: {counts:?}");
    // Most of what it tries is wrong on purpose.
    assert!(of(200..300) * 10 > all, "nothing it asked for was right: {counts:?}");
    assert!(of(401..402) * 50 < all, "it was not let in: {counts:?}");
}

/// How often which status was answered.
fn answered(record: &Path) -> BTreeMap<u16, usize> {
    let record: Value = serde_json::from_slice(&std::fs::read(record).expect("a record")).expect("JSON");
    let mut counts = BTreeMap::new();
    for entry in record["log"]["entries"].as_array().expect("entries") {
        let status = entry["response"]["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        *counts.entry(status.unwrap_or(0)).or_insert(0) += 1;
    }
    counts
}

/// A server with a run of each of two people.
fn furnished() -> (Server, Visitor, Visitor) {
    let server = Server::start(Home::bare());
    let (owner, ann) = (server.owner(), server.person("ann"));
    for who in [&owner, &ann] {
        server.post(who, "/api/runs", &json!({"kind": "tree", "objective": "Something to look at"})).is(201);
    }
    (server, owner, ann)
}

#[test]
fn peers_schemathesis_finds_no_server_error_and_no_undocumented_status_as_the_owner() {
    let (server, owner, _) = furnished();
    tried_by(&server, &owner);
    server.anonymous(reqwest::Method::GET, "/readyz").is(200);
}

#[test]
fn peers_schemathesis_finds_no_server_error_and_no_undocumented_status_as_somebody_else() {
    let (server, _, ann) = furnished();
    tried_by(&server, &ann);
    server.anonymous(reqwest::Method::GET, "/readyz").is(200);
}
