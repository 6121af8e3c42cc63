//! `Idempotency-Key`: repeated requests.

use crate::home::Home;
use crate::server::{Server, Visitor};
use serde_json::json;

#[test]
fn a_post_with_the_same_idempotency_key_is_carried_out_once_and_answered_twice() {
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
fn of_many_concurrent_requests_with_one_key_one_is_carried_out() {
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

/// Whether a file of the data directory contains this text.
fn is_stored(server: &Server, text: &str) -> bool {
    let files = std::fs::read_dir(server.home.data()).expect("a directory").map(|file| file.expect("a file").path());
    let holds = |bytes: Vec<u8>| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    files.filter_map(|path| std::fs::read(path).ok()).any(holds)
}

#[test]
fn x9_an_answer_with_a_secret_is_not_kept_and_the_repeat_says_so() {
    let server = Server::start(Home::bare());
    let owner = server.owner();
    for (path, body, field) in [
        ("/api/tokens", json!({"name": "laptop"}), "token"),
        ("/api/login-codes", json!({}), "code"),
        ("/api/webhooks", json!({"url": "https://example.org/hook"}), "secret"),
    ] {
        let keyed = owner.with("idempotency-key", &format!("make {path}"));
        let made = server.post(&keyed, path, &body).is(201).json();
        let secret = made[field].as_str().unwrap_or_else(|| panic!("no {field} in {made}")).to_owned();
        let again = server.post(&keyed, path, &body).is(409);
        assert_eq!((again.slug().as_str(), again.header("idempotent-replayed")), ("secret_not_kept", "true"), "{path}");
        assert!(!again.text.contains(&secret), "{}", again.text);
        // The secret that signs deliveries has to be stored, with its webhook and nowhere else.
        if field != "secret" {
            assert!(!is_stored(&server, &secret), "the {field} of {path} is in a file");
        }
    }
    let tokens = server.get(&owner, "/api/tokens").is(200).json();
    let laptops = tokens["items"].as_array().unwrap().iter().filter(|token| token["name"] == "laptop").count();
    assert_eq!(laptops, 1, "it was done once");
    assert_eq!(server.get(&owner, "/api/webhooks").is(200).json().as_array().map(Vec::len), Some(1));
    let refused = owner.with("idempotency-key", "refused");
    for _ in 0..2 {
        assert_eq!(server.post(&refused, "/api/tokens", &json!({"scopes": ["king"]})).is(422).slug(), "unknown_scope");
    }
}

#[test]
fn x9_a_response_to_one_token_is_not_replayed_to_another_of_the_same_person() {
    let server = Server::start(Home::bare());
    let (one, other) = (Visitor::with_token(&server.token(&[])), Visitor::with_token(&server.token(&[])));
    let keyed = |visitor: &Visitor| visitor.with("idempotency-key", "order-1");
    let first = server.post(&keyed(&one), "/api/projects", &json!({"title": "Once"})).is(201);
    let theirs = server.post(&keyed(&other), "/api/projects", &json!({"title": "Once"})).is(201);
    assert_eq!((theirs.header("idempotent-replayed"), first.json()["id"] == theirs.json()["id"]), ("", false));
    let again = server.post(&keyed(&one), "/api/projects", &json!({"title": "Once"})).is(201);
    assert_eq!((again.header("idempotent-replayed"), &again.text), ("true", &first.text));
}
