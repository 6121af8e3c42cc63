//! Snapshots: a run as it was after any event.

use crate::home::Home;
use crate::live_server::LiveServer;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a page makes of the events by itself: titles, parents and statuses by node.
fn folded(events: &[Value]) -> BTreeMap<String, (Value, Value, String)> {
    let mut nodes = BTreeMap::new();
    for event in events {
        let Some(id) = event["nodeId"].as_str() else { continue };
        let payload = &event["payload"];
        let mut stand = |status: &str| {
            nodes.entry(id.to_owned()).and_modify(|node: &mut (Value, Value, String)| node.2 = status.into());
        };
        match event["type"].as_str().unwrap_or_default() {
            "tree.node_created" => {
                let node = (payload["title"].clone(), event["parentNodeId"].clone(), "planning".to_owned());
                nodes.insert(id.to_owned(), node);
            }
            "tree.node_status" => stand(payload["status"].as_str().expect("a status")),
            "tree.node_completed" => stand("completed"),
            "tree.node_failed" => stand("failed"),
            _ => {}
        }
    }
    nodes
}

#[test]
fn t12_a_tree_has_a_snapshot_after_every_event() {
    let owner = LiveServer::up(Home::bare());
    let run = owner.start("tree", "Compare three ways to keep bees");
    let ended = owner.settled(&run);
    let events = owner.log(&run);
    for at in (1..=events.len()).filter(|at| at % 7 == 1 || *at == events.len()) {
        let snapshot = owner.get(&format!("/api/runs/{run}/snapshot?at={at}"));
        assert_eq!((&snapshot["seq"], &snapshot["last_seq"]), (&json!(at), &ended["last_seq"]));
        assert_eq!(snapshot["run"]["last_seq"], at, "the run object is of that moment");
        assert_eq!(snapshot["run"]["head"], events[at - 1]["hash"]);
        let nodes = &snapshot["nodes"];
        let ids = nodes["id"].as_array().expect("a column");
        let expected = folded(&events[..at]);
        assert_eq!(ids.len(), expected.len(), "after {at}");
        for (index, id) in ids.iter().enumerate() {
            let (title, parent, status) = &expected[id.as_str().expect("an id")];
            assert_eq!((&nodes["title"][index], &nodes["status"][index]), (title, &json!(status)), "after {at}");
            let shown = nodes["parent"][index].as_u64().map_or(Value::Null, |parent| ids[parent as usize].clone());
            assert_eq!(&shown, parent, "after {at}");
        }
    }
    let newest = owner.get(&format!("/api/runs/{run}/snapshot"));
    let mut itself = owner.get(&format!("/api/runs/{run}"));
    assert!(itself["plan"]["steps"].is_array(), "the run object has its root's plan");
    // The snapshot's own nodes and steps say what the plan would.
    itself["plan"] = Value::Null;
    assert_eq!(newest["run"], itself, "the newest is the run itself");
    assert!(newest["nodes"]["status"].as_array().is_some_and(|all| all.iter().all(|one| one == "completed")));
}

#[test]
fn t12_homework_has_snapshots_too_and_none_beyond_the_log() {
    let owner = LiveServer::up(Home::bare());
    let run = owner.start("homework", "List three kinds of bees");
    let ended = owner.settled(&run);
    let newest = owner.get(&format!("/api/runs/{run}/snapshot"));
    assert_eq!(newest["run"], owner.get(&format!("/api/runs/{run}")));
    assert_eq!((&newest["nodes"], &newest["steps"]), (&Value::Null, &Value::Null));
    assert_eq!(newest["iterations"], owner.get(&format!("/api/runs/{run}/iterations")));
    let early = owner.get(&format!("/api/runs/{run}/snapshot?at=1"));
    assert_eq!((&early["run"]["status"], &early["iterations"]), (&json!("queued"), &json!([])));
    for at in ["0", "99999"] {
        let (status, problem) = owner.ask(Method::GET, &format!("/api/runs/{run}/snapshot?at={at}"), None);
        assert_eq!((status, &problem["type"]), (422, &"bad_seq".into()));
    }
    let path = format!("/api/runs/{run}/snapshot?at={}", ended["last_seq"]);
    let first = owner.send(Method::GET, &path, None, &[]);
    let tag = first.headers()["etag"].to_str().expect("text").to_owned();
    assert_eq!(owner.send(Method::GET, &path, None, &[("if-none-match", &tag)]).status(), 304);
}
