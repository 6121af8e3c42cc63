//! What a task run does and what it leaves behind.

use super::shop::{Shop, TASK, clerk, done, execute, navigate, remember};
use crate::home::{Home, of_type, user_text};
use serde_json::{Value, json};
use simulation::scripted::{Reply, Script};
use std::time::Duration;

#[test]
fn a6_a_task_works_the_product_through_pages_and_makes_a_document() {
    // Given a subagent that may write documents in one project
    let shop = Shop::open(clerk());
    // When it is sent
    let run = shop.send(TASK, &[]).exits(0).run();
    // Then it began at /whoami, went to the project, and made the document there by its action
    let id = run["id"].as_str().expect("an id");
    let events = shop.home.events(id);
    let paths: Vec<&Value> = of_type(&events, "task.step").iter().map(|event| &event["payload"]["path"]).collect();
    assert_eq!(paths[..2], [&json!("/whoami"), &json!(format!("/projects/{}", shop.project))]);
    let results = of_type(&events, "task.step_result");
    let made = &results[2]["payload"]["artifacts"]["created_documents"][0];
    assert_eq!(made["title"], "Opening hours", "{results:?}");
    let document = shop.home.pleach(&["doc", made["id"].as_str().expect("an id"), "--json"]).exits(0).run();
    assert_eq!((&document["content"], &document["props"]["agent_task_run_id"]), (&json!("9 to 17"), &run["id"]));
    assert_eq!(document["project_id"], json!(shop.project));
    // And the run says who did it, in how many steps
    assert_eq!((&run["kind"], &run["agent"], &run["iteration"]), (&json!("task"), &json!("scout"), &json!(2)));
    assert_eq!((&run["status"], &run["max_steps"]), (&json!("completed"), &json!(30)));
    // And what was made is visible to people: show, log and report
    let shown = shop.home.pleach(&["show", id]).exits(0).out;
    for expected in ["agent      scout", "Steps", "create_document at /projects/", "Opening hours"] {
        assert!(shown.contains(expected), "{expected} is not in\n{shown}");
    }
    let log = shop.home.pleach(&["log", id]).exits(0).out;
    assert!(log.contains("create_document at /projects/") && log.contains("scratchpad version 1"), "{log}");
    assert!(shop.home.pleach(&["report", id]).exits(0).out.contains("The hours are written down."));
}

#[test]
fn t6_the_report_of_a_task_counts_its_steps() {
    let shop = Shop::open(clerk());
    let run = shop.send(TASK, &[]).exits(0).id();
    let report = shop.home.pleach(&["report", &run]).exits(0).out;
    assert!(report.contains("2 steps") && !report.contains("null"), "{report}");
}

#[test]
fn a1_a5_the_next_task_sees_what_the_last_one_saved_and_the_owner_may_restore_it() {
    let shop = Shop::open(clerk());
    shop.send(TASK, &[]).exits(0);
    assert_eq!(shop.pad()["content"], "The hours are in one document of the shop.");
    // When it is sent again
    let before = shop.home.asked("agent_step").len();
    shop.home.model().on("agent_reflection", vec![remember("Second notes.")]);
    let second = shop.send("Check the hours", &[]).exits(0).run();
    // Then its first request shows the notes of the first errand, and its reflection too
    let asked = shop.home.asked("agent_step");
    let first = user_text(&asked[before]);
    assert!(first.contains("Your Scratchpad") && first.contains("one document of the shop"), "{first}");
    let reflections = shop.home.asked("agent_reflection");
    assert!(user_text(&reflections[1]).contains("one document of the shop"));
    // And every version is kept with where it came from
    let history = shop.home.pleach(&["agents", "scratchpad", "scout", "history", "--json"]).exits(0).lines();
    assert_eq!((history.len(), &history[0]["run_id"], &history[0]["version"]), (2, &second["id"], &json!(2)));
    // And the owner restores, clears, and is told the truth about versions that never were
    shop.home.pleach(&["agents", "scratchpad", "scout", "restore", "1"]).exits(0);
    assert_eq!(shop.pad()["content"], history[1]["content"]);
    shop.home.pleach(&["agents", "scratchpad", "scout", "restore", "9"]).exits(2);
    shop.home.pleach(&["agents", "scratchpad", "scout", "clear"]).exits(0);
    assert_eq!((shop.pad()["version"].clone(), shop.pad()["content"].clone()), (json!(4), json!("")));
}

#[test]
fn a_scratchpad_changed_by_its_owner_meanwhile_is_not_overwritten() {
    // Given an agent with notes, whose second reflection takes a while
    let shop = Shop::open(clerk());
    shop.send(TASK, &[]).exits(0);
    shop.home.model().answer("agent_reflection", |_| Reply { delay_ms: 2_000, ..remember("the agent's") });
    let child = shop.home.start(&["agents", "run", "scout", TASK, "--wait", "--json"]);
    shop.home.until("it looks back", || (shop.home.asked("agent_reflection").len() == 2).then_some(()));
    // When its owner clears the scratchpad meanwhile
    shop.home.pleach(&["agents", "scratchpad", "scout", "clear"]).exits(0);
    let run = crate::home::said(child.wait_with_output().expect("it ends")).exits(0).run();
    // Then it stays cleared, and the run says why nothing was learned and what it would have been
    assert_eq!((&shop.pad()["version"], &shop.pad()["content"]), (&json!(2), &json!("")));
    let events = shop.home.events(run["id"].as_str().expect("an id"));
    let failed = of_type(&events, "task.scratchpad_update_failed");
    assert!(failed[0]["payload"]["error"].as_str().is_some_and(|why| why.contains("changed meanwhile")), "{failed:?}");
    assert_eq!(of_type(&events, "task.reflected")[0]["payload"]["scratchpad"], "the agent's");
}

#[test]
fn an_action_without_a_grant_is_refused_with_the_valid_ones() {
    // Given an agent that tries what it was not granted, what does not exist, and a page that is not there
    let script = Script::default()
        .answer("agent_step", |request| {
            // Shown on the first pages only: later ones are all it is given.
            let project = super::shop::seen(request, "/projects/").unwrap_or_default();
            Reply::json(match request.lines("steps").len() {
                1 => execute(&project, "update_project", json!({"title": "Mine now"})),
                2 => execute(&project, "launch_rockets", json!({})),
                3 => navigate("/projects/01a1de11-0000-7000-8000-000000000009"),
                4 => execute("/whoami", "update_scratchpad", json!({"content": "x".repeat(10_001)})),
                5 => execute("/whoami", "update_scratchpad", json!({"content": "kept by an action"})),
                _ => done(),
            })
        })
        .on("agent_reflection", vec![Reply::json(json!({"scratchpad": null}))]);
    let shop = Shop::open(script);
    let run = shop.send(TASK, &[]).exits(0).run();
    let events = shop.home.events(run["id"].as_str().expect("an id"));
    let results = of_type(&events, "task.step_result");
    let summaries: Vec<&str> = results.iter().map(|event| event["payload"]["summary"].as_str().unwrap_or("")).collect();
    assert!(summaries[1].contains("403") && summaries[1].contains("create_document"), "{summaries:?}");
    assert!(summaries[2].contains("404") && summaries[2].contains("launch_rockets"), "{summaries:?}");
    assert!(summaries[3].contains("404"), "{summaries:?}");
    assert!(summaries[4].contains("422") && summaries[4].contains("10001"), "{summaries:?}");
    // And the action that was its own was carried out, with the step as its origin
    let pad = shop.pad();
    assert_eq!((&pad["content"], &pad["step"], &pad["run_id"]), (&json!("kept by an action"), &json!(5), &run["id"]));
    let projects = shop.home.pleach(&["project", "ls"]).exits(0).out;
    assert!(projects.contains("Shop") && !projects.contains("Mine now"), "{projects}");
}

#[test]
fn a_task_needs_a_subagent_of_the_same_owner() {
    let shop = Shop::open(clerk());
    let refused = shop.home.pleach(&["run", TASK, "--kind", "task", "--wait"]).exits(2);
    assert!(refused.err.contains("--agent"), "{}", refused.err);
    shop.home.pleach(&["run", TASK, "--kind", "task", "--agent", "nobody", "--wait"]).exits(2);
    shop.home.pleach(&["actor", "create", "dana"]).exits(0);
    shop.home.pleach(&["agents", "run", "scout", TASK, "--wait", "--actor", "dana"]).exits(2);
    shop.home.pleach(&["agents", "show", "scout", "--actor", "dana"]).exits(2);
    shop.send(TASK, &["--max-steps", "51"]).exits(2);
    assert_eq!(shop.home.pleach(&["ls"]).exits(0).out, "", "no run was made");
    // By its long name it is the same.
    shop.home.pleach(&["run", TASK, "--kind", "task", "--agent", "scout", "--wait"]).exits(0);
}

#[test]
fn one_task_of_an_agent_runs_at_a_time_and_the_next_waits_its_turn() {
    // Given a server that drives everything, and an agent that is slow
    let shop = Shop::open(clerk().latency(Duration::from_millis(150)));
    let mut server = shop.home.start(&["up"]);
    shop.home.until("it is up", || (shop.home.pleach(&["ls"]).code == 0).then_some(()));
    // When two errands are given at once
    let sent: Vec<Value> = ["First", "Second"]
        .iter()
        .map(|task| shop.home.pleach(&["agents", "run", "scout", task, "--detach", "--json"]).exits(0).run())
        .collect();
    let ended = shop.home.until("both are over", || {
        let runs: Vec<Value> = sent.iter().map(|run| shop.home.show(run["id"].as_str().expect("an id"))).collect();
        runs.iter().all(|run| run["ended_at"].is_string()).then_some(runs)
    });
    server.kill().expect("killed");
    server.wait().expect("reaped");
    // Then the second began after the first had ended
    assert!(ended.iter().all(|run| run["status"] == "completed"), "{ended:?}");
    assert!(ended[1]["started_at"].as_str() >= ended[0]["ended_at"].as_str(), "{ended:?}");
}

#[test]
fn without_a_key_a_subagent_rehearses_and_remembers() {
    let shop = Shop::around(Home::bare());
    let run = shop.send("Note what oak costs", &[]).exits(0).run();
    assert_eq!(run["model"], "rehearsal/default");
    let shown = shop.home.pleach(&["show", run["id"].as_str().expect("an id")]).exits(0).out;
    assert!(shown.contains("create_document at /projects/"), "{shown}");
    let pad = shop.pad();
    assert!(pad["content"].as_str().is_some_and(|text| text.contains("Note what oak costs")), "{pad}");
    let listed = shop.home.pleach(&["agents", "ls"]).exits(0).out;
    assert!(listed.starts_with("scout"), "{listed}");
}
