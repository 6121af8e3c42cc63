//! `/mcp` and `pleach mcp`: runs and the workspace for other programs, with the rights of the caller.

use crate::home::Home;
use crate::server::{Answer, Server, Visitor};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

const MODERN: &str = "2026-07-28";

fn with_version(visitor: &Visitor, version: &str) -> Visitor {
    visitor.with("accept", "application/json, text/event-stream").with("mcp-protocol-version", version)
}

/// A request of the newer protocol: everything it needs is in it.
fn modern(server: &Server, visitor: &Visitor, method: &str, mut params: Value) -> Answer {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    });
    let mut visitor = with_version(visitor, MODERN).with("mcp-method", method);
    for key in ["name", "uri"] {
        if let Some(name) = params[key].as_str() {
            visitor = visitor.with("mcp-name", name);
        }
    }
    server.post(&visitor, "/mcp", &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

fn called(server: &Server, visitor: &Visitor, tool: &str, arguments: Value) -> Value {
    let answer = modern(server, visitor, "tools/call", json!({"name": tool, "arguments": arguments})).is(200).json();
    answer["result"].clone()
}

#[test]
fn b4_runs_are_started_read_steered_and_ended_over_mcp_as_over_the_api() {
    let server = Server::start(Home::bare());
    let owner = server.owner();
    let discovered = modern(&server, &owner, "server/discover", json!({})).is(200).json();
    let versions = discovered["result"]["supportedVersions"].to_string();
    assert!(versions.contains(MODERN) && versions.contains("2025-11-25"), "{discovered}");
    let listed = modern(&server, &owner, "tools/list", json!({})).is(200).json();
    let tools = listed["result"]["tools"].as_array().expect("tools").clone();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let of_runs = ["start_run", "list_runs", "read_run", "list_questions", "answer_question", "steer", "cancel"];
    assert_eq!(names[..of_runs.len()], of_runs);

    let started = called(&server, &owner, "start_run", json!({"objective": "Compare two oaks"}));
    let id = started["structuredContent"]["id"].as_str().expect("a handle").to_owned();
    let run = server.home.until("it ends", || {
        let run = called(&server, &owner, "read_run", json!({"run_id": id}))["structuredContent"].clone();
        run["ended_at"].is_string().then_some(run)
    });
    assert_eq!(run["status"], "completed");
    let listed = called(&server, &owner, "list_runs", json!({"status": "completed"}));
    assert_eq!(listed["structuredContent"]["items"][0]["id"], id.as_str());
    let late = called(&server, &owner, "cancel", json!({"run_id": id}));
    assert!(late["isError"] == true && late.to_string().contains("run_ended"), "{late}");
    let bad = called(&server, &owner, "start_run", json!({"objective": "x", "kind": "forest"}));
    assert!(bad["isError"] == true && bad.to_string().contains("homework"), "{bad}");

    let resources = modern(&server, &owner, "resources/list", json!({})).is(200).json();
    let uris = resources["result"]["resources"].to_string();
    assert!(uris.contains(&format!("pleach://runs/{id}/report")) && uris.contains("pleach://documents/"), "{uris}");
    let read = modern(&server, &owner, "resources/read", json!({"uri": format!("pleach://runs/{id}/report")})).json();
    assert!(read["result"]["contents"][0]["text"].as_str().is_some_and(|text| text.starts_with('#')), "{read}");
}

#[test]
fn b4_the_older_protocol_is_served_too() {
    let server = Server::start(Home::bare());
    let owner = with_version(&server.owner(), "2025-11-25");
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}});
    let ask = |id: u64, method: &str, params: Value| {
        server
            .post(&owner, "/mcp", &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .is(200)
            .json()
    };
    assert_eq!(ask(1, "initialize", hello)["result"]["protocolVersion"], "2025-11-25");
    server.post(&owner, "/mcp", &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).is(202);
    assert!(ask(2, "tools/list", json!({}))["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 7));
    let started = ask(3, "tools/call", json!({"name": "start_run", "arguments": {"objective": "Old ways"}}));
    assert!(started["result"]["structuredContent"]["id"].is_string(), "{started}");
    let missing = ask(4, "resources/read", json!({"uri": "pleach://documents/01a1de11-0000-7000-8000-000000000009"}));
    assert_eq!(missing["error"]["code"], -32002, "{missing}");
}

#[test]
fn b4_built_in_actions_are_mcp_tools_with_schema_and_class() {
    let server = Server::start(Home::bare());
    let owner = server.owner();
    let offered = modern(&server, &owner, "tools/list", json!({})).is(200).json()["result"]["tools"].clone();
    let offered = |name: &Value| offered.as_array().expect("tools").iter().find(|tool| tool["name"] == *name).cloned();
    for known in server.get(&owner, "/api/tools").is(200).json()["items"].as_array().expect("items") {
        let Some(tool) = offered(&known["name"]) else {
            // Only a subagent does this, to itself.
            assert!(["update_scratchpad", "add_lesson"].contains(&known["name"].as_str().expect("a name")), "{known}");
            continue;
        };
        assert_eq!((&tool["inputSchema"], &tool["description"]), (&known["schema"], &known["description"]));
        let hints = &tool["annotations"];
        assert_eq!(hints["readOnlyHint"], known["class"] == "read-only", "{tool}");
        assert_eq!(hints["idempotentHint"], known["class"] == "read-only", "{tool}");
    }
    let done = |tool: &str, arguments: Value| {
        let answer = called(&server, &owner, tool, arguments);
        assert!(answer["isError"] != true, "{tool}: {answer}");
        answer["structuredContent"].clone()
    };
    let project = done("create_project", json!({"title": "Oaks"}))["id"].clone();
    let new = json!({"title": "Bark", "content": "It is thick.", "project_id": project});
    let document = done("create_document", new)["id"].clone();
    done("update_document", json!({"document_id": document, "append": "And grey."}));
    // What is made under a document goes where the document is
    let task = done("create_task", json!({"title": "Measure it", "parent_document_id": document}));
    assert_eq!(task["project_id"], project, "{task}");
    let path = format!("/api/documents/{}", document.as_str().expect("an id"));
    assert_eq!(server.get(&owner, &path).is(200).json()["content"], "It is thick.\nAnd grey.");
    assert_eq!(done("search", json!({"query": "grey"}))["results"][0]["id"], document);
    assert!(done("list_projects", json!({}))["projects"].to_string().contains("Oaks"));
    // Errors say what is wrong
    let homeless = called(&server, &owner, "create_document", json!({"title": "Leaf", "content": "x"})).to_string();
    assert!(homeless.contains("missing argument `project_id`"), "{homeless}");
    assert!(homeless.contains(project.as_str().expect("an id")), "{homeless}");
    let wrong = called(&server, &owner, "get_document", json!({"document": "x"}));
    assert!(wrong["isError"] == true && wrong.to_string().contains("document_id"), "{wrong}");
    for method in ["prompts/list", "gardens/water"] {
        let answer = modern(&server, &owner, method, json!({})).json();
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
        let said = answer["error"]["message"].as_str().expect("words");
        assert!(said.contains(&format!("no method {method:?}")) && said.contains("tools/call"), "{said}");
    }
}

#[test]
fn sec_s1_s6_an_action_over_mcp_has_the_rights_of_its_caller_and_no_more() {
    let server = Server::start(Home::bare());
    let (owner, stranger) = (server.owner(), server.person("stranger"));
    let made = |path: &str, body: Value| server.post(&owner, path, &body).is(201).json()["id"].clone();
    let (mine, other) = (made("/api/projects", json!({"title": "A"})), made("/api/projects", json!({"title": "B"})));
    let hidden = made("/api/documents", json!({"title": "Secret oak", "project_id": other}));
    let documents = || server.get(&owner, "/api/documents").is(200).json()["items"].as_array().map(Vec::len);
    let before = documents();
    let refused = |visitor: &Visitor, tool: &str, arguments: Value, why: &str| {
        let answer = called(&server, visitor, tool, arguments);
        assert!(answer["isError"] == true && answer.to_string().contains(why), "{tool}: {answer}");
        assert!(!answer.to_string().contains("Secret oak"), "{tool}: {answer}");
    };
    let new = |project: &Value| json!({"title": "New", "content": "x", "project_id": project});
    let reader = Visitor::with_token(&server.token(&["--scope", "read"]));
    assert_eq!(called(&server, &reader, "get_document", json!({"document_id": hidden}))["isError"], json!(false));
    refused(&reader, "create_document", new(&mine), "insufficient_scope");
    let bound = Visitor::with_token(&server.token(&["--scope", "run", "--project", mine.as_str().expect("an id")]));
    let seen = called(&server, &bound, "list_projects", json!({}))["structuredContent"]["projects"].clone();
    assert_eq!(seen.as_array().map(Vec::len), Some(1), "{seen}");
    refused(&bound, "get_document", json!({"document_id": hidden}), "not found");
    refused(&bound, "create_document", new(&other), "outside the scope");
    refused(&bound, "create_project", json!({"title": "C"}), "only some projects");
    refused(&stranger, "get_document", json!({"document_id": hidden}), "not found");
    refused(&stranger, "update_document", json!({"document_id": hidden, "append": "x"}), "not found");
    refused(&stranger, "create_document", new(&mine), "not found");
    assert_eq!(documents(), before, "nothing was made");
    // The same by name over the API
    let unknown = server.post(&owner, "/api/tools/fly", &json!({})).is(404);
    assert!(unknown.slug() == "action_not_found" && unknown.text.contains("create_document"), "{}", unknown.text);
    server.post(&owner, "/api/tools/update_scratchpad", &json!({"content": "x"})).is(403);
    server.post(&bound, "/api/tools/create_document", &new(&mine)).is(200);
}

#[test]
fn sec_s1_s6_s24_rights_are_checked_at_every_mcp_call() {
    let server = Server::start(Home::bare());
    let (owner, stranger) = (server.owner(), server.person("stranger"));
    let reader = Visitor::with_token(&server.token(&["--scope", "read"]));
    let id = called(&server, &owner, "start_run", json!({"objective": "Mine"}))["structuredContent"]["id"].clone();
    assert_eq!(modern(&server, &Visitor::default(), "tools/list", json!({})).status, 401);
    let may_not = called(&server, &reader, "start_run", json!({"objective": "Not mine to start"}));
    assert!(may_not["isError"] == true && may_not.to_string().contains("insufficient_scope"), "{may_not}");
    assert!(called(&server, &reader, "read_run", json!({"run_id": id}))["structuredContent"]["id"] == id);
    for (tool, arguments) in [
        ("read_run", json!({"run_id": id})),
        ("cancel", json!({"run_id": id})),
        ("steer", json!({"run_id": id, "text": "left"})),
        ("answer_question", json!({"run_id": id, "text": "yes"})),
    ] {
        let refused = called(&server, &stranger, tool, arguments);
        assert!(refused["isError"] == true && !refused.to_string().contains("Mine"), "{tool}: {refused}");
    }
    let list = called(&server, &stranger, "list_runs", json!({}));
    assert_eq!(list["structuredContent"]["items"], json!([]));
    let report = format!("pleach://runs/{}/report", id.as_str().expect("an id"));
    let refused = modern(&server, &stranger, "resources/read", json!({"uri": report})).json();
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let foreign = modern(&server, &owner.with("origin", "https://evil.example"), "tools/list", json!({}));
    assert_eq!(foreign.status, 403);
    let rebound = modern(&server, &owner.with("host", "evil.example"), "tools/list", json!({}));
    assert_eq!(rebound.status, 421);
}

/// A program that speaks to `pleach mcp` line by line.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Client {
    fn start(home: &Home) -> Client {
        let mut child = home.command(&["mcp"]).stdin(Stdio::piped()).spawn().expect("it starts");
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().expect("its output")));
        Client { child, input, output }
    }

    fn say(&mut self, message: Value) {
        writeln!(self.input.as_mut().expect("open"), "{message}").expect("heard");
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.say(json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("a line") > 0, "it ended");
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if message["id"] == 7 {
                return message["result"].clone();
            }
        }
    }
}

#[test]
fn b4_a_local_program_uses_pleach_mcp_and_its_runs_are_driven() {
    let home = Home::bare();
    let mut client = Client::start(&home);
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "editor", "version": "1"}});
    assert_eq!(client.ask("initialize", hello)["serverInfo"]["name"], "pleach");
    client.say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let call = |client: &mut Client, tool: &str, arguments: Value| {
        client.ask("tools/call", json!({"name": tool, "arguments": arguments}))["structuredContent"].clone()
    };
    let id = call(&mut client, "start_run", json!({"objective": "Compare two elms", "kind": "tree"}))["id"].clone();
    home.until("it ends", || {
        (call(&mut client, "read_run", json!({"run_id": id}))["status"] == "completed").then_some(())
    });
    drop(client.input.take());
    assert!(client.child.wait().expect("it ends").success());
    assert_eq!(home.show(id.as_str().expect("an id"))["status"], "completed", "it is in the database");
}
