//! Projects, documents and tasks: edited by version, listed in pages, found by search.

use crate::home::Home;
use crate::server::{Answer, Server, Visitor};
use reqwest::Method;
use serde_json::{Value, json};

fn id(value: &Value) -> &str {
    value["id"].as_str().expect("an id")
}

fn patch(server: &Server, who: &Visitor, path: &str, version: &str, change: Value) -> Answer {
    server.ask(&who.with("if-match", version), Method::PATCH, path, Some(&change))
}

#[test]
fn a_document_is_changed_only_on_the_version_that_was_read() {
    let server = Server::start(Home::bare());
    let ann = server.person("ann");
    let project = server.post(&ann, "/api/projects", &json!({"title": "Bees"})).is(201).json();
    let new =
        json!({"title": "Hive", "content": "one", "project_id": project["id"], "props": {"tags": ["a"], "note": 1}});
    let made = server.post(&ann, "/api/documents", &new).is(201);
    assert_eq!(made.header("etag"), "\"1\"");
    let path = format!("/api/documents/{}", id(&made.json()));

    let unsaid = server.ask(&ann, Method::PATCH, &path, Some(&json!({"content": "two"}))).is(428);
    assert_eq!(unsaid.slug(), "version_required");
    let changed = patch(&server, &ann, &path, "\"1\"", json!({"content": "two", "props": {"note": 2}})).is(200);
    assert_eq!(changed.header("etag"), "\"2\"");
    assert_eq!(changed.json()["props"], json!({"tags": ["a"], "note": 2}), "merged, never replaced");
    for stale in ["\"1\"", "1", "W/\"1\"", "\"nonsense\""] {
        assert_eq!(patch(&server, &ann, &path, stale, json!({"content": "x"})).is(412).slug(), "stale_version");
    }
    patch(&server, &ann, &path, "*", json!({"title": "Hives"})).is(200);
    let versions = server.get(&ann, &format!("{path}/versions?limit=2")).is(200).json();
    assert_eq!((versions["items"][0]["version"].as_i64(), versions["next_cursor"].as_str()), (Some(3), Some("2")));
    assert_eq!(patch(&server, &ann, &path, "*", json!({"props": {"doc_role": "plan"}})).is(422).slug(), "bad_props");

    server.ask(&ann, Method::DELETE, &path, None).is(204);
    server.get(&ann, &path).is(404);
    server.ask(&ann, Method::DELETE, &path, None).is(404);
}

#[test]
fn h9_documents_are_found_by_their_role_and_those_of_a_run_by_branch_and_iteration() {
    let server = Server::start(Home::bare());
    let ann = server.person("ann");
    let new = json!({"kind": "homework", "objective": "Compare two kinds of oak"});
    let run = server.post(&ann, "/api/runs", &new).is(201).json();
    let at = format!("/api/runs/{}", id(&run));
    server.home.until("the run ends", || server.get(&ann, &at).json()["ended_at"].is_string().then_some(()));
    let found = |query: String| {
        let page = server.get(&ann, &format!("/api/documents?limit=200&{query}")).is(200).json();
        page["items"].as_array().expect("items").clone()
    };
    let all = found(format!("run_id={}", id(&run)));
    let plans = found("doc_role=plan".into());
    assert!(!plans.is_empty() && plans.iter().all(|document| document["props"]["doc_role"] == "plan"), "{plans:?}");
    let with = |key: &str, value: &Value| all.iter().filter(|document| document["props"][key] == *value).count();
    let first = found(format!("run_id={}&iteration=1", id(&run)));
    assert!(first.len() == with("iteration", &json!(1)) && !first.is_empty() && first.len() < all.len(), "{first:?}");
    let branch = all.iter().map(|document| &document["props"]["branch_id"]).find(|branch| branch.is_string());
    let branch = branch.expect("work was given to a branch");
    let of_branch = found(format!("run_id={}&branch_id={}", id(&run), branch.as_str().expect("a name")));
    assert!(of_branch.len() == with("branch_id", branch) && !of_branch.is_empty(), "{of_branch:?}");
    let pads = found(format!("run_id={}&doc_role=scratchpad_exec&iteration=1", id(&run)));
    assert!(pads.iter().all(|document| document["props"]["doc_role"] == "scratchpad_exec"), "{pads:?}");
    for query in ["branch_id=b1", "iteration=1"] {
        let unsaid = server.get(&ann, &format!("/api/documents?{query}")).is(422);
        assert!(unsaid.slug() == "run_id_missing" && unsaid.text.contains("give `run_id` too"), "{}", unsaid.text);
    }
    // Nobody finds what they may not see
    let stranger = server.person("stranger");
    for query in ["doc_role=plan".to_owned(), format!("run_id={}&iteration=1", id(&run))] {
        assert_eq!(server.get(&stranger, &format!("/api/documents?{query}")).is(200).json()["items"], json!([]));
    }
}

#[test]
fn an_invalid_query_names_the_parameter_its_value_and_what_is_allowed() {
    let server = Server::start(Home::bare());
    let ann = server.person("ann");
    for yes in ["1", "true", "0", "false"] {
        server.get(&ann, &format!("/api/questions?open={yes}")).is(200);
        server.get(&ann, &format!("/api/notifications?unread={yes}")).is(200);
    }
    for (path, said) in [
        ("/api/questions?open=yes", "`open` is \"yes\"; expected one of: 1, 0, true, false"),
        ("/api/runs?limit=abc", "`limit` is \"abc\"; expected a whole number from 1 to 200"),
        ("/api/documents?cursor=zzz", "`cursor` is \"zzz\"; expected a full id, as a response gave it"),
        ("/api/projects?limit=1&limit=2", "`limit` is given more than once; give it once"),
        ("/api/documents?iteration=-1", "`iteration` is \"-1\"; expected a whole number, 0 or more"),
    ] {
        let refused = server.get(&ann, path).is(400);
        assert_eq!((refused.slug().as_str(), refused.json()["detail"].as_str()), ("bad_request", Some(said)), "{path}");
    }
}

#[test]
fn tasks_and_projects_have_versions_and_a_project_is_removed_with_its_contents() {
    let server = Server::start(Home::bare());
    let ann = server.person("ann");
    let project = server.post(&ann, "/api/projects", &json!({"title": "Bees"})).is(201).json();
    let at = format!("/api/projects/{}", id(&project));
    assert_eq!(patch(&server, &ann, &at, "1", json!({"description": "d"})).is(200).json()["title"], "Bees");
    patch(&server, &ann, &at, "1", json!({"title": "x"})).is(412);
    patch(&server, &ann, &at, "2", json!({"props": {"colour": "gold"}})).is(200);
    let merged = patch(&server, &ann, &at, "3", json!({"props": {"hives": 4}})).is(200).json();
    assert_eq!(merged["props"], json!({"colour": "gold", "hives": 4}));
    let task = server.post(&ann, "/api/tasks", &json!({"title": "Feed", "project_id": project["id"]})).is(201).json();
    assert_eq!(task["state"], "todo");
    let task_at = format!("/api/tasks/{}", id(&task));
    assert_eq!(patch(&server, &ann, &task_at, "\"1\"", json!({"state": "done"})).is(200).json()["state"], "done");
    assert_eq!(server.get(&ann, "/api/tasks?state=done").is(200).json()["items"][0]["id"], task["id"]);
    let parent =
        server.post(&ann, "/api/documents", &json!({"title": "Top", "project_id": project["id"]})).is(201).json();
    let under = json!({"title": "Below", "project_id": project["id"], "parent_document_id": parent["id"]});
    let child = server.post(&ann, "/api/documents", &under).is(201).json();
    let edges = server.get(&ann, &format!("/api/edges?src={}", id(&parent))).is(200).json();
    assert_eq!((&edges["items"][0]["dst"], &edges["items"][0]["rel"]), (&child["id"], &json!("document_has_document")));
    assert_eq!(server.get(&ann, "/api/edges").is(422).slug(), "edges_of_what");
    server.ask(&ann, Method::DELETE, &at, None).is(204);
    for gone in [at, task_at, format!("/api/documents/{}", id(&child))] {
        server.get(&ann, &gone).is(404);
    }
}

#[test]
fn pages_of_a_list_join_without_a_gap() {
    let server = Server::start(Home::bare());
    let ann = server.person("ann");
    let project = server.post(&ann, "/api/projects", &json!({"title": "Oak 0"})).is(201).json();
    for number in 1..5 {
        server.post(&ann, "/api/projects", &json!({"title": format!("Oak {number}")})).is(201);
        let inside = json!({"title": format!("Oak {number}"), "project_id": project["id"]});
        server.post(&ann, "/api/documents", &inside).is(201);
        server.post(&ann, "/api/tasks", &inside).is(201);
    }
    for (path, total) in
        [("/api/projects?x=1", 5), ("/api/documents?x=1", 4), ("/api/tasks?x=1", 4), ("/api/search?q=oak", 13)]
    {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = server.get(&ann, &format!("{path}&limit=2{cursor}")).is(200).json();
            seen.extend(page["items"].as_array().unwrap().iter().map(|item| id(item).to_owned()));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let mut newest_first = seen.clone();
        newest_first.sort_by(|one, other| other.cmp(one));
        newest_first.dedup();
        assert_eq!((seen.len(), &seen), (total, &newest_first), "{path}");
    }
}

#[test]
fn h9_what_a_run_made_is_found_by_its_run_and_by_search() {
    let server = Server::start(Home::with(simulation::scripted::scripts::complete_in(1)));
    let owner = server.owner();
    let run = server.post(&owner, "/api/runs", &json!({"kind": "homework", "objective": "Write"})).is(201).json();
    let path = format!("/api/runs/{}", id(&run));
    server.home.until("it ends", || (server.get(&owner, &path).json()["status"] == "completed").then_some(()));
    let made = server.get(&owner, &format!("/api/documents?run_id={}", id(&run))).is(200).json();
    let own = made["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|document| document["props"]["doc_role"].is_null())
        .unwrap()
        .clone();
    assert_eq!(own["props"]["homework_run_id"], run["id"]);
    let word = own["title"].as_str().unwrap().split_whitespace().next().unwrap().to_lowercase();
    let found = server.get(&owner, &format!("/api/search?q={word}&run_id={}", id(&run))).is(200).json();
    assert!(found["items"].as_array().unwrap().iter().any(|hit| hit["id"] == own["id"]), "{found}");
    let elsewhere =
        server.get(&owner, &format!("/api/search?q={word}&run_id=01a1de11-0000-7000-8000-000000000009")).is(200);
    assert_eq!(elsewhere.json()["items"], json!([]));

    let kept =
        made["items"].as_array().unwrap().iter().find(|document| !document["props"]["doc_role"].is_null()).unwrap();
    let kept = format!("/api/documents/{}", id(kept));
    assert_eq!(patch(&server, &owner, &kept, "*", json!({"content": "x"})).is(409).slug(), "platform_document");
    let workspace = format!("/api/projects/{}", own["project_id"].as_str().unwrap());
    assert_eq!(server.ask(&owner, Method::DELETE, &workspace, None).is(409).slug(), "project_in_use");
    server.ask(&owner, Method::DELETE, &path, None).is(204);
    server.get(&owner, &path).is(404);
    server.get(&owner, &kept).is(404);
    server.get(&owner, &format!("/api/documents/{}", id(&own))).is(200);
    server.ask(&owner, Method::DELETE, &workspace, None).is(204);
}
