//! Bound tokens: those that are restricted to projects.

use crate::home::Home;
use crate::server::{Server, Visitor};
use reqwest::Method;
use serde_json::{Value, json};

struct Fixture {
    server: Server,
    owner: Visitor,
    inside: Value,
    outside: Value,
}

fn id(value: &Value) -> &str {
    value["id"].as_str().expect("an id")
}

impl Fixture {
    fn new() -> Fixture {
        let server = Server::start(Home::bare());
        let owner = server.owner();
        let project = |title: &str| server.post(&owner, "/api/projects", &json!({ "title": title })).is(201).json();
        let (inside, outside) = (project("Orchard"), project("Cellar"));
        for project in [&inside, &outside] {
            let body = json!({"title": "Apples", "content": "apples", "project_id": project["id"]});
            server.post(&owner, "/api/documents", &body).is(201);
        }
        Fixture { server, owner, inside, outside }
    }

    fn bound(&self, scope: &str) -> Visitor {
        Visitor::with_token(&self.server.token(&["--scope", scope, "--project", id(&self.inside)]))
    }
}

#[test]
fn sec_s6_a_bound_token_sees_and_changes_nothing_outside_its_project() {
    let fixture = Fixture::new();
    let (server, bound) = (&fixture.server, fixture.bound("run"));
    let listed = server.get(&bound, "/api/projects").is(200).json();
    assert_eq!(listed["items"].as_array().unwrap().iter().map(id).collect::<Vec<_>>(), [id(&fixture.inside)]);
    let found = server.get(&bound, "/api/search?q=apples").is(200).text;
    assert!(found.contains(id(&fixture.inside)) && !found.contains(id(&fixture.outside)), "{found}");
    let documents = server.get(&bound, "/api/documents").is(200).json();
    assert_eq!(documents["items"].as_array().unwrap().len(), 1);
    let (theirs, nobodys) = (id(&fixture.outside), "01a1de11-0000-7000-8000-000000000009");
    let unseen = server.get(&bound, &format!("/api/projects/{theirs}")).is(404);
    assert_eq!(unseen.text, server.get(&bound, &format!("/api/projects/{nobodys}")).is(404).text);
    server.post(&bound, "/api/documents", &json!({"title": "x", "project_id": theirs})).is(404);
    server.post(&bound, "/api/documents", &json!({"title": "x", "project_id": id(&fixture.inside)})).is(201);
    for (method, path) in [
        (Method::POST, "/api/projects"),
        (Method::GET, "/api/tokens"),
        (Method::GET, "/api/webhooks"),
        (Method::POST, "/api/webhooks"),
        (Method::GET, "/api/notifications"),
        (Method::POST, "/api/notifications/read"),
        (Method::GET, "/api/actors"),
        (Method::GET, "/api/stream?topics=runs,notifications"),
    ] {
        server.ask(&bound, method, path, None).refuses(403, "bound_token");
    }
    let reader = fixture.bound("read");
    server.get(&reader, "/api/documents").is(200);
    let answer = server.post(&reader, "/api/documents", &json!({"title": "x", "project_id": id(&fixture.inside)}));
    assert_eq!((answer.status, answer.slug().as_str()), (403, "insufficient_scope"));
}

#[test]
fn sec_s6_a_bound_token_starts_runs_in_its_project_and_sees_no_other_run() {
    let fixture = Fixture::new();
    let (server, bound) = (&fixture.server, fixture.bound("run"));
    let elsewhere = json!({"kind": "homework", "objective": "Elsewhere"});
    let hidden = server.post(&fixture.owner, "/api/runs", &elsewhere).is(201).json();
    let run = server.post(&bound, "/api/runs", &json!({"kind": "homework", "objective": "Inside"})).is(201).json();
    assert_eq!((&run["scope"], &run["project_ids"]), (&json!("project"), &json!([fixture.inside["id"]])));
    let everywhere = json!({"kind": "homework", "objective": "Everywhere", "scope": "global"});
    server.post(&bound, "/api/runs", &everywhere).refuses(403, "bound_token");
    let over = json!({"kind": "homework", "objective": "Over there", "project_ids": [fixture.outside["id"]]});
    server.post(&bound, "/api/runs", &over).is(404);
    let listed = server.get(&bound, "/api/runs").is(200).json();
    assert_eq!(listed["items"].as_array().unwrap().iter().map(id).collect::<Vec<_>>(), [id(&run)]);
    for path in ["", "/events", "/stream", "/snapshot"] {
        server.get(&bound, &format!("/api/runs/{}{path}", id(&hidden))).is(404);
    }
    server.get(&bound, &format!("/api/stream?topics=run:{}", id(&hidden))).is(404);
    server.get(&bound, &format!("/api/runs/{}/events", id(&run))).is(200);
}

#[test]
fn sec_s6_a_session_opened_with_a_bound_token_is_bound_and_what_cannot_be_bound_is_refused() {
    let fixture = Fixture::new();
    let (server, owner) = (&fixture.server, &fixture.owner);
    let token = server.token(&["--project", id(&fixture.inside)]);
    let opened = server.post(&Visitor::default(), "/login", &json!({ "token": token })).is(200);
    let session = opened.header("set-cookie").split(';').next().unwrap().to_owned();
    let browser = Visitor::default().with("cookie", &session);
    assert_eq!(server.get(&browser, "/api/projects").is(200).json()["items"].as_array().unwrap().len(), 1);
    server.get(&browser, "/api/tokens").refuses(403, "bound_token");
    let shown = server.get(owner, "/api/tokens").is(200).json();
    let bound = shown["items"].as_array().unwrap().iter().filter(|token| token["project_ids"] != json!([])).count();
    assert_eq!(bound, 2, "the token and its session say what they are for");
    let project = [id(&fixture.inside)];
    let admin = server.post(owner, "/api/tokens", &json!({"scopes": ["admin"], "project_ids": project}));
    assert_eq!((admin.status, admin.slug().as_str()), (422, "bad_scope"));
    server.person("eve");
    let of_eve = server.post(owner, "/api/tokens", &json!({"actor": "eve", "project_ids": project}));
    assert_eq!(of_eve.status, 404, "nobody is let into a project by a token: {}", of_eve.text);
}
