//! A stream delivers the whole log, also to readers that join late, reconnect or are slow.

use crate::database::Database;
use crate::home::Home;
use crate::live_server::LiveServer;
use serde_json::{Value, json};
use simulation::scripted::scripts;
use std::time::Duration;

#[test]
fn t14_an_interrupted_client_receives_the_whole_log_through_server_restarts() {
    let home = Home::with(scripts::complete_in(5).latency(Duration::from_millis(40)));
    let mut owner = LiveServer::up(home);
    let run = owner.start("homework", "Stay whole");
    let path = format!("/api/runs/{run}/stream");
    let mut received: Vec<Value> = Vec::new();
    let mut connections = 0;
    while received.last().is_none_or(|event| event["type"] != "run.completed") {
        connections += 1;
        assert!(connections < 200, "it does not end: {:?}", received.last());
        let last_seen = received.last().map(|event| event["seq"].to_string());
        let mut frames = owner.stream(&path, last_seen.as_deref());
        // A few events, then the connection is cut; every third time the server is killed too.
        for _ in 0..3 + connections % 5 {
            let Some(frame) = owner.next(&mut frames, Duration::from_secs(30)) else { break };
            if frame.event == "message" {
                assert_eq!(frame.id, serde_json::from_str::<Value>(&frame.data).unwrap()["seq"].to_string());
                received.push(serde_json::from_str(&frame.data).expect("an event"));
                if received.last().is_some_and(|event| event["type"] == "run.completed") {
                    break;
                }
            }
        }
        drop(frames);
        if connections % 3 == 0 {
            owner.restart();
        }
    }
    assert!(connections > 6, "it was interrupted {connections} times");
    assert_eq!(received, owner.log(&run), "the union of what was received is the log");
}

#[test]
fn t14_a_late_client_starts_where_it_asks_and_last_event_id_overrides_after() {
    let owner = LiveServer::up(Home::with(scripts::complete_in(5)));
    let new = json!({"kind": "homework", "objective": "Come late", "budgets": {"max_iterations": 2}});
    let run = owner.post("/api/runs", new)["id"].as_str().expect("an id").to_owned();
    let last = owner.settled(&run)["last_seq"].as_u64().expect("a seq");
    let first_of = |path: String, id: Option<&str>| {
        let mut frames = owner.stream(&path, id);
        owner.next(&mut frames, Duration::from_secs(10)).expect("a frame").id
    };
    assert_eq!(first_of(format!("/api/runs/{run}/stream"), None), "1");
    assert_eq!(first_of(format!("/api/runs/{run}/stream?after=5"), None), "6");
    assert_eq!(first_of(format!("/api/runs/{run}/stream?after=5"), Some("9")), "10", "a reconnecting client goes on");
    let mut frames = owner.stream(&format!("/api/runs/{run}/stream?after={last}"), None);
    assert!(owner.next(&mut frames, Duration::from_millis(300)).is_none(), "nothing is left");
    let said = owner
        .post(&format!("/api/runs/{run}/continue"), json!({"message": "once more", "budgets": {"max_iterations": 5}}));
    assert!(said["last_seq"].as_u64() > Some(last));
    let frame = owner.next(&mut frames, Duration::from_secs(10)).expect("live");
    assert_eq!(frame.id, (last + 1).to_string());
}

#[test]
fn t14_one_stream_carries_many_topics_and_one_cursor_resumes_them_all() {
    let home = Home::with(scripts::complete_in(3).latency(Duration::from_millis(60)));
    let mut owner = LiveServer::up(home);
    let (one, two) = (owner.start("homework", "First"), owner.start("homework", "Second"));
    let path = format!("/api/stream?topics=runs,run:{one}@0,run:{two}@0,notifications");
    let (mut logs, mut cursor) = ([Vec::<Value>::new(), Vec::new()], None::<String>);
    let (mut shown, mut notified) = (Vec::<Value>::new(), Vec::<Value>::new());
    let over = |log: &[Value]| log.last().is_some_and(|event| event["type"] == "run.completed");
    for connection in 1.. {
        assert!(connection < 100, "it does not end");
        let mut frames = owner.stream(&path, cursor.as_deref());
        for _ in 0..12 {
            let Some(frame) = owner.next(&mut frames, Duration::from_secs(3)) else { break };
            if !frame.id.is_empty() {
                cursor = Some(frame.id.clone());
            }
            let data: Value = serde_json::from_str(&frame.data).expect("JSON");
            match frame.event.as_str() {
                "message" => logs[usize::from(data["runId"] == two.as_str())].push(data),
                "run" => shown.push(data),
                "notification" => notified.push(data),
                "delta" => assert!(frame.data.contains("run_id")),
                other => panic!("{other}"),
            }
        }
        drop(frames);
        if connection % 4 == 0 {
            owner.restart();
        }
        let done = |run: &str| shown.iter().any(|row| row["id"] == run && row["status"] == "completed");
        if logs.iter().all(|log| over(log)) && done(&one) && done(&two) && notified.len() >= 2 {
            break;
        }
    }
    assert_eq!(logs[0], owner.log(&one));
    assert_eq!(logs[1], owner.log(&two));
    assert!(notified.iter().all(|one| one["kind"] == "completed"), "{notified:?}");
    let (status, problem) = owner.ask(reqwest::Method::GET, "/api/stream?topics=everything", None);
    assert_eq!((status, &problem["type"]), (422, &"bad_topics".into()));
    let unknown = "/api/stream?topics=run:01a1de11-0000-7000-8000-000000000009";
    assert_eq!(owner.ask(reqwest::Method::GET, unknown, None).0, 404);
}

#[test]
fn t14_a_cursor_is_sent_before_the_first_event_and_belongs_to_its_topics() {
    let owner = LiveServer::up(Home::with(scripts::complete_in(2)));
    let (one, two) = (owner.start("homework", "First"), owner.start("homework", "Second"));
    let (last, _) = (owner.settled(&one)["last_seq"].clone(), owner.settled(&two));
    let opened = owner.send(reqwest::Method::GET, &format!("/api/stream?topics=run:{one},run:{two}"), None, &[]);
    let mut opened = opened.bytes_stream();
    let hello = owner.home.runtime.block_on(futures::StreamExt::next(&mut opened)).expect("a frame").expect("bytes");
    let hello = String::from_utf8_lossy(&hello).into_owned();
    let cursor = hello.lines().find_map(|line| line.strip_prefix("id: ")).unwrap_or_else(|| panic!("{hello}"));
    assert!(cursor.contains(&last.to_string()), "{cursor}");
    let with = |topics: &str| {
        let path = format!("/api/stream?topics={topics}");
        owner.send(reqwest::Method::GET, &path, None, &[("last-event-id", cursor)]).status().as_u16()
    };
    assert_eq!(with(&format!("run:{one},run:{two}")), 200);
    assert_eq!(with(&format!("run:{two},run:{one}")), 422, "a cursor of other topics would skip or repeat");
}

#[test]
fn t14_deltas_of_an_answer_are_streamed_and_not_stored() {
    let home = Home::with(scripts::complete_in(2).latency(Duration::from_millis(300)));
    let owner = LiveServer::up(home);
    let run = owner.start("homework", "Grow");
    let path = format!("/api/runs/{run}/stream");
    let over_network = owner.stream_as(&owner.token("local", "read"), &path);
    for mut frames in [owner.stream(&path, None), over_network] {
        let (mut deltas, mut seqs) = (Vec::<Value>::new(), Vec::new());
        loop {
            let frame = owner.next(&mut frames, Duration::from_secs(30)).expect("a frame");
            match frame.event.as_str() {
                "delta" => {
                    // The id of the last event stays what it was: a reconnecting client loses nothing.
                    deltas.push(serde_json::from_str(&frame.data).expect("JSON"));
                }
                _ => {
                    let event: Value = serde_json::from_str(&frame.data).expect("JSON");
                    seqs.push(event["seq"].as_u64().expect("a seq"));
                    if event["type"] == "run.completed" {
                        break;
                    }
                }
            }
        }
        assert!(!deltas.is_empty(), "nobody saw the answer grow");
        assert!(deltas.iter().all(|delta| delta["run_id"] == run.as_str() && delta["role"].is_string()), "{deltas:?}");
        assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
        assert_eq!(owner.log(&run).len(), seqs.len());
    }
}

#[test]
fn t14_e2_any_process_on_postgres_streams_a_run_that_another_one_drives() {
    let database = Database::create();
    let home = Home::with(scripts::complete_in(8).latency(Duration::from_millis(80)))
        .set("PLEACH_DATABASE_URL", &database.url())
        .set("PLEACH_LEASE_MS", "1500");
    // One place only, and the first run takes it: the second is the worker's.
    let owner = LiveServer::up(home.set("PLEACH_WORKERS", "1"));
    owner.start("homework", "Driven here");
    let own = owner.home.folder.path().join("worker").display().to_string();
    let mut worker = owner.home.command(&["worker", "--workers", "4", "--data-dir", &own]).spawn().expect("it starts");
    let run = owner.start("homework", "Driven elsewhere");
    let mut frames = owner.stream(&format!("/api/runs/{run}/stream"), None);
    let mut received = Vec::new();
    while received.last().is_none_or(|event: &Value| event["type"] != "run.completed") {
        let frame = owner.next(&mut frames, Duration::from_secs(30)).expect("a frame");
        received.push(serde_json::from_str(&frame.data).expect("an event"));
    }
    let _ = worker.kill();
    let _ = worker.wait();
    assert_eq!(received, owner.log(&run));
}
