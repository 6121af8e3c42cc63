//! Responses fit the published schemas to the last field: the types of the web page are generated from those schemas.

use crate::home::Home;
use crate::server::{Server, Visitor};
use serde_json::{Value, json};

struct Published(Value);

impl Published {
    fn of(server: &Server) -> Published {
        Published(server.get(&Visitor::default(), "/openapi.json").is(200).json())
    }

    fn answer(&self, template: &str) -> &Value {
        &self.0["paths"][template]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    }

    /// Where a value does not fit its schema. An undocumented field is as wrong as a missing one.
    fn misfits(&self, shape: &Value, value: &Value, at: &str) -> Vec<String> {
        if let Some(name) = shape["$ref"].as_str() {
            let name = name.rsplit('/').next().expect("a name");
            return self.misfits(&self.0["components"]["schemas"][name], value, at);
        }
        if let Some(choices) = shape["anyOf"].as_array() {
            let tries: Vec<_> = choices.iter().map(|choice| self.misfits(choice, value, at)).collect();
            let fits = tries.iter().any(Vec::is_empty);
            return if fits { Vec::new() } else { tries.into_iter().max_by_key(Vec::len).expect("a choice") };
        }
        if shape["enum"].as_array().is_some_and(|words| !words.contains(value)) {
            return vec![format!("{at}: {value} is none of {}", shape["enum"])];
        }
        let right = match shape["type"].as_str() {
            None => return Vec::new(),
            Some("object") => return self.object(shape, value, at),
            Some("array") => return self.array(shape, value, at),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("integer") => value.is_i64() || value.is_u64(),
            Some("number") => value.is_number(),
            Some("null") => value.is_null(),
            Some(other) => panic!("{at}: nothing is known of {other}"),
        };
        if right { Vec::new() } else { vec![format!("{at}: {value} is no {}", shape["type"])] }
    }

    fn object(&self, shape: &Value, value: &Value, at: &str) -> Vec<String> {
        let Some(fields) = value.as_object() else { return vec![format!("{at}: {value} is no object")] };
        let Some(named) = shape["properties"].as_object() else {
            let of = &shape["additionalProperties"];
            return fields.iter().flat_map(|(name, field)| self.misfits(of, field, &format!("{at}.{name}"))).collect();
        };
        let required = shape["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let missing = required.filter(|name| !fields.contains_key(*name)).map(|name| format!("{at}.{name} is missing"));
        let wrong = fields.iter().flat_map(|(name, field)| match named.get(name) {
            Some(of) => self.misfits(of, field, &format!("{at}.{name}")),
            None => vec![format!("{at}.{name} is not published")],
        });
        missing.chain(wrong).collect()
    }

    fn array(&self, shape: &Value, value: &Value, at: &str) -> Vec<String> {
        let Some(items) = value.as_array() else { return vec![format!("{at}: {value} is no list")] };
        items.iter().flat_map(|item| self.misfits(&shape["items"], item, &format!("{at}[]"))).collect()
    }
}

fn finished(server: &Server, owner: &Visitor, kind: &str) -> String {
    let objective = "Compare two kinds of oak";
    let mut brief = json!({"kind": kind, "objective": objective});
    if kind == "task" {
        let project = server.post(owner, "/api/projects", &json!({"title": "Oak"})).is(201).json();
        let agent = json!({"handle": "scout", "actions": ["create_document"], "projects": [project["id"]]});
        server.post(owner, "/api/agents", &agent).is(201);
        brief["agent"] = "scout".into();
    }
    let run = server.post(owner, "/api/runs", &brief).is(201).json();
    let id = run["id"].as_str().expect("an id").to_owned();
    server.home.until("the run ends", || {
        server.get(owner, &format!("/api/runs/{id}")).json()["ended_at"].is_string().then_some(())
    });
    id
}

#[test]
fn p9_every_response_fits_its_published_schema() {
    let server = Server::start(Home::bare());
    let owner = server.owner();
    let published = Published::of(&server);
    for kind in ["homework", "tree", "task"] {
        let id = finished(&server, &owner, kind);
        let documents = server.get(&owner, &format!("/api/documents?run_id={id}")).is(200).json();
        let document = documents["items"][0]["id"].as_str().expect("a document").to_owned();
        for template in [
            "/api/runs",
            "/api/runs/{id}",
            "/api/runs/{id}/snapshot",
            "/api/runs/{id}/iterations",
            "/api/runs/{id}/report",
            "/api/runs/{id}/events",
            "/api/runs/{id}/workspace",
            "/api/runs/{id}/nodes",
            "/api/runs/{id}/plans",
            "/api/runs/{id}/artifacts",
            "/api/runs/{id}/steps",
            "/api/agents",
            "/api/documents",
            "/api/documents/{id}",
            "/api/documents/{id}/versions",
            "/api/documents/{id}/entries",
            "/api/projects",
            "/api/tasks",
            "/api/notifications",
            "/api/tools",
            "/api/models",
            "/api/actors",
            "/api/session",
            "/api/holder",
        ] {
            let named = if template.starts_with("/api/documents") { &document } else { &id };
            let said = server.get(&owner, &template.replace("{id}", named)).is(200).json();
            let misfits = published.misfits(published.answer(template), &said, template);
            assert!(misfits.is_empty(), "{kind}: {misfits:#?}");
        }
    }
}
