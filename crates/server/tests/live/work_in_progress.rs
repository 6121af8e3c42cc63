//! What a call in flight is writing, and the time and cost of a run while one runs.

use crate::home::Home;
use crate::live_server::{Frames, LiveServer};
use serde_json::{Value, json};
use simulation::scripted::{Reply, Script};
use std::time::{Duration, Instant};

const SENTENCE: &str = "Heat pumps move heat instead of making it. ";

/// The answer breaks off for some time after its beginning was sent.
fn slowly(answer: Value, ms: u64) -> Reply {
    Reply { stall_after: Some((2_500, ms)), ..Reply::json(answer) }
}

/// A root that writes its paper itself, and slowly.
fn slow_paper(ms: u64) -> Script {
    let pad = json!({"append_markdown": "noted", "tail_preview": "noted"});
    let plan = json!({"mode": "execute", "mode_reason": "small", "leaf_decision": "direct", "plan": null, "question": null, "scratchpad": pad});
    let paper = json!({"type": "document", "label": "paper", "title": "Paper", "markdown": SENTENCE.repeat(100), "json": null, "is_primary": true});
    let result = json!({"kind": "document", "summary": "It is written down.", "success_assessment": {"met": true, "notes": null},
        "primary_artifact_label": "paper", "parent_hint": {"hint_type": "read_documents", "artifact_labels": ["paper"]}});
    let answer = json!({"artifacts": [paper], "question": null, "result": result, "scratchpad": pad, "tool_calls": []});
    Script::default().on("tree_planner", vec![Reply::json(plan)]).on("tree_executor", vec![slowly(answer, ms)])
}

/// A planner that asks at once, slowly.
fn slow_planner(ms: u64) -> Script {
    let answer = json!({"progress_summary": SENTENCE.repeat(100), "plan": {"steps": []}, "tool_calls": [], "executor_tasks": [],
        "remaining_work": ["everything"], "completion_evidence": [], "exit_signal": false, "needs_user_input": true,
        "blocking_questions": ["Which house?"], "next_action_hint": "ask_user", "confidence": "low", "branch_rollup": null});
    Script::default().on("homework_planner", vec![slowly(answer, ms)])
}

/// A home whose model has a price.
fn priced(script: Script) -> Home {
    let home = Home::with(script);
    let folder = home.folder.path().join(".config/pleach");
    std::fs::create_dir_all(&folder).expect("a folder");
    let config = format!(
        "[providers.openai]\nkind = \"openai\"\nbase_url = \"{}\"\n[providers.openai.models.scripted]\ninput_per_mtok = 10.0\noutput_per_mtok = 30.0\n",
        home.model().url()
    );
    std::fs::write(folder.join("config.toml"), config).expect("a config file");
    home
}

#[track_caller]
fn next_delta(owner: &LiveServer, frames: &mut Frames) -> Value {
    loop {
        let frame = owner.next(frames, Duration::from_secs(20)).expect("a delta");
        if frame.event == "delta" {
            return serde_json::from_str(&frame.data).expect("JSON");
        }
    }
}

/// The first delta that has something to read.
#[track_caller]
fn first_text(owner: &LiveServer, frames: &mut Frames) -> Value {
    loop {
        let delta = next_delta(owner, frames);
        if delta["shown"].as_str().is_some_and(|shown| shown.contains(SENTENCE.trim())) {
            return delta;
        }
    }
}

#[test]
fn t4_whoever_comes_while_an_answer_is_written_sees_what_was_written_so_far() {
    // Given a node whose answer has begun and stands still
    let owner = LiveServer::up(Home::with(slow_paper(6_000)));
    let run = owner.start("tree", "Write about heat pumps");
    let first = first_text(&owner, &mut owner.stream(&format!("/api/runs/{run}/stream"), None));
    let effect = first["effect"].as_str().expect("an effect");
    let (tag, position) = effect.split_once('.').expect("a tag before the position");
    assert_eq!((tag, position), (run.rsplit('-').next().expect("an id"), "n0.g1.x.r1"));
    // When others come, over the socket and over the network, for this run and for many topics
    let (path, token) = (format!("/api/runs/{run}/stream"), owner.token("local", "read"));
    let many = format!("/api/stream?topics=runs,run:{run}@0");
    let late = [
        owner.stream(&path, None),
        owner.stream_as(&token, &path),
        owner.stream(&many, None),
        owner.stream_as(&token, &many),
    ];
    for (nth, mut frames) in late.into_iter().enumerate() {
        let delta = next_delta(&owner, &mut frames);
        // Then each is told what can be read of it, and where that stands in the whole
        let shown = delta["shown"].as_str().expect("text");
        assert!(shown.contains(SENTENCE) && !shown.contains(['{', '"']), "reader {nth}: {delta}");
        assert!(delta["from"].is_u64() && delta["effect"] == effect && delta["attempt"] == 1, "reader {nth}: {delta}");
    }
    // And after the end nobody is told any more
    assert_eq!(owner.settled(&run)["status"], "completed");
    let mut frames = owner.stream(&path, None);
    while let Some(frame) = owner.next(&mut frames, Duration::from_millis(500)) {
        assert_ne!(frame.event, "delta");
    }
}

#[test]
fn h8_time_and_cost_move_while_a_call_runs_and_nothing_is_stored() {
    // Given a planner whose first answer takes a while
    let owner = LiveServer::up(priced(slow_planner(5_000)));
    let run = owner.start("homework", "Heat a house");
    first_text(&owner, &mut owner.stream(&format!("/api/runs/{run}/stream"), None));
    let stored = owner.get("/api/runs")["items"][0].clone();
    // When the run is read twice during the call
    let read =
        || (owner.get(&format!("/api/runs/{run}")), owner.get(&format!("/api/runs/{run}/iterations"))[0].clone());
    let (began, (first, first_iteration)) = (Instant::now(), read());
    std::thread::sleep(Duration::from_millis(1_500));
    let (second, second_iteration) = read();
    let elapsed = began.elapsed().as_millis() as i64;
    // Then working time went on, of the run and of the iteration
    let moved = |before: &Value, after: &Value| {
        after["metrics"]["running_ms"].as_i64().expect("a number")
            - before["metrics"]["running_ms"].as_i64().expect("a number")
    };
    for grown in [moved(&first, &second), moved(&first_iteration, &second_iteration)] {
        assert!((1_400..=elapsed + 100).contains(&grown), "{grown} ms of {elapsed}");
    }
    // And the estimate of the cost grows, below what was reserved, while what is settled stays
    let estimate = |row: &Value| row["running"]["estimated_cost_usd"].as_f64().expect("an estimate");
    let reserved = owner.log(&run).iter().find(|event| event["type"] == "effect.started").expect("a call")["payload"]
        ["reserve"]["costUsd"].as_f64().expect("a cost");
    for (before, after) in [(&first, &second), (&first_iteration, &second_iteration)] {
        assert!(0.0 < estimate(before) && estimate(before) < estimate(after), "{before} {after}");
        assert!(estimate(after) < reserved, "{after}: {reserved}");
        assert_eq!((&after["metrics"]["cost_usd"], &after["running"]["calls"]), (&json!(0.0), &json!(1)));
    }
    // And the log is as it was, and so is the list of runs
    assert_eq!((&second["last_seq"], &second["updated_at"]), (&stored["last_seq"], &stored["updated_at"]));
    assert_eq!(owner.get("/api/runs")["items"][0], stored);
    // And when it waits for an answer, the clock stands still
    let waiting = owner.settled(&run);
    assert_eq!(owner.get(&format!("/api/runs/{run}")), waiting);
}

#[test]
fn h8_the_clock_of_a_run_whose_process_died_stands_still() {
    let mut owner = LiveServer::up(priced(slow_planner(60_000)).set("PLEACH_LEASE_MS", "600"));
    let run = owner.start("homework", "Heat a house");
    first_text(&owner, &mut owner.stream(&format!("/api/runs/{run}/stream"), None));
    std::thread::sleep(Duration::from_millis(1_500));
    owner.kill();
    std::thread::sleep(Duration::from_millis(1_200));
    let first = owner.home.show(&run);
    std::thread::sleep(Duration::from_millis(800));
    assert_eq!(owner.home.show(&run), first);
    assert!(first["running"].is_null() && first["metrics"]["running_ms"].as_i64() > Some(1_000), "{first}");
}
