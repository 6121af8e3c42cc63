//! The log of a tree run as clients rely on it: payloads, scratchpads, envelopes.

use super::scripts::*;
use crate::home::{Home, of_type};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What each payload must have, by its name in the contract: `s` text, `n` number, `l` list, `o` object, `b` flag.
const PAYLOADS: &[(&str, &str)] = &[
    ("tree.run_started", "workspaceProjectId:s rootNodeId:s"),
    ("tree.tools_manifest", "tools:l"),
    ("tree.node_created", "title:s reason:s successCriteria:l depth:n bandIndex:n stepIndex:n"),
    ("tree.node_status", "status:s role:s"),
    ("tree.node_completed", "outcome:s"),
    ("tree.node_failed", "error:s retryable:b"),
    ("tree.node_canceled", "disposition:s"),
    ("tree.node_reopened", "generation:n causedBy:s"),
    ("tree.node_stale", "causedBy:s"),
    ("tree.node_paused", ""),
    ("tree.node_resumed", ""),
    ("tree.plan_created", "planId:s version:n"),
    ("tree.plan_band_created", "planId:s bandIndex:n stepIds:l"),
    ("tree.step_created", "stepId:s bandIndex:n stepIndex:n title:s reason:s successCriteria:l"),
    ("tree.step_status", "stepId:s status:s"),
    ("tree.node_delegated", "childNodeId:s stepId:s"),
    ("tree.scratchpad_linked", "scratchpadDocId:s"),
    ("tree.scratchpad_updated", "scratchpadDocId:s tailPreview:s updatedAt:s"),
    ("tree.artifact_created", "artifactId:s artifactType:s"),
    ("tree.artifact_read", "artifactId:s byNodeId:s"),
    ("tree.node_result", "result:o"),
    ("tree.parent_hint", "parentNodeId:s hintType:s artifactIds:l documentIds:l"),
    ("tree.node_aggregated", "childIds:l summary:s successAssessment:o"),
    ("tree.replan_requested", "reason:s basedOnChildIds:l"),
    ("tree.tool_call_requested", "callId:s tool:s arguments:o"),
    ("tree.tool_call_result", "callId:s tool:s ok:b"),
    ("tree.guard", "guard:s"),
    ("tree.answer_rejected", "effect:s errors:l"),
    ("tree.executor_answered", "round:n"),
    ("run.queued", "objective:s kind:s"),
    ("run.resumed", "reason:s"),
    ("run.paused", ""),
    ("run.question_asked", "questionId:s nodeId:s text:s"),
    ("run.answered", "questionId:s text:s by:s"),
    ("run.waiting_on_user", ""),
    ("run.message_queued", ""),
    ("run.message_delivered", ""),
    ("run.report_created", "report:o"),
    ("run.completed", ""),
    ("run.recovered", ""),
    ("effect.started", "effect:s attempt:n reserve:o"),
    ("effect.finished", "effect:s outcome:s settled:o"),
];

fn fits(value: &Value, kind: &str) -> bool {
    match kind {
        "s" => value.is_string(),
        "n" => value.is_number(),
        "l" => value.is_array(),
        "o" => value.is_object(),
        _ => value.is_boolean(),
    }
}

fn check_events(events: &[Value], seen: &mut BTreeSet<String>) {
    let known: BTreeMap<&str, &str> = PAYLOADS.iter().copied().collect();
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], json!(index + 1), "no gap");
        for name in ["runId", "type", "timestamp", "hash"] {
            assert!(event[name].is_string(), "{name} of {event}");
        }
        let kind = event["type"].as_str().expect("a type");
        let fields = known.get(kind).unwrap_or_else(|| panic!("{kind} is not in the contract"));
        for field in fields.split_whitespace() {
            let (name, shape) = field.split_once(':').expect("a name and a kind");
            assert!(fits(&event["payload"][name], shape), "{kind}.{name}: {event}");
        }
        let of_node = kind.starts_with("tree.") && kind != "tree.run_started" && kind != "tree.tools_manifest";
        assert!(!of_node || event["nodeId"].is_string(), "whose: {event}");
        seen.insert(kind.to_owned());
    }
}

/// A run with everything in it: a tool call, a question, a failure, a new plan, a cancel, a pause, a retry, a limit.
fn eventful() -> (Home, String) {
    let home =
        Home::with(grows(&[&[step("Asking one"), step("Bad one"), planned(step("Deep one"))]], |request| {
            match (request.role.as_str(), request.node()) {
                ("tree_executor", "Asking one") if request.section("questions").is_none() => {
                    Some(asks("Ash or oak?", None))
                }
                ("tree_executor", "Bad one") => Some(nonsense()),
                ("tree_executor", "Deep one") if request.lines("tool_results").is_empty() => {
                    let mut looks = nonsense();
                    looks["tool_calls"] = json!([{"tool": "list_documents", "arguments": {}, "purpose": "look"}]);
                    Some(looks)
                }
                ("tree_planner", _) if request.section("replan_reason").is_some() => {
                    Some(plan(&[&[step("Extra one")]]))
                }
                ("tree_aggregator", _) if request.section("plan").is_some_and(|plan| plan["version"] == 1) => {
                    let mut answer = summed();
                    answer["next"] = json!({"should_replan": true, "reason": "more is needed"});
                    Some(answer)
                }
                _ => None,
            }
        }));
    let run = home.tree("Much happens", &["--max-depth", "1"]).exits(3).run();
    let id = run["id"].as_str().expect("an id").to_owned();
    home.pleach(&["pause", &id, "--node", "n1"]).exits(0);
    home.pleach(&["say", &id, "Mind the oak"]).exits(0);
    home.pleach(&["answer", &id, "Oak", "--detach"]).exits(0);
    home.pleach(&["resume", &id, "--node", "n1"]).exits(0);
    home.pleach(&["retry", &id, "--node", "n1", "--detach"]).exits(0);
    let newest = nodes(&home, &id).len() - 1;
    home.pleach(&["cancel", &id, "--node", &format!("n{newest}")]).exits(0);
    home.pleach(&["watch", &id, "--json"]).exits(0);
    (home, id)
}

#[test]
fn t3_every_event_of_a_recorded_run_has_its_payload_and_the_log_has_no_gap() {
    let (home, id) = eventful();
    let mut seen = BTreeSet::new();
    check_events(&home.events(&id), &mut seen);
    let promised: BTreeSet<String> =
        PAYLOADS.iter().map(|(kind, _)| (*kind).to_owned()).filter(|kind| kind.starts_with("tree.")).collect();
    let unseen: Vec<&String> = promised.difference(&seen).collect();
    assert!(unseen.is_empty(), "never happened: {unseen:?}");
}

#[test]
fn t4_every_node_has_a_scratchpad_before_it_does_anything() {
    let (home, id) = eventful();
    let events = home.events(&id);
    let workspace = home.store();
    let scope = engine::workspace::Scope::Platform;
    for (number, created) in of_type(&events, "tree.node_created").iter().enumerate() {
        let node = created["nodeId"].as_str().expect("an id");
        let own = of_node(&events, node);
        let kinds: Vec<&str> = own.iter().filter_map(|event| event["type"].as_str()).collect();
        let linked = kinds.iter().position(|kind| *kind == "tree.scratchpad_linked").expect("a pad");
        let acts = kinds.iter().position(|kind| matches!(*kind, "tree.node_status" | "effect.started"));
        assert!(acts.is_none_or(|acts| linked < acts), "{kinds:?}");
        let pad = &own[linked]["payload"]["scratchpadDocId"];
        assert_eq!(&show_node(&home, &id, &format!("n{number}"))["scratchpad_doc_id"], pad, "row and event agree");
        let found = runtime::ports::Library::document(
            workspace.as_ref(),
            &scope,
            pad.as_str().and_then(|pad| pad.parse().ok()).expect("an id"),
        );
        let document = home.runtime.block_on(found).expect("readable").expect("the pad");
        assert_eq!(document.type_key, "document.tree_agent.scratchpad");
        assert_eq!(document.props["doc_role"], "tree_agent_scratchpad");
        assert_eq!(document.props["tree_agent_node_id"], json!(node));
        assert_eq!(document.props["tree_agent_run_id"], json!(id));
        assert_eq!(document.props["parent_node_id"], created["parentNodeId"]);
    }
}

#[test]
fn t5_b14_envelopes_name_only_what_was_registered_and_parents_read_only_what_was_named() {
    let (home, id) = eventful();
    let events = home.events(&id);
    let mut registered: BTreeMap<String, String> = BTreeMap::new();
    let mut hinted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut results: BTreeSet<String> = BTreeSet::new();
    let strings = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    for event in &events {
        let node = event["nodeId"].as_str().unwrap_or_default().to_owned();
        let payload = &event["payload"];
        match event["type"].as_str().unwrap_or_default() {
            "tree.artifact_created" => {
                registered.insert(payload["artifactId"].as_str().expect("an id").into(), node);
            }
            "tree.node_result" => {
                for artifact in strings(&payload["result"]["artifactIds"]) {
                    assert_eq!(registered.get(&artifact), Some(&node), "registered, and its own");
                }
                assert!(results.insert(node), "one result at a time");
            }
            "tree.parent_hint" => {
                let parent = payload["parentNodeId"].as_str().expect("an id").to_owned();
                hinted.entry(parent).or_default().extend(strings(&payload["artifactIds"]));
            }
            "tree.artifact_read" => {
                let artifact = payload["artifactId"].as_str().expect("an id");
                assert!(hinted.get(&node).is_some_and(|named| named.contains(artifact)), "read unasked: {event}");
            }
            "tree.node_completed" => assert!(results.contains(&node), "the result precedes the completion"),
            "tree.node_reopened" | "tree.replan_requested" => {
                results.remove(&node);
            }
            _ => {}
        }
    }
}
