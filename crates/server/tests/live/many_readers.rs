//! A thousand readers of one run.

use crate::home::Home;
use crate::live_server::LiveServer;
use eventsource_stream::Eventsource;
use futures::StreamExt;
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

const READERS: usize = 1_000;

/// Raises the descriptor limit of this process and of the server it starts.
fn make_room() {
    let own = std::process::id().to_string();
    let raised = Command::new("prlimit").args(["--pid", &own, "--nofile=4096:"]).status().expect("prlimit runs");
    assert!(raised.success(), "this machine allows fewer than 4096 open files");
}

/// The hashes of all events, each of which covers everything before it, until the run ends.
async fn read(client: reqwest::Client, url: String, token: String) -> Vec<String> {
    let answer = client.get(url).bearer_auth(token).send().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    let mut frames = answer.bytes_stream().eventsource();
    let mut hashes: Vec<String> = Vec::new();
    while let Some(Ok(frame)) = frames.next().await {
        if frame.event != "message" {
            continue;
        }
        let event: Value = serde_json::from_str(&frame.data).expect("an event");
        assert_eq!(event["seq"], hashes.len() + 1, "in order, without a gap");
        hashes.push(event["hash"].as_str().expect("a hash").to_owned());
        if event["type"] == "run.completed" {
            break;
        }
    }
    hashes
}

#[test]
fn t14_b11_a_thousand_readers_of_a_growing_tree_each_receive_the_whole_log() {
    make_room();
    let owner = LiveServer::up(Home::bare().set("PLEACH_REHEARSAL_MS", "1500"));
    let token = owner.token("local", "read");
    let run = owner.start("tree", "Compare three ways to keep bees");
    let url = format!("{}/api/runs/{run}/stream", owner.url());
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let readers: Vec<_> =
        (0..READERS).map(|_| owner.home.runtime.spawn(read(client.clone(), url.clone(), token.clone()))).collect();
    let received = owner.home.runtime.block_on(async {
        let all = futures::future::join_all(readers);
        tokio::time::timeout(Duration::from_secs(100), all).await.expect("all of them end")
    });
    let log: Vec<String> = owner.log(&run).iter().map(|event| event["hash"].as_str().unwrap().to_owned()).collect();
    for (number, hashes) in received.into_iter().enumerate() {
        assert!(hashes.expect("it did not panic") == log, "reader {number} received something else");
    }
}
