//! A node ends as what it did: it is held to what its step asked for, and canceled is canceled.

use crate::*;
use engine::run::Status;

/// A plan of one step that plans itself, and owes this.
fn owes(deliverable: &str) -> Value {
    let mut answer = plan(&[&["a"]]);
    answer["plan"]["bands"][0]["steps"][0]["leaf"] = json!(false);
    answer["plan"]["bands"][0]["steps"][0]["deliverable"] = json!(deliverable);
    answer
}

fn with_data(mut answer: Value) -> Value {
    let data = json!({ "type": "json", "label": "rows", "json": { "rows": 2 } });
    answer["artifacts"].as_array_mut().expect("artifacts").push(data);
    answer
}

#[test]
fn t3_a_planning_node_is_held_to_its_deliverable_as_a_leaf_is() {
    for (given_when_asked_again, outcome) in [(true, "success"), (false, "partial")] {
        // given: a step that owes JSON, whose node plans and sums up in a document alone
        let mut play = scripted(brief("Owes"), move |role, title, attempt| match (role, title) {
            (Role::TreePlanner, "Owes") => Some(Ok(owes("json"))),
            (Role::TreePlanner, _) => Some(Ok(plan(&[&["x"]]))),
            (Role::TreeAggregator, "Step a") if given_when_asked_again && attempt.effect.0.ends_with(".agg.fix") => {
                Some(Ok(with_data(summed("synthesis"))))
            }
            _ => None,
        });
        // when
        play.go();
        // then: it is asked once more, and what is still missing makes it partial
        check(&play);
        let rejected = payloads(&play, "tree.answer_rejected");
        assert_eq!(rejected.len(), 1, "asked once more, not for ever");
        assert!(rejected[0]["effect"].as_str().unwrap().ends_with(".n1.g1.agg"), "{rejected:?}");
        assert!(rejected[0]["errors"][0].as_str().unwrap().contains("\"json\""), "{rejected:?}");
        let node = state(&play).node(by_title(&play, "Step a")).expect("the node");
        assert_eq!(json!(node.outcome), outcome);
        let missing = (!given_when_asked_again).then_some("gave no JSON although it was asked for");
        assert_eq!(node.shortfall.as_deref(), missing);
        assert_eq!(play.run.shared.status(), Status::Completed);
    }
}

#[test]
fn t3_the_synthesis_is_the_document_of_a_planning_node_that_wrote_none() {
    // given: an aggregator that writes no artifact at all
    let mut play = scripted(brief("Plain"), |role, title, _| match (role, title) {
        (Role::TreePlanner, "Plain") => Some(Ok(owes("document"))),
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["x"]]))),
        (Role::TreeAggregator, _) => {
            let mut answer = summed("synthesis");
            answer["artifacts"] = json!([]);
            answer["result"] = json!({ "summary": "in short", "success_assessment": { "met": true } });
            Some(Ok(answer))
        }
        _ => None,
    });
    // when
    play.go();
    // then: the platform made the document from its synthesis
    check(&play);
    assert_eq!(count(&play, "tree.answer_rejected"), 0);
    assert!(payloads(&play, "tree.node_completed").iter().all(|end| end["outcome"] == "success"));
}

/// A run of two leaves whose calls are out.
fn two_leaves_at_work() -> (Play, Vec<engine::effect::EffectAttempt>) {
    let mut play = scripted(brief("Pause"), |role, title, _| match (role, title) {
        (Role::TreePlanner, "Pause") => Some(Ok(plan(&[&["a", "b"], &["c"]]))),
        _ => None,
    });
    play.step(1);
    let due = play.run.due(play.now).external;
    let attempts = due.iter().filter_map(|effect| play.run.intend(effect, play.now)).collect();
    play.commit();
    (play, attempts)
}

fn command(play: &mut Play, command: Command) {
    let owner = Actor::Person(play.run.shared.brief.owner);
    play.run.command(command, owner, play.now).expect("accepted");
    play.commit();
}

#[test]
fn t8_canceled_is_canceled_and_a_result_given_under_the_pause_is_kept() {
    for whole_run in [true, false] {
        // given: two leaves at work, one of them paused on its own; one answers under the pause
        let (mut play, attempts) = two_leaves_at_work();
        node(&mut play, "Step b", NodeCommand::Pause);
        match whole_run {
            true => command(&mut play, Command::Pause),
            false => node(&mut play, "Pause", NodeCommand::Pause),
        }
        play.land(&attempts[0]);
        assert_eq!(status_of(&play, "Step a"), NodeStatus::Executing, "held by the pause");
        // when
        command(&mut play, Command::Cancel);
        // then: the whole result stays, everything else is canceled, and nothing is paused
        check(&play);
        assert_eq!(play.run.shared.status(), Status::Canceled);
        assert_eq!(status_of(&play, "Step a"), NodeStatus::Completed);
        assert_eq!(
            (status_of(&play, "Step b"), status_of(&play, "Pause")),
            (NodeStatus::Canceled, NodeStatus::Canceled)
        );
        assert!(state(&play).nodes.iter().all(|node| !node.paused), "nothing is paused any more");
        let ends = payloads(&play, "tree.node_canceled");
        assert_eq!(ends, [json!({ "disposition": "in_flight_unknown" }), json!({ "disposition": "done" })]);
        let plan = state(&play).nodes[0].plan.as_ref().expect("a plan");
        let steps: Vec<Value> = plan.steps.iter().map(|step| json!(step.status)).collect();
        assert_eq!(steps, [json!("completed"), json!("canceled"), json!("canceled")]);
    }
}

#[test]
fn t8_a_node_that_is_itself_canceled_keeps_nothing() {
    let (mut play, attempts) = two_leaves_at_work();
    node(&mut play, "Step a", NodeCommand::Pause);
    play.land(&attempts[0]);
    node(&mut play, "Step a", NodeCommand::Cancel);
    assert_eq!(status_of(&play, "Step a"), NodeStatus::Canceled, "whoever cancels a node does not want its result");
    play.land(&attempts[1]);
    play.go();
    check(&play);
}

#[test]
fn t8_a_planner_none_of_whose_steps_began_had_not_started() {
    // given: a root that has planned and is paused before its first band
    let mut play =
        scripted(brief("Planned"), |role, _, _| (role == Role::TreePlanner).then(|| Ok(plan(&[&["a", "b"]]))));
    play.step(0);
    let effect = play.run.due(play.now).external[0].clone();
    let attempt = play.run.intend(&effect, play.now).expect("there is room");
    play.commit();
    node(&mut play, "Planned", NodeCommand::Pause);
    play.land(&attempt);
    assert_eq!(status_of(&play, "Planned"), NodeStatus::Delegating);
    // when
    command(&mut play, Command::Cancel);
    // then
    check(&play);
    assert_eq!(payloads(&play, "tree.node_canceled"), [json!({ "disposition": "not_started" })]);
    let rows = engine::projection::rows(&play.run, &play.events);
    assert!(rows.nodes.iter().all(|row| row.status == NodeStatus::Canceled && !row.paused));
}

#[test]
fn t17_a_node_whose_step_another_plan_replaced_is_superseded() {
    // given: a plan of which one step fails, and a second plan
    let mut plans = 0;
    let mut play = scripted(brief("Anew"), move |role, title, _| match (role, title) {
        (Role::TreePlanner, _) => {
            plans += 1;
            Some(Ok(if plans == 1 { plan(&[&["a", "b"]]) } else { plan(&[&["a", "c"]]) }))
        }
        (Role::TreeExecutor, "Step b") => Some(Ok(json!({}))),
        (Role::TreeAggregator, _) if plans == 1 => {
            let mut answer = summed("draft");
            answer["next"] = json!({ "should_replan": true, "reason": "b failed" });
            Some(Ok(answer))
        }
        _ => None,
    });
    // when
    play.go();
    // then: the failed node is superseded and keeps its error; what was finished stays
    check(&play);
    assert_eq!(status_of(&play, "Step b"), NodeStatus::Superseded);
    assert_eq!(
        (status_of(&play, "Step a"), status_of(&play, "Step c")),
        (NodeStatus::Completed, NodeStatus::Completed)
    );
    let rows = engine::projection::rows(&play.run, &play.events).nodes;
    let b = rows.iter().find(|row| row.title == "Step b").expect("its row");
    assert!(!b.current && b.error.is_some() && b.ended_at.is_some(), "{b:?}");
    assert_eq!(play.run.shared.report.clone().expect("a report")["nodes"], json!({ "completed": 3, "superseded": 1 }));
}

#[test]
fn t17_a_step_for_which_nothing_had_to_be_done_is_a_no_op() {
    // given: steps that may deliver anything: one only looks and finds all well, one writes, one admits that it failed
    let call = |tool: &str, arguments: Value| json!({ "tool": tool, "arguments": arguments, "purpose": "p" });
    let said = |met: bool| json!({ "result": { "summary": "All is well.", "success_assessment": { "met": met } } });
    let mut play = scripted(brief("Look"), move |role, title, attempt| match (role, title) {
        (Role::TreePlanner, _) => {
            let mut answer = plan(&[&["look", "write", "fail"]]);
            answer["plan"]["bands"][0]["steps"]
                .as_array_mut()
                .unwrap()
                .iter_mut()
                .for_each(|step| step["deliverable"] = json!("either"));
            Some(Ok(answer))
        }
        (Role::TreeExecutor, "Step look") if attempt.effect.0.ends_with(".r1") => {
            Some(Ok(json!({ "tool_calls": [call("search_documents", json!({ "query": "x" }))] })))
        }
        (Role::TreeExecutor, "Step write") if attempt.effect.0.ends_with(".r1") => {
            Some(Ok(json!({ "tool_calls": [call("create_document", json!({ "title": "New" }))] })))
        }
        (Role::TreeExecutor, title) => Some(Ok(said(title != "Step fail"))),
        _ => None,
    });
    // when
    play.go();
    // then
    check(&play);
    let outcome = |title: &str| json!(state(&play).node(by_title(&play, title)).expect("a node").outcome);
    assert_eq!(outcome("Step look"), "no_op");
    assert_eq!(outcome("Step write"), "success");
    assert_eq!(outcome("Step fail"), "partial");
    let mut alone = scripted(brief("Alone"), move |role, _, _| (role == Role::TreeExecutor).then(|| Ok(said(true))));
    alone.go();
    assert_eq!(json!(state(&alone).nodes[0].outcome), "success", "what the root says is a document");
}

#[test]
fn t17_data_keeps_its_title() {
    let mut play = scripted(brief("Titled"), |role, _, _| {
        (role == Role::TreeExecutor).then(|| {
            let mut answer = done("paper");
            let data = json!({ "type": "json", "label": "rows", "title": "Prices of sheds", "json": { "n": 1 } });
            answer["artifacts"].as_array_mut().unwrap().push(data);
            Ok(answer)
        })
    });
    play.go();
    check(&play);
    assert_eq!(payloads(&play, "tree.artifact_created")[1]["title"], "Prices of sheds");
    let rows = engine::projection::rows(&play.run, &play.events).artifacts;
    let titles: Vec<Option<&str>> = rows.iter().map(|row| row.title.as_deref()).collect();
    assert_eq!(titles, [None, Some("Prices of sheds")], "a document has a title of its own");
}
