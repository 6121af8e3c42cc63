//! The command line as a client of a server on another machine.

use crate::home::Home;
use crate::server::Server;
use serde_json::json;

/// Another machine: a data directory of its own, the server by name, and a token.
fn elsewhere(server: &Server, token: &str) -> Home {
    Home::bare().set("PLEACH_SERVER", &server.url).set("PLEACH_TOKEN", token)
}

#[test]
fn every_client_command_works_over_the_network_as_whoever_the_token_belongs_to() {
    let server = Server::start(Home::bare());
    server.home.pleach(&["actor", "create", "ann"]).exits(0);
    let laptop = elsewhere(&server, &server.token(&["ann"]));
    let run = laptop.pleach(&["run", "Name three trees", "--kind", "homework", "--wait", "--json"]).exits(0).run();
    let id = run["id"].as_str().unwrap();
    assert_eq!(run["status"], "completed");
    assert!(!laptop.data().exists(), "nothing of it is kept here");
    for words in [
        &["ls"][..],
        &["show", id],
        &["log", id],
        &["report", id],
        &["watch", id],
        &["search", "trees"],
        &["project", "ls"],
        &["token", "ls"],
    ] {
        laptop.pleach(words).exits(0);
    }
    assert!(laptop.pleach(&["ls", "--json"]).exits(0).out.contains(id));
    let detached =
        laptop.pleach(&["run", "Name three birds", "--kind", "homework", "--detach", "--json"]).exits(0).run();
    let short = &detached["id"].as_str().unwrap()[..18];
    laptop.pleach(&["watch", short, "--json"]).exits(0);
    assert_eq!(server.home.pleach(&["ls", "--json"]).exits(0).out.trim(), "", "it is ann's, not the owner's");
    laptop.pleach(&["cancel", id]).exits(2);
    laptop.pleach(&["actor", "create", "eve"]).exits(2);
    assert!(laptop.pleach(&["ls", "--actor", "local"]).exits(2).err.contains("PLEACH_TOKEN"));
    assert!(laptop.pleach(&["doctor"]).exits(0).out.contains("accepts the token"));
}

#[test]
fn a_server_that_is_not_there_or_does_not_know_the_token_is_said_plainly() {
    let nobody = Home::bare().set("PLEACH_SERVER", "http://127.0.0.1:9");
    for words in [
        &["ls"][..],
        &["run", "x", "--kind", "homework", "--wait"],
        &["say", "01a1de11-0000-7000-8000-000000000009", "x"],
    ] {
        let said = nobody.pleach(words).exits(7);
        assert!(said.err.contains("http://127.0.0.1:9"), "{}", said.err);
    }
    let server = Server::start(Home::bare());
    let flag = ["ls", "--server", server.url.as_str()];
    let said = Home::bare().pleach(&flag).exits(2);
    assert!(said.err.contains("PLEACH_TOKEN is not set"), "{}", said.err);
    let said = Home::bare().set("PLEACH_TOKEN", "pleach_wrong").pleach(&flag).exits(2);
    assert!(said.err.contains("does not accept the token") && !said.err.contains("pleach_wrong"), "{}", said.err);
}

#[test]
fn up_does_not_care_about_a_server_that_is_named_for_clients() {
    let server = Server::start(Home::bare().set("PLEACH_SERVER", "http://127.0.0.1:9"));
    server.stranger(reqwest::Method::GET, "/healthz").is(200);
    assert_eq!(server.stranger(reqwest::Method::GET, "/api/runs").is(401).json()["status"], json!(401));
}
