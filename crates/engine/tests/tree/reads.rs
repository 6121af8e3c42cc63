//! Who read what: receipts for every way of reading, and what a node's end, status and hint say.

use crate::*;
use engine::event::{Event, StoredEvent};
use engine::facts::Fact;
use engine::run::Status;

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "tool": tool, "arguments": arguments, "purpose": "p" })
}

/// The first document that a request's earlier results name.
pub(crate) fn first_document(text: &str) -> String {
    let (_, rest) = text.split_once("\"documentIds\":[\"").expect("an envelope with a document");
    rest[..36].to_owned()
}

#[test]
fn t12_a_later_band_that_reads_a_document_with_a_tool_leaves_a_receipt_once() {
    // given: a node of the second band that reads the first band's document twice, and its own
    let mut play = scripted(brief("Reads"), |role, title, attempt| match (role, title) {
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["a"], &["b"]]))),
        (Role::TreeExecutor, "Step b") if attempt.effect.0.ends_with(".r3") => None,
        (Role::TreeExecutor, "Step b") => {
            let read = json!({ "document_id": first_document(&own_text(attempt)) });
            Some(Ok(json!({ "tool_calls": [call("get_document", read.clone()), call("get_document", read)] })))
        }
        _ => None,
    });
    // when
    play.go();
    // then
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    let (made_by_a, reader) =
        (payloads(&play, "tree.artifact_created")[0]["artifactId"].clone(), by_title(&play, "Step b"));
    let by_b: Vec<Value> =
        payloads(&play, "tree.artifact_read").into_iter().filter(|read| read["byNodeId"] == json!(reader)).collect();
    assert_eq!(by_b, [json!({ "artifactId": made_by_a, "byNodeId": reader })], "four readings, one receipt");
}

#[test]
fn t12_a_document_of_ones_own_or_of_nobody_leaves_no_receipt() {
    let mut play = scripted(brief("Own"), |role, _, attempt| match role {
        Role::TreeExecutor if attempt.effect.0.ends_with(".r1") => {
            Some(Ok(json!({ "tool_calls": [call("create_document", json!({ "title": "Mine" }))] })))
        }
        Role::TreeExecutor if attempt.effect.0.ends_with(".r2") => {
            let text = own_text(attempt);
            let (_, own) = text.split_once("\"document_id\":\"").expect("what it registered");
            let foreign = "0199aaaa-0000-7000-8000-00000000000f";
            let read = |id: &str| call("get_document", json!({ "document_id": id }));
            Some(Ok(json!({ "tool_calls": [read(&own[..36]), read(foreign)] })))
        }
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(count(&play, "tree.artifact_read"), 0);
}

#[test]
fn t12_a_result_without_artifacts_is_no_json_and_points_at_nothing() {
    // given: a step that may deliver anything, and whose node only says something
    let mut play = scripted(brief("Talk"), |role, _, _| match role {
        Role::TreePlanner => {
            let mut answer = plan(&[&["a"]]);
            answer["plan"]["bands"][0]["steps"][0]["deliverable"] = json!("either");
            Some(Ok(answer))
        }
        Role::TreeExecutor => Some(Ok(json!({ "result": { "summary": "All is well." } }))),
        _ => None,
    });
    // when
    play.go();
    // then
    check(&play);
    let envelope = &payloads(&play, "tree.node_result")[0]["result"];
    assert_eq!((&envelope["kind"], &envelope["artifactIds"]), (&json!("document"), &json!([])));
    assert_eq!(count(&play, "tree.parent_hint"), 0, "there is nothing to read");
    assert_eq!(payloads(&play, "tree.node_completed")[0].get("evidence"), None);
}

#[test]
fn t12_the_planners_reason_and_the_progress_of_its_children_are_in_the_status() {
    let mut play =
        scripted(brief("Why"), |role, _, _| (role == Role::TreePlanner).then(|| Ok(plan(&[&["a", "b"], &["c"]]))));
    play.go();
    check(&play);
    let of_root =
        play.events.iter().filter(|event| event.parent_node_id.is_none() && event.kind() == "tree.node_status");
    let statuses: Vec<Value> = of_root.map(|event| serde_json::from_str(&event.payload).expect("JSON")).collect();
    let found: Vec<_> =
        statuses.iter().map(|status| json!([status["status"], status["progress"], status["modeReason"]])).collect();
    assert_eq!(
        found,
        [
            json!(["planning", null, null]),
            json!(["delegating", null, "parts"]),
            json!(["waiting", 0.0, null]),
            json!(["delegating", 0.667, null]),
            json!(["waiting", 0.667, null]),
            json!(["aggregating", 1.0, null]),
        ]
    );
    let mut play = scripted(brief("Small"), |_, _, _| None);
    play.go();
    assert_eq!(payloads(&play, "tree.node_status")[1]["modeReason"], "small");
}

#[test]
fn t12_evidence_is_what_a_result_rests_on_and_the_shortfall_is_apart() {
    let mut play = scripted(brief("Short"), |role, _, _| {
        (role == Role::TreeExecutor).then(|| {
            let mut answer = done("paper");
            answer["artifacts"].as_array_mut().unwrap().push(json!({ "type": "json", "label": "rows", "json": {} }));
            answer["result"]["success_assessment"] = json!({ "met": false, "notes": "no sources" });
            Ok(answer)
        })
    });
    play.go();
    check(&play);
    let made = payloads(&play, "tree.artifact_created");
    let end = &payloads(&play, "tree.node_completed")[0];
    let (document, data) = (made[0]["documentId"].as_str().unwrap(), made[1]["artifactId"].as_str().unwrap());
    assert_eq!(end["evidence"], format!("doc:{document}, artifact:{data}"));
    assert_eq!((&end["outcome"], &end["shortfall"]), (&json!("partial"), &json!("no sources")));
    assert_eq!(state(&play).nodes[0].shortfall.as_deref(), Some("no sources"));
}

#[test]
fn t12_a_log_of_an_earlier_version_keeps_its_shortfall() {
    // given: the end of a node as earlier versions wrote it
    let mut play = scripted(brief("Old"), |_, _, _| None);
    play.go();
    let end = play.events.iter().position(|event| event.kind() == "tree.node_completed").expect("an end");
    let Event { run_id, seq, node_id, parent_node_id, at, actor, hash, .. } = play.events[end].clone();
    let payload = r#"{"outcome":"partial","evidence":"no sources"}"#.into();
    let kind = "tree.node_completed".into();
    let old = StoredEvent { run_id, seq, node_id, parent_node_id, kind, at, actor, hash, payload }.decode();
    assert!(!matches!(old.fact, Fact::Unrecognized(_)));
    // when
    let mut log = play.events[..end].to_vec();
    log.push(old);
    let run = Run::fold(&log).expect("a run");
    // then
    let Machine::Tree(state) = &run.machine else { panic!("a tree") };
    assert_eq!(state.nodes[0].shortfall.as_deref(), Some("no sources"));
}
