//! The OpenAPI 3.1 document, generated from the route table. A schema with a name is written once among the components and
//! referenced everywhere else.

use super::route::{Access, Body, Route};
use super::schema::{Schema, id, text};
use super::{example, idempotency, records};
use axum::http::{Method, StatusCode};
use serde_json::{Map, Value, json};

/// `cookie` is the name of the session cookie.
pub(super) fn document(routes: &[Route], cookie: &str) -> Value {
    let mut paths = Map::new();
    for route in routes {
        let methods = paths.entry(route.path).or_insert_with(|| json!({}));
        methods[route.method.as_str().to_lowercase()] = operation(route, routes);
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Pleach",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Runs long LLM work durably. Errors are RFC 9457 problems; unknown and forbidden are the same 404.",
        },
        "paths": paths,
        "components": {"securitySchemes": {
            "token": {"type": "http", "scheme": "bearer"},
            "session": {"type": "apiKey", "in": "cookie", "name": cookie},
        }},
    });
    let mut schemas = Map::new();
    lift(&mut document["paths"], &mut schemas);
    document["components"]["schemas"] = Value::Object(schemas);
    document
}

fn operation(route: &Route, all: &[Route]) -> Value {
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "tags": [tag(route.path)],
        "x-access": route.rules.access.name(),
        "x-personal": route.rules.personal,
        "x-for-agents": route.rules.for_agents,
        "security": security(route.rules.access),
        "responses": responses(route, all),
    });
    let parameters = parameters(route);
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if let Some(schema) = &route.body {
        let content = json!({"application/json": {"schema": schema, "example": example::body(schema)}});
        operation["requestBody"] = json!({"required": true, "content": content});
    }
    operation
}

fn security(access: Access) -> Value {
    match access {
        Access::Public => json!([]),
        Access::Local => json!([{}, {"token": []}, {"session": []}]),
        _ => json!([{"token": []}, {"session": []}]),
    }
}

/// `GET /api/runs/{id}/events` is `get_runs_id_events`.
fn operation_id(route: &Route) -> String {
    let letters = |c: char| if c.is_ascii_alphanumeric() { c } else { ' ' };
    let path: String = route.path.trim_start_matches("/api").chars().map(letters).collect();
    let words: Vec<&str> = path.split_whitespace().collect();
    // Pages have the paths of the API without its prefix.
    let page = if route.path.starts_with("/api") || words.len() < 2 && words != ["projects"] && words != ["runs"] {
        ""
    } else {
        "page_"
    };
    format!("{}_{page}{}", route.method.as_str().to_lowercase(), words.join("_"))
}

fn tag(path: &str) -> &str {
    path.trim_start_matches("/api").split('/').nth(1).filter(|word| !word.is_empty()).unwrap_or("pages")
}

fn parameters(route: &Route) -> Vec<Value> {
    let in_path = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let path = in_path.map(|name| json!({"name": name, "in": "path", "required": true, "schema": path_schema(name)}));
    let query = route.query.iter().map(|(name, schema)| json!({"name": name, "in": "query", "schema": schema}));
    let mut headers = route.headers.clone();
    if route.method == Method::POST && route.rules.access != Access::Public {
        headers.push(("Idempotency-Key", idempotency::schema()));
    }
    let headers = headers.into_iter().map(|(name, schema)| json!({"name": name, "in": "header", "schema": schema}));
    path.chain(query).chain(headers).collect()
}

/// Path parameters are ids, apart from these.
fn path_schema(name: &str) -> Schema {
    match name {
        "effect" | "actor" | "handle" | "name" | "step" => text(),
        _ => id(),
    }
}

fn responses(route: &Route, all: &[Route]) -> Value {
    let mut responses = Map::new();
    for status in route.all_errors() {
        let mut content = json!({"application/problem+json": {"schema": records::problem()}});
        if route.errors_as_pages {
            content["text/markdown"] = json!({"schema": text()});
            content["application/json"] = json!({"schema": {}});
        }
        responses.insert(status.to_string(), json!({"description": reason(status), "content": content}));
    }
    for (status, body) in &route.returns {
        let mut response = json!({"description": reason(*status)});
        match body {
            Body::Run => response["content"] = json!({"application/json": {"schema": records::run()}}),
            Body::Json(schema) => response["content"] = json!({"application/json": {"schema": schema}}),
            Body::Text(media_type) => response["content"] = json!({*media_type: {"schema": text()}}),
            Body::Nothing => {}
        }
        let links = links(route, all);
        if !links.is_empty() {
            response["links"] = Value::Object(links);
        }
        responses.insert(status.to_string(), response);
    }
    Value::Object(responses)
}

/// Links from a route that creates something, or lists what only runs create, to the routes that take its id.
fn links(route: &Route, all: &[Route]) -> Map<String, Value> {
    let (parameters, of_one) = match (&route.method, route.path) {
        (&Method::POST, "/api/tokens") => (json!({"id": "$response.body#/record/id"}), "/api/tokens/{id}".to_owned()),
        (&Method::POST, path) => (json!({"id": "$response.body#/id"}), format!("{path}/{{id}}")),
        (&Method::GET, "/api/runs/{id}/nodes") => {
            let parameters = json!({"id": "$request.path.id", "node": "$response.body#/items/0/id"});
            (parameters, "/api/runs/{id}/nodes/{node}".to_owned())
        }
        _ => return Map::new(),
    };
    let needs = |path: &str| path.matches('{').count();
    let targets = all.iter().filter(|other| other.path.starts_with(&of_one) && needs(other.path) == needs(&of_one));
    let link = |other: &Route| {
        let id = operation_id(other);
        (id.clone(), json!({"operationId": id, "parameters": parameters}))
    };
    targets.map(link).collect()
}

fn reason(status: u16) -> &'static str {
    StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Response")
}

/// Moves every named schema into `schemas` and leaves a reference.
fn lift(value: &mut Value, schemas: &mut Map<String, Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| lift(item, schemas)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| lift(field, schemas));
            let name = fields.get("title").and_then(Value::as_str).filter(|_| fields.contains_key("type"));
            if let Some(name) = name.map(str::to_owned) {
                let reference = json!({"$ref": format!("#/components/schemas/{name}")});
                schemas.insert(name, std::mem::replace(value, reference));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::table;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_is_documented_once_with_its_responses() {
        let routes = table();
        let ids: BTreeSet<String> = routes.iter().map(operation_id).collect();
        assert_eq!(ids.len(), routes.len(), "two routes share an operation id");
        for route in &routes {
            assert!(!route.returns.is_empty(), "{} {} returns nothing", route.method, route.path);
            assert!(!route.summary.is_empty() && !route.summary.ends_with('.'), "{}", route.path);
        }
    }

    #[test]
    fn a_request_body_has_an_example_and_a_created_thing_has_links() {
        let document = document(&table(), "session");
        let new = &document["paths"]["/api/runs"]["post"];
        let example = &new["requestBody"]["content"]["application/json"]["example"];
        assert_eq!((&example["kind"], example["objective"].is_string()), (&json!("homework"), true), "{example}");
        let led_to = new["responses"]["201"]["links"].as_object().expect("links");
        for id in ["get_runs_id", "get_runs_id_events", "get_runs_id_snapshot", "post_runs_id_cancel", "delete_runs_id"]
        {
            assert_eq!(led_to[id]["operationId"], id);
        }
        let ids: BTreeSet<String> = table().iter().map(operation_id).collect();
        assert!(led_to.keys().all(|id| ids.contains(id)));
    }

    #[test]
    fn every_reference_resolves_to_a_schema() {
        let document = document(&table(), "session");
        let text = document.to_string();
        for reference in text.split("#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
        assert!(document["components"]["schemas"]["Run"]["properties"]["metrics"]["$ref"].is_string());
    }
}
