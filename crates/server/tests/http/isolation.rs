//! Two people on one server see nothing of each other.

use crate::home::Home;
use crate::server::{Server, Visitor};
use reqwest::Method;
use serde_json::json;

#[test]
fn sec_s11_two_people_see_nothing_of_each_other() {
    let server = Server::start(Home::bare());
    let (ann, bob) = (server.person("ann"), server.person("bob"));
    let project = server.post(&ann, "/api/projects", &json!({"title": "Walnut cabinet"})).is(201).json();
    let in_project = json!({"title": "Walnut prices", "content": "walnut", "project_id": project["id"]});
    let document = server.post(&ann, "/api/documents", &in_project).is(201).json();
    server.post(&ann, "/api/tasks", &json!({"title": "Walnut oil", "project_id": project["id"]})).is(201);
    let run = server.post(&ann, "/api/runs", &json!({"kind": "homework", "objective": "Walnut joints"})).is(201).json();
    let everything = [
        "/api/runs",
        "/api/runs?q=walnut",
        "/api/projects",
        "/api/documents",
        "/api/tasks",
        "/api/search?q=walnut",
        "/api/questions",
        "/api/notifications",
        "/api/webhooks",
        "/api/tokens",
        "/api/actors",
    ];
    for path in everything {
        let seen = server.get(&bob, path).is(200).text.to_lowercase();
        let ids = [&project["id"], &document["id"], &run["id"]].map(|id| id.as_str().unwrap());
        assert!(
            !seen.contains("walnut") && !seen.contains("\"ann\"") && !ids.iter().any(|id| seen.contains(id)),
            "{path}: {seen}"
        );
    }
    let edges = format!("/api/edges?src={}", document["id"].as_str().unwrap());
    assert_eq!(server.get(&bob, &edges).is(200).json()["items"], json!([]));
    let topics = format!("/api/stream?topics=run:{}", run["id"].as_str().unwrap());
    server.get(&bob, &topics).is(404);
    let body = json!({"title": "x", "project_id": project["id"]});
    server.post(&bob, "/api/documents", &body).is(404);
    server.post(&bob, "/api/tasks", &body).is(404);
    let under = json!({"kind": "homework", "objective": "x", "project_ids": [project["id"]]});
    server.post(&bob, "/api/runs", &under).is(404);
}

#[test]
fn sec_s13_membership_changes_apply_to_the_next_request() {
    let server = Server::start(Home::bare());
    let (ann, bob) = (server.person("ann"), server.person("bob"));
    let project = server.post(&ann, "/api/projects", &json!({"title": "Shared"})).is(201).json();
    let path = format!("/api/projects/{}", project["id"].as_str().unwrap());
    let handles = |visitor: &Visitor, path: &str| {
        let answer = server.get(visitor, path).is(200).json();
        let items = answer["items"].as_array().or(answer.as_array()).unwrap().clone();
        items.iter().map(|actor| actor["handle"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(handles(&ann, "/api/actors"), ["ann"]);
    server.home.join(project["id"].as_str().unwrap(), "ann", "bob", "viewer");
    server.get(&bob, &path).is(200);
    assert_eq!(handles(&bob, &format!("{path}/members")), ["ann", "bob"]);
    assert_eq!(handles(&ann, "/api/actors"), ["ann", "bob"]);
    server.ask(&ann, Method::DELETE, &format!("{path}/members/bob"), None).is(200);
    server.get(&bob, &path).is(404);
    assert_eq!(handles(&bob, "/api/actors"), ["bob"]);
    assert!(handles(&server.owner(), "/api/actors").contains(&"local".to_owned()));
}
