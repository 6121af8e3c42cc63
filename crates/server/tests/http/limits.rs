//! Limits of requests: body size and depth, items of a project, rate of new runs, search terms.

use crate::home::Home;
use crate::server::{Server, Visitor};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn send(server: &Server, visitor: &Visitor, path: &str, body: String) -> (u16, String) {
    let request =
        server.client.post(format!("{}{path}", server.url)).header("content-type", "application/json").body(body);
    let request = visitor.headers.iter().fold(request, |request, (name, value)| request.header(name, value));
    server.home.runtime.block_on(async {
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    })
}

#[test]
fn sec_s70_a_body_over_a_mebibyte_is_refused_and_the_next_request_is_not() {
    let server = Server::start(Home::bare());
    let owner = server.owner();
    let fill = |size: usize| format!("{{\"title\":\"{}\"}}", "x".repeat(size - 12));
    assert_eq!(send(&server, &owner, "/api/projects", fill(1 << 20)).0, 422, "a mebibyte is read");
    let (status, text) = send(&server, &owner, "/api/projects", fill((1 << 20) + 1));
    assert!(status == 413 && text.contains("body_too_large"), "{status} {text}");
    let keyed = owner.with("idempotency-key", "large");
    assert_eq!(send(&server, &keyed, "/api/projects", fill((1 << 20) + 1)).0, 413);
    server.get(&owner, "/api/projects").is(200);
}

#[test]
fn sec_s74_a_project_has_a_limit_of_documents_and_tasks() {
    let server = Server::start(Home::bare().set("PLEACH_PROJECT_ITEMS", "4"));
    let owner = server.owner();
    let project = |title: &str| server.post(&owner, "/api/projects", &json!({ "title": title })).is(201).json();
    let (small, other) = (project("Small"), project("Other"));
    let document = |of: &Value| json!({"title": "Leaf", "content": "x", "project_id": of["id"]});
    let task = json!({"title": "Rake", "project_id": small["id"]});
    let first = server.post(&owner, "/api/documents", &document(&small)).is(201).json();
    server.post(&owner, "/api/documents", &document(&small)).is(201);
    server.post(&owner, "/api/tasks", &task).is(201);
    server.post(&owner, "/api/tasks", &task).is(201);
    for (path, body) in [("/api/documents", &document(&small)), ("/api/tasks", &task)] {
        let full = server.post(&owner, path, body).is(507);
        assert_eq!((full.slug().as_str(), full.header("retry-after")), ("project_full", ""), "waiting does not help");
        assert!(full.text.contains("Small") && full.text.contains("project_items"), "{}", full.text);
    }
    server.post(&owner, "/api/documents", &document(&other)).is(201);
    // A document of a hundred megabytes is refused earlier, by the size of the body.
    let huge = format!("{{\"title\":\"x\",\"project_id\":{},\"content\":\"{}\"}}", other["id"], "x".repeat(100 << 20));
    let request =
        server.client.post(format!("{}/api/documents", server.url)).header("content-type", "application/json");
    let request = owner.headers.iter().fold(request, |request, (name, value)| request.header(name, value));
    // The client gets the refusal, or a closed connection before it has sent everything.
    let told = server.home.runtime.block_on(request.body(huge).send());
    assert!(told.is_err() || told.is_ok_and(|answer| answer.status() == 413));
    let leaf = format!("/api/documents/{}", first["id"].as_str().unwrap());
    server.ask(&owner, Method::DELETE, &leaf, None).is(204);
    server.post(&owner, "/api/documents", &document(&small)).is(201);
}

#[test]
fn sec_s50_s51_s53_s71_strange_bodies_and_queries_are_refused_quickly() {
    let server = Server::start(Home::bare());
    let owner = server.owner();
    let keys: String = (0..80_000).map(|n| format!("\"k{n}\":1,")).collect();
    let strange = [
        "[".repeat(10_000),
        format!("{{\"title\":\"x\",\"props\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000)),
        format!("{{{keys}\"title\":\"x\"}}"),
        format!("{{\"title\":{}}}", "9".repeat(900_000)),
        "{\"title\":\"a\",\"title\":\"b\"}".into(),
        "{\"title\":\"x\",\"files\":[]}".into(),
        "{\"title\":\"".into(),
    ];
    for body in strange {
        let started = Instant::now();
        let (status, text) = send(&server, &owner, "/api/projects", body);
        assert!(status == 400 || status == 422, "{status} {text}");
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    }
    for query in ["limit=x", "cursor=' OR 1=1", "kind=';--", "status=%00", "limit=-1"] {
        let answer = server.get(&owner, &format!("/api/runs?{query}"));
        assert!([400, 422].contains(&answer.status), "{query}: {} {}", answer.status, answer.text);
    }
    server.get(&owner, "/api/search?q=%27%20OR%201%3D1%20--%20%22*").is(200);
    let named = json!({"title": "../../etc/passwd\u{0}\u{1b}[2J", "content": "x"});
    let project = server.post(&owner, "/api/projects", &named);
    assert!([201, 400, 422].contains(&project.status), "{}", project.text);
}

#[test]
fn sec_s75_new_runs_are_rate_limited_by_person() {
    let server = Server::start(Home::bare());
    let (ann, bob) = (server.person("ann"), server.person("bob"));
    // Each is refused for another reason, and still counts.
    let empty = json!({"kind": "homework", "objective": ""});
    let slow = (0..2_000)
        .map(|_| server.post(&ann, "/api/runs", &empty))
        .find(|answer| answer.status == 429)
        .expect("a limit");
    assert_eq!(slow.slug(), "too_many_requests");
    assert!(slow.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds >= 1));
    server.post(&bob, "/api/runs", &empty).is(422);
    server.get(&ann, "/api/runs").is(200);
}

/// The peak memory of a process since the last reset, in kilobytes.
fn peak(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("its peak");
    line.split_whitespace().nth(1).and_then(|size| size.parse().ok()).expect("a number")
}

#[test]
fn x11_reading_one_version_of_a_document_does_not_load_the_others() {
    // Given a document with hundreds of long versions
    let server = Server::start(Home::bare());
    let owner = server.owner();
    let project = server.post(&owner, "/api/projects", &json!({"title": "Oak"})).is(201).json();
    let body = json!({"title": "Rings", "content": "ring 1", "project_id": project["id"]});
    let path = format!(
        "/api/documents/{}",
        server.post(&owner, "/api/documents", &body).is(201).json()["id"].as_str().unwrap()
    );
    let ring = "oak ".repeat(50_000);
    for version in 1..=300 {
        let matching = owner.with("if-match", &format!("\"{version}\""));
        let body = json!({"content": format!("ring {} {ring}", version + 1)});
        server.ask(&matching, Method::PATCH, &path, Some(&body)).is(200);
    }
    // When one is asked for, the newest or one from the middle
    let forget = format!("/proc/{}/clear_refs", server.child.id());
    std::fs::write(&forget, "5").expect("its peak is forgotten");
    let before = peak(&server);
    let newest = server.get(&owner, &format!("{path}/versions?limit=1")).is(200).json();
    let older = server.get(&owner, &format!("{path}/versions?before=100&limit=2")).is(200).json();
    let beyond = server.get(&owner, &format!("{path}/versions?before=1")).is(200).json();
    // Then the others are not read: they would be sixty megabytes
    assert_eq!((newest["items"].as_array().unwrap().len(), &newest["items"][0]["version"]), (1, &json!(301)));
    assert_eq!(newest["next_cursor"], "301");
    assert_eq!((&older["items"][0]["version"], &older["items"][1]["version"]), (&json!(99), &json!(98)));
    assert_eq!((&beyond["items"], &beyond["next_cursor"]), (&json!([]), &Value::Null));
    let grown = peak(&server).saturating_sub(before);
    assert!(grown < 20_000, "{grown} kB more for three versions");
}

#[test]
fn r7_a_search_for_too_many_words_is_refused_with_the_limit() {
    let server = Server::start(Home::bare());
    let owner = server.owner();
    let words = |count: usize| vec!["oak"; count].join("+");
    for path in ["/api/search", "/api/runs"] {
        let refused = server.get(&owner, &format!("{path}?q={}", words(999))).is(422);
        assert_eq!(refused.slug(), "too_many_words");
        assert!(refused.text.contains("999 words") && refused.text.contains("at most 32"), "{}", refused.text);
        server.get(&owner, &format!("{path}?q={}", words(32))).is(200);
    }
}

#[test]
fn x4_a_body_that_is_nested_too_deeply_is_refused() {
    let server = Server::start(Home::bare());
    let owner = server.owner();
    let project = server.post(&owner, "/api/projects", &json!({"title": "Oak"})).is(201).json();
    let nested = |levels: usize| {
        let props = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        format!("{{\"title\":\"x\",\"project_id\":{},\"props\":{{\"p\":{props}}}}}", project["id"])
    };
    let (status, text) = send(&server, &owner, "/api/documents", nested(63));
    assert!(status == 400 && text.contains("deeper than 64"), "{status} {text}");
    assert_eq!(send(&server, &owner, "/api/documents", nested(62)).0, 201);
    assert!(server.home.pleach(&["ls"]).code == 0 && server.get(&owner, "/api/documents").is(200).json().is_object());
}
