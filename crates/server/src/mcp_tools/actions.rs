//! The MCP tools: their schemas, the API request that each one becomes, and which part of the response is returned.

use super::summary;
use crate::commands::encoded;
use axum::http::Method;
use effects::tools::{Authorization, Registry, schema_violations};
use engine::batch::RunRow;
use engine::effect::RepeatSafety;
use engine::ids::RunId;
use mcp::server::ToolDefinition;
use serde_json::{Map, Value, json};

pub(super) const START: &str = "start_run";
const LIST: &str = "list_runs";
const READ: &str = "read_run";
const QUESTIONS: &str = "list_questions";
const ANSWER: &str = "answer_question";
const STEER: &str = "steer";
const CANCEL: &str = "cancel";

/// A request of the API.
pub(super) struct ApiRequest {
    pub method: Method,
    pub path: String,
    pub body: Option<Value>,
}

/// Actions on runs, then actions on the workspace.
pub(super) fn all() -> Vec<ToolDefinition> {
    of_runs().into_iter().chain(built_in()).collect()
}

/// The built-in actions, without those that subagents take on themselves.
fn built_in() -> Vec<ToolDefinition> {
    let action = |action: &effects::tools::Action| ToolDefinition {
        name: action.name,
        description: action.description,
        schema: action.schema(),
        // A run recognises a repeated call by its effect id; over MCP a repeated call is carried out again.
        class: if action.is_read() { RepeatSafety::ReadOnly } else { RepeatSafety::Once },
        destructive: action.changes_existing(),
    };
    let registry = Registry::builtin();
    registry.list().iter().filter(|action| action.authorization() != Authorization::SubagentsOnly).map(action).collect()
}

fn of_runs() -> Vec<ToolDefinition> {
    let run = || ("run_id", json!({"type": "string", "description": "The run."}));
    let text = |about: &str| json!({"type": "string", "minLength": 1, "description": about});
    let texts = |about: &str| json!({"type": "array", "items": {"type": "string"}, "description": about});
    let kind = json!({"enum": ["homework", "tree"], "description": "One planner that iterates (homework, the default), or nodes that delegate (tree)."});
    let budgets =
        json!({"type": "object", "description": "Limits, such as {\"max_cost_usd\": 2.0, \"max_iterations\": 10}."});
    let status =
        "Only those that stand so: queued, running, waiting_on_user, paused, completed, stopped, canceled, failed.";
    let part = json!({"enum": ["run", "report", "workspace", "events"], "description": "Default: run."});
    let after = json!({"type": "integer", "minimum": 0, "description": "Events behind this one only."});
    vec![
        action(
            (START, RepeatSafety::Once, "Start a run. Returns its id at once; the work goes on without the caller."),
            vec![("objective", text("What to achieve."))],
            vec![
                ("kind", kind),
                ("success_criteria", texts("What must be shown for it to count as done.")),
                ("project_ids", texts("Only these projects; without any, all of the caller's.")),
                ("tools", texts("Only these tools; without any, all there are.")),
                ("agents", texts("Handles of the caller's subagents that work may be given to.")),
                ("budgets", budgets),
                ("model", text("provider/model for every role.")),
            ],
        ),
        action(
            (LIST, RepeatSafety::ReadOnly, "Runs, newest first."),
            vec![],
            vec![
                ("status", text(status)),
                ("kind", text("Only homework or tree.")),
                ("q", text("Words of the objective.")),
                ("limit", json!({"type": "integer", "minimum": 1, "maximum": 200})),
                ("cursor", text("Where the last list ended.")),
            ],
        ),
        action(
            (
                READ,
                RepeatSafety::ReadOnly,
                "How a run stands, with its open questions; or a part of it: report, workspace, events.",
            ),
            vec![run()],
            vec![("part", part), ("after", after)],
        ),
        action((QUESTIONS, RepeatSafety::ReadOnly, "Every open question of the caller's runs."), vec![], vec![]),
        action(
            (ANSWER, RepeatSafety::Once, "Answer a question of a run; it goes on by itself."),
            vec![run(), ("text", text("The answer."))],
            vec![("question_id", text("Which question; may be left out when only one is open."))],
        ),
        action(
            (STEER, RepeatSafety::Once, "Tell a run something; its next model call is shown it."),
            vec![run(), ("text", text("What to tell it."))],
            vec![("node_id", text("Only to this node of a tree."))],
        ),
        ToolDefinition {
            destructive: true,
            ..action((CANCEL, RepeatSafety::Idempotent, "End a run. What it made stays."), vec![run()], vec![])
        },
    ]
}

type Fields = Vec<(&'static str, Value)>;

fn action(about: (&'static str, RepeatSafety, &'static str), required: Fields, optional: Fields) -> ToolDefinition {
    let (name, class, description) = about;
    let names: Vec<&str> = required.iter().map(|(name, _)| *name).collect();
    let fields: Map<_, _> = required.into_iter().chain(optional).map(|(name, of)| (name.to_owned(), of)).collect();
    let schema = json!({"type": "object", "required": names, "additionalProperties": false, "properties": fields});
    ToolDefinition { name, description, class, destructive: false, schema }
}

/// The API request of an action, or the error in its arguments.
pub(super) fn request(name: &str, arguments: Value) -> Result<ApiRequest, String> {
    let post = |path: String, body: Value| Ok(ApiRequest { method: Method::POST, path, body: Some(body) });
    let Some(action) = of_runs().into_iter().find(|action| action.name == name) else {
        return post(format!("/api/tools/{}", encoded(name)), arguments);
    };
    let wrong = schema_violations(&action.schema, &arguments);
    if !wrong.is_empty() {
        return Err(wrong.join("; "));
    }
    let word = |key: &str| arguments[key].as_str();
    let run = || {
        let given = word("run_id").unwrap_or_default();
        given.parse::<RunId>().map_err(|_| format!("`run_id` is {given:?}, which is not the id of a run"))
    };
    let get = |path: String| Ok(ApiRequest { method: Method::GET, path, body: None });
    match name {
        START => {
            let mut body = arguments.clone();
            if body["kind"].is_null() {
                body["kind"] = json!("homework");
            }
            post("/api/runs".into(), body)
        }
        LIST => get(format!("/api/runs?{}", query(&arguments))),
        READ => {
            let part = match word("part") {
                None | Some("run") => String::new(),
                Some("events") => {
                    format!("/events?limit=200&after={}", arguments["after"].as_u64().unwrap_or_default())
                }
                Some(part) => format!("/{part}"),
            };
            get(format!("/api/runs/{}{part}", run()?))
        }
        QUESTIONS => get("/api/questions?open=1".into()),
        ANSWER => {
            let answer = only(&arguments, &["text", "question_id"]);
            post(format!("/api/runs/{}/respond", run()?), json!({"answers": [answer]}))
        }
        STEER => post(format!("/api/runs/{}/messages", run()?), only(&arguments, &["text", "node_id"])),
        _ => post(format!("/api/runs/{}/{name}", run()?), json!({})),
    }
}

fn only(arguments: &Value, keys: &[&str]) -> Value {
    let fields = keys.iter().filter_map(|key| Some(((*key).to_owned(), arguments.get(*key)?.clone())));
    Value::Object(fields.collect())
}

fn query(arguments: &Value) -> String {
    let fields = arguments.as_object().into_iter().flatten().map(|(key, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{key}={}", encoded(&value))
    });
    fields.collect::<Vec<_>>().join("&")
}

/// The part of the response that is returned: runs are shortened, unless the caller asked to read one.
pub(super) fn result(name: &str, mut answer: Value) -> Value {
    let short =
        |run: &Value| serde_json::from_value::<RunRow>(run.clone()).map_or_else(|_| run.clone(), |run| summary(&run));
    match name {
        START | STEER | CANCEL | ANSWER => short(&answer),
        LIST => {
            if let Some(items) = answer["items"].as_array_mut() {
                items.iter_mut().for_each(|run| *run = short(run));
            }
            answer
        }
        _ if answer.is_object() => answer,
        _ => json!({ "answer": answer }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "01a1de11-0000-7000-8000-000000000009";

    #[test]
    fn every_action_becomes_an_api_request() {
        for (name, arguments, method, path) in [
            (START, json!({"objective": "x"}), "POST", "/api/runs".to_owned()),
            (LIST, json!({"status": "running", "q": "a b"}), "GET", "/api/runs?q=a%20b&status=running".into()),
            (READ, json!({"run_id": RUN, "part": "report"}), "GET", format!("/api/runs/{RUN}/report")),
            (
                READ,
                json!({"run_id": RUN, "part": "events", "after": 7}),
                "GET",
                format!("/api/runs/{RUN}/events?limit=200&after=7"),
            ),
            (QUESTIONS, json!({}), "GET", "/api/questions?open=1".into()),
            (ANSWER, json!({"run_id": RUN, "text": "yes"}), "POST", format!("/api/runs/{RUN}/respond")),
            (STEER, json!({"run_id": RUN, "text": "left"}), "POST", format!("/api/runs/{RUN}/messages")),
            (CANCEL, json!({"run_id": RUN}), "POST", format!("/api/runs/{RUN}/cancel")),
            ("search", json!({"query": "oak"}), "POST", "/api/tools/search".into()),
        ] {
            let request = request(name, arguments).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert_eq!((request.method.as_str(), request.path), (method, path), "{name}");
        }
    }

    #[test]
    fn an_id_that_contains_a_path_is_refused() {
        let error = |arguments| request(CANCEL, arguments).err().expect("refused");
        assert!(error(json!({"run_id": "../tokens"})).contains("not the id of a run"));
        assert!(error(json!({"run_id": RUN, "more": 1})).contains("there is no `more`"));
        assert!(error(json!({})).contains("`run_id` is missing"));
    }
}
