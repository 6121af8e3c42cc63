//! Against a program that nobody here wrote: schemathesis reads the API document and tries everything it allows, and
//! much that it does not.

use crate::home::Home;
use crate::server::{Server, Visitor};
use serde_json::json;
use std::path::PathBuf;
use std::process::Command;

fn schemathesis() -> PathBuf {
    let peers = std::env::var("PLEACH_PEERS_DIR").expect("PLEACH_PEERS_DIR: `./test` or `scripts/peers` says where");
    PathBuf::from(peers).join("schemathesis/bin/schemathesis")
}

/// Every status must be documented and none may be a failure of ours. Streams that never end, what ends the session, and
/// what would send to strangers are left out.
fn tried_by(server: &Server, visitor: &Visitor) {
    let examples = std::env::var("PLEACH_SCHEMATHESIS_EXAMPLES").unwrap_or_else(|_| "5".into());
    let mut command = Command::new(schemathesis());
    command.args(["run", &format!("{}/openapi.json", server.url), "--no-color", "--workers", "1"]);
    command.args(["--checks", "not_a_server_error,status_code_conformance,content_type_conformance"]);
    command.args(["--phases", "examples,coverage,fuzzing", "--max-examples", &examples, "--generation-deterministic"]);
    command.args([
        "--request-timeout",
        "20",
        "--exclude-path-regex",
        "stream$|^/logout|^/api/tokens/|^/realtime|/test$",
    ]);
    for (name, value) in &visitor.headers {
        command.args(["--header", &format!("{name}: {value}")]);
    }
    let said = command.current_dir(server.home.folder.path()).env("NO_PROXY", "*").output().expect("schemathesis runs");
    let out = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success(), "{out}\n{}", String::from_utf8_lossy(&said.stderr));
}

#[test]
fn peers_schemathesis_finds_no_server_error_and_no_undocumented_status_as_two_people() {
    let server = Server::start(Home::bare());
    let (owner, ann) = (server.owner(), server.person("ann"));
    server.post(&owner, "/api/runs", &json!({"kind": "homework", "objective": "Something to look at"})).is(201);
    tried_by(&server, &ann);
    tried_by(&server, &owner);
    server.stranger(reqwest::Method::GET, "/readyz").is(200);
}
