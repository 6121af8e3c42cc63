//! What a homework run shows of itself over HTTP: artifacts, plans, iterations, journals, and the list of projects without it.

use crate::home::Home;
use crate::server::{Server, Visitor};
use serde_json::{Value, json};
use simulation::scripted::{Reply, Request, Script};

fn planner(request: &Request) -> Value {
    let iteration = request.section("iteration").unwrap_or_default();
    json!({
        "progress_summary": format!("iteration {iteration}"), "plan": {"steps": [{"id": "s1", "title": "Study", "status": if iteration == 1 { "pending" } else { "doing" }, "owner": "executor"}]},
        "tool_calls": [{"tool": "create_document", "arguments": {"title": format!("Part {iteration}"), "content": "x"}, "purpose": "write"}],
        "executor_tasks": [{"branch_id": "b1", "step_id": "s1", "title": "Study the heron", "objective": "Write", "tools": ["create_task"]}],
        "remaining_work": ["more"], "completion_evidence": [], "exit_signal": false, "needs_user_input": false, "blocking_questions": [],
        "next_action_hint": "execute", "confidence": "medium", "branch_rollup": null,
    })
}

/// Writes and delegates in every iteration.
fn working() -> Script {
    let report = Reply::json(json!({"title": "Done", "summary": "It is done.", "findings": [], "not_done": []}));
    Script::default()
        .answer("homework_planner", |request| Reply::json(planner(request)))
        .answer("homework_executor", |_| {
            Reply::json(json!({"thought": "", "tool_calls": [{"tool": "create_task", "arguments": {"title": "Count herons"}, "purpose": "x"}],
                "done": true, "summary": "counted", "result_snippet": "the kingfisher was absent", "completed_step_ids": []}))
        })
        .on("homework_report", vec![report])
}

/// A run of two iterations that has stopped, and its path.
fn stopped(server: &Server, who: &Visitor) -> (Value, String) {
    let new = json!({"kind": "homework", "objective": "Work", "budgets": {"max_iterations": 2}});
    let run = server.post(who, "/api/runs", &new).is(201).json();
    assert!(run["workspace_document_id"].is_string(), "known before it starts");
    let path = format!("/api/runs/{}", run["id"].as_str().expect("an id"));
    let ended = server
        .home
        .until("it stops", || Some(server.get(who, &path).is(200).json()).filter(|run| run["status"] == "stopped"));
    assert_eq!(ended["workspace_document_id"], run["workspace_document_id"]);
    (ended, path)
}

#[test]
fn h12_artifacts_plans_and_iterations_of_a_homework_run_are_shown() {
    let server = Server::start(Home::with(working()));
    let owner = server.owner();
    let (_, path) = stopped(&server, &owner);
    // Given two iterations that each wrote a document and a task
    let artifacts = server.get(&owner, &format!("{path}/artifacts")).is(200).json();
    let shown: Vec<_> = artifacts.as_array().expect("a list").iter().collect();
    assert_eq!(shown.len(), 4, "{artifacts}");
    assert_eq!(
        (&shown[0]["label"], &shown[0]["artifact_type"], &shown[0]["iteration"]),
        (&json!("Part 1"), &json!("document"), &json!(1))
    );
    assert_eq!(shown[0]["document_id"], shown[0]["id"]);
    assert_eq!((&shown[1]["label"], &shown[1]["branch_id"]), (&json!("Count herons"), &json!("b1")));
    assert_eq!(shown[1]["task_id"], shown[1]["id"]);
    // Then they are paged, and so are the versions of the plan
    let rest = server
        .get(&owner, &format!("{path}/artifacts?limit=2&cursor={}", shown[0]["id"].as_str().expect("an id")))
        .is(200)
        .json();
    assert_eq!(rest.as_array().map(Vec::len), Some(2));
    assert_eq!(rest[0]["id"], shown[1]["id"]);
    let plans = server.get(&owner, &format!("{path}/plans")).is(200).json();
    let versions: Vec<u64> =
        plans.as_array().expect("a list").iter().filter_map(|plan| plan["version"].as_u64()).collect();
    assert_eq!(versions, (1..=versions.len() as u64).collect::<Vec<_>>(), "{plans}");
    assert_eq!(plans[0]["plan_json"]["steps"][0]["status"], "pending");
    // And a row has what its calls and executors brought
    let iterations = server.get(&owner, &format!("{path}/iterations")).is(200).json();
    assert_eq!(iterations[1]["artifacts"]["tool_results"][0]["name"], "create_document \"Part 2\"");
    assert_eq!(iterations[1]["artifacts"]["executor_results"][0]["summary"], "the kingfisher was absent");
}

#[test]
fn h12_the_platforms_documents_are_found_by_their_words_and_carry_their_properties() {
    let server = Server::start(Home::with(working()));
    let owner = server.owner();
    let (run, _) = stopped(&server, &owner);
    let found = |words: &str, more: &str| {
        let page = server.get(&owner, &format!("/api/search?q={words}{more}")).is(200).json();
        page["items"].as_array().expect("items").clone()
    };
    assert!(found("kingfisher", "").is_empty());
    for (type_key, words) in [
        ("document.homework.scratchpad.root", "kingfisher"),
        ("document.homework.scratchpad.exec", "kingfisher+absent"),
        ("document.homework.plan", "study"),
    ] {
        let hits = found(words, &format!("&type_key={type_key}"));
        assert_eq!(hits.len(), 1, "{type_key}: {hits:?}");
        let document =
            server.get(&owner, &format!("/api/documents/{}", hits[0]["id"].as_str().expect("an id"))).is(200).json();
        let props = &document["props"];
        assert!(props["owner"].is_string() && props["tags"].is_array() && props.get("branch_id").is_some(), "{props}");
        assert_eq!(props["homework_run_id"], run["id"]);
        if type_key.contains("scratchpad") {
            assert_eq!(document["version"], 3, "its first version, and one for each entry");
        }
    }
}

#[test]
fn h13_a_runs_own_workspace_is_not_in_the_list_of_projects_and_still_readable() {
    let server = Server::start(Home::with(working()));
    let owner = server.owner();
    let mine = server.post(&owner, "/api/projects", &json!({"title": "Birds"})).is(201).json();
    let (run, _) = stopped(&server, &owner);
    let listed = |query: &str| -> Vec<Value> {
        let page = server.get(&owner, &format!("/api/projects{query}")).is(200).json();
        page["items"].as_array().expect("items").iter().map(|project| project["id"].clone()).collect()
    };
    assert_eq!(listed(""), [mine["id"].clone()]);
    assert_eq!(listed("?workspaces=1"), [run["workspace_project_id"].clone(), mine["id"].clone()]);
    server.get(&owner, &format!("/api/projects/{}", run["workspace_project_id"].as_str().expect("an id"))).is(200);
}

#[test]
fn h13_a_waiting_run_is_not_continued_but_answered() {
    let asking = Script::default().answer("homework_planner", |request| {
        let mut answer = planner(request);
        answer["next_action_hint"] = json!("ask_user");
        answer["blocking_questions"] = json!(["Which colour?"]);
        Reply::json(answer)
    });
    let server = Server::start(Home::with(asking));
    let owner = server.owner();
    let run = server.post(&owner, "/api/runs", &json!({"kind": "homework", "objective": "Ask"})).is(201).json();
    let path = format!("/api/runs/{}", run["id"].as_str().expect("an id"));
    server.home.until("it waits", || (server.get(&owner, &path).json()["status"] == "waiting_on_user").then_some(()));
    let refused = server.post(&owner, &format!("{path}/continue"), &json!({})).is(409);
    assert_eq!(refused.slug(), "waiting_on_user");
    assert!(refused.text.contains("answer its question"), "{}", refused.text);
    server.post(&owner, &format!("{path}/continue"), &json!({"budgets": {"max_iterations": 30}})).is(200);
}
