//! A run from its first command to its report.

use crate::home::{Home, of_type, user_text};
use crate::planner::{calling, creates_documents, exit, iteration, planned_as, planner_answer};
use serde_json::json;
use simulation::scripted::{Reply, Request, scripts};

#[test]
fn e3_h2_a_run_completes_on_any_openai_compatible_server() {
    let home = Home::with(scripts::complete_in(3));
    let said = home.run("Compare two ways to back up a laptop", &["--success", "A comparison exists"]).exits(0);
    let run = said.run();
    assert_eq!(run["status"], "completed");
    assert_eq!(run["stop_reason"], "completed");
    let criterion = &run["success_criteria"][0];
    assert_eq!((&criterion["id"], &criterion["text"]), (&json!("c1"), &json!("A comparison exists")));
    let events = home.events(run["id"].as_str().expect("an id"));
    let seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "gapless");
    assert_eq!(run["last_seq"].as_u64(), seqs.last().copied());
    for entry in home.model().ledger() {
        assert_eq!(entry.named_role.as_deref(), Some(entry.role.as_str()), "the role is named twice, alike");
        assert!(entry.body["max_tokens"].is_u64() || entry.body["max_completion_tokens"].is_u64());
    }
}

#[test]
fn e1_e3_with_no_key_rehearsal_completes_and_everything_can_be_read_afterwards() {
    let home = Home::bare();
    let run = home
        .run("Write a short guide to growing tomatoes on a balcony", &["--success", "The guide exists"])
        .exits(0)
        .run();
    let id = run["id"].as_str().expect("an id");
    assert!(run["model"].as_str().is_some_and(|model| model.starts_with("rehearsal/")));
    assert_eq!(home.show(id), run, "show prints the run object");
    let report = home.pleach(&["report", id, "--json"]).exits(0).run();
    assert_eq!(report["status"], "completed");
    assert!(
        report["evidence"][0]["verified"]["refs"][0].as_str().is_some_and(|reference| reference.starts_with("doc:"))
    );
    let document = report["what_changed"]["created_documents"][0]["id"].as_str().expect("a document").to_owned();
    assert!(home.pleach(&["doc", &document]).exits(0).out.split_whitespace().count() >= 150);
    let pad = home.pleach(&["show", id]).exits(0).out;
    assert!(pad.contains("Iteration"), "the journal is shown: {pad}");
    let listed = home.pleach(&["ls", "--json"]).exits(0).lines();
    assert_eq!(listed.len(), 1);
    assert!(home.pleach(&["report", id]).exits(0).out.starts_with("# "));
}

#[test]
fn e3_the_same_run_completes_on_the_anthropic_wire() {
    let home = Home::with(scripts::complete_in(2));
    let url = home.model().url();
    let home = home
        .set("ANTHROPIC_BASE_URL", &url)
        .set("ANTHROPIC_API_KEY", "test-key")
        .set("PLEACH_MODEL", "anthropic/scripted");
    let run = home.run("Compare two things", &[]).exits(0).run();
    assert_eq!(run["status"], "completed");
    assert!(home.model().ledger().iter().all(|entry| entry.named_role.as_deref() == Some(entry.role.as_str())));
}

#[test]
fn p1_the_planner_is_shown_what_its_tools_returned() {
    let planner = |request: &Request| {
        let call = match iteration(request) {
            1 => ("create_document", json!({ "title": "Marmalade", "content": "three oranges" })),
            2 => ("search_documents", json!({ "query": "marmalade" })),
            _ => return exit(request),
        };
        calling("working", [call])
    };
    let home = Home::with(planned_as(planner));
    let run = home.run("Remember what tools say", &[]).exits(0).run();
    let third = user_text(&home.asked("homework_planner")[2]);
    let results =
        third.split("## tool_results\n").nth(1).expect("tool results").split("\n\n").next().expect("a section");
    assert!(results.contains("Marmalade") && results.contains("\"ok\":true"), "{results}");
    assert!(third.contains("## last_iteration\n") && third.contains("\"progress\""));
    assert_eq!(run["iteration"], 3);
}

#[test]
fn p2_the_plan_persists_and_only_touched_steps_move() {
    let planner = |request: &Request| {
        let iteration = iteration(request);
        let step = |id: &str, status: &str| json!({ "id": id, "title": format!("Step {id}"), "status": status, "owner": "planner" });
        let mut answer = if iteration < 3 { creates_documents(request) } else { exit(request) };
        answer["plan"]["steps"] = match iteration {
            1 => json!([step("a", "doing"), step("b", "pending")]),
            2 => json!([step("a", "done"), step("b", "pending")]),
            _ => json!([step("a", "done"), step("b", "done")]),
        };
        answer
    };
    let home = Home::with(planned_as(planner));
    let run = home.run("Plan it", &[]).exits(0).run();
    let touched: Vec<u64> = run["plan"]["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .filter_map(|step| step["iteration_last_touched"].as_u64())
        .collect();
    assert_eq!(touched, [2, 3]);
    let second = user_text(&home.asked("homework_planner")[1]);
    assert!(second.contains("\"iteration_last_touched\":1"), "the plan is in the next request");
}

#[test]
fn h3_p3_executors_see_their_results_use_only_their_tools_and_report_back() {
    let planner = |request: &Request| {
        if iteration(request) > 1 {
            return exit(request);
        }
        let mut answer = planner_answer("delegating");
        answer["plan"]["steps"] = json!([{ "id": "s1", "title": "Do", "status": "doing", "owner": "executor" }]);
        answer["executor_tasks"] = json!([{ "branch_id": "b", "step_id": "s1", "title": "Do it", "objective": "Do it well", "tools": ["create_document"] }]);
        answer
    };
    let executor = |request: &Request| {
        if request.lines("tool_results").is_empty() {
            return json!({ "thought": "try both", "done": false, "tool_calls": [
                { "tool": "create_task", "arguments": { "title": "Not mine" }, "purpose": "x" },
                { "tool": "create_document", "arguments": { "title": "Mine", "content": "y" }, "purpose": "x" }] });
        }
        json!({ "thought": "ok", "done": true, "tool_calls": [], "summary": "wrote Mine", "result_snippet": "found the answer", "completed_step_ids": ["s1"] })
    };
    let script = planned_as(planner).answer("homework_executor", move |request| Reply::json(executor(request)));
    let home = Home::with(script);
    let run = home.run("Delegate", &[]).exits(0).run();
    let rounds = home.asked("homework_executor");
    assert_eq!(rounds.len(), 2);
    let second = user_text(&rounds[1]);
    assert!(
        second.contains("not granted") || second.contains("tool_not_granted"),
        "the refused call comes back as an error: {second}"
    );
    assert!(second.contains("Mine"));
    let planner_sees = user_text(&home.asked("homework_planner")[1]);
    assert!(planner_sees.contains("found the answer"));
    assert_eq!(run["plan"]["steps"][0]["status"], "done", "the executor's step is done before the planner says so");
}

#[test]
fn h3_a_failed_planner_call_is_repaired_once() {
    let planner = |request: &Request| {
        if iteration(request) > 1 {
            return exit(request);
        }
        calling("fumbling", [("create_document", json!({ "name": "Wrong argument" }))])
    };
    let repair = |request: &Request| {
        let failed = request.lines("failed_calls");
        assert!(
            failed[0]["error"].as_str().is_some_and(|error| error.contains("title")),
            "the error lists what is valid: {failed:?}"
        );
        json!({ "corrected_calls": [{ "for_call_id": failed[0]["call_id"], "tool": "create_document", "arguments": { "title": "Right", "content": "z" } }] })
    };
    let script = planned_as(planner).answer("homework_repair", move |request| Reply::json(repair(request)));
    let home = Home::with(script);
    let run = home.run("Repair", &[]).exits(0).run();
    let events = home.events(run["id"].as_str().expect("an id"));
    assert_eq!(of_type(&events, "homework.repair_attempted").len(), 1);
    assert_eq!(run["report"]["what_changed"]["created_documents"][0]["title"], "Right");
}

#[test]
fn p6_the_run_completes_on_evidence_the_model_did_not_write() {
    let planner = |request: &Request| {
        if iteration(request) == 1 {
            return calling("quiet", [("create_task", json!({ "title": "A task" }))]);
        }
        let mut answer = planner_answer("quiet");
        answer["exit_signal"] = json!(true);
        answer["remaining_work"] = json!([]);
        answer
    };
    let home = Home::with(planned_as(planner));
    let run = home.run("Make one task", &[]).exits(0).run();
    assert_eq!(run["report"]["what_changed"]["created_tasks"].as_array().map(Vec::len), Some(1));
}

#[test]
fn h6_metrics_are_kept_per_run_per_iteration_and_per_model_and_the_report_holds_them() {
    let home = Home::with(scripts::complete_in(3));
    let run = home.run("Count", &[]).exits(0).run();
    let metrics = &run["metrics"];
    let ledger = home.model().ledger();
    assert_eq!(metrics["llm_calls"].as_u64(), Some(ledger.len() as u64));
    let billed: u64 = ledger.iter().map(|entry| entry.tokens.0 + entry.tokens.1).sum();
    assert_eq!(
        metrics["tokens_in"].as_u64().unwrap_or(0) + metrics["tokens_out"].as_u64().unwrap_or(0),
        billed,
        "to the token"
    );
    assert!(metrics["by_model"]["openai/scripted"]["llm_calls"].as_u64() > Some(0));
    assert_eq!(metrics["cost_usd"], json!(0.0), "a keyless server is free");
    assert_eq!(metrics["cost_known"], json!(true));
    let events = home.events(run["id"].as_str().expect("an id"));
    let per_iteration: u64 = of_type(&events, "homework.iteration_completed")
        .iter()
        .filter_map(|event| event["payload"]["metrics"]["llm_calls"].as_u64())
        .sum();
    assert_eq!(per_iteration, ledger.len() as u64 - 1, "all calls but the report's belong to an iteration");
    assert!(run["report"]["metrics"]["tokens_in"].as_u64() > Some(0));
}

#[test]
fn h2_json_output_is_one_compact_value_per_line_and_the_last_is_the_run() {
    let home = Home::with(scripts::complete_in(2));
    let said = home.run("Lines", &[]).exits(0);
    let lines = said.lines();
    let (run, events) = lines.split_last().expect("lines");
    assert_eq!(run["status"], "completed");
    assert!(events.iter().all(|event| event["type"].is_string() && event["seq"].is_u64()), "events before it");
    let keys = "id kind objective scope project_ids status activity stop_reason stop_detail iteration budgets \
        metrics plan success_criteria questions workspace_document_id report model created_at started_at updated_at ended_at last_seq";
    for key in keys.split_whitespace() {
        assert!(run.get(key).is_some(), "the run object has {key}");
    }
}
