//! The tree rules, played without a store or a network.

mod play;

use engine::actor::Actor;
use engine::effect::{CallError, Job, Work};
use engine::facts::run::Queued;
use engine::ids::NodeId;
use engine::model::Role;
use engine::run::{Command, Kind, Machine, NodeOrder, Run, Status, StopReason};
use engine::tree::State;
use engine::tree::audit::audit;
use engine::tree::status::{NodeStatus, TRANSITIONS};
use play::{Play, own_text};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;

fn brief(objective: &str) -> Queued {
    Queued { kind: Kind::Tree, ..play::brief(objective) }
}

/// The node a request is for: the one line that is not JSON.
fn title(job: &Job) -> String {
    let text = own_text(job);
    let mut titles = text.lines().filter_map(|line| line.strip_prefix("Node: "));
    let title = titles.next().expect("a title").to_owned();
    assert_eq!(titles.next(), None, "the prefix stands once");
    title
}

fn pad(text: &str) -> Value {
    json!({ "append_markdown": text, "tail_preview": text })
}

fn execute() -> Value {
    json!({ "mode": "execute", "mode_reason": "small", "leaf_decision": "criteria_testable", "plan": null, "question": null, "scratchpad": pad("will do it") })
}

fn step(id: &str, leaf: bool) -> Value {
    json!({ "id": id, "title": format!("Step {id}"), "reason": "why not", "success_criteria": ["it is there"], "deliverable": "document", "leaf": leaf })
}

fn plan(bands: &[&[&str]]) -> Value {
    let bands: Vec<Value> = bands.iter().enumerate().map(|(index, steps)| json!({ "index": index, "goal": "g", "steps": steps.iter().map(|id| step(id, true)).collect::<Vec<_>>() })).collect();
    json!({ "mode": "plan", "mode_reason": "parts", "leaf_decision": null, "plan": { "summary": "in parts", "bands": bands }, "question": null, "scratchpad": pad("planned") })
}

fn document(label: &str, markdown: &str) -> Value {
    json!({ "type": "document", "label": label, "title": format!("About {label}"), "markdown": markdown, "json": null, "is_primary": true })
}

fn result(label: &str) -> Value {
    json!({ "kind": "document", "summary": format!("{label} is done"), "success_assessment": { "met": true, "notes": null },
        "primary_artifact_label": label, "parent_hint": { "hint_type": "read_documents", "artifact_labels": [label] } })
}

fn done(label: &str) -> Value {
    json!({ "tool_calls": [], "artifacts": [document(label, &format!("# {label}\n\nText of {label}."))], "result": result(label), "question": null, "scratchpad": pad("wrote it") })
}

fn summed(label: &str) -> Value {
    json!({ "synthesis": { "summary": format!("{label} together"), "key_findings": ["one"], "gaps": [] }, "artifacts": [document(label, "# All\n\nTogether.")],
        "result": result(label), "next": { "should_replan": false, "reason": null }, "scratchpad": pad("summed up") })
}

/// A model that plays its part unless `special` says otherwise.
fn scripted(brief: Queued, mut special: impl FnMut(Role, &str, &Job) -> Option<Result<Value, CallError>> + 'static) -> Play {
    Play::new(brief, move |role, job| {
        let title = title(job);
        special(role, &title, job).unwrap_or_else(|| {
            Ok(match role {
                Role::TreePlanner => execute(),
                Role::TreeExecutor => done("paper"),
                Role::TreeAggregator => summed("synthesis"),
                _ => panic!("not a role of the tree"),
            })
        })
    })
}

fn state(play: &Play) -> &State {
    let Machine::Tree(state) = &play.run.machine else { panic!("a tree") };
    state
}

fn by_title(play: &Play, title: &str) -> NodeId {
    state(play).nodes.iter().rev().find(|node| node.title == title).expect("a node of that title").id
}

fn status_of(play: &Play, title: &str) -> NodeStatus {
    state(play).node(by_title(play, title)).expect("the node").status
}

fn count(play: &Play, kind: &str) -> usize {
    play.kinds().iter().filter(|known| **known == kind).count()
}

fn payloads(play: &Play, kind: &str) -> Vec<Value> {
    play.events.iter().filter(|event| event.kind() == kind).map(|event| serde_json::from_str(&event.payload).expect("JSON")).collect()
}

/// Everything that must hold of any log, whatever happened.
fn check(play: &Play) {
    audit(&play.events).unwrap_or_else(|broken| panic!("{broken}\n{:#?}", play.kinds()));
    state(play).check_money().expect("money adds up");
    let folded = Run::fold(&play.events).expect("a fold");
    assert_eq!(engine::projection::rows(&folded, &play.events), engine::projection::rows(&play.run, &play.events), "T1: the fold is the state");
    let mut live: std::collections::BTreeMap<NodeId, engine::batch::NodeRow> = Default::default();
    let mut run = Run::fold(&play.events[..1]).expect("born");
    for batch in &play.batches {
        batch.events.iter().filter(|event| event.seq > 1).for_each(|event| run.apply(event));
        live.extend(engine::projection::rows(&run, &batch.events).nodes.into_iter().map(|row| (row.id, row)));
    }
    let rebuilt: std::collections::BTreeMap<_, _> = engine::projection::rows(&folded, &play.events).nodes.into_iter().map(|row| (row.id, row)).collect();
    assert_eq!(live, rebuilt, "T1: rows written batch by batch equal rows rebuilt at once");
    let root = &state(play).nodes[0].subtree;
    let metrics = &play.run.shared.metrics;
    assert_eq!((root.cost_usd, root.tokens_in, root.llm_calls, root.tool_calls), (metrics.cost_usd, metrics.tokens_in, metrics.llm_calls, metrics.tool_calls), "the root's subtree is the run");
}

fn node(play: &mut Play, title: &str, order: NodeOrder) {
    let node = by_title(play, title);
    let owner = Actor::Person(play.run.shared.brief.owner);
    play.run.command(Command::Node { node, order }, owner, play.now).expect("accepted");
    play.commit();
}

#[test]
fn t3_t6_three_executors_write_and_the_parent_reads_exactly_those_three_and_writes_a_synthesis() {
    let seen: Rc<RefCell<Vec<String>>> = Rc::default();
    let requests = seen.clone();
    let mut play = scripted(brief("Study three tools"), move |role, title, job| match role {
        Role::TreePlanner => Some(Ok(plan(&[&["a", "b", "c"]]))),
        Role::TreeExecutor => Some(Ok(done(&title.replace("Step ", "paper-")))),
        _ => {
            requests.borrow_mut().push(own_text(job));
            None
        }
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    let reads = payloads(&play, "tree.artifact_read");
    assert_eq!(reads.len(), 3);
    let root = &state(&play).nodes[0];
    let hinted: Vec<String> = payloads(&play, "tree.parent_hint").iter().map(|hint| hint["artifactIds"][0].as_str().unwrap().to_owned()).collect();
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
    let mut play = scripted(brief("Pads"), |role, title, _| (role == Role::TreePlanner && title == "Pads").then(|| Ok(plan(&[&["a"], &["b"]]))));
    play.go();
    check(&play);
    use engine::workspace::Mutation as M;
    let changes: Vec<&M> = play.batches.iter().flat_map(|batch| &batch.changes).map(|change| &change.mutation).collect();
    let pads: Vec<&Value> = changes.iter().filter_map(|change| match change {
        M::CreateDocument { type_key, props, .. } if type_key == "document.tree_agent.scratchpad" => Some(props),
        _ => None,
    }).collect();
    assert_eq!(pads.len(), 3);
    let root = &state(&play).nodes[0];
    assert!(pads.iter().all(|props| props["doc_role"] == "tree_agent_scratchpad" && props["tree_agent_run_id"] == json!(play.run.shared.id)));
    assert_eq!(pads[1]["parent_node_id"], json!(root.id));
    let links = changes.iter().filter(|change| matches!(change, M::Link { src, .. } if *src == root.pad.0)).count();
    assert_eq!(links, 3, "two child pads and the synthesis");
    let artifacts = changes.iter().filter(|change| matches!(change, M::CreateDocument { type_key, .. } if type_key == "document.tree_agent.artifact")).count();
    assert_eq!(artifacts, 3);
}

#[test]
fn t2_t8_bands_run_in_order_and_later_ones_see_the_results_and_failures_of_earlier_ones() {
    let mut play = scripted(brief("In order"), |role, title, job| match (role, title) {
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["a", "b"], &["c"]]))),
        (Role::TreeExecutor, "Step b") => Some(Ok(json!({ "tool_calls": [] }))),
        (Role::TreeExecutor, "Step c") => {
            let text = own_text(job);
            assert!(text.contains("## earlier_results\n") && text.contains("paper is done") && text.contains("did not fit the schema"));
            None
        }
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    assert_eq!(status_of(&play, "Step b"), NodeStatus::Failed);
    let report = play.run.shared.report.clone().expect("a report");
    assert!(report["not_done"][0].as_str().unwrap().starts_with("Step b: its answers did not fit"));
    assert_eq!(payloads(&play, "tree.node_completed").last().unwrap()["outcome"], "partial");
    assert_eq!(payloads(&play, "tree.node_failed")[0]["retryable"], true);
}

#[test]
fn t2_the_steps_of_a_band_overlap_in_time_within_max_parallel() {
    let mut wide = brief("Side by side");
    wide.budgets.max_parallel = 3;
    let mut play = scripted(wide, |role, _, _| (role == Role::TreePlanner).then(|| Ok(plan(&[&["a", "b", "c", "d"]]))));
    play.run.take_over(None, play.now);
    let plan_call = play.run.due(play.now).outside[0].clone();
    let job = play.run.intend(&plan_call, play.now).expect("the plan");
    let reply = engine::effect::ModelReply { text: plan(&[&["a", "b", "c", "d"]]).to_string(), usage: Default::default(), truncated: false, provider_request_id: None };
    play.run.outcome(&plan_call, job.attempt, engine::effect::Outcome::Model(Ok(reply)), None, play.now);
    let due = play.run.due(play.now).outside;
    assert_eq!(due.iter().map(|effect| effect.0.as_str()).collect::<Vec<_>>(), ["n1.g1.x.r1", "n2.g1.x.r1", "n3.g1.x.r1"]);
    for effect in &due {
        play.run.intend(effect, play.now).expect("goes out");
    }
    assert!(play.run.due(play.now).outside.is_empty(), "max_parallel holds across the whole run");
}

#[test]
fn t7_a_model_that_always_plans_ends_within_every_guard() {
    for (guard, set) in [
        ("max_depth", (|brief: &mut Queued| brief.budgets.max_depth = 2) as fn(&mut Queued)),
        ("max_nodes", |brief| brief.budgets.max_nodes = 6),
        ("max_tokens", |brief| brief.budgets.max_tokens = Some(60_000)),
    ] {
        let mut brief = brief("For ever");
        brief.budgets.max_cost_usd = None;
        set(&mut brief);
        let mut play = scripted(brief, |role, title, _| {
            (role == Role::TreePlanner).then(|| {
                let mut answer = plan(&[&["a", "b"]]);
                for step in answer["plan"]["bands"][0]["steps"].as_array_mut().unwrap() {
                    step["leaf"] = json!(false);
                    step["title"] = json!(format!("{title}/{}", step["id"].as_str().unwrap()));
                }
                Ok(answer)
            })
        });
        play.go();
        check(&play);
        assert!(play.run.shared.status().is_terminal(), "{guard}");
        let guards = payloads(&play, "tree.guard");
        assert!(guards.iter().any(|fired| fired["guard"] == guard), "{guard}: {guards:?}");
        let said = payloads(&play, "tree.node_status").iter().any(|status| status["message"] == format!("guard:{guard}") && status["status"] == "executing");
        assert!(said || play.run.shared.stop_reason == Some(StopReason::BudgetTokens), "{guard} forced a leaf and said so");
        if guard == "max_depth" {
            assert!(state(&play).nodes.iter().filter(|node| node.depth == 2).all(|node| !play.events.iter().any(|event| event.node_id == Some(node.id) && event.kind() == "effect.started" && event.payload.contains("tree_planner"))), "no planner call at max_depth");
        }
    }
}

#[test]
fn t7_a_plan_over_the_limits_gets_one_repair_that_states_them_and_then_the_node_does_the_work_itself() {
    let steps: Vec<String> = (0..10_000).map(|index| format!("s{index}")).collect();
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let huge = plan(&[&steps]);
    let mut play = scripted(brief("Too much"), move |role, _, job| {
        let Work::Model(call) = &job.work else { panic!("a model call") };
        if job.effect.0 == "n0.g1.plan.fix" {
            assert_eq!(call.request.messages.len(), 4);
            assert!(own_text(job).contains("max_steps_per_band 4"));
        }
        (role == Role::TreePlanner).then(|| Ok(huge.clone()))
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    assert_eq!(count(&play, "tree.answer_rejected"), 1);
    assert_eq!(payloads(&play, "tree.guard"), [json!({ "guard": "max_steps_per_band", "limit": 4 })]);
    assert_eq!(state(&play).nodes.len(), 1, "a plan is never truncated");
    assert_eq!(count(&play, "tree.plan_created"), 0);
}

#[test]
fn t5_b14_malformed_answers_and_foreign_ids_are_repaired_once_and_then_fail_the_node_with_the_reason() {
    let foreign = "00000000-0000-7000-8000-000000000000";
    let mut twice = plan(&[&["a", "a"]]);
    twice["scratchpad"] = Value::Null;
    let cases: Vec<(&str, Value, &str)> = vec![
        ("planner", twice, "used twice"),
        ("planner", plan(&[&[]]), "has no steps"),
        ("planner", plan(&[]), "no bands"),
        ("planner", json!({ "mode": "plan" }), "no plan"),
        ("planner", json!("words"), "no JSON object"),
        ("executor", json!({ "tool_calls": [], "artifacts": [] }), "neither tool_calls nor result"),
        ("executor", json!({ "result": { "summary": "x", "primary_artifact_label": foreign } }), "not an artifact of this node"),
        ("executor", json!({ "result": { "summary": "x", "parent_hint": { "hint_type": "read_documents", "artifact_labels": ["someone else's"] } } }), "not an artifact of this node"),
        ("executor", json!({ "result": { "summary": " " } }), "summary is empty"),
        ("executor", json!({ "artifacts": [{ "type": "sculpture", "label": "x" }], "result": { "summary": "x" } }), "sculpture"),
    ];
    for (who, bad, why) in cases {
        let (is_planner, bad) = (who == "planner", bad.clone());
        let mut play = scripted(brief("Hostile"), move |role, _, _| ((role == Role::TreePlanner) == is_planner).then(|| Ok(bad.clone())));
        play.go();
        check(&play);
        assert_eq!(play.run.shared.stop_reason, Some(StopReason::Error), "{why}");
        assert_eq!(count(&play, "tree.answer_rejected"), 2);
        let failed = &payloads(&play, "tree.node_failed")[0];
        assert!(failed["error"].as_str().unwrap().contains(why), "{failed} lacks {why}");
        assert_eq!(failed["retryable"], true);
    }
}

#[test]
fn t8_when_every_step_fails_the_later_bands_are_skipped_and_the_run_fails_whatever_the_model_claims() {
    let mut play = scripted(brief("All fail"), |role, title, _| match (role, title) {
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["a", "b"], &["c"]]))),
        (Role::TreeExecutor, _) => Some(Ok(json!({}))),
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Failed);
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::Error));
    assert!(play.run.shared.stop_detail.as_ref().unwrap().contains("all 2 steps failed"));
    assert!(payloads(&play, "tree.step_status").contains(&json!({ "stepId": "c", "status": "skipped" })));
    assert_eq!(count(&play, "tree.node_aggregated"), 1);
}

#[test]
fn t8_t9_a_replan_is_versioned_keeps_what_is_finished_and_happens_at_most_max_replans_times() {
    let mut plans = 0;
    let mut play = scripted(brief("Again"), move |role, title, job| match (role, title) {
        (Role::TreePlanner, _) => {
            plans += 1;
            if plans == 2 {
                let text = own_text(job);
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
    assert_eq!(payloads(&play, "tree.plan_created").iter().map(|plan| plan["version"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(state(&play).nodes.len(), 4, "a is not done again");
    assert!(payloads(&play, "tree.step_status").contains(&json!({ "stepId": "b", "status": "superseded" })));
    assert_eq!(count(&play, "tree.replan_requested"), 1);
    assert!(payloads(&play, "tree.guard").contains(&json!({ "guard": "max_replans", "limit": 1 })));
    let aggregated = payloads(&play, "tree.node_aggregated");
    assert_eq!(aggregated[1]["childIds"], json!([state(&play).nodes[1].id, state(&play).nodes[3].id]));
    assert_eq!(payloads(&play, "tree.node_completed").last().unwrap()["outcome"], "success", "every step of the plan in force succeeded");
}

#[test]
fn t9_executors_see_their_tool_results_and_documents_made_by_tools_reach_the_parent() {
    let seen: Rc<RefCell<Vec<String>>> = Rc::default();
    let requests = seen.clone();
    let mut play = scripted(brief("Tools"), move |role, _, job| match role {
        Role::TreePlanner => Some(Ok(plan(&[&["a"]]))),
        Role::TreeExecutor if job.effect.0.ends_with("r1") => Some(Ok(json!({ "tool_calls": [
            { "tool": "search_documents", "arguments": { "query": "x" }, "purpose": "look" },
            { "tool": "create_document", "arguments": { "title": "Found", "content": "what was found" }, "purpose": "write" },
            { "tool": "no_such", "arguments": {}, "purpose": "err" }] }))),
        Role::TreeExecutor => {
            let text = own_text(job);
            assert!(text.contains("## tool_results\n") && text.contains("\"label\":\"Found\""));
            Some(Ok(json!({ "result": result("Found") })))
        }
        _ => {
            requests.borrow_mut().push(own_text(job));
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
    let mut play = scripted(brief("Data"), move |role, _, job| match role {
        Role::TreePlanner => Some(Ok(plan(&[&["a"]]))),
        Role::TreeExecutor => Some(Ok(json!({
            "artifacts": [{ "type": "json", "label": "figures", "json": { "answer": 42 } }, { "type": "json", "label": "big", "json": { "list": vec!["x".repeat(90); 90] } }],
            "result": { "kind": "json", "summary": "figures", "parent_hint": { "hint_type": "read_json", "artifact_labels": ["figures", "big"] } } }))),
        _ => {
            requests.borrow_mut().push(own_text(job));
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
fn b9_a_question_parks_its_branch_only_and_the_run_waits_when_nothing_else_can_move() {
    let mut asked = 0;
    let mut play = scripted(brief("Ask"), move |role, title, job| match (role, title) {
        (Role::TreePlanner, "Ask") => Some(Ok(plan(&[&["a", "b"]]))),
        (Role::TreeExecutor, "Step a") => {
            asked += 1;
            if asked == 1 {
                return Some(Ok(json!({ "question": { "text": "Which colour?", "options": ["red", "blue"], "default": null }, "scratchpad": pad("asking") })));
            }
            assert!(own_text(job).contains("\"answer\":\"blue\""));
            assert_eq!(job.effect.0, "n1.g1.x.r2");
            None
        }
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::WaitingOnUser);
    assert_eq!(status_of(&play, "Step a"), NodeStatus::Blocked);
    assert_eq!(status_of(&play, "Step b"), NodeStatus::Completed, "the other branch went on");
    let question = play.events.iter().find(|event| event.kind() == "run.question_asked").expect("asked");
    assert_eq!(question.node_id, Some(by_title(&play, "Step a")));
    play.now = play.now.plus_ms(86_400_000);
    let before = play.run.shared.metrics.clone();
    play.run.command(Command::Answer { question: None, text: "blue".into() }, Actor::Platform, play.now).expect("taken");
    play.commit();
    assert_eq!(play.run.shared.metrics, before, "waiting burns nothing");
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
}

#[test]
fn b9_a_question_with_a_default_is_answered_by_it_when_its_deadline_passes() {
    let mut asked = false;
    let mut play = scripted(brief("Default"), move |role, _, job| {
        if role == Role::TreePlanner && !std::mem::replace(&mut asked, true) {
            return Some(Ok(json!({ "mode": "plan", "question": { "text": "Deep or wide?", "default": "deep" } })));
        }
        assert!(role != Role::TreePlanner || own_text(job).contains("\"answer\":\"deep\"") && job.effect.0 == "n0.g1.plan.q2");
        None
    });
    play.go();
    assert_eq!(play.run.shared.status(), Status::WaitingOnUser);
    play.now = play.now.plus_ms(25 * 3_600_000);
    play.run.tick(play.now);
    play.commit();
    play.go();
    check(&play);
    assert_eq!(count(&play, "run.question_expired"), 1);
    assert_eq!(play.run.shared.status(), Status::Completed);
}

#[test]
fn b1_a_canceled_subtree_keeps_its_disposition_refuses_late_results_and_settles_their_money() {
    let mut play = scripted(brief("Cancel"), |role, title, _| (role == Role::TreePlanner && title == "Cancel").then(|| Ok(plan(&[&["a", "b"], &["c"]]))));
    play.run.take_over(None, play.now);
    let effect = play.run.due(play.now).outside[0].clone();
    let job = play.run.intend(&effect, play.now).unwrap();
    let reply = |text: String| engine::effect::Outcome::Model(Ok(engine::effect::ModelReply { text, usage: engine::effect::Usage { input: 500, cached: 0, output: 50, estimated: false }, truncated: false, provider_request_id: None }));
    play.run.outcome(&effect, job.attempt, reply(plan(&[&["a", "b"], &["c"]]).to_string()), None, play.now);
    let due = play.run.due(play.now).outside;
    let (first, second) = (due[0].clone(), due[1].clone());
    let job = play.run.intend(&first, play.now).unwrap();
    play.commit();
    node(&mut play, "Step a", NodeOrder::Cancel);
    assert_eq!(payloads(&play, "tree.node_canceled"), [json!({ "disposition": "in_flight_unknown" })]);
    let spent = play.run.shared.ledger.spent.tokens;
    play.run.outcome(&first, job.attempt, reply(done("late").to_string()), None, play.now);
    play.commit();
    assert_eq!(play.run.shared.ledger.spent.tokens, spent + 550, "the late answer is paid for");
    assert_eq!(status_of(&play, "Step a"), NodeStatus::Canceled);
    assert_eq!(count(&play, "tree.node_result"), 0, "and refused as a result");
    assert_eq!(play.run.due(play.now).outside, [second], "its sibling goes on");
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    let report = play.run.shared.report.clone().unwrap();
    assert_eq!(report["not_done"], json!(["Step a: canceled by a person"]));
    assert_eq!(payloads(&play, "tree.node_completed").last().unwrap()["outcome"], "partial", "to the parent it is a failed step");
}

#[test]
fn b1_canceling_the_run_cancels_every_node_and_nothing_follows() {
    let mut play = scripted(brief("Cancel all"), |role, title, _| (role == Role::TreePlanner && title == "Cancel all").then(|| Ok(plan(&[&["a", "b"], &["c"]]))));
    play.run.take_over(None, play.now);
    let effect = play.run.due(play.now).outside[0].clone();
    play.run.intend(&effect, play.now).unwrap();
    play.commit();
    node(&mut play, "Cancel all", NodeOrder::Cancel);
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Canceled);
    assert_eq!(play.kinds().last(), Some(&"run.canceled"));
    assert_eq!(play.run.shared.ledger.open, 0);
}

#[test]
fn b1_retry_makes_a_new_node_reopens_every_ancestor_and_keeps_finished_siblings() {
    let mut failures = 0;
    let mut play = scripted(brief("Retry"), move |role, title, _| match (role, title) {
        (Role::TreePlanner, "Retry") => {
            let mut answer = plan(&[&["a", "b"]]);
            answer["plan"]["bands"][0]["steps"][0]["leaf"] = json!(false);
            Some(Ok(answer))
        }
        (Role::TreePlanner, "Step a") => Some(Ok(plan(&[&["deep", "fine"]]))),
        (Role::TreeExecutor, "Step deep") if failures < 2 => {
            failures += 1;
            Some(Ok(json!({})))
        }
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    let (old, nodes) = (by_title(&play, "Step deep"), state(&play).nodes.len());
    node(&mut play, "Step deep", NodeOrder::Retry);
    assert_eq!(play.run.shared.status(), Status::Running);
    assert_eq!(payloads(&play, "run.resumed"), [json!({ "reason": "retry" })]);
    assert_eq!(payloads(&play, "tree.node_reopened").len(), 2);
    let new = by_title(&play, "Step deep");
    assert_ne!(old, new);
    assert_eq!(state(&play).node(new).unwrap().retry_of, Some(old));
    assert_eq!(state(&play).node(old).unwrap().status, NodeStatus::Failed, "the old one stays as it ended");
    assert_eq!(status_of(&play, "Step a"), NodeStatus::Waiting);
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    assert_eq!(state(&play).nodes.len(), nodes + 1, "siblings are kept");
    assert_eq!(count(&play, "tree.node_aggregated"), 4, "both ancestors aggregate again");
    assert_eq!(play.run.shared.report.clone().unwrap()["not_done"], json!([]));
    assert!(play.kinds().iter().rev().take(2).any(|kind| *kind == "run.completed"));
    let refused = play.run.command(Command::Node { node: old, order: NodeOrder::Retry }, Actor::Platform, play.now).unwrap_err();
    assert_eq!(refused.slug, "not_current");
}

#[test]
fn b1_a_paused_subtree_starts_nothing_and_goes_on_where_it_was() {
    let mut play = scripted(brief("Pause"), |role, title, _| (role == Role::TreePlanner && title == "Pause").then(|| Ok(plan(&[&["a", "b"]]))));
    play.run.take_over(None, play.now);
    let effect = play.run.due(play.now).outside[0].clone();
    let job = play.run.intend(&effect, play.now).unwrap();
    let reply = engine::effect::ModelReply { text: plan(&[&["a", "b"]]).to_string(), usage: Default::default(), truncated: false, provider_request_id: None };
    play.run.outcome(&effect, job.attempt, engine::effect::Outcome::Model(Ok(reply)), None, play.now);
    play.commit();
    node(&mut play, "Step a", NodeOrder::Pause);
    play.go();
    assert_eq!((status_of(&play, "Step a"), status_of(&play, "Step b")), (NodeStatus::Executing, NodeStatus::Completed));
    assert_eq!(play.run.shared.status(), Status::Running);
    node(&mut play, "Step a", NodeOrder::Resume);
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
}

#[test]
fn b8_a_message_to_a_node_is_shown_to_it_and_those_below_with_a_receipt() {
    let mut play = scripted(brief("Steer"), |role, title, job| {
        let text = own_text(job);
        assert_eq!(text.contains("Mind the gap"), title == "Step a", "{title}");
        (role == Role::TreePlanner && title == "Steer").then(|| Ok(plan(&[&["a", "b"]])))
    });
    play.run.take_over(None, play.now);
    let effect = play.run.due(play.now).outside[0].clone();
    let job = play.run.intend(&effect, play.now).unwrap();
    let reply = engine::effect::ModelReply { text: plan(&[&["a", "b"]]).to_string(), usage: Default::default(), truncated: false, provider_request_id: None };
    play.run.outcome(&effect, job.attempt, engine::effect::Outcome::Model(Ok(reply)), None, play.now);
    let a = by_title(&play, "Step a");
    play.run.command(Command::Say { text: "Mind the gap".into(), node: Some(a), lane: engine::run::Lane::Steer }, Actor::Platform, play.now).expect("queued");
    play.commit();
    play.go();
    check(&play);
    let delivered = play.events.iter().find(|event| event.kind() == "run.message_delivered").expect("a receipt");
    assert_eq!(delivered.node_id, Some(a));
}

#[test]
fn b2_a_budget_that_ends_yields_a_partial_result_paid_from_the_reserve_and_continue_takes_it_up() {
    let mut small = brief("Little money");
    small.budgets.max_cost_usd = None;
    small.budgets.max_tokens = Some(60_000);
    let mut play = scripted(small, |role, title, _| (role == Role::TreePlanner && title == "Little money").then(|| Ok(plan(&[&["a", "b"], &["c", "d"], &["e"]]))));
    let expensive = engine::effect::Usage { input: 9_000, cached: 0, output: 1_000, estimated: false };
    play.usage = expensive;
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Stopped, "{:?}", play.run.shared.stop_detail);
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::BudgetTokens));
    assert!(play.run.shared.ledger.spent.tokens <= 60_000);
    let root = &state(&play).nodes[0];
    assert_eq!(root.status, NodeStatus::Completed);
    let report = play.run.shared.report.clone().unwrap();
    assert!(!report["not_done"].as_array().unwrap().is_empty());
    assert!(!report["result"]["documentIds"].as_array().unwrap().is_empty());
    let raised = engine::budget::BudgetPatch { max_tokens: Some(400_000), ..Default::default() };
    play.run.command(Command::Continue { budgets: raised, message: None }, Actor::Platform, play.now).expect("goes on");
    play.commit();
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
}

#[test]
fn a_crash_at_any_point_changes_nothing_in_the_end_but_attempts() {
    let make = || scripted(brief("Crash"), |role, title, _| (role == Role::TreePlanner && title == "Crash").then(|| Ok(plan(&[&["a", "b"], &["c"]]))));
    let mut whole = make();
    whole.go();
    for cut in 1..whole.events.len() {
        let mut play = make();
        play.resume_from(&whole.events[..cut]);
        play.go();
        check(&play);
        assert_eq!(play.run.shared.status(), Status::Completed, "cut at {cut}");
        assert_eq!(state(&play).nodes.len(), 4, "cut at {cut}");
        assert_eq!(count(&play, "tree.artifact_created"), 4, "cut at {cut}");
    }
}

#[test]
fn t9_the_published_transition_table_is_the_one_in_force() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tree-transitions.md")).expect("the page");
    let rows: Vec<(String, Vec<String>)> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .map(|line| {
            let (from, to) = line.split_once("` | ").expect("two columns");
            let to = to.trim_end_matches(" |").split(", ").filter(|word| word.starts_with('`')).map(|word| word.trim_matches('`').to_owned()).collect();
            (from.to_owned(), to)
        })
        .collect();
    let code: Vec<(String, Vec<String>)> = TRANSITIONS.iter().map(|(from, to)| (from.name().to_owned(), to.iter().map(|to| to.name().to_owned()).collect())).collect();
    assert_eq!(rows, code);
}

#[test]
fn t6_the_aggregator_request_is_golden() {
    let seen: Rc<RefCell<String>> = Rc::default();
    let request = seen.clone();
    let mut play = scripted(brief("Compare backup tools and recommend one"), move |role, title, job| match (role, title) {
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["a", "b"], &["c"]]))),
        (Role::TreeExecutor, "Step b") => Some(Ok(json!({}))),
        (Role::TreeExecutor, _) => Some(Ok(done(&title.replace("Step ", "paper-")))),
        _ => {
            *request.borrow_mut() = own_text(job);
            None
        }
    });
    play.run.command(Command::Say { text: "Prefer open source".into(), node: None, lane: engine::run::Lane::Queue }, Actor::Platform, play.now).expect("queued");
    play.go();
    check(&play);
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/aggregator_request.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(golden, &*seen.borrow()).expect("written");
    }
    assert_eq!(std::fs::read_to_string(golden).unwrap_or_default(), *seen.borrow(), "run with BLESS=1 after reading the difference");
}
