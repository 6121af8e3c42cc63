//! Requests sent twice.

use crate::home::Home;
use crate::server::Server;
use serde_json::json;

#[test]
fn a_post_with_the_same_idempotency_key_is_done_once_and_answered_twice() {
    let server = Server::start(Home::bare());
    let (ann, bob) = (server.person("ann"), server.person("bob"));
    let keyed = ann.with("idempotency-key", "order-1");
    let first = server.post(&keyed, "/api/projects", &json!({"title": "Once"})).is(201);
    let again = server.post(&keyed, "/api/projects", &json!({"title": "Once"})).is(201);
    assert_eq!((&first.text, again.header("idempotent-replayed")), (&again.text, "true"));
    assert_eq!(first.header("content-type"), again.header("content-type"));
    assert_eq!(server.get(&ann, "/api/projects").json()["items"].as_array().map(Vec::len), Some(1));
    let other = server.post(&keyed, "/api/projects", &json!({"title": "Twice"})).is(422);
    assert_eq!(other.slug(), "idempotency_key_reused");
    let elsewhere = server.post(&keyed, "/api/tasks", &json!({"title": "Once"})).is(422);
    assert_eq!(elsewhere.slug(), "idempotency_key_reused");
    let theirs = bob.with("idempotency-key", "order-1");
    let own = server.post(&theirs, "/api/projects", &json!({"title": "Once"})).is(201);
    assert_ne!(own.json()["id"], first.json()["id"], "a key belongs to who sends it");

    let refused = ann.with("idempotency-key", "order-2");
    server.post(&refused, "/api/projects", &json!({"title": ""})).is(422);
    assert_eq!(server.post(&refused, "/api/projects", &json!({"title": ""})).is(422).slug(), "bad_title");
    server.post(&ann.with("idempotency-key", &"x".repeat(300)), "/api/projects", &json!({"title": "x"})).is(422);
}

#[test]
fn of_many_at_once_with_one_key_one_is_done() {
    let server = Server::start(Home::bare());
    let keyed = server.person("ann").with("idempotency-key", "run-1");
    let new = json!({"kind": "homework", "objective": "Once"});
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..6).map(|_| scope.spawn(|| server.post(&keyed, "/api/runs", &new).status)).collect();
        tries.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(statuses.contains(&201) && statuses.iter().all(|status| [201, 409].contains(status)), "{statuses:?}");
    assert_eq!(server.get(&keyed, "/api/runs").json()["items"].as_array().map(Vec::len), Some(1));
}
