//! How a tree grows: roles, bands, results passed up and along, failures that stay where they are, new plans.

use super::scripts::*;
use crate::home::{Home, of_type, user_text};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

fn ids(values: &Value) -> BTreeSet<String> {
    values.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Who wrote what, who read what, and what the root ends with; whatever model played.
fn the_parent_read_what_its_children_wrote(home: &Home, run: &str) {
    let events = home.events(run);
    let root = events.iter().find(|event| event["type"] == "tree.node_created").expect("a root")["nodeId"].clone();
    let hinted: BTreeSet<String> = of_type(&events, "tree.parent_hint")
        .iter()
        .filter(|event| event["payload"]["parentNodeId"] == root)
        .flat_map(|event| ids(&event["payload"]["artifactIds"]))
        .collect();
    let read: BTreeSet<String> = of_type(&events, "tree.artifact_read")
        .iter()
        .filter(|event| event["payload"]["byNodeId"] == root)
        .filter_map(|event| event["payload"]["artifactId"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(read, hinted, "exactly what the children referred to");
    let made = of_type(&events, "tree.artifact_created");
    let written = |documents_only: bool| -> BTreeSet<String> {
        let theirs = made.iter().filter(|event| event["nodeId"] != root);
        let wanted = theirs.filter(|event| !documents_only || event["payload"]["artifactType"] == "document");
        wanted.filter_map(|event| event["payload"]["artifactId"].as_str().map(str::to_owned)).collect()
    };
    assert!(read.is_subset(&written(false)), "by the children");
    assert!(read.intersection(&written(true)).count() >= 3, "three documents at least");
    let view = show_node(home, run, "n0");
    let shown: BTreeSet<String> = view["reads"]
        .as_array()
        .expect("reads")
        .iter()
        .map(|made| made["id"].as_str().expect("an id").into())
        .collect();
    assert_eq!(shown, read, "`show --node` proves it too");
    let primary = view["artifacts"].as_array().expect("made").iter().find(|made| made["is_primary"] == true);
    let document = primary.expect("a primary artifact")["document_id"].as_str().expect("a document").to_owned();
    assert!(!home.pleach(&["doc", &document]).exits(0).out.trim().is_empty());
}

#[test]
fn t6_three_executors_write_a_document_each_and_the_parent_reads_those_and_writes_a_synthesis() {
    let home = Home::with(grows(&[&three()], |_| None));
    let run = home.tree("Three papers", &[]).exits(0).run();
    let id = run["id"].as_str().expect("an id");
    the_parent_read_what_its_children_wrote(&home, id);
    let asked = home.asked("tree_aggregator");
    assert_eq!(asked.len(), 1, "summed up once");
    for title in ["One of three", "Two of three", "Three of three"] {
        let text = serde_json::to_string(&text_of(title)).expect("JSON");
        assert!(user_text(&asked[0]).contains(&text), "the paper on {title} reached the parent in full");
    }
    let report = home.pleach(&["report", id]).exits(0).out;
    assert!(report.contains("- [On synthesis](/documents/"), "{report}");
}

#[test]
fn t6_the_same_on_rehearsal() {
    let home = Home::bare();
    let run = home.tree("Compare three ways to heat a greenhouse", &[]).exits(0).run();
    assert_eq!(run["status"], "completed");
    the_parent_read_what_its_children_wrote(&home, run["id"].as_str().expect("an id"));
}

#[test]
fn t2_bands_run_in_order_and_the_steps_of_a_band_side_by_side() {
    let bands: [&[Value]; 2] = [&[step("Left of it"), step("Right of it")], &[step("Then this")]];
    let home = Home::with(grows(&bands, |_| None).latency(Duration::from_millis(400)));
    let run = home.tree("In order", &[]).exits(0).run();
    let events = home.events(run["id"].as_str().expect("an id"));
    let at = |title: &str, kind: &str| {
        let node = id_of(&events, title);
        events.iter().position(|event| event["nodeId"] == node && event["type"] == kind).expect("it happened")
    };
    for first in ["Left of it", "Right of it"] {
        assert!(
            at(first, "tree.node_completed") < at("Then this", "tree.node_created"),
            "{first} before the next band"
        );
    }
    assert!(at("Right of it", "effect.started") < at("Left of it", "effect.finished"), "side by side in the log");
    let called = |title: &str| asked_for(&home, "tree_executor", title)[0].at;
    assert!(called("Left of it").abs_diff(called("Right of it")) < 400, "and in time");
    assert!(called("Then this") >= called("Left of it").max(called("Right of it")) + 400);
}

#[test]
fn t7_every_recursion_stops_for_a_stated_reason() {
    let always = |request: &simulation::scripted::Request| {
        let title = request.node().to_owned();
        (request.role == "tree_planner")
            .then(|| plan(&[&[planned(step(&format!("a{title}"))), planned(step(&format!("b{title}")))]]))
    };
    for (flag, value, guard) in [("--max-depth", "2", "max_depth"), ("--max-nodes", "6", "max_nodes")] {
        let home = Home::with(grows(&[], always));
        let run = home.tree("For ever", &[flag, value]).exits(0).run();
        let events = home.events(run["id"].as_str().expect("an id"));
        let limit: u64 = value.parse().expect("a number");
        let guards = of_type(&events, "tree.guard");
        assert!(guards.iter().any(|event| event["payload"] == json!({"guard": guard, "limit": limit})), "{guards:?}");
        let forced = of_type(&events, "tree.node_status");
        assert!(forced.iter().any(|event| event["payload"]["message"] == format!("guard:{guard}")), "{guard} is said");
        let created = of_type(&events, "tree.node_created");
        let deepest = created.iter().filter_map(|event| event["payload"]["depth"].as_u64()).max();
        assert!(guard != "max_depth" || deepest == Some(limit), "depth {deepest:?}");
        assert!(guard != "max_nodes" || created.len() as u64 <= limit, "{} nodes", created.len());
    }
}

#[test]
fn t8_later_bands_see_earlier_results_and_a_failed_step_stays_a_failed_step() {
    let bands: [&[Value]; 2] = [&[step("Good one"), step("Bad one")], &[step("Then this")]];
    let home = Home::with(grows(&bands, |request| (request.node() == "Bad one").then(nonsense)));
    let run = home.tree("One of them fails", &[]).exits(0).run();
    assert_eq!(run["status"], "completed");
    let not_done = run["report"]["not_done"].as_array().expect("what is not done");
    assert!(not_done.iter().any(|line| line.as_str().is_some_and(|line| line.contains("Bad one"))), "{not_done:?}");
    let later = user_text(&asked_for(&home, "tree_executor", "Then this")[0]);
    assert!(later.contains("paper on Good one is written"), "{later}");
    assert!(later.contains("did not fit the schema"), "the failure with its reason: {later}");
    let root = show_node(&home, run["id"].as_str().expect("an id"), "n0");
    assert_eq!((&root["status"], &root["outcome"]), (&json!("completed"), &json!("partial")));
}

#[test]
fn t8_t9_a_new_plan_is_a_new_version_that_keeps_what_is_finished() {
    let again = |request: &simulation::scripted::Request| match request.role.as_str() {
        "tree_planner" if request.section("replan_reason").is_some() => {
            Some(plan(&[&[step("One of three")], &[step("Four instead")]]))
        }
        "tree_aggregator" if request.section("plan").is_some_and(|plan| plan["version"] == 1) => {
            let mut answer = summed();
            answer["next"] = json!({"should_replan": true, "reason": "the third is missing"});
            Some(answer)
        }
        "tree_executor" if request.node() == "Three of three" => Some(nonsense()),
        _ => None,
    };
    let home = Home::with(grows(&[&three()], again));
    let run = home.tree("Plan twice", &[]).exits(0).run();
    let id = run["id"].as_str().expect("an id");
    let root = show_node(&home, id, "n0");
    let versions: Vec<&Value> = root["plans"].as_array().expect("plans").iter().map(|plan| &plan["version"]).collect();
    assert_eq!(versions, [1, 2]);
    assert_eq!(root["generation"], 2);
    let events = home.events(id);
    let asked = of_type(&events, "tree.replan_requested");
    assert_eq!(asked[0]["payload"]["reason"], "the third is missing");
    assert_eq!(asked_for(&home, "tree_executor", "One of three").len(), 1, "a finished step is not done again");
    assert_eq!(asked_for(&home, "tree_executor", "Four instead").len(), 1);
    let superseded = of_type(&events, "tree.step_status");
    let superseded = superseded.iter().filter(|event| event["payload"]["status"] == "superseded");
    assert_eq!(superseded.map(|event| &event["payload"]["stepId"]).collect::<Vec<_>>(), ["three"]);
    let said: BTreeSet<&str> =
        of_type(&events, "tree.node_status").iter().filter_map(|event| event["payload"]["status"].as_str()).collect();
    assert!(
        said.is_superset(&BTreeSet::from(["planning", "delegating", "waiting", "aggregating", "executing"])),
        "{said:?}"
    );
    home.pleach(&["rebuild"]).exits(0);
    assert_eq!(show_node(&home, id, "n0"), root, "T1: rebuilding gives identical rows");
}
