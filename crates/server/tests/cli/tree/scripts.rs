//! A model that plays its parts in a tree: it plans what it is told to plan, writes one paper per leaf, and sums up.

use crate::home::{Home, of_type};
use serde_json::{Value, json};
use simulation::scripted::{Reply, Request, Script};

pub fn pad() -> Value {
    json!({"append_markdown": "noted", "tail_preview": "noted"})
}

/// A leaf; its id is the first word of its title, in lower case.
pub fn step(title: &str) -> Value {
    let id = title.split(' ').next().unwrap_or_default().to_lowercase();
    json!({"id": id, "title": title, "reason": "a part of the whole", "success_criteria": ["it is written"],
        "deliverable": "document", "leaf": true})
}

pub fn planned(step: Value) -> Value {
    let mut step = step;
    step["leaf"] = json!(false);
    step
}

pub fn plan(bands: &[&[Value]]) -> Value {
    let bands: Vec<Value> = bands
        .iter()
        .enumerate()
        .map(|(index, steps)| json!({"index": index, "goal": format!("goal {index}"), "steps": steps}))
        .collect();
    json!({"mode": "plan", "mode_reason": "it has parts", "leaf_decision": null,
        "plan": {"summary": "part by part", "bands": bands}, "question": null, "scratchpad": pad()})
}

pub fn execute() -> Value {
    json!({"mode": "execute", "mode_reason": "small", "leaf_decision": "direct", "plan": null, "question": null, "scratchpad": pad()})
}

pub fn result(label: &str) -> Value {
    json!({"kind": "document", "summary": format!("{label} is written"), "success_assessment": {"met": true, "notes": null},
        "primary_artifact_label": label, "parent_hint": {"hint_type": "read_documents", "artifact_labels": [label]}})
}

pub fn document(label: &str, text: &str) -> Value {
    json!({"type": "document", "label": label, "title": format!("On {label}"), "markdown": text, "json": null, "is_primary": true})
}

/// The text of a leaf's paper names the leaf, so that it is known again wherever it turns up.
pub fn text_of(title: &str) -> String {
    format!("# {title}\n\nEverything about {title}.")
}

pub fn done(title: &str) -> Value {
    let label = format!("paper on {title}");
    json!({"tool_calls": [], "artifacts": [document(&label, &text_of(title))], "result": result(&label), "question": null, "scratchpad": pad()})
}

pub fn asks(text: &str, default: Option<&str>) -> Value {
    json!({"tool_calls": [], "artifacts": [], "result": null, "scratchpad": pad(),
        "question": {"text": text, "options": ["Ash", "Oak"], "default": default}})
}

pub fn summed() -> Value {
    json!({"synthesis": {"summary": "all together", "key_findings": ["it can be done"], "gaps": []},
        "artifacts": [document("synthesis", "# Synthesis\n\nTaken together.")],
        "result": result("synthesis"), "next": {"should_replan": false, "reason": null}, "scratchpad": pad()})
}

/// Neither a tool call nor a result.
pub fn nonsense() -> Value {
    json!({"scratchpad": pad()})
}

/// The root plans `bands`; everyone else plays their part, unless `special` says otherwise.
pub fn grows(
    bands: &[&[Value]],
    special: impl Fn(&Request) -> Option<Value> + Clone + Send + Sync + 'static,
) -> Script {
    let first = plan(bands);
    let role = |ordinary: Value, special: &(dyn Fn(&Request) -> Option<Value> + Send + Sync), request: &Request| {
        Reply::json(special(request).unwrap_or(ordinary))
    };
    let (on_plan, on_work) = (special.clone(), special.clone());
    Script::default()
        .answer("tree_planner", move |request| {
            let is_root = request.section("task").is_some_and(|task| task["depth"] == 0);
            role(if is_root { first.clone() } else { execute() }, &on_plan, request)
        })
        .answer("tree_executor", move |request| role(done(request.node()), &on_work, request))
        .answer("tree_aggregator", move |request| role(summed(), &special, request))
}

/// Three leaves side by side.
pub fn three() -> [Value; 3] {
    [step("One of three"), step("Two of three"), step("Three of three")]
}

pub fn nodes(home: &Home, run: &str) -> Vec<Value> {
    let events = home.events(run);
    of_type(&events, "tree.node_created").into_iter().cloned().collect()
}

/// The newest node of that title.
#[track_caller]
pub fn id_of(events: &[Value], title: &str) -> String {
    let created = of_type(events, "tree.node_created");
    let node = created.iter().rev().find(|event| event["payload"]["title"] == title);
    node.unwrap_or_else(|| panic!("no node {title}"))["nodeId"].as_str().expect("an id").to_owned()
}

pub fn of_node<'a>(events: &'a [Value], node: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["nodeId"] == node).collect()
}

pub fn show_node(home: &Home, run: &str, node: &str) -> Value {
    home.pleach(&["show", run, "--node", node, "--json"]).exits(0).run()
}

/// The requests of one node.
pub fn asked_for(home: &Home, role: &str, title: &str) -> Vec<simulation::scripted::Entry> {
    let line = format!("Node: {title}");
    let is_for = |entry: &simulation::scripted::Entry| crate::home::user_text(entry).lines().any(|text| text == line);
    home.asked(role).into_iter().filter(is_for).collect()
}
