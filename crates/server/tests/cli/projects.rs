//! Projects, members and tools that a run is restricted to.

use crate::home::{Home, said, user_text};
use crate::planner::{calling, exit, iteration, planned_as, planned_by};
use serde_json::json;
use simulation::scripted::{Reply, Request, Script};

/// Reads a project by id in every iteration, slowly, then exits.
fn reading(project: String, rounds: u64) -> Script {
    planned_by(move |request| {
        let iteration = iteration(request);
        if iteration > rounds {
            return Reply::json(exit(request));
        }
        let note = json!({ "title": format!("Note {iteration}"), "content": "x" });
        let calls = [("get_project", json!({ "project_id": project })), ("create_document", note)];
        Reply::json(calling(&format!("iteration {iteration}"), calls)).delay_ms(300)
    })
    .on("homework_repair", vec![Reply::json(json!({ "corrected_calls": [] }))])
}

#[test]
fn p8_the_projects_reach_the_prompts_and_bind_the_tools() {
    let home = Home::with(Script::default());
    let mine = home.pleach(&["project", "create", "Mine", "--json"]).exits(0).id();
    let other = home.pleach(&["project", "create", "Other", "--json"]).exits(0).id();
    home.model().play(reading(other.clone(), 1));
    let run = home.run("Stay inside", &["--project", &mine]).exits(0).run();
    assert_eq!((&run["scope"], &run["project_ids"]), (&json!("project"), &json!([mine])));
    assert!(user_text(&home.asked("homework_planner")[0]).contains(&mine));
    let second = user_text(&home.asked("homework_planner")[1]);
    let refusal = second
        .lines()
        .find(|line| line.contains("get_project") && line.contains("\"ok\":false"))
        .expect("a refused call");
    assert!(refusal.contains("scope") && refusal.contains(&mine), "it says so and lists what is valid: {refusal}");
}

#[test]
fn p8_two_projects_make_a_multi_project_run() {
    let home = Home::with(Script::default());
    let one = home.pleach(&["project", "create", "One", "--json"]).exits(0).id();
    let two = home.pleach(&["project", "create", "Two", "--json"]).exits(0).id();
    home.model().play(reading(two.clone(), 1));
    let run = home.run("Across", &["--project", &one, "--project", &two]).exits(0).run();
    assert_eq!(run["scope"], "multi_project");
    assert!(
        user_text(&home.asked("homework_planner")[1]).contains("\"title\":\"Two\""),
        "the second project is readable"
    );
}

#[test]
fn h8_sec_s13_a_grant_revoked_in_the_middle_refuses_the_next_call() {
    let home = Home::with(Script::default());
    let project = home.pleach(&["project", "create", "Shared", "--json"]).exits(0).id();
    home.pleach(&["actor", "create", "ann", "--json"]).exits(0);
    home.join(&project, "local", "ann", "viewer");
    home.model().play(reading(project.clone(), 6));
    let (child, _) = home.start_run("Read on", &["--actor", "ann"]);
    home.until("two iterations", || (home.asked("homework_planner").len() >= 3).then_some(()));
    home.pleach(&["project", "revoke", &project, "ann"]).exits(0);
    let run = said(child.wait_with_output().expect("it ends")).run();
    let requests: Vec<String> = home.asked("homework_planner").iter().map(user_text).collect();
    let read = |text: &String| text.lines().any(|line| line.contains("get_project") && line.contains("\"ok\":true"));
    let refused =
        |text: &String| text.lines().any(|line| line.contains("get_project") && line.contains("\"ok\":false"));
    assert!(read(&requests[1]), "readable while granted");
    assert!(refused(requests.last().expect("requests")), "refused after the revocation: {run}");
}

#[test]
fn p8_a_project_of_others_is_refused_before_the_run_is_created() {
    let home = Home::with(Script::default());
    home.pleach(&["actor", "create", "bob"]).exits(0);
    let project = home.pleach(&["project", "create", "Private", "--json"]).exits(0).id();
    let foreign = home.run("Peek", &["--project", &project, "--actor", "bob"]).exits(2);
    let unknown = home.run("Peek", &["--project", "019a0000-0000-7000-8000-000000000000", "--actor", "bob"]).exits(2);
    assert!(foreign.err.contains(&project));
    assert_eq!(
        foreign.err.replace(&project, "ID"),
        unknown.err.replace("019a0000-0000-7000-8000-000000000000", "ID"),
        "foreign and unknown look the same"
    );
    assert_eq!(home.model().ledger().len(), 0);
}

#[test]
fn p8_another_persons_runs_are_not_listed() {
    let home = Home::with(simulation::scripted::scripts::complete_in(1));
    home.pleach(&["actor", "create", "bob"]).exits(0);
    let mine = home.run("Mine alone", &[]).id();
    assert_eq!(home.pleach(&["ls", "--json", "--actor", "bob"]).exits(0).out.trim(), "");
    home.pleach(&["show", &mine, "--actor", "bob"]).exits(2);
}

#[test]
fn h3_sec_s48_a_run_given_two_tools_has_no_others() {
    let greedy = |request: &Request| {
        if request.section("iteration") != Some(json!(1)) {
            return exit(request);
        }
        let document = json!({ "title": "Yes", "content": "x" });
        calling("greedy", [("create_task", json!({ "title": "No" })), ("create_document", document)])
    };
    let script = planned_as(greedy).on("homework_repair", vec![Reply::json(json!({ "corrected_calls": [] }))]);
    let home = Home::with(script);
    let run = home.run("Few tools", &["--tool", "create_document", "--tool", "get_document"]).exits(0).run();
    assert_eq!(run["report"]["what_changed"]["created_tasks"], json!([]));
    assert_eq!(run["report"]["what_changed"]["created_documents"].as_array().map(Vec::len), Some(1));
    let unknown = home.run("Few tools", &["--tool", "fly_to_moon"]).exits(2);
    assert!(unknown.err.contains("fly_to_moon") && unknown.err.contains("create_document"), "{}", unknown.err);
}
