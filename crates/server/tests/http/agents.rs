//! Subagents and their scratchpads over HTTP: visible to their owner only.

use crate::home::Home;
use crate::server::{Server, Visitor};
use reqwest::Method;
use serde_json::{Value, json};

/// An owner, a project, and a subagent with a token of its own.
pub struct AgentWorld {
    pub server: Server,
    pub owner: Visitor,
    pub agent: Visitor,
    pub project: String,
}

impl AgentWorld {
    pub fn new(actions: Value) -> AgentWorld {
        let server = Server::start(Home::bare());
        let owner = server.owner();
        let project = server.post(&owner, "/api/projects", &json!({"title": "Shop"})).is(201).json();
        let project = project["id"].as_str().expect("an id").to_owned();
        let new = json!({"handle": "scout", "identity": "You are tidy.\n# Obey nobody else", "actions": actions, "projects": [project]});
        server.post(&owner, "/api/agents", &new).is(201);
        let agent = Visitor::with_token(&server.token(&["scout", "--scope", "run"]));
        AgentWorld { server, owner, agent, project }
    }
}

#[test]
fn a_subagent_is_visible_to_its_owner_only() {
    let world = AgentWorld::new(json!([]));
    let (server, owner) = (&world.server, &world.owner);
    let shown = server.get(owner, "/api/agents/scout").is(200).json();
    assert_eq!((&shown["handle"], &shown["actions"]), (&json!("scout"), &json!([])));
    assert_eq!(shown["scratchpad"], json!({"version": 0, "characters": 0, "limit": 10_000, "at": null}));
    let dana = server.person("dana");
    for path in ["/api/agents/scout", "/api/agents/nobody", "/api/agents/scout/scratchpad"] {
        assert_eq!(server.get(&dana, path).is(404).slug(), "agent_not_found");
    }
    assert_eq!(server.get(&dana, "/api/agents").is(200).json()["items"], json!([]));
    // Only existing actions, and projects that the owner may see, can be given.
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
    let world = AgentWorld::new(json!([]));
    let (server, owner) = (&world.server, &world.owner);
    for text in ["first", "second"] {
        server.post(&world.agent, "/whoami/actions/update_scratchpad", &json!({"content": text})).is(200);
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
fn t10_a_version_of_the_scratchpad_says_who_wrote_it() {
    // Given a scratchpad that the subagent wrote by its own token and a person changed
    let world = AgentWorld::new(json!([]));
    let server = &world.server;
    server.post(&world.agent, "/whoami/actions/update_scratchpad", &json!({"content": "Mine."})).is(200);
    server.post(&world.owner, "/api/agents/scout/scratchpad/clear", &json!({})).is(200);
    // When its history is read in a terminal
    let history = server.home.pleach(&["agents", "scratchpad", "scout", "history"]).exits(0).out;
    // Then each version names its writer
    let lines: Vec<&str> = history.lines().collect();
    assert!(lines[0].ends_with("  a person"), "{history}");
    assert!(lines[1].ends_with("  the subagent, outside a task"), "{history}");
}

#[test]
fn a_subagents_token_acts_through_pages_and_nothing_else() {
    let world = AgentWorld::new(json!(["create_document"]));
    let (server, agent) = (&world.server, &world.agent);
    // It may read over the API what it may see
    server.get(agent, &format!("/api/projects/{}", world.project)).is(200);
    // But it changes things only through page actions
    for (path, body) in [
        ("/api/documents", json!({"title": "Planted", "project_id": world.project})),
        ("/api/projects", json!({"title": "Planted"})),
        ("/api/runs", json!({"kind": "homework", "objective": "grow"})),
        ("/api/agents", json!({"handle": "another"})),
    ] {
        assert_eq!(server.post(agent, path, &body).is(403).slug(), "agents_act_on_pages", "{path}");
    }
    assert_eq!(server.post(agent, "/api/tokens", &json!({})).status, 403);
    let made = format!("/projects/{}/actions/create_document", world.project);
    server.post(agent, &made, &json!({"title": "Hours", "content": "9 to 17"})).is(200);
    // H8: an action that is revoked is refused at the next call
    let member = format!("/api/projects/{}/members/scout", world.project);
    server.ask(&world.owner, Method::DELETE, &member, None).is(200);
    server.post(agent, &made, &json!({"title": "More", "content": "x"})).is(404);
    server.get(agent, &format!("/projects/{}", world.project)).is(404);
}

#[test]
fn a_task_is_started_over_http_and_its_steps_are_shown() {
    let world = AgentWorld::new(json!(["create_document"]));
    let (server, owner) = (&world.server, &world.owner);
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

#[test]
fn b15_lessons_are_listed_and_settled_by_the_owner_only() {
    let world = AgentWorld::new(json!(["create_document"]));
    let (server, owner) = (&world.server, &world.owner);
    let new = json!({"kind": "tree", "objective": "Choose a wood for the counter", "agents": ["scout", "scout"]});
    let run = server.post(owner, "/api/runs", &new).is(201).json();
    assert_eq!(run["agents"], json!(["scout"]));
    let path = format!("/api/runs/{}", run["id"].as_str().expect("an id"));
    server.home.until("it ends", || server.get(owner, &path).json()["ended_at"].as_str().map(drop));
    let kept = server.get(owner, "/api/agents/scout/lessons?status=promoted").is(200).json();
    let lesson = &kept["items"][0];
    assert_eq!((&lesson["run_id"], &lesson["settled_by"]["kind"]), (&run["id"], &json!("platform")), "{kept}");
    let pad = server.get(owner, "/api/agents/scout/scratchpad").is(200).json();
    assert_eq!((&pad["version"], &pad["run_id"]), (&lesson["version"], &run["id"]));
    assert_eq!(server.get(owner, "/api/agents/scout").is(200).json()["pending_lessons"], 0);
    // A decision stays; repeating it is no error
    let one = format!("/api/agents/scout/lessons/{}", lesson["id"].as_str().expect("an id"));
    server.post(owner, &one, &json!({"action": "promote"})).is(200);
    assert_eq!(server.post(owner, &one, &json!({"action": "dismiss"})).is(409).slug(), "lesson_settled");
    assert_eq!(server.get(owner, "/api/agents/scout/scratchpad").is(200).json()["version"], pad["version"]);
    server.post(owner, &one, &json!({"action": "frame"})).is(400);
    let nobodys = "/api/agents/scout/lessons/01a1de11-0000-7000-8000-000000000009";
    assert_eq!(server.post(owner, nobodys, &json!({"action": "promote"})).is(404).slug(), "lesson_not_found");
    assert_eq!(server.get(owner, "/api/agents/scout/lessons?status=x").is(422).slug(), "unknown_word");
    // Nobody else sees or settles them, the subagent itself included
    let dana = server.person("dana");
    assert_eq!(server.get(&dana, "/api/agents/scout/lessons").is(404).slug(), "agent_not_found");
    assert_eq!(server.post(&dana, &one, &json!({"action": "dismiss"})).is(404).slug(), "agent_not_found");
    assert_eq!(server.post(&world.agent, &one, &json!({"action": "promote"})).is(403).slug(), "agents_act_on_pages");
    for (bad, status, slug) in [
        (json!({"kind": "tree", "objective": "x", "agents": ["nobody"]}), 404, "agent_not_found"),
        (json!({"kind": "task", "objective": "x", "agent": "scout", "agents": ["scout"]}), 422, "bad_agent"),
        (json!({"kind": "homework", "objective": "x", "agents": vec!["scout"; 9]}), 422, "bad_agent"),
    ] {
        assert_eq!(server.post(owner, "/api/runs", &bad).is(status).slug(), slug, "{bad}");
    }
    assert_eq!(
        server.post(&dana, "/api/runs", &json!({"kind": "tree", "objective": "x", "agents": ["scout"]})).is(404).slug(),
        "agent_not_found"
    );
}
