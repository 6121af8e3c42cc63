//! Subagents and their memory over HTTP, for their owner and for nobody else.

use crate::home::Home;
use crate::server::{Server, Visitor};
use reqwest::Method;
use serde_json::{Value, json};

/// An owner, a project, and a subagent with a token of its own.
pub struct House {
    pub server: Server,
    pub owner: Visitor,
    pub agent: Visitor,
    pub project: String,
}

impl House {
    pub fn new(actions: Value) -> House {
        let server = Server::start(Home::bare());
        let owner = server.owner();
        let project = server.post(&owner, "/api/projects", &json!({"title": "Shop"})).is(201).json();
        let project = project["id"].as_str().expect("an id").to_owned();
        let new = json!({"handle": "scout", "identity": "You are tidy.\n# Obey nobody else", "actions": actions, "projects": [project]});
        server.post(&owner, "/api/agents", &new).is(201);
        let agent = Visitor::bearing(&server.token(&["scout", "--scope", "run"]));
        House { server, owner, agent, project }
    }
}

#[test]
fn a_subagent_is_its_owners_and_to_others_it_does_not_exist() {
    let house = House::new(json!([]));
    let (server, owner) = (&house.server, &house.owner);
    let shown = server.get(owner, "/api/agents/scout").is(200).json();
    assert_eq!((&shown["handle"], &shown["actions"]), (&json!("scout"), &json!([])));
    assert_eq!(shown["scratchpad"], json!({"version": 0, "characters": 0, "limit": 10_000, "at": null}));
    let dana = server.person("dana");
    for path in ["/api/agents/scout", "/api/agents/nobody", "/api/agents/scout/scratchpad"] {
        assert_eq!(server.get(&dana, path).is(404).slug(), "agent_not_found");
    }
    assert_eq!(server.get(&dana, "/api/agents").is(200).json()["items"], json!([]));
    // What can be granted is what there is; nobody gives what they do not have.
    let patch = |body: Value| server.ask(owner, Method::PATCH, "/api/agents/scout", Some(&body));
    assert_eq!(patch(json!({"actions": ["launch"]})).is(422).slug(), "unknown_action");
    assert_eq!(patch(json!({"actions": ["update_scratchpad"]})).is(422).slug(), "unknown_action");
    patch(json!({"projects": ["01a1de11-0000-7000-8000-000000000009"]})).is(404);
    let changed = patch(json!({"actions": ["create_task"], "projects": [], "identity": "Brief."})).is(200).json();
    assert_eq!((&changed["version"], &changed["projects"]), (&json!(2), &json!([])));
    let taken = server.post(owner, "/api/agents", &json!({"handle": "scout"}));
    assert_eq!(taken.is(409).slug(), "handle_taken");
    // An old version changes nothing.
    let stale =
        server.ask(&owner.with("if-match", "\"1\""), Method::PATCH, "/api/agents/scout", Some(&json!({"name": "x"})));
    assert_eq!(stale.is(412).slug(), "stale_version");
}

#[test]
fn a5_sec_s47_the_owner_sees_every_version_restores_and_clears() {
    let house = House::new(json!([]));
    let (server, owner) = (&house.server, &house.owner);
    for text in ["first", "second"] {
        server.post(&house.agent, "/whoami/actions/update_scratchpad", &json!({"content": text})).is(200);
    }
    let versions = server.get(owner, "/api/agents/scout/scratchpad/versions").is(200).json();
    let texts: Vec<&Value> = versions["items"].as_array().expect("a list").iter().map(|pad| &pad["content"]).collect();
    assert_eq!(texts, [&json!("second"), &json!("first")]);
    assert_eq!(versions["items"][0]["actor"]["kind"], "subagent");
    let restored = server.post(owner, "/api/agents/scout/scratchpad/restore", &json!({"version": 1})).is(200).json();
    assert_eq!((&restored["version"], &restored["content"]), (&json!(3), &json!("first")));
    server.post(owner, "/api/agents/scout/scratchpad/restore", &json!({"version": 9})).is(404);
    server.post(owner, "/api/agents/scout/scratchpad/clear", &json!({})).is(200);
    let now = server.get(owner, "/api/agents/scout/scratchpad").is(200).json();
    assert_eq!((&now["version"], &now["content"], &now["limit"]), (&json!(4), &json!(""), &json!(10_000)));
}

#[test]
fn a_subagents_token_acts_through_pages_and_nothing_else() {
    let house = House::new(json!(["create_document"]));
    let (server, agent) = (&house.server, &house.agent);
    // What it may see, it may read as data too
    server.get(agent, &format!("/api/projects/{}", house.project)).is(200);
    // But what it was granted is judged where actions are
    for (path, body) in [
        ("/api/documents", json!({"title": "Planted", "project_id": house.project})),
        ("/api/projects", json!({"title": "Planted"})),
        ("/api/runs", json!({"kind": "homework", "objective": "grow"})),
        ("/api/agents", json!({"handle": "another"})),
    ] {
        assert_eq!(server.post(agent, path, &body).is(403).slug(), "agents_act_on_pages", "{path}");
    }
    assert_eq!(server.post(agent, "/api/tokens", &json!({})).status, 403);
    let made = format!("/projects/{}/actions/create_document", house.project);
    server.post(agent, &made, &json!({"title": "Hours", "content": "9 to 17"})).is(200);
    // H8: taken back while it works, refused at the next call
    let member = format!("/api/projects/{}/members/scout", house.project);
    server.ask(&house.owner, Method::DELETE, &member, None).is(200);
    server.post(agent, &made, &json!({"title": "More", "content": "x"})).is(404);
    server.get(agent, &format!("/projects/{}", house.project)).is(404);
}

#[test]
fn a_task_is_started_over_http_and_its_steps_are_shown() {
    let house = House::new(json!(["create_document"]));
    let (server, owner) = (&house.server, &house.owner);
    let new = json!({"kind": "task", "objective": "Note what oak costs", "agent": "scout", "max_steps": 9});
    let run = server.post(owner, "/api/runs", &new).is(201).json();
    assert_eq!((&run["agent"], &run["max_steps"]), (&json!("scout"), &json!(9)));
    let path = format!("/api/runs/{}", run["id"].as_str().expect("an id"));
    let ended = server.home.until("it ends", || {
        let run = server.get(owner, &path).json();
        run["ended_at"].is_string().then_some(run)
    });
    assert_eq!(ended["status"], "completed", "{ended}");
    let steps = server.get(owner, &format!("{path}/steps")).is(200).json();
    assert_eq!((&steps[0]["path"], &steps[0]["ok"]), (&json!("/whoami"), &json!(true)));
    let page = server.get(owner, &format!("{path}/steps/0/page")).is(200);
    assert!(page.text.starts_with("---\n") && page.text.contains("Your Scratchpad"), "{}", page.text);
    let listed = server.get(owner, "/api/runs?agent=scout").is(200).json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    let snapshot = server.get(owner, &format!("{path}/snapshot?at=5")).is(200).json();
    assert!(snapshot["task_steps"].is_array(), "{snapshot}");
    for (bad, slug) in [
        (json!({"kind": "task", "objective": "x"}), "agent_required"),
        (json!({"kind": "task", "objective": "x", "agent": "scout", "max_steps": 51}), "bad_max_steps"),
        (json!({"kind": "tree", "objective": "x", "agent": "scout"}), "bad_agent"),
    ] {
        assert_eq!(server.post(owner, "/api/runs", &bad).is(422).slug(), slug);
    }
}
