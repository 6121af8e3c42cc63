//! Work that a run delegates to a subagent: what it sees, what it may do, and the lessons it adds.

use super::shop::{Shop, TASK, clerk};
use crate::crash::{killed, kills, paid_once};
use crate::home::{Home, Said, of_type, user_text};
use crate::tree::scripts::{asked_for, done, grows, id_of, pad, show_node, step};
use serde_json::{Value, json};
use simulation::scripted::{Reply, Request, Script};
use std::time::Duration;

const LESSON: &str = "Oak is sold by the yard";

fn call(tool: &str, arguments: Value) -> Value {
    json!({"tool": tool, "arguments": arguments, "purpose": "for the work"})
}

fn plan(request: &Request, agent: &str, leaves: bool) -> Value {
    let task = json!({"branch_id": "study", "step_id": null, "title": "Study oak", "objective": "Write down what oak costs",
        "tools": ["create_document", "create_task", "list_projects"], "agent": agent});
    let artifacts = request.section("artifacts").unwrap_or_default();
    let refs: Vec<&Value> = artifacts.as_array().into_iter().flatten().map(|made| &made["ref"]).collect();
    let first = request.section("iteration") == Some(json!(1));
    let leaves = leaves && !first;
    json!({
        "progress_summary": "Going on.", "plan": {"steps": []}, "tool_calls": [],
        "executor_tasks": if first { json!([task]) } else { json!([]) },
        "remaining_work": if leaves { json!([]) } else { json!(["more"]) },
        "completion_evidence": if leaves { json!([{"criterion": null, "claim": "written", "refs": refs}]) } else { json!([]) },
        "exit_signal": leaves, "needs_user_input": false, "blocking_questions": [], "next_action_hint": "execute",
        "confidence": "high", "branch_rollup": null,
    })
}

fn executor(calls: Vec<Value>, done: bool) -> Value {
    json!({"thought": "work", "tool_calls": calls, "done": done, "summary": "Written.", "result_snippet": "Written.", "completed_step_ids": []})
}

/// The executor's first round: it writes, learns, and tries what it was not granted; the second ends it.
fn homework(agent: &'static str, leaves: bool) -> Script {
    clerk()
        .answer("homework_planner", move |request| Reply::json(plan(request, agent, leaves)))
        .answer("homework_executor", |request| {
            Reply::json(match request.lines("tool_results").is_empty() {
                true => executor(
                    vec![
                        call("create_document", json!({"title": "Oak", "content": "12 a yard"})),
                        call("add_lesson", json!({"text": LESSON})),
                        call("create_task", json!({"title": "Not granted"})),
                        call("list_projects", json!({})),
                    ],
                    false,
                ),
                false => executor(vec![], true),
            })
        })
        .on(
            "homework_report",
            vec![Reply::json(json!({"title": "Oak", "summary": "Done.", "findings": [], "not_done": []}))],
        )
}

fn lessons(shop: &Shop) -> Vec<Value> {
    shop.home.pleach(&["agents", "lessons", "scout", "--json"]).exits(0).lines()
}

#[test]
fn a5_b15_an_executor_given_to_a_subagent_remembers_and_a_verified_success_promotes_what_it_learned() {
    // Given a subagent with notes of an earlier errand, and a project it may not see
    let shop = Shop::open(homework("scout", true));
    shop.send(TASK, &[]).exits(0);
    shop.home.pleach(&["project", "create", "Secret", "--json"]).exits(0);
    // When a homework may give work to it
    let run = shop.home.run("Find out what oak costs", &["--with-agent", "scout"]).exits(0).run();
    assert_eq!((&run["status"], &run["agents"]), (&json!("completed"), &json!(["scout"])));
    // Then the planner is told of it, and what it gives away is done by somebody who remembers
    let planner = &shop.home.asked("homework_planner")[0];
    assert!(user_text(planner).contains("## agents\n[{\"handle\":\"scout\",\"identity\":\"You are tidy.\"}]"));
    let schema = planner.body["response_format"]["json_schema"]["schema"].to_string();
    assert!(schema.contains("\"agent\":{\"type\":[\"string\",\"null\"]}"), "{schema}");
    let asked = &shop.home.asked("homework_executor")[0];
    let text = user_text(asked);
    assert!(
        text.contains("## your_identity\n") && text.contains("The hours are in one document of the shop."),
        "{text}"
    );
    assert!(text.contains("\"version\":1") && text.contains("\"name\":\"add_lesson\""), "{text}");
    // And it does what it was granted where it may, and nothing else: the rest is refused with the reason
    let id = run["id"].as_str().expect("an id");
    let events = shop.home.events(id);
    let results = of_type(&events, "homework.tool_call_result");
    let of = |tool: &str| {
        results.iter().find(|event| event["payload"]["tool"] == tool).expect("a result")["payload"].clone()
    };
    assert_eq!((&of("create_document")["ok"], &of("read_scratchpad")["ok"]), (&json!(true), &json!(true)));
    let refused = of("create_task");
    let why = refused["summary"].as_str().unwrap_or_default();
    assert!(refused["ok"] == false && why.contains("create_task was not granted to scout"), "{refused}");
    let second = user_text(&shop.home.asked("homework_executor")[1]);
    assert!(second.contains("\"title\":\"Shop\"") && !second.contains("Secret"), "{second}");
    // And what it learned is part of its scratchpad now, with the run it comes from
    let pad = shop.pad();
    assert_eq!((&pad["version"], &pad["run_id"], &pad["actor"]["kind"]), (&json!(2), &run["id"], &json!("platform")));
    let content = pad["content"].as_str().unwrap_or_default();
    assert_eq!(content, format!("The hours are in one document of the shop.\n\n## Lessons\n\n- {LESSON} (run {id})\n"));
    let kept = lessons(&shop);
    assert_eq!((kept.len(), &kept[0]["status"], &kept[0]["version"]), (1, &json!("promoted"), &json!(2)));
    assert_eq!(
        (&kept[0]["iteration"], &kept[0]["branch_id"], &kept[0]["run_id"]),
        (&json!(1), &json!("study"), &run["id"])
    );
    // And rebuilding changes none of it
    shop.home.pleach(&["rebuild"]).exits(0);
    assert_eq!((lessons(&shop), shop.pad()), (kept, pad));
}

#[test]
fn b15_what_a_stopped_run_learned_waits_for_the_owner_and_nobody_else() {
    let shop = Shop::open(homework("scout", false));
    let run =
        shop.home.run("Find out what oak costs", &["--with-agent", "scout", "--max-iterations", "2"]).exits(4).run();
    let kept = lessons(&shop);
    assert_eq!((kept.len(), &kept[0]["status"], &kept[0]["run_id"]), (1, &json!("pending"), &run["id"]));
    assert_eq!(shop.pad()["version"], 0, "nothing is remembered yet");
    let listed = shop.home.pleach(&["agents", "lessons", "scout"]).exits(0).out;
    assert!(listed.contains(LESSON) && listed.contains("--promote ID"), "{listed}");
    assert!(shop.home.pleach(&["agents", "show", "scout"]).exits(0).out.contains("1 pending"));
    // A stranger finds nothing there
    let id = kept[0]["id"].as_str().expect("an id");
    shop.home.pleach(&["actor", "create", "dana"]).exits(0);
    for asked in [&["agents", "lessons", "scout"][..], &["agents", "lessons", "scout", "--promote", id]] {
        shop.home.pleach(&[asked, &["--actor", "dana"]].concat()).exits(2);
    }
    // The owner promotes it, once; of another run's, dismisses it
    let promoted = shop.home.pleach(&["agents", "lessons", "scout", "--promote", id, "--json"]).exits(0).run();
    assert_eq!((&promoted["status"], &promoted["version"]), (&json!("promoted"), &json!(1)));
    shop.home.pleach(&["agents", "lessons", "scout", "--promote", id]).exits(0);
    shop.home.pleach(&["agents", "lessons", "scout", "--dismiss", id]).exits(2);
    assert!(shop.pad()["content"].as_str().is_some_and(|pad| pad.contains(LESSON)));
    shop.home.run("Find out what ash costs", &["--with-agent", "scout", "--max-iterations", "2"]).exits(4);
    let other = lessons(&shop)[0]["id"].as_str().expect("an id").to_owned();
    shop.home.pleach(&["agents", "lessons", "scout", "--dismiss", &other]).exits(0);
    assert_eq!((&lessons(&shop)[0]["status"], &shop.pad()["version"]), (&json!("dismissed"), &json!(1)));
    // What is not one's own cannot be given work, and a task has its own agent
    for (kind, name) in [("homework", "nobody"), ("tree", "nobody"), ("task", "scout")] {
        shop.home.pleach(&["run", "x", "--kind", kind, "--with-agent", name, "--wait"]).exits(2);
    }
    shop.home.pleach(&["run", "x", "--with-agent", "scout", "--wait", "--actor", "dana"]).exits(2);
}

/// "Oak" is given to the scout: it learns in its first round, and is done or comes to nothing in its second.
fn tree(fails: bool) -> Script {
    let mut oak = step("Oak");
    oak["agent"] = json!("scout");
    let special = move |request: &Request| {
        let works = request.node() == "Oak" && request.section("tools").is_some();
        match request.lines("tool_results").len() {
            0 if works => Some(
                json!({"tool_calls": [call("add_lesson", json!({"text": LESSON}))], "artifacts": [], "result": null, "question": null, "scratchpad": pad()}),
            ),
            _ if works && fails => Some(json!({"scratchpad": pad()})),
            _ if works => Some(done("Oak")),
            _ => None,
        }
    };
    let grown = grows(&[&[oak, step("Ash")]], special);
    grown
        .answer("agent_step", |_| Reply::json(super::shop::done()))
        .on("agent_reflection", vec![super::shop::remember("Notes on wood.")])
}

#[test]
fn a5_b15_a_node_given_to_a_subagent_remembers_and_only_what_succeeded_is_promoted() {
    let shop = Shop::open(tree(false));
    shop.send(TASK, &[]).exits(0);
    let run = shop.home.tree("Compare woods", &["--with-agent", "scout"]).exits(0).run();
    let id = run["id"].as_str().expect("an id");
    let asked = asked_for(&shop.home, "tree_executor", "Oak");
    assert!(user_text(&asked[0]).contains("Notes on wood.") && user_text(&asked[0]).contains("## your_identity\n"));
    let other = &asked_for(&shop.home, "tree_executor", "Ash")[0];
    assert!(!user_text(other).contains("your_identity") && !user_text(other).contains("add_lesson"));
    let node = id_of(&shop.home.events(id), "Oak");
    assert_eq!(show_node(&shop.home, id, &node)["agent"], "scout");
    assert!(shop.home.pleach(&["show", id]).exits(0).out.contains("may delegate to scout"));
    assert!(shop.home.pleach(&["show", id, "--node", &node]).exits(0).out.contains("given to   scout"));
    let kept = lessons(&shop);
    assert_eq!((kept.len(), &kept[0]["status"], &kept[0]["node_id"]), (1, &json!("promoted"), &json!(node)));
    assert_eq!((&shop.pad()["version"], &shop.pad()["run_id"]), (&json!(2), &run["id"]));
    // Where its node fails, the lesson stays pending though the rest of the run completes
    let shop = Shop::open(tree(true));
    let run = shop.home.tree("Compare woods", &["--with-agent", "scout"]).exits(0).run();
    assert_eq!((&run["status"], &lessons(&shop)[0]["status"]), (&json!("completed"), &json!("pending")));
    assert_eq!(shop.pad()["version"], 0);
}

#[test]
fn kill_b15_a_lesson_is_kept_once_and_promoted_once() {
    let shop = Shop::open(homework("scout", true).latency(Duration::from_millis(40)));
    killed(&shop.home, &["--with-agent", "scout"], kills(), check);
}

fn check(home: &Home, id: &str, ended: Said) {
    ended.exits(0);
    let events = home.events(id);
    let kept = home.pleach(&["agents", "lessons", "scout", "--json"]).exits(0).lines();
    let ours = kept.iter().filter(|lesson| lesson["run_id"] == id).count();
    assert_eq!((ours, &kept[0]["status"]), (1, &json!("promoted")), "{kept:?}");
    let added = of_type(&events, "homework.tool_call_result")
        .iter()
        .filter(|event| event["payload"]["lesson"].is_object())
        .count();
    assert_eq!(added, 1);
    let pad = home.pleach(&["agents", "scratchpad", "scout", "--json"]).exits(0).run();
    assert_eq!(pad["content"].as_str().unwrap_or_default().matches(&format!("(run {id})")).count(), 1, "{pad}");
    // However many runs there were, the next lesson finds room.
    home.pleach(&["agents", "scratchpad", "scout", "clear"]).exits(0);
    paid_once(home, id, &events);
}

#[test]
fn without_a_key_a_run_gives_work_to_a_subagent_and_it_learns() {
    let shop = Shop::around(Home::bare());
    for kind in ["homework", "tree"] {
        let given =
            ["run", "Choose a wood for the counter", "--kind", kind, "--with-agent", "scout", "--wait", "--json"];
        let run = shop.home.pleach(&given).exits(0).run();
        let kept = lessons(&shop);
        assert_eq!((&kept[0]["run_id"], &kept[0]["status"]), (&run["id"], &json!("promoted")), "{kind}: {kept:?}");
    }
    assert_eq!(shop.pad()["version"], 2);
}
