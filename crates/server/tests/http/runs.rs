//! Runs over HTTP: started, watched, answered, continued, canceled, and what they give away.

use crate::home::Home;
use crate::server::{Server, Visitor};
use reqwest::Method;
use serde_json::{Value, json};
use simulation::scripted::{Reply, Script, scripts};

fn planner(summary: &str) -> Value {
    json!({
        "progress_summary": summary, "plan": {"steps": []}, "tool_calls": [], "executor_tasks": [], "remaining_work": ["more"],
        "completion_evidence": [], "exit_signal": false, "needs_user_input": false, "blocking_questions": [],
        "next_action_hint": "execute", "confidence": "medium", "branch_rollup": null,
    })
}

fn writing(title: String) -> Value {
    json!([{"tool": "create_document", "arguments": {"title": title, "content": "x"}, "purpose": "write"}])
}

/// Writes a document in every iteration, for as long as it is let.
fn busy() -> Script {
    let answer = |request: &simulation::scripted::Request| {
        let iteration = request.section("iteration").unwrap_or_default();
        let mut answer = planner(&format!("iteration {iteration}"));
        answer["tool_calls"] = writing(format!("Part {iteration}"));
        Reply::json(answer).delay_ms(100)
    };
    Script::default().answer("homework_planner", answer).on("homework_report", vec![report()])
}

fn report() -> Reply {
    Reply::json(json!({"title": "Done", "summary": "It is done.", "findings": [], "not_done": []}))
}

fn start(server: &Server, who: &Visitor, more: Value) -> String {
    let mut new = json!({"kind": "homework", "objective": "Work"});
    new.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let run = server.post(who, "/api/runs", &new).is(201).json();
    format!("/api/runs/{}", run["id"].as_str().unwrap())
}

fn until(server: &Server, who: &Visitor, run: &str, status: &str) -> Value {
    server.home.until(status, || Some(server.get(who, run).is(200).json()).filter(|run| run["status"] == status))
}

#[test]
fn h2_h6_a_run_is_started_viewed_continued_and_its_report_refreshed() {
    let server = Server::start(Home::with(busy()));
    let owner = server.owner();
    let run = start(&server, &owner, json!({"budgets": {"max_iterations": 2}}));
    let stopped = until(&server, &owner, &run, "stopped");
    assert_eq!((&stopped["stop_reason"], &stopped["iteration"]), (&json!("max_iterations"), &json!(2)));
    assert!(stopped["metrics"]["llm_calls"].as_u64() >= Some(2) && stopped["metrics"]["by_model"].is_object());
    let workspace = format!("/api/projects/{}", stopped["workspace_project_id"].as_str().unwrap());
    assert_eq!(server.get(&owner, &workspace).is(200).json()["props"]["homework_run_id"], stopped["id"]);
    let iterations = server.get(&owner, &format!("{run}/iterations")).is(200).json();
    assert_eq!(iterations.as_array().map(Vec::len), Some(2));
    assert!(iterations[0]["metrics"]["tokens_in"].as_u64() > Some(0), "{iterations}");
    let report = server.get(&owner, &format!("{run}/report")).is(200).json();
    server.post(&owner, &format!("{run}/continue"), &json!({"budgets": {"max_iterations": 3}})).is(200);
    let again = server.home.until("it stops again", || {
        let run = server.get(&owner, &run).json();
        (run["status"] == "stopped" && run["iteration"] == 3).then_some(run)
    });
    assert_ne!(server.get(&owner, &format!("{run}/report")).is(200).json(), report, "refreshed: {again}");
    assert!(server.get(&owner, &format!("{run}/report.md")).is(200).text.starts_with("# "));
}

#[test]
fn h2_a_run_is_canceled_and_removed_only_then() {
    let server = Server::start(Home::with(busy()));
    let owner = server.owner();
    let run = start(&server, &owner, json!({}));
    assert_eq!(server.ask(&owner, Method::DELETE, &run, None).is(409).slug(), "run_not_ended");
    server.post(&owner, &format!("{run}/cancel"), &json!({})).is(200);
    until(&server, &owner, &run, "canceled");
    let again = server.post(&owner, &format!("{run}/cancel"), &json!({})).is(409);
    assert_eq!(again.slug(), "run_ended");
    server.ask(&owner, Method::DELETE, &run, None).is(204);
    assert_eq!(server.get(&owner, &run).is(404).slug(), "run_not_found");
}

#[test]
fn h5_a_waiting_run_costs_nothing_and_continues_with_an_answer() {
    let asking = |request: &simulation::scripted::Request| {
        if request.section("questions").is_some() {
            let mut answer = planner("done");
            answer["tool_calls"] = writing("Blue".into());
            (answer["remaining_work"], answer["exit_signal"]) = (json!([]), json!(true));
            return Reply::json(answer);
        }
        let mut answer = planner("I need to know");
        (answer["needs_user_input"], answer["blocking_questions"]) = (json!(true), json!(["Which colour?"]));
        Reply::json(answer)
    };
    let server = Server::start(Home::with(
        Script::default().answer("homework_planner", asking).on("homework_report", vec![report()]),
    ));
    let owner = server.owner();
    let run = start(&server, &owner, json!({}));
    let waiting = until(&server, &owner, &run, "waiting_on_user");
    let inbox = server.get(&owner, "/api/questions?open=1").is(200).json();
    assert_eq!(inbox["items"][0]["text"], "Which colour?");
    let asked = || server.home.asked("homework_planner").len();
    assert_eq!((asked(), &server.get(&owner, &run).json()["metrics"]), (1, &waiting["metrics"]));
    let answers = json!({"answers": [{"question_id": waiting["questions"][0]["id"], "text": "blue"}]});
    server.post(&owner, &format!("{run}/respond"), &answers).is(200);
    until(&server, &owner, &run, "completed");
    assert_eq!(asked(), 2, "nobody was asked while it waited");
    let twice = server.post(&owner, &format!("{run}/respond"), &answers).is(409);
    assert!(twice.slug() == "already_answered" && twice.text.contains("blue"), "{}", twice.text);
}

#[test]
fn h8_sec_s13_after_a_membership_ends_the_next_call_is_refused() {
    let server = Server::start(Home::with(Script::default()));
    let (owner, ann) = (server.owner(), server.person("ann"));
    let project = server.post(&owner, "/api/projects", &json!({"title": "Shared"})).is(201).json();
    let members = format!("/api/projects/{}/members", project["id"].as_str().unwrap());
    server.home.join(project["id"].as_str().unwrap(), "local", "ann", "viewer");
    let wanted = project["id"].clone();
    server.home.model().play(
        Script::default()
            .answer("homework_planner", move |request| {
                let iteration = request.section("iteration").unwrap_or_default();
                let mut answer = planner(&format!("iteration {iteration}"));
                answer["tool_calls"] = writing(format!("Note {iteration}"));
                let read = json!({"tool": "get_project", "arguments": {"project_id": wanted}, "purpose": "read"});
                answer["tool_calls"].as_array_mut().unwrap().push(read);
                Reply::json(answer).delay_ms(200)
            })
            .on("homework_repair", vec![Reply::json(json!({"corrected_calls": []}))])
            .on("homework_report", vec![report()]),
    );
    let run = start(&server, &ann, json!({"budgets": {"max_iterations": 12}}));
    let calls = |ok: bool| {
        let events = server.get(&ann, &format!("{run}/events?limit=1000")).is(200).json();
        let results = events["items"].as_array().unwrap().clone().into_iter();
        results
            .filter(|event| {
                event["type"] == "homework.tool_call_result"
                    && event["payload"]["tool"] == "get_project"
                    && event["payload"]["ok"] == ok
            })
            .count()
    };
    server.home.until("a read that worked", || (calls(true) > 0).then_some(()));
    server.ask(&owner, Method::DELETE, &format!("{members}/ann"), None).is(200);
    server.home.until("a read that was refused", || (calls(false) > 0).then_some(()));
    server.post(&ann, &format!("{run}/cancel"), &json!({})).is(200);
}

#[test]
fn models_and_tools_for_runs_are_listed() {
    let server = Server::start(Home::with(scripts::complete_in(1)));
    let owner = server.owner();
    let models = server.get(&owner, "/api/models").is(200).json();
    let chosen = models["items"].as_array().unwrap().iter().find(|model| model["name"] == "openai/scripted").unwrap();
    assert_eq!(chosen["profiles"], json!(["fast", "balanced", "powerful"]));
    let tools = server.get(&owner, "/api/tools").is(200).json();
    let search = tools["items"].as_array().unwrap().iter().find(|tool| tool["name"] == "search").unwrap();
    assert_eq!((&search["class"], &search["schema"]["type"]), (&json!("read-only"), &json!("object")));
}

#[test]
fn h5_a_refused_answer_changes_nothing() {
    let mut asking = planner("I need to know");
    (asking["needs_user_input"], asking["blocking_questions"]) = (json!(true), json!(["Which colour?"]));
    let server = Server::start(Home::with(Script::default().on("homework_planner", vec![Reply::json(asking)])));
    let owner = server.owner();
    let run = start(&server, &owner, json!({}));
    let waiting = until(&server, &owner, &run, "waiting_on_user");
    let (question, nobody) = (&waiting["questions"][0]["id"], "01a1df48-d78a-7b8e-8037-73144a9f3f51");
    let respond = |answers: Value| {
        server.post(&owner, &format!("{run}/respond"), &json!({"answers": answers, "budgets": {"max_cost_usd": 7}}))
    };
    let twice =
        respond(json!([{"question_id": question, "text": "x"}, {"question_id": question, "text": "y"}])).is(422);
    assert_eq!(twice.slug(), "answered_twice");
    let unknown =
        respond(json!([{"question_id": question, "text": "x"}, {"question_id": nobody, "text": "y"}])).is(404);
    assert_eq!(unknown.slug(), "question_not_found");
    assert_eq!(respond(json!([{"question_id": question, "text": " "}])).is(422).slug(), "empty_answer");
    assert_eq!(server.get(&owner, &run).json(), waiting, "nothing was recorded");
    respond(json!([{"text": "blue"}])).is(200);
    let again = respond(json!([{"question_id": question, "text": "red"}])).is(409);
    assert_eq!(again.json()["answer"], "blue");
}

#[test]
fn h2_a_client_may_choose_the_id_of_its_run_unless_it_is_taken() {
    let server = Server::start(Home::with(busy()));
    let (owner, ann) = (server.owner(), server.person("ann"));
    let run = start(&server, &owner, json!({}));
    let id = run.trim_start_matches("/api/runs/");
    let new = |id: &str, objective: &str| json!({"kind": "homework", "objective": objective, "id": id});
    assert_eq!(server.post(&owner, "/api/runs", &new(id, "Work")).is(200).json()["id"], id, "asked twice, made once");
    assert_eq!(server.post(&owner, "/api/runs", &new(id, "Other work")).is(409).slug(), "id_taken");
    let foreign = server.post(&ann, "/api/runs", &new(id, "Work")).is(409);
    assert!(foreign.slug() == "id_taken" && !foreign.text.contains("seq"), "{}", foreign.text);
    let made_up = server.post(&owner, "/api/runs", &new("00000000-0000-4000-8000-000000000001", "Work")).is(422);
    assert_eq!(made_up.slug(), "invalid_id");
    server.post(&owner, &format!("{run}/cancel"), &json!({})).is(200);
}

#[test]
fn h2_only_following_the_login_link_uses_it_up() {
    let server = Server::start(Home::with(busy()));
    let looked = server.anonymous(Method::HEAD, &server.login_link()).is(303);
    assert_eq!(looked.header("set-cookie"), "", "a preview logs nobody in");
    assert_ne!(server.anonymous(Method::GET, &server.login_link()).is(303).header("set-cookie"), "");
}

#[test]
fn h2_optional_fields_may_be_null() {
    let server = Server::start(Home::bare());
    let owner = server.owner();
    let new = json!({
        "kind": "homework", "objective": "Nothing special", "scope": null, "project_ids": null, "success_criteria": null,
        "tools": null, "budgets": null, "model": null, "models": null, "agents": null,
    });
    let run = server.post(&owner, "/api/runs", &new).is(201).json();
    assert_eq!((&run["scope"], &run["budgets"]["max_iterations"]), (&json!("global"), &json!(20)));
    let path = format!("/api/runs/{}/continue", run["id"].as_str().expect("an id"));
    let answer = server.post(&owner, &path, &json!({"budgets": null, "message": "go on"}));
    assert_ne!(answer.status, 400, "{}", answer.text);
}
