//! Who gets in.

use crate::home::Home;
use crate::server::Server;
use reqwest::Method;
use serde_json::Value;

#[test]
fn e1_up_says_where_it_is_in_at_most_eight_lines_and_answers_there() {
    let server = Server::start(Home::bare());
    assert!(server.greeting.len() <= 8, "{:?}", server.greeting);
    assert!(server.url.starts_with("http://127.0.0.1:"), "loopback unless told otherwise: {}", server.url);
    let healthy = server.stranger(Method::GET, "/healthz");
    assert_eq!(healthy.status(), 200);
    assert_eq!(server.stranger(Method::GET, "/readyz").status(), 200);
    assert_eq!(server.stranger(Method::GET, "/nowhere").status(), 404);
    let wrong = server.stranger(Method::PUT, "/healthz");
    assert_eq!(wrong.status(), 405);
    assert!(wrong.headers()["allow"].to_str().unwrap().contains("GET"));
}

#[test]
fn sec_s1_every_route_of_the_running_server_refuses_who_has_no_token() {
    let server = Server::start(Home::bare());
    let document = server.text(server.stranger(Method::GET, "/openapi.json"));
    let document: Value = serde_json::from_str(&document).unwrap();
    let mut refused = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let method: Method = method.to_uppercase().parse().unwrap();
            let path = path.replace("{id}", "01a1de11-0000-7000-8000-000000000009");
            let answer = server.stranger(method.clone(), &path);
            match operation["x-access"].as_str().unwrap() {
                "public" => assert_ne!(answer.status(), 401, "{method} {path}"),
                _ => {
                    assert_eq!(answer.status(), 401, "{method} {path}");
                    assert_eq!(answer.headers()["content-type"], "application/problem+json");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 20, "only {refused} routes need a token");
}
