//! Commands for one branch while the others continue.

use super::scripts::*;
use crate::home::{Home, of_type, said, user_text};
use serde_json::{Value, json};
use std::time::Duration;

/// `Slow one` takes its time; the others are quick.
fn slow(ms: u64) -> Home {
    let home = Home::with(grows(&[&[step("Slow one"), step("Quick one")]], |_| None));
    home.model().answer("tree_executor", move |request| {
        let reply = simulation::scripted::Reply::json(done(request.node()));
        if request.node() == "Slow one" { reply.delay_ms(ms) } else { reply }
    });
    home
}

fn wait_for(home: &Home, run: &str, title: &str, kind: &str) {
    home.until(&format!("{kind} of {title}"), || {
        let events = home.events(run);
        let created = of_type(&events, "tree.node_created");
        let node = created.iter().find(|event| event["payload"]["title"] == title)?["nodeId"].clone();
        events.iter().any(|event| event["nodeId"] == node && event["type"] == kind).then_some(())
    });
}

fn number_of(home: &Home, run: &str, title: &str) -> String {
    let number = nodes(home, run).iter().rposition(|event| event["payload"]["title"] == title);
    format!("n{}", number.expect("the node"))
}

#[test]
fn b1_a_canceled_branch_ends_alone_and_its_late_result_is_refused() {
    let home = slow(2_500);
    let (child, id) = home.start_tree("Cancel one of two", &[]);
    wait_for(&home, &id, "Slow one", "effect.started");
    wait_for(&home, &id, "Quick one", "tree.node_completed");
    let told = home.pleach(&["cancel", &id, "--node", &number_of(&home, &id, "Slow one"), "--json"]).exits(0).run();
    assert_eq!(told["id"], json!(id), "the run object");
    said(child.wait_with_output().expect("it ends")).exits(0);
    let events = home.events(&id);
    let slow = id_of(&events, "Slow one");
    let kinds: Vec<&Value> = of_node(&events, &slow).iter().map(|event| &event["type"]).collect();
    assert!(kinds.iter().any(|kind| **kind == "tree.node_canceled"), "{kinds:?}");
    assert!(!kinds.iter().any(|kind| **kind == "tree.node_result" || **kind == "tree.node_completed"), "{kinds:?}");
    let canceled = of_type(&events, "tree.node_canceled");
    assert_eq!(canceled[0]["payload"]["disposition"], "in_flight_unknown");
    let run = home.show(&id);
    assert_eq!(run["status"], "completed");
    let not_done = run["report"]["not_done"].to_string();
    assert!(not_done.contains("Slow one") && not_done.contains("cancel"), "{not_done}");
}

#[test]
fn b1_a_paused_branch_starts_nothing_until_it_is_resumed_and_the_others_go_on() {
    let bands: [&[Value]; 1] = [&[planned(step("Held one")), step("Free one")]];
    let home = Home::with(grows(&bands, |_| None));
    home.model().answer("tree_planner", move |request| match request.node() {
        "Held one" => simulation::scripted::Reply::json(execute()).delay_ms(1_500),
        _ => simulation::scripted::Reply::json(plan(&[&[planned(step("Held one")), step("Free one")]])),
    });
    let (child, id) = home.start_tree("Pause one of two", &[]);
    wait_for(&home, &id, "Held one", "effect.started");
    let held = number_of(&home, &id, "Held one");
    home.pleach(&["pause", &id, "--node", &held]).exits(0);
    let code = said(child.wait_with_output().expect("it ends")).code;
    assert_eq!(code, 3, "a run whose last branch is paused waits for people");
    assert_eq!(asked_for(&home, "tree_executor", "Held one").len(), 0, "nothing was started below the pause");
    wait_for(&home, &id, "Free one", "tree.node_completed");
    let shown = home.pleach(&["show", &id]).exits(0).out;
    assert!(shown.contains("paused"), "{shown}");
    home.pleach(&["resume", &id, "--node", &held, "--json"]).exits(0);
    assert_eq!(home.show(&id)["status"], "completed");
    assert_eq!(asked_for(&home, "tree_executor", "Held one").len(), 1);
}

#[test]
fn b1_a_retried_step_gets_a_new_node_and_finished_siblings_are_kept() {
    let fails = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let switch = fails.clone();
    let home = Home::with(grows(&[&[step("Bad one"), step("Good one")]], move |request| {
        (request.node() == "Bad one" && switch.load(std::sync::atomic::Ordering::SeqCst)).then(nonsense)
    }));
    let run = home.tree("Try again", &[]).exits(0).run();
    let id = run["id"].as_str().expect("an id");
    assert_eq!(show_node(&home, id, "n0")["outcome"], "partial");
    let first = number_of(&home, id, "Bad one");
    fails.store(false, std::sync::atomic::Ordering::SeqCst);
    let again = home.pleach(&["retry", id, "--node", &first, "--json"]).exits(0).run();
    assert_eq!(again["status"], "completed");
    let events = home.events(id);
    let resumed = of_type(&events, "run.resumed");
    assert_eq!(resumed[0]["payload"]["reason"], "retry");
    let newest = show_node(&home, id, &number_of(&home, id, "Bad one"));
    let old = show_node(&home, id, &first);
    assert_eq!((&newest["retry_of"], &newest["status"]), (&old["id"], &json!("completed")));
    assert_eq!(old["status"], "failed", "the old one stays as it ended");
    assert_eq!(of_type(&events, "tree.node_reopened").len(), 1);
    assert_eq!(asked_for(&home, "tree_executor", "Good one").len(), 1, "a finished sibling is kept");
    assert_eq!(home.asked("tree_aggregator").len(), 2, "and summed up anew");
    assert_eq!(show_node(&home, id, "n0")["outcome"], "success");
}

#[test]
fn b2_sec_s78_what_the_nodes_used_adds_up_and_a_spent_budget_ends_with_what_there_is() {
    let home = Home::with(grows(&[&three()], |_| None));
    let run = home.tree("Count it", &[]).exits(0).run();
    let id = run["id"].as_str().expect("an id");
    let all: Vec<Value> = (0..4).map(|number| show_node(&home, id, &format!("n{number}"))).collect();
    for name in ["tokens_in", "tokens_out", "llm_calls"] {
        let own: u64 = all.iter().filter_map(|node| node["own_metrics"][name].as_u64()).sum();
        assert_eq!(json!(own), run["metrics"][name], "{name} of the nodes is that of the run");
        assert_eq!(all[0]["metrics"][name], run["metrics"][name], "{name} is rolled up");
    }
    let greedy = Home::with(grows(
        &[
            &three(),
            &three().map(|mut step| {
                step["id"] = json!(format!("x{}", step["id"]));
                step
            }),
        ],
        |_| None,
    ));
    greedy.model().answer("tree_executor", |request| {
        simulation::scripted::Reply::json(done(request.node())).tokens(9_000, 0, 3_000)
    });
    let stopped = greedy.tree("Spend it", &["--max-tokens", "60000"]).exits(4).run();
    assert_eq!((&stopped["status"], &stopped["stop_reason"]), (&json!("stopped"), &json!("budget_tokens")));
    let root = show_node(&greedy, stopped["id"].as_str().expect("an id"), "n0");
    assert_eq!((&root["status"], &root["outcome"]), (&json!("completed"), &json!("partial")), "with what there is");
    assert_eq!(greedy.asked("tree_aggregator").len(), 1, "the reserve paid for summing up");
}

#[test]
fn b8_a_message_to_a_node_is_shown_to_that_branch_and_the_receipt_says_so() {
    let bands: [&[Value]; 2] = [&[step("Slow one")], &[step("Then this"), step("Or that")]];
    let home = Home::with(grows(&bands, |_| None));
    home.model().answer("tree_executor", move |request| {
        let reply = simulation::scripted::Reply::json(done(request.node()));
        if request.node() == "Slow one" && request.lines("tool_results").is_empty() {
            let mut looks = nonsense();
            looks["tool_calls"] = json!([{"tool": "list_documents", "arguments": {}, "purpose": "look"}]);
            return simulation::scripted::Reply::json(looks).delay_ms(1_500);
        }
        reply
    });
    let (child, id) = home.start_tree("Steer one", &[]);
    wait_for(&home, &id, "Slow one", "effect.started");
    let slow = number_of(&home, &id, "Slow one");
    home.pleach(&["say", &id, "Mind the oak", "--node", &slow]).exits(0);
    said(child.wait_with_output().expect("it ends")).exits(0);
    let rounds = asked_for(&home, "tree_executor", "Slow one");
    assert_eq!(rounds.len(), 2);
    assert!(!user_text(&rounds[0]).contains("Mind the oak"));
    assert!(user_text(&rounds[1]).contains("Mind the oak"), "its next call was shown it");
    for other in ["Then this", "Or that"] {
        assert!(!user_text(&asked_for(&home, "tree_executor", other)[0]).contains("Mind the oak"), "{other} was not");
    }
    let events = home.events(&id);
    let queued = of_type(&events, "run.message_queued");
    assert_eq!(queued[0]["payload"]["nodeId"], json!(id_of(&events, "Slow one")));
    assert_eq!(of_type(&events, "run.message_delivered").len(), 1);
}

#[test]
fn b9_a_question_parks_its_branch_only_and_the_answer_lets_it_go_on() {
    let home = Home::with(grows(&[&[step("Asking one"), step("Free one")], &[step("Then this")]], |request| {
        let answered = request.section("questions").is_some();
        (request.node() == "Asking one" && !answered).then(|| asks("Ash or oak?", None))
    }));
    let run = home.tree("Ask one thing", &[]).exits(3).run();
    let id = run["id"].as_str().expect("an id");
    assert_eq!((&run["status"], &run["stop_reason"]), (&json!("waiting_on_user"), &json!("user_input")));
    let asking = show_node(&home, id, &number_of(&home, id, "Asking one"));
    assert_eq!((&asking["status"], &asking["questions"][0]["text"]), (&json!("blocked"), &json!("Ash or oak?")));
    assert_eq!(show_node(&home, id, &number_of(&home, id, "Free one"))["status"], "completed", "the other one went on");
    let shown = home.pleach(&["show", id]).exits(0).out;
    assert!(shown.contains("? E n1 Asking one") && shown.contains("pleach answer"), "{shown}");
    home.pleach(&["answer", id, "Oak", "--json"]).exits(0);
    let asked = asked_for(&home, "tree_executor", "Asking one");
    assert!(user_text(&asked[asked.len() - 1]).contains("Oak"));
    assert_eq!(home.show(id)["status"], "completed");
}

#[test]
fn b13_a_provider_that_is_away_parks_the_tree_and_no_node_is_lost() {
    let home = Home::with(grows(&[&three()], |_| None).latency(Duration::from_millis(10)));
    home.model().answer("tree_executor", |request| match request.key.ends_with(":1") {
        true => simulation::scripted::Reply::status(503, "{\"error\": {\"message\": \"overloaded\"}}"),
        false => simulation::scripted::Reply::json(done(request.node())),
    });
    let run = home.tree("Wait for it", &[]).exits(0).run();
    let events = home.events(run["id"].as_str().expect("an id"));
    assert_eq!(of_type(&events, "tree.node_failed").len(), 0, "a machine never sees a retry");
    assert!(events.iter().any(|event| event["payload"]["retryAt"].is_string()), "it was tried again later");
}
