//! The command line as a client of a server on another machine.

use crate::home::Home;
use crate::receiver::Receiver;
use crate::server::Server;
use serde_json::json;

/// Another machine: a data directory of its own, the server by name, and a token.
fn elsewhere(server: &Server, token: &str) -> Home {
    Home::bare().set("PLEACH_SERVER", &server.url).set("PLEACH_TOKEN", token)
}

#[test]
fn every_client_command_works_over_the_network_as_the_owner_of_the_token() {
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

/// Every client command of the contract, with a run, a node and so on that may or may not exist.
fn client_commands<'a>(run: &'a str, id: &'a str) -> Vec<Vec<&'a str>> {
    let mut commands: Vec<Vec<&str>> = vec![
        vec!["run", "x", "--kind", "homework", "--wait"],
        vec!["run", "x", "--kind", "homework", "--detach"],
        vec!["ls"],
        vec!["doc", id],
        vec!["doc", "--search", "trees"],
        vec!["search", "trees"],
        vec!["project", "create", "Trees"],
        vec!["project", "ls"],
        vec!["project", "grant", id, "ann"],
        vec!["project", "revoke", id, "ann"],
        vec!["project", "members", id],
        vec!["invitations"],
        vec!["invitations", "accept", id],
        vec!["invitations", "decline", id],
        vec!["actor", "create", "eve"],
        vec!["actor", "ls"],
        vec!["token", "create"],
        vec!["token", "ls"],
        vec!["token", "link"],
        vec!["token", "revoke", id],
        vec!["inbox"],
        vec!["inbox", "--read"],
        vec!["webhooks", "add", "https://example.org/hook"],
        vec!["webhooks", "ls"],
        vec!["webhooks", "rm", id],
        vec!["webhooks", "test", id],
        vec!["webhooks", "deliveries", id],
    ];
    let of_run: [&[&str]; 14] = [
        &["show"],
        &["show", "--node", id],
        &["watch"],
        &["log"],
        &["log", "--follow"],
        &["answer", "blue"],
        &["say", "go on"],
        &["pause"],
        &["resume"],
        &["cancel"],
        &["retry", "--node", id],
        &["extend", "--max-iterations", "30"],
        &["resolve", "i1.plan", "retry"],
        &["report"],
    ];
    commands.extend(of_run.map(|words| [&words[..1], &[run], &words[1..]].concat()));
    commands
}

#[test]
fn every_client_command_exits_with_7_when_its_server_is_unreachable() {
    let id = "01a1de11-0000-7000-8000-000000000009";
    let nobody = Home::bare().set("PLEACH_TOKEN", "pleach_x");
    for words in client_commands(id, id) {
        let said = nobody.pleach(&[&words[..], &["--server", "http://127.0.0.1:9"]].concat());
        assert_eq!(said.code, 7, "{words:?}: {}{}", said.out, said.err);
        assert!(said.err.contains("http://127.0.0.1:9"), "{words:?}: {}", said.err);
    }
    assert!(!nobody.data().exists(), "nothing was opened here instead");
}

#[test]
fn every_client_command_reaches_the_server_it_was_given() {
    let server = Server::start(Home::bare());
    let laptop = elsewhere(&server, &server.token(&["--scope", "admin"]));
    let run = laptop.pleach(&["run", "Name three trees", "--kind", "homework", "--wait", "--json"]).exits(0).run();
    let id = "01a1de11-0000-7000-8000-000000000009";
    for words in client_commands(run["id"].as_str().unwrap(), id) {
        let said = laptop.pleach(&words);
        // Some of these are refused, for what they ask; none for where they ask it.
        assert!([0, 2].contains(&said.code), "{words:?}: {} {}{}", said.code, said.out, said.err);
    }
    assert!(!laptop.data().exists(), "nothing was opened here instead");
}

#[test]
fn h7_the_inbox_and_webhooks_are_managed_on_the_command_line() {
    let receiver = Receiver::answering(&[]);
    let server = Server::start(Home::bare().set("PLEACH_WEBHOOKS_PRIVATE", "true"));
    let here = &server.home;
    let made = here.pleach(&["webhooks", "add", &receiver.url, "--kind", "completed,failed", "--json"]).exits(0).run();
    assert!(made["secret"].as_str().unwrap().starts_with("whsec_"));
    let id = made["id"].as_str().unwrap();
    let listed = here.pleach(&["webhooks", "ls"]).exits(0).out;
    assert!(listed.contains(id) && listed.contains("completed, failed") && !listed.contains("whsec_"), "{listed}");
    let tested = here.pleach(&["webhooks", "test", id]).exits(0).out;
    assert!(tested.contains("delivered after 1 attempts: 204"), "{tested}");
    let run = here.pleach(&["run", "Name three trees", "--kind", "homework", "--wait", "--json"]).exits(0).run();
    let inbox = here.pleach(&["inbox", "--read"]).exits(0).out;
    assert!(inbox.contains("completed") && inbox.contains(run["id"].as_str().unwrap()), "{inbox}");
    assert_eq!(here.pleach(&["inbox"]).exits(0).out, "", "it was read");
    assert_eq!(here.pleach(&["inbox", "--all", "--json"]).exits(0).lines()[0]["kind"], "completed");
    server.home.until("the delivery", || (receiver.taken().len() == 2).then_some(()));
    let deliveries = here.pleach(&["webhooks", "deliveries", id]).exits(0).out;
    assert_eq!(deliveries.lines().count(), 2, "{deliveries}");
    here.pleach(&["webhooks", "add", &receiver.url, "--kind", "everything"]).exits(2);
    here.pleach(&["webhooks", "rm", id]).exits(0);
    assert_eq!(here.pleach(&["webhooks", "ls"]).exits(0).out, "");
    let said = here.pleach(&["webhooks", "test", id]).exits(2);
    assert!(said.err.contains("webhook"), "{}", said.err);
}

#[test]
fn an_unreachable_server_and_a_wrong_token_are_reported() {
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
fn up_ignores_the_server_configured_for_clients() {
    let server = Server::start(Home::bare().set("PLEACH_SERVER", "http://127.0.0.1:9"));
    server.anonymous(reqwest::Method::GET, "/healthz").is(200);
    assert_eq!(server.anonymous(reqwest::Method::GET, "/api/runs").is(401).json()["status"], json!(401));
}
