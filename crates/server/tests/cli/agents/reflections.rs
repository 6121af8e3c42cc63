//! Each of the five ways a task run ends is followed by exactly one reflection.

use super::shop::{Shop, TASK, clerk, done, navigate, remember};
use crate::home::{of_type, said};
use serde_json::{Value, json};
use simulation::scripted::{Reply, Script};
use std::time::Duration;

fn acting(step: Value) -> Script {
    Script::default()
        .answer("agent_step", move |_| Reply::json(step.clone()))
        .on("agent_reflection", vec![remember("learned something")])
}

/// There is one reflection, before the event that ends the run, and its text is kept.
fn reflected_once(shop: &Shop, run: &Value, outcome: &str) {
    let reflections = shop.home.asked("agent_reflection");
    assert_eq!(reflections.len(), 1, "{outcome}");
    assert!(crate::home::user_text(&reflections[0]).contains(outcome), "{outcome} in words");
    let events = shop.home.events(run["id"].as_str().expect("an id"));
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    let at = |kind: &str| kinds.iter().position(|known| *known == kind);
    let end =
        kinds.iter().position(|kind| ["run.completed", "run.failed", "run.stopped", "run.canceled"].contains(kind));
    assert!(at("task.scratchpad_updated").is_some() && at("task.scratchpad_updated") < end, "{kinds:?}");
    assert_eq!(of_type(&events, "task.scratchpad_updated").len(), 1);
    assert_eq!(shop.pad()["content"], "learned something");
}

#[test]
fn a4_done_reflects_once() {
    let shop = Shop::open(acting(done()));
    let run = shop.send(TASK, &[]).exits(0).run();
    reflected_once(&shop, &run, "completed");
}

#[test]
fn a4_error_reflects_once() {
    let shop = Shop::open(acting(json!({"action": "error", "message": "there is no such shop"})));
    let run = shop.send(TASK, &[]).exits(1).run();
    assert_eq!((&run["status"], &run["stop_reason"]), (&json!("failed"), &json!("error")));
    reflected_once(&shop, &run, "there is no such shop");
}

#[test]
fn a4_max_steps_reflects_once() {
    let shop = Shop::open(acting(navigate("/projects")));
    let run = shop.send(TASK, &["--max-steps", "3"]).exits(4).run();
    assert_eq!((&run["stop_reason"], &run["iteration"]), (&json!("max_steps"), &json!(3)));
    reflected_once(&shop, &run, "max steps reached");
}

#[test]
fn a4_an_exception_reflects_once() {
    // An answer that never fits, even when it is asked for again.
    let shop = Shop::open(acting(json!({"action": "dance"})));
    let run = shop.send(TASK, &[]).exits(1).run();
    assert_eq!(shop.home.asked("agent_step").len(), 2, "one repair");
    reflected_once(&shop, &run, "exception");
}

#[test]
fn a4_cancel_reflects_once() {
    let shop = Shop::open(acting(navigate("/projects")).latency(Duration::from_millis(200)));
    let child = shop.home.start(&["agents", "run", "scout", TASK, "--wait", "--json"]);
    let id = shop.home.until("it has taken a step", || {
        let listed = shop.home.pleach(&["ls", "--json"]);
        let run: Value = serde_json::from_str(listed.out.lines().next()?).ok()?;
        (run["iteration"].as_u64()? > 0).then(|| run["id"].as_str().map(str::to_owned)).flatten()
    });
    shop.home.pleach(&["cancel", &id]).exits(0);
    let ended = said(child.wait_with_output().expect("it ends")).exits(6).run();
    assert_eq!(ended["status"], "canceled");
    reflected_once(&shop, &ended, "canceled by a person");
}

#[test]
fn a4_a_reflection_that_fails_never_fails_the_task() {
    for reflection in [Reply::text("no JSON at all"), Reply { status: Some(500), ..Reply::default() }] {
        let shop = Shop::open(clerk().on("agent_reflection", vec![reflection]));
        let run = shop.send(TASK, &[]).exits(0).run();
        assert_eq!(run["status"], "completed");
        let events = shop.home.events(run["id"].as_str().expect("an id"));
        assert_eq!(of_type(&events, "task.scratchpad_update_failed").len(), 1);
        assert_eq!(shop.home.asked("agent_reflection").len(), 1, "one attempt");
        assert_eq!(shop.pad()["version"], 0);
    }
}

#[test]
fn a4_null_keeps_what_is_there_and_too_much_is_cut_and_says_so() {
    let shop = Shop::open(clerk().on("agent_reflection", vec![remember(&"ä".repeat(10_100))]));
    let run = shop.send(TASK, &[]).exits(0).run();
    let events = shop.home.events(run["id"].as_str().expect("an id"));
    assert_eq!(of_type(&events, "task.scratchpad_updated")[0]["payload"]["cutFrom"], 10_100);
    assert_eq!(shop.pad()["characters"], 10_000);
    for keeps in [json!({"scratchpad": null}), json!({"scratchpad": ""})] {
        shop.home.model().on("agent_reflection", vec![Reply::json(keeps)]);
        shop.send(TASK, &[]).exits(0);
        assert_eq!(shop.pad()["version"], 1);
    }
}
