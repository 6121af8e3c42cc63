//! A database that does not answer: connections that the network dropped silently, and a stopped server.

use crate::cluster::{Cluster, PASSWORD};
use crate::home::{Home, of_type, said};
use crate::live_server::LiveServer;
use crate::proxy::Proxy;
use crate::server_database::Database;
use reqwest::{Client, Method};
use serde_json::json;
use simulation::scripted::scripts;
use std::process::Command;
use std::time::{Duration, Instant};

/// The status of `/readyz`, and how long it took.
fn ready(owner: &LiveServer) -> (u16, Duration) {
    let began = Instant::now();
    let asked = async {
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().expect("a client");
        client.get(format!("{}/readyz", owner.url())).send().await.expect("an answer").status().as_u16()
    };
    (owner.home.runtime.block_on(asked), began.elapsed())
}

/// Sends SIGTERM and returns how long the process took to end.
fn terminated(mut owner: LiveServer) -> Duration {
    let (began, pid) = (Instant::now(), owner.pid());
    Command::new("kill").args(["-TERM", &pid.to_string()]).status().expect("kill runs");
    let home = &owner.home;
    home.until("it ends", || {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        (state.is_empty() || state.contains(") Z ")).then_some(())
    });
    let took = began.elapsed();
    owner.kill();
    took
}

#[test]
fn r2_silent_connections_are_noticed_and_replaced() {
    let database = Database::create();
    let proxy = Proxy::before(&database.url());
    let script = scripts::complete_in(8).latency(Duration::from_millis(300));
    let owner = LiveServer::up(Home::with(script).set("PLEACH_DATABASE_URL", &proxy.url(&database.url())));
    let run = owner.start("homework", "Through a proxy");
    owner.home.until("it works", || (owner.home.model().ledger().len() > 1).then_some(()));

    // When every open connection falls silent and new ones work.
    let before = proxy.opened();
    proxy.silence_open();
    let began = Instant::now();

    // Then readiness is told within two seconds each time, and comes back.
    owner.home.until("it is ready again", || {
        let (status, took) = ready(&owner);
        assert!(took < Duration::from_millis(2_500), "{took:?}");
        (status == 200).then_some(())
    });
    let said = owner.post(&format!("/api/runs/{run}/messages"), json!({"text": "go on"}));
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}: {said}", began.elapsed());
    assert_eq!(owner.settled(&run)["status"], "completed");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert!(proxy.opened() > before, "the connections were replaced");
    let log = owner.log(&run);
    assert_eq!(of_type(&log, "run.message_queued").len(), 1);
    assert_eq!(of_type(&log, "homework.scratchpad_appended").len(), 8, "nothing was lost or done twice");
}

#[test]
fn r2_a_commit_whose_answer_was_lost_is_looked_up_and_not_repeated() {
    let database = Database::create();
    let proxy = Proxy::before(&database.url());
    let home = Home::bare().set("PLEACH_REHEARSAL_MS", "60000");
    let owner = LiveServer::up(home.set("PLEACH_DATABASE_URL", &proxy.url(&database.url())));
    let run = owner.start("homework", "Slowly");
    let path = format!("/api/runs/{run}/pause");
    owner.post(&path, json!({}));
    owner.home.until("it rests", || (owner.get(&format!("/api/runs/{run}"))["status"] == "paused").then_some(()));

    proxy.lose_next_commit();
    let texts = ["one", "two", "three"];
    for text in texts {
        owner.post(&format!("/api/runs/{run}/messages"), json!({"text": text}));
    }

    assert_eq!(proxy.lost_commits(), 1, "a commit was swallowed");
    let log = owner.log(&run);
    let queued = of_type(&log, "run.message_queued");
    assert_eq!(queued.len(), texts.len(), "each message once: {queued:?}");
}

fn silent_database(owner: LiveServer) {
    let (status, took) = ready(&owner);
    assert_eq!(status, 503);
    assert!(took < Duration::from_secs(2), "readiness took {took:?}");
    let began = Instant::now();
    let (status, problem) = owner.ask(Method::GET, "/api/runs", None);
    assert_eq!((status, problem["type"].as_str()), (503, Some("database_unavailable")), "{problem}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let took = terminated(owner);
    assert!(took < Duration::from_secs(10), "SIGTERM took {took:?}");
}

#[test]
fn r2_a_silent_database_is_a_503_and_blocks_no_shutdown() {
    let database = Database::create();
    let proxy = Proxy::before(&database.url());
    let script = scripts::complete_in(200).latency(Duration::from_millis(100));
    let owner = LiveServer::up(Home::with(script).set("PLEACH_DATABASE_URL", &proxy.url(&database.url())));
    owner.start("homework", "Cut off");
    owner.home.until("it works", || (owner.home.model().ledger().len() > 1).then_some(()));
    assert_eq!(ready(&owner).0, 200);

    proxy.silence_all();

    let url = proxy.url(&database.url());
    let began = Instant::now();
    let mut command = owner.home.command(&["ls"]);
    command.env("PLEACH_DATA_DIR", owner.home.folder.path().join("elsewhere")).env("PLEACH_DATABASE_URL", url);
    let listed = said(command.output().expect("it runs"));
    assert!(listed.err.contains("not reachable"), "{listed:?}");
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
    silent_database(owner);
}

#[test]
fn r2_a_stopped_postgres_is_a_503_and_continues_when_resumed() {
    let cluster = Cluster::start("host all all 127.0.0.1/32 scram-sha-256\n", &[], &[]);
    let url = cluster.url("127.0.0.1", "").replace("pleach@", &format!("pleach:{PASSWORD}@"));
    let script = scripts::complete_in(6).latency(Duration::from_millis(100));
    let owner = LiveServer::up(Home::with(script).set("PLEACH_DATABASE_URL", &url));
    let run = owner.start("homework", "Stopped in the middle");
    owner.home.until("it works", || (owner.home.model().ledger().len() > 1).then_some(()));

    cluster.signal("STOP");
    let (status, took) = ready(&owner);
    assert_eq!(status, 503);
    assert!(took < Duration::from_secs(2), "readiness took {took:?}");
    cluster.signal("CONT");

    owner.home.until("it is ready again", || (ready(&owner).0 == 200).then_some(()));
    assert_eq!(owner.settled(&run)["status"], "completed");
    cluster.signal("STOP");
    silent_database(owner);
}

#[test]
fn r10_up_waits_for_a_database_that_is_starting_and_says_so() {
    let database = Database::create();
    let proxy = Proxy::before(&database.url());
    proxy.set_starting(true);
    let home = Home::bare().set("PLEACH_DATABASE_URL", &proxy.url(&database.url()));

    // Given a server in recovery, commands that only look say so and end.
    let listed = home.pleach(&["ls"]).exits(2);
    assert!(listed.err.contains("starting up"), "{listed:?}");

    for role in ["up", "worker"] {
        proxy.set_starting(true);
        let folder = home.folder.path().join(role);
        let errors = home.folder.path().join(format!("{role}.log"));
        let log = std::fs::File::create(&errors).expect("a log");
        let mut command = home.command(&[role]);
        let mut child = command.env("PLEACH_DATA_DIR", &folder).stderr(log).spawn().expect("it starts");
        home.until("it says that it waits", || {
            let text = std::fs::read_to_string(&errors).expect("text");
            (text.contains("waiting up to 60 s") && text.contains("starting up")).then_some(())
        });
        assert!(child.try_wait().expect("its state").is_none(), "{role} is still there");
        proxy.set_starting(false);
        home.until("it serves", || folder.join("pleach.sock").exists().then_some(()));
        child.kill().expect("killed");
        child.wait().expect("reaped");
    }
}
