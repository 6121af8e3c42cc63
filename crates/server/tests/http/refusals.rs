//! Every refusal is a problem document, whether the router, the MCP library or hyper refuses.

use crate::home::Home;
use crate::raw::answer_to;
use crate::server::{Server, Visitor};
use serde_json::{Value, json};

/// The problem in a raw response.
fn problem(answer: &str, status: &str) -> Value {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    assert!(head.contains("application/problem+json") && head.contains("cache-control: no-store"), "{head}");
    assert!(head.contains(&format!("content-length: {}", body.len())), "{answer}");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

#[test]
fn r10_a_malformed_request_head_is_answered_with_a_problem() {
    let server = Server::start(Home::bare());
    let long = "x".repeat(70_000);
    let many: String = (0..200).map(|number| format!("x-{number}: 1\r\n")).collect();
    for (request, status, slug) in [
        ("GARBAGE\r\n\r\n".to_owned(), "400", "bad_request"),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), "400", "bad_request"),
        ("GET /healthz HTTP/1.1\r\nhost : localhost\r\n\r\n".to_owned(), "400", "bad_request"),
        (format!("GET /{long} HTTP/1.1\r\nhost: localhost\r\n\r\n"), "414", "uri_too_long"),
        (format!("GET / HTTP/1.1\r\nhost: localhost\r\n{many}\r\n"), "431", "headers_too_large"),
        (format!("GET / HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", long.repeat(6)), "431", "headers_too_large"),
    ] {
        let answer = answer_to(&server, request.as_bytes());
        let problem = problem(&answer, status);
        assert_eq!(
            (problem["type"].as_str(), problem["status"].to_string().as_str()),
            (Some(slug), status),
            "{answer}"
        );
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.len() > 20), "{problem}");
    }
    // After an answer that was fine, on the same connection, too.
    let second = answer_to(&server, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGARBAGE\r\n\r\n");
    assert!(second.starts_with("HTTP/1.1 200") && second.contains("HTTP/1.1 400"), "{second}");
    assert_eq!(second.matches("HTTP/1.1 ").count(), 2, "{second}");
}

#[test]
fn r10_a_malformed_mcp_request_is_answered_with_a_problem() {
    let server = Server::start(Home::bare());
    let owner = server.owner().with("accept", "application/json, text/event-stream");
    let send = |visitor: &Visitor, body: &str, kind: &str| {
        let request = server.client.post(format!("{}/mcp", server.url)).header("content-type", kind);
        let request = visitor.headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        server.home.runtime.block_on(async {
            let answer = request.body(body.to_owned()).send().await.expect("an answer");
            let kind = answer.headers()["content-type"].to_str().expect("text").to_owned();
            (answer.status().as_u16(), kind, answer.text().await.expect("a text"))
        })
    };
    for (visitor, body, kind) in [
        (&owner, "{", "application/json"),
        (&owner, "[]", "application/json"),
        (&owner, "{\"jsonrpc\":\"2.0\"}", "application/json"),
        (&owner, "", "application/json"),
        (&owner, "{}", "text/plain"),
        (&server.owner(), "{}", "application/json"),
    ] {
        let (status, kind, text) = send(visitor, body, kind);
        let said: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {status} {kind} {text}"));
        let rpc = kind.starts_with("application/json") && said["error"]["message"].is_string();
        assert!(rpc || kind == "application/problem+json" && said["type"] == "mcp_refused", "{status} {kind} {text}");
        assert!((400..500).contains(&status), "{status} {text}");
    }
    let fine = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(send(&owner, fine, "application/json").0, 200);
}

#[test]
fn r10_a_list_in_place_of_an_object_is_refused_by_name() {
    let server = Server::start(Home::bare());
    let owner = server.owner();
    let brief = json!({"kind": "homework", "objective": "List bees", "budgets": []});
    let refused = server.post(&owner, "/api/runs", &brief).is(400);
    assert!(refused.slug() == "bad_request" && refused.text.contains("`budgets` is a list"), "{}", refused.text);
    let run = server.post(&owner, "/api/runs", &json!({"kind": "homework", "objective": "List bees"})).is(201).json();
    let run = run["id"].as_str().expect("an id").to_owned();
    let of_run = |what: &str| format!("/api/runs/{run}/{what}");
    for (path, body, named) in [
        (of_run("continue"), json!({"budgets": []}), "`budgets`"),
        (of_run("respond"), json!({"answers": [["q", "a"]]}), "`answers[0]`"),
        (of_run("respond"), json!({"answers": [], "budgets": []}), "`budgets`"),
        (of_run("messages"), json!(["hello"]), "it is a list"),
        ("/api/projects".to_owned(), json!(["Bees"]), "it is a list"),
        ("/api/documents".to_owned(), json!({"title": "Bees", "props": []}), "`props`"),
        ("/api/tokens".to_owned(), json!([]), "it is a list"),
        ("/login".to_owned(), json!([]), "it is a list"),
    ] {
        let refused = server.post(&owner, &path, &body).is(400);
        assert!(refused.slug() == "bad_request" && refused.text.contains(named), "{path}: {}", refused.text);
    }
    let patched = server.ask(&owner, reqwest::Method::PATCH, &of_run("budgets"), Some(&json!([]))).is(400);
    assert_eq!(patched.slug(), "bad_request");
}
