//! Bands, results, replans and tools of a tree without faults.

use crate::*;
use engine::run::Status;
use engine::tree::status::TRANSITIONS;
use std::cell::RefCell;
use std::rc::Rc;

#[test]
fn t3_t6_three_executors_write_and_the_parent_reads_exactly_those_three_and_writes_a_synthesis() {
    let seen: Rc<RefCell<Vec<String>>> = Rc::default();
    let requests = seen.clone();
    let mut play = scripted(brief("Study three tools"), move |role, title, attempt| match role {
        Role::TreePlanner => Some(Ok(plan(&[&["a", "b", "c"]]))),
        Role::TreeExecutor => Some(Ok(done(&title.replace("Step ", "paper-")))),
        _ => {
            requests.borrow_mut().push(own_text(attempt));
            None
        }
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    let reads = payloads(&play, "tree.artifact_read");
    assert_eq!(reads.len(), 3);
    let root = &state(&play).nodes[0];
    let hinted: Vec<String> = payloads(&play, "tree.parent_hint")
        .iter()
        .map(|hint| hint["artifactIds"][0].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(reads.iter().map(|read| read["artifactId"].as_str().unwrap().to_owned()).collect::<Vec<_>>(), hinted);
    assert!(reads.iter().all(|read| read["byNodeId"] == json!(root.id)));
    let primary = root.artifacts.iter().find(|artifact| artifact.is_primary).expect("a primary artifact");
    assert_eq!(primary.label, "synthesis");
    assert!(primary.document.is_some());
    let request = seen.borrow()[0].clone();
    assert_eq!(request.matches("<stored>").count(), 3, "three documents by reference");
    assert!(play.blobs.values().any(|blob| blob.contains("Text of paper-b.")));
    let report = play.run.shared.report.clone().expect("a report");
    assert_eq!(report["result"]["documentIds"].as_array().map(Vec::len), Some(1));
    assert_eq!(report["not_done"], json!([]));
    let entries = engine::projection::rows(&play.run, &play.events).entries;
    assert_eq!(entries.len(), 5, "one entry per answer: planner, three executors, aggregator");
}

#[test]
fn t4_every_node_has_a_scratchpad_document_linked_along_the_tree_before_it_executes() {
    let mut play = scripted(brief("Pads"), |role, title, _| {
        (role == Role::TreePlanner && title == "Pads").then(|| Ok(plan(&[&["a"], &["b"]])))
    });
    play.go();
    check(&play);
    use engine::workspace::Mutation as M;
    let changes: Vec<&M> =
        play.batches.iter().flat_map(|batch| &batch.changes).map(|change| &change.mutation).collect();
    let pads: Vec<&Value> = changes
        .iter()
        .filter_map(|change| match change {
            M::CreateDocument { type_key, props, .. } if type_key == "document.tree_agent.scratchpad" => Some(props),
            _ => None,
        })
        .collect();
    assert_eq!(pads.len(), 3);
    let root = &state(&play).nodes[0];
    assert!(
        pads.iter().all(|props| props["doc_role"] == "tree_agent_scratchpad"
            && props["tree_agent_run_id"] == json!(play.run.shared.id))
    );
    assert_eq!(pads[1]["parent_node_id"], json!(root.id));
    let links =
        changes.iter().filter(|change| matches!(change, M::Link { src, .. } if *src == root.scratchpad.0)).count();
    assert_eq!(links, 3, "two child pads and the synthesis");
    let artifacts = changes
        .iter()
        .filter(
            |change| matches!(change, M::CreateDocument { type_key, .. } if type_key == "document.tree_agent.artifact"),
        )
        .count();
    assert_eq!(artifacts, 3);
}

#[test]
fn t2_t8_bands_run_in_order_and_later_ones_see_the_results_and_failures_of_earlier_ones() {
    let mut play = scripted(brief("In order"), |role, title, attempt| match (role, title) {
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["a", "b"], &["c"]]))),
        (Role::TreeExecutor, "Step b") => Some(Ok(json!({ "tool_calls": [] }))),
        (Role::TreeExecutor, "Step c") => {
            let text = own_text(attempt);
            assert!(
                text.contains("## earlier_results\n")
                    && text.contains("paper is done")
                    && text.contains("did not fit the schema")
            );
            None
        }
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    assert_eq!(status_of(&play, "Step b"), NodeStatus::Failed);
    let report = play.run.shared.report.clone().expect("a report");
    assert!(report["not_done"][0].as_str().unwrap().starts_with("Step b: the model's answers could not be used"));
    assert_eq!(payloads(&play, "tree.node_completed").last().unwrap()["outcome"], "partial");
    assert_eq!(payloads(&play, "tree.node_failed")[0]["retryable"], true);
}

#[test]
fn t2_the_steps_of_a_band_overlap_in_time_within_max_parallel() {
    let mut wide = brief("Side by side");
    wide.budgets.max_parallel = 3;
    let mut play = scripted(wide, |role, _, _| (role == Role::TreePlanner).then(|| Ok(plan(&[&["a", "b", "c", "d"]]))));
    play.run.take_over(None, play.now);
    let plan_call = play.run.due(play.now).external[0].clone();
    let attempt = play.run.intend(&plan_call, play.now).expect("the plan");
    let reply = engine::effect::ModelReply {
        text: plan(&[&["a", "b", "c", "d"]]).to_string(),
        usage: Default::default(),
        truncated: false,
        provider_request_id: None,
    };
    play.run.outcome(&plan_call, attempt.number, engine::effect::Outcome::Model(Ok(reply)), None, play.now);
    let due = play.run.due(play.now).external;
    assert_eq!(
        due.iter().map(|effect| effect.0.split_once('.').expect("a tag").1).collect::<Vec<_>>(),
        ["n1.g1.x.r1", "n2.g1.x.r1", "n3.g1.x.r1"]
    );
    for effect in &due {
        play.run.intend(effect, play.now).expect("goes out");
    }
    assert!(play.run.due(play.now).external.is_empty(), "max_parallel holds across the whole run");
}

#[test]
fn t8_t9_a_replan_is_versioned_keeps_what_is_finished_and_happens_at_most_max_replans_times() {
    let mut plans = 0;
    let mut play = scripted(brief("Again"), move |role, title, attempt| match (role, title) {
        (Role::TreePlanner, _) => {
            plans += 1;
            if plans == 2 {
                let text = own_text(attempt);
                assert!(text.contains("## replan_reason\n\"b is missing\"") && text.contains("paper is done"));
            }
            Some(Ok(if plans == 1 { plan(&[&["a", "b"]]) } else { plan(&[&["a", "b2"]]) }))
        }
        (Role::TreeExecutor, "Step b") => Some(Ok(json!({}))),
        (Role::TreeAggregator, _) => {
            let mut answer = summed("synthesis");
            answer["next"] = json!({ "should_replan": true, "reason": "b is missing" });
            Some(Ok(answer))
        }
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    assert_eq!(
        payloads(&play, "tree.plan_created").iter().map(|plan| plan["version"].as_u64().unwrap()).collect::<Vec<_>>(),
        [1, 2]
    );
    assert_eq!(state(&play).nodes.len(), 4, "a is not done again");
    assert!(payloads(&play, "tree.step_status").contains(&json!({ "stepId": "b", "status": "superseded" })));
    assert_eq!(count(&play, "tree.replan_requested"), 1);
    assert!(payloads(&play, "tree.guard").contains(&json!({ "guard": "max_replans", "limit": 1 })));
    let aggregated = payloads(&play, "tree.node_aggregated");
    assert_eq!(aggregated[1]["childIds"], json!([state(&play).nodes[1].id, state(&play).nodes[3].id]));
    assert_eq!(
        payloads(&play, "tree.node_completed").last().unwrap()["outcome"],
        "success",
        "every step of the plan in force succeeded"
    );
}

#[test]
fn t9_executors_see_their_tool_results_and_documents_made_by_tools_reach_the_parent() {
    let seen: Rc<RefCell<Vec<String>>> = Rc::default();
    let requests = seen.clone();
    let mut play = scripted(brief("Tools"), move |role, _, attempt| match role {
        Role::TreePlanner => Some(Ok(plan(&[&["a"]]))),
        Role::TreeExecutor if attempt.effect.0.ends_with("r1") => Some(Ok(json!({ "tool_calls": [
            { "tool": "search_documents", "arguments": { "query": "x" }, "purpose": "look" },
            { "tool": "create_document", "arguments": { "title": "Found", "content": "what was found" }, "purpose": "write" },
            { "tool": "no_such", "arguments": {}, "purpose": "err" }] }))),
        Role::TreeExecutor => {
            let text = own_text(attempt);
            assert!(text.contains("## tool_results\n") && text.contains("\"label\":\"Found\""));
            Some(Ok(json!({ "result": result("Found") })))
        }
        _ => {
            requests.borrow_mut().push(own_text(attempt));
            None
        }
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    assert_eq!(count(&play, "tree.tool_call_result"), 3);
    assert!(play.blobs.values().any(|blob| blob == "\"what was found\""), "the content travels by reference");
    assert!(seen.borrow()[0].contains("\"label\":\"Found\""));
    assert_eq!(state(&play).nodes[1].own.tool_calls, 3);
}

#[test]
fn t5_json_payloads_reach_the_parent_small_ones_in_the_envelope() {
    let seen: Rc<RefCell<Vec<String>>> = Rc::default();
    let requests = seen.clone();
    let mut play = scripted(brief("Data"), move |role, _, attempt| match role {
        Role::TreePlanner => Some(Ok(plan(&[&["a"]]))),
        Role::TreeExecutor => Some(Ok(json!({
            "artifacts": [{ "type": "json", "label": "figures", "json": { "answer": 42 } }, { "type": "json", "label": "big", "json": { "list": vec!["x".repeat(90); 90] } }],
            "result": { "kind": "json", "summary": "figures", "parent_hint": { "hint_type": "read_json", "artifact_labels": ["figures", "big"] } } }))),
        _ => {
            requests.borrow_mut().push(own_text(attempt));
            None
        }
    });
    play.go();
    check(&play);
    let envelope = &payloads(&play, "tree.node_result")[0]["result"];
    assert_eq!(envelope["kind"], "json");
    assert_eq!(envelope["jsonPayload"], json!({ "answer": 42 }));
    assert_eq!(envelope["artifactIds"].as_array().map(Vec::len), Some(2));
    assert_eq!(payloads(&play, "tree.artifact_read").len(), 2);
    assert!(seen.borrow()[0].contains("## artifacts_read\n"));
}

#[test]
fn t9_the_published_transition_table_is_the_one_in_force() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tree-transitions.md"))
        .expect("the page");
    let rows: Vec<(String, Vec<String>)> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .map(|line| {
            let (from, to) = line.split_once("` | ").expect("two columns");
            let to = to
                .trim_end_matches(" |")
                .split(", ")
                .filter(|word| word.starts_with('`'))
                .map(|word| word.trim_matches('`').to_owned())
                .collect();
            (from.to_owned(), to)
        })
        .collect();
    let code: Vec<(String, Vec<String>)> = TRANSITIONS
        .iter()
        .map(|(from, to)| (from.name().to_owned(), to.iter().map(|to| to.name().to_owned()).collect()))
        .collect();
    assert_eq!(rows, code);
}

#[test]
fn t6_the_aggregator_request_is_golden() {
    let seen: Rc<RefCell<String>> = Rc::default();
    let request = seen.clone();
    let mut play =
        scripted(brief("Compare backup tools and recommend one"), move |role, title, attempt| match (role, title) {
            (Role::TreePlanner, _) => Some(Ok(plan(&[&["a", "b"], &["c"]]))),
            (Role::TreeExecutor, "Step b") => Some(Ok(json!({}))),
            (Role::TreeExecutor, _) => Some(Ok(done(&title.replace("Step ", "paper-")))),
            _ => {
                *request.borrow_mut() = own_text(attempt);
                None
            }
        });
    play.run
        .command(
            Command::Say { text: "Prefer open source".into(), node: None, lane: engine::run::Lane::Queue },
            Actor::Platform,
            play.now,
        )
        .expect("queued");
    play.go();
    check(&play);
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/aggregator_request.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(golden, &*seen.borrow()).expect("written");
    }
    assert_eq!(
        std::fs::read_to_string(golden).unwrap_or_default(),
        *seen.borrow(),
        "run with BLESS=1 after reading the difference"
    );
}
