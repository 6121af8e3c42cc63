//! Streams end when the reader can no longer see the run, or when the run is removed.

use crate::database::Database;
use crate::home::Home;
use crate::live_server::{Frames, LiveServer};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(10);

/// A run in two projects that bob may see, on a slow model.
struct Shared {
    owner: LiveServer,
    bob: String,
    project: String,
    run: String,
}

impl Shared {
    fn new(home: Home) -> Shared {
        let owner = LiveServer::up(home.set("PLEACH_REHEARSAL_MS", "20000"));
        owner.home.pleach(&["actor", "create", "bob"]).exits(0);
        let bob = owner.token("bob", "run");
        let project = owner.post("/api/projects", json!({"title": "Shared"}))["id"].as_str().unwrap().to_owned();
        let second = owner.post("/api/projects", json!({"title": "Shared too"}))["id"].as_str().unwrap().to_owned();
        owner.home.join(&project, "local", "bob", "viewer");
        owner.home.join(&second, "local", "bob", "editor");
        let new = json!({"kind": "homework", "objective": "Be watched", "project_ids": [project, second]});
        let run = owner.post("/api/runs", new)["id"].as_str().unwrap().to_owned();
        Shared { owner, bob, project, run }
    }

    fn watched_by_bob(&self, path: &str) -> Frames {
        self.owner.stream_as(&self.bob, path)
    }
}

/// The last frame of a stream that ends, and how long that took.
fn last_frame(owner: &LiveServer, mut frames: Frames) -> (String, Duration) {
    let (began, mut last) = (Instant::now(), String::new());
    while let Some(frame) = owner.next(&mut frames, PATIENCE) {
        last = frame.event;
    }
    (last, began.elapsed())
}

/// The first frame that does not show a run, an event of one or what one is writing.
fn after_runs(owner: &LiveServer, frames: &mut Frames) -> (String, String) {
    loop {
        let frame = owner.next(frames, PATIENCE).expect("a frame");
        if !["run", "message", "delta"].contains(&frame.event.as_str()) {
            return (frame.event, frame.data);
        }
    }
}

#[test]
fn x1_sec_s7_s13_a_stream_ends_within_five_seconds_of_losing_one_of_its_two_projects() {
    let shared = Shared::new(Home::bare());
    let (owner, run) = (&shared.owner, &shared.run);
    let alone = shared.watched_by_bob(&format!("/api/runs/{run}/stream"));
    let mut many = shared.watched_by_bob(&format!("/api/stream?topics=runs,run:{run}"));
    let members = format!("/api/projects/{}/members/bob", shared.project);
    assert_eq!(owner.ask(Method::DELETE, &members, None).0, 200);
    let (last, took) = last_frame(owner, alone);
    assert!(
        last == "gone" && took < Duration::from_secs(5),
        "{last} after {took:?}, while nothing happened in the run"
    );
    let told = after_runs(owner, &mut many);
    assert_eq!(told, ("run_gone".into(), json!({ "id": run }).to_string()));
    owner.post(&format!("/api/runs/{run}/messages"), json!({"text": "not for bob"}));
    // Each of the two topics may say that the run is gone.
    let mut more = std::iter::from_fn(|| owner.next(&mut many, Duration::from_secs(2)));
    let news = more.find(|frame| frame.event != "run_gone").map(|frame| frame.data);
    assert_eq!(news, None, "what happens afterwards is not told to him");
}

#[test]
fn sec_s12_streaming_somebody_elses_run_is_answered_like_a_missing_run() {
    let shared = Shared::new(Home::bare());
    let owner = &shared.owner;
    owner.home.pleach(&["actor", "create", "eve"]).exits(0);
    let eve = owner.token("eve", "run");
    let nobodys = "01a1de11-0000-7000-8000-000000000009";
    let asked = |run: &str| {
        let paths = [format!("/api/runs/{run}/stream"), format!("/api/stream?topics=runs,run:{run}")];
        paths.map(|path| owner.refused_as(&eve, &path, &[("last-event-id", "3")]))
    };
    assert_eq!(asked(&shared.run), asked(nobodys));
    assert!(asked(nobodys).iter().all(|(status, _)| [404, 422].contains(status)));
    for wild in ["*", "run:*", "run:", "runs:*", "node:*"] {
        let (status, _) = owner.refused_as(&eve, &format!("/api/stream?topics={wild}"), &[]);
        assert_eq!(status, 422, "{wild}");
    }
    let mut hers = owner.stream_as(&eve, "/api/stream?topics=runs,notifications");
    owner.post(&format!("/api/runs/{}/messages", shared.run), json!({"text": "not for eve"}));
    assert!(owner.next(&mut hers, Duration::from_secs(2)).is_none());
}

fn a_removed_run_is_gone(reader: &LiveServer, remover: &LiveServer, run: &str) {
    let path = format!("/api/runs/{run}/stream");
    let over_network = reader.stream_as(&reader.token("local", "read"), &path);
    let alone = [reader.stream(&path, None), over_network];
    let mut list = reader.stream(&format!("/api/stream?topics=runs,run:{run}@0"), None);
    let mut shown = false;
    while !shown {
        let frame = reader.next(&mut list, PATIENCE).expect("a frame");
        shown = serde_json::from_str::<Value>(&frame.data).is_ok_and(|event| event["type"] == "run.canceled");
    }
    assert_eq!(remover.ask(Method::DELETE, &format!("/api/runs/{run}"), None).0, 204);
    for alone in alone {
        let (last, took) = last_frame(reader, alone);
        assert!(last == "gone" && took < Duration::from_secs(5), "{last} after {took:?}");
    }
    let (told, _) = after_runs(reader, &mut list);
    assert_eq!(told, "run_gone");
    assert_eq!(reader.ask(Method::GET, &format!("/api/runs/{run}/stream"), None).0, 404);
}

#[test]
fn h2_readers_are_told_when_a_run_is_removed() {
    let owner = LiveServer::up(Home::bare().set("PLEACH_REHEARSAL_MS", "20000"));
    let run = owner.start("homework", "Be removed");
    owner.post(&format!("/api/runs/{run}/cancel"), json!({}));
    a_removed_run_is_gone(&owner, &owner, &run);
}

#[test]
fn h2_e2_readers_are_told_when_another_process_removes_a_run() {
    let database = Database::create();
    let [one, other] = [(); 2].map(|()| {
        let home = Home::bare().set("PLEACH_DATABASE_URL", &database.url());
        LiveServer::up(home.set("PLEACH_REHEARSAL_MS", "20000"))
    });
    let run = one.start("homework", "Be removed from elsewhere");
    one.post(&format!("/api/runs/{run}/cancel"), json!({}));
    a_removed_run_is_gone(&one, &other, &run);
}
