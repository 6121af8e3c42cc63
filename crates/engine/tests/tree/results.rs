//! A node's result contains what its step asked for, complete, and later nodes can read it.

use crate::*;
use engine::run::Status;
use std::cell::RefCell;
use std::rc::Rc;

type Seen = Rc<RefCell<Vec<String>>>;

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "tool": tool, "arguments": arguments, "purpose": "p" })
}

fn last_outcomes(play: &Play) -> Vec<String> {
    let outcome = |payload: &Value| payload["outcome"].as_str().unwrap_or_default().to_owned();
    payloads(play, "tree.node_completed").iter().map(outcome).collect()
}

#[test]
fn t5_t6_a_document_that_was_appended_to_is_read_whole_by_the_parent() {
    let document = "0199aaaa-0000-7000-8000-000000000001";
    let mut play = scripted(brief("Append"), move |role, _, attempt| match role {
        Role::TreePlanner => Some(Ok(plan(&[&["a"]]))),
        Role::TreeExecutor if attempt.effect.0.ends_with("r1") => Some(Ok(
            json!({ "tool_calls": [call("update_document", json!({ "document_id": document, "append": "second line" }))] }),
        )),
        Role::TreeExecutor => Some(Ok(json!({ "result": result("Log") }))),
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    let made = &payloads(&play, "tree.artifact_created")[0];
    assert_eq!(made["documentId"], document);
    let hash = made["content"]["hash"].as_str().and_then(|hash| hash.parse().ok()).expect("its text is kept");
    assert_eq!(play.blobs[&hash], "\"first line\\nsecond line\"", "as it is at that version");
    assert_eq!(count(&play, "tree.artifact_read"), 1);
}

#[test]
fn t5_a_result_that_names_what_its_tools_failed_to_make_is_sent_back_with_the_reason() {
    let seen: Seen = Rc::default();
    let requests = seen.clone();
    let mut play = scripted(brief("Pending"), move |role, _, attempt| match role {
        Role::TreePlanner => Some(Ok(plan(&[&["a"]]))),
        Role::TreeExecutor if attempt.effect.0.ends_with("r1") => Some(Ok(
            json!({ "tool_calls": [call("create_document", json!({ "name": "The Report" }))], "result": result("The Report") }),
        )),
        Role::TreeExecutor => {
            requests.borrow_mut().push(own_text(attempt));
            Some(Ok(done("The Report")))
        }
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    let refused = &payloads(&play, "tree.result_refused")[0];
    assert!(refused["errors"][0].as_str().unwrap().contains("The Report"), "{refused}");
    assert!(seen.borrow()[0].contains("## result_refused\n"), "the next round is told");
    let envelope = &payloads(&play, "tree.node_result")[0]["result"];
    assert_eq!(envelope["artifactIds"].as_array().map(Vec::len), Some(1));
}

#[test]
fn t5_b14_a_result_whose_calls_failed_is_refused_once_and_is_then_partial() {
    let seen: Seen = Rc::default();
    let requests = seen.clone();
    let mut play = scripted(brief("Blind"), move |role, _, attempt| match role {
        Role::TreePlanner => Some(Ok(plan(&[&["a"]]))),
        Role::TreeExecutor => {
            requests.borrow_mut().push(own_text(attempt));
            let mut answer = done("Notes");
            answer["tool_calls"] = json!([call("no_such", json!({}))]);
            Some(Ok(answer))
        }
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed);
    let refused = payloads(&play, "tree.result_refused");
    assert_eq!(refused.len(), 1, "asked once more, not for ever");
    assert!(
        refused[0]["errors"][0].as_str().unwrap().contains("no_such, called with the result, failed"),
        "{refused:?}"
    );
    assert!(seen.borrow()[1].contains("## result_refused\n"), "the next round is told");
    let leaf = &payloads(&play, "tree.node_completed")[0];
    assert_eq!(leaf["outcome"], "partial", "{leaf}");
    assert!(
        play.run.shared.report.as_ref().unwrap()["not_done"].to_string().contains("no_such"),
        "and so is whoever reads the report"
    );
}

#[test]
fn t5_a_result_that_never_comes_to_what_it_names_fails_its_node_when_the_rounds_are_used_up() {
    let mut play = scripted(brief("Never"), |role, _, _| {
        (role == Role::TreeExecutor)
            .then(|| Ok(json!({ "tool_calls": [call("no_such", json!({}))], "result": result("The Report") })))
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Failed);
    let error = payloads(&play, "tree.node_failed")[0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains("no result after 6 rounds") && error.contains("The Report"), "{error}");
    assert_eq!(count(&play, "tree.executor_answered"), 6);
}

#[test]
fn t5_a_leaf_that_does_not_deliver_is_asked_once_more_and_is_then_partial() {
    let nothing = || json!({ "result": { "summary": "trust me" } });
    for (repaired, outcome) in [(true, "success"), (false, "partial")] {
        let mut play = scripted(brief("Deliver"), move |role, _, attempt| match role {
            Role::TreePlanner => Some(Ok(plan(&[&["a"]]))),
            Role::TreeExecutor if repaired && attempt.effect.0.ends_with(".fix") => None,
            Role::TreeExecutor => Some(Ok(nothing())),
            _ => None,
        });
        play.go();
        check(&play);
        assert_eq!(play.run.shared.status(), Status::Completed);
        let rejected = payloads(&play, "tree.answer_rejected");
        assert_eq!(rejected.len(), 1, "one repair");
        assert!(rejected[0]["errors"][0].as_str().unwrap().contains("\"document\""), "{rejected:?}");
        assert_eq!(last_outcomes(&play)[0], outcome);
        assert_eq!(not_done(&play).as_array().map(Vec::is_empty), Some(repaired), "what is missing is reported");
    }
}

#[test]
fn t8_big_data_and_summaries_are_documents_that_later_bands_find_in_the_envelope() {
    let seen: Seen = Rc::default();
    let requests = seen.clone();
    let mut play = scripted(brief("Big"), move |role, title, attempt| match (role, title) {
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["a", "b"], &["c"]]))),
        (Role::TreeExecutor, "Step a") => Some(Ok(json!({
            "artifacts": [{ "type": "json", "label": "rows", "json": { "list": vec!["x".repeat(90); 90] } }, document("page", "# Page")],
            "result": { "summary": "rows" } }))),
        (Role::TreeExecutor, "Step b") => Some(Ok(json!({
            "artifacts": [{ "type": "summary", "label": "short", "markdown": "In short." }], "result": { "summary": "short" } }))),
        (Role::TreeExecutor, _) => {
            requests.borrow_mut().push(own_text(attempt));
            None
        }
        _ => None,
    });
    play.go();
    check(&play);
    let results = payloads(&play, "tree.node_result");
    let envelope = |of: usize| &results[of]["result"];
    assert_eq!(
        (&envelope(0)["kind"], envelope(0)["documentIds"].as_array().map(Vec::len)),
        (&json!("hybrid"), Some(2))
    );
    assert_eq!(
        (&envelope(1)["kind"], envelope(1)["documentIds"].as_array().map(Vec::len)),
        (&json!("document"), Some(1))
    );
    let text = seen.borrow()[0].clone();
    for document in
        envelope(0)["documentIds"].as_array().into_iter().chain(envelope(1)["documentIds"].as_array()).flatten()
    {
        assert!(text.contains(document.as_str().unwrap()), "the later band is told of {document}");
    }
    let written = play.batches.iter().flat_map(|batch| &batch.changes).any(|change| {
        matches!(&change.mutation, engine::workspace::Mutation::CreateDocument { content, .. } if content.starts_with("```json\n{\"list\":"))
    });
    assert!(written, "the data is in the workspace");
}

#[test]
fn t5_a_label_used_again_in_a_later_round_takes_the_place_of_the_first() {
    let mut play = scripted(brief("Twice"), |role, _, attempt| {
        (role == Role::TreeExecutor && attempt.effect.0.ends_with("r1")).then(|| {
            Ok(json!({ "artifacts": [document("paper", "draft")], "tool_calls": [call("search_documents", json!({ "query": "x" }))] }))
        })
    });
    play.go();
    check(&play);
    let made = payloads(&play, "tree.artifact_created");
    assert_eq!(made.len(), 2);
    let envelope = &payloads(&play, "tree.node_result")[0]["result"];
    assert_eq!(envelope["artifactIds"], json!([made[1]["artifactId"]]));
    assert_eq!(envelope["documentIds"], json!([made[1]["documentId"]]));
    let report = play.run.shared.report.clone().expect("a report");
    assert_eq!(report["artifacts"].as_array().map(Vec::len), Some(1));
}

#[test]
fn t9_an_aggregator_that_may_not_replan_any_more_is_asked_for_a_result() {
    let mut play = scripted(brief("Enough"), |role, _, attempt| match role {
        Role::TreePlanner => Some(Ok(plan(&[&["a"]]))),
        Role::TreeAggregator if !attempt.effect.0.ends_with(".fix") => {
            let mut answer = summed("synthesis");
            answer["result"] = Value::Null;
            answer["next"] = json!({ "should_replan": true, "reason": "more" });
            Some(Ok(answer))
        }
        Role::TreeAggregator => {
            assert!(own_text(attempt).contains("no replans are left, and the answer has no result"));
            None
        }
        _ => None,
    });
    play.go();
    check(&play);
    assert_eq!(count(&play, "tree.replan_requested"), 1);
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
}

#[test]
fn b9_a_question_uses_up_no_round_and_there_are_only_so_many() {
    let mut play = scripted(brief("Late question"), |role, _, attempt| {
        let text = own_text(attempt);
        let round = |of: u32| text.contains(&format!("## round\n{{\"max_tool_calls\":8,\"of\":6,\"round\":{of}}}"));
        let ask = json!({ "question": { "text": "Which way?" } });
        (role == Role::TreeExecutor).then(|| {
            Ok(match (round(6), text.contains("\"answer\":\"left\"")) {
                (true, true) => done("paper"),
                (true, false) => ask,
                _ => json!({ "tool_calls": [call("search_documents", json!({ "query": "x" }))] }),
            })
        })
    });
    play.go();
    assert_eq!(play.run.shared.status(), Status::WaitingOnUser);
    let answer = Command::Answer { question: None, text: "left".into() };
    play.run.command(answer, Actor::Platform, play.now).expect("taken");
    play.commit();
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);

    let mut play = scripted(brief("Always asks"), |role, _, _| {
        (role == Role::TreeExecutor).then(|| Ok(json!({ "question": { "text": "Which way?", "default": "left" } })))
    });
    for _ in 0..20 {
        play.go();
        play.now = play.now.plus_ms(25 * 3_600_000);
        play.run.tick(play.now);
        play.commit();
    }
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Failed);
    assert_eq!(count(&play, "run.question_asked"), 5);
}

#[test]
fn t8_the_steps_of_a_new_plan_see_what_the_old_one_finished() {
    let seen: Seen = Rc::default();
    let requests = seen.clone();
    let mut plans = 0;
    let mut play = scripted(brief("Anew"), move |role, title, attempt| match (role, title) {
        (Role::TreePlanner, _) => {
            plans += 1;
            Some(Ok(if plans == 1 { plan(&[&["a"], &["b"]]) } else { plan(&[&["new", "b"]]) }))
        }
        (Role::TreeExecutor, "Step new") => {
            requests.borrow_mut().push(own_text(attempt));
            None
        }
        (Role::TreeExecutor, _) => Some(Ok(done(&title.replace("Step ", "paper-")))),
        (Role::TreeAggregator, _) if plans == 1 => {
            let mut answer = summed("synthesis");
            answer["next"] = json!({ "should_replan": true, "reason": "more" });
            Some(Ok(answer))
        }
        _ => None,
    });
    play.go();
    check(&play);
    let text = seen.borrow()[0].clone();
    assert!(text.contains("paper-a is done"), "what the new plan does not name: {text}");
    assert!(text.contains("paper-b is done"), "and what it keeps: {text}");
}

#[test]
fn t7_prompts_stay_below_their_cap_and_say_what_was_cut() {
    let sizes: Rc<RefCell<Vec<(Role, usize, bool)>>> = Rc::default();
    let seen = sizes.clone();
    let long = |text: &str, times: usize| text.repeat(times);
    let mut play = scripted(brief("Long"), move |role, title, attempt| {
        let engine::effect::Work::Model(model) = &attempt.work else { panic!("a model call") };
        seen.borrow_mut().push((role, model.request.bytes(), own_text(attempt).contains("## trimmed\n")));
        let mut answer = match (role, title) {
            (Role::TreePlanner, _) => plan(&[&["a", "b", "c"], &["d"]]),
            (Role::TreeExecutor, "Step d") if !attempt.effect.0.ends_with("r6") => json!({ "tool_calls":
                (0..8).map(|n| call("create_document", json!({ "title": format!("Page {n}"), "content": long("z", 9_000) }))).collect::<Vec<_>>() }),
            (Role::TreeExecutor, _) => {
                let mut answer = done("paper");
                answer["artifacts"][0]["markdown"] = json!(long("word ", 4_800));
                answer
            }
            _ => summed("synthesis"),
        };
        answer["scratchpad"] = pad(&long("note ", 4_000));
        Some(Ok(answer))
    });
    play.go();
    check(&play);
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    let sizes = sizes.borrow();
    let over: Vec<_> = sizes.iter().filter(|(_, bytes, _)| *bytes > 72_000).collect();
    assert!(over.is_empty(), "24,000 tokens are the most: {over:?}");
    assert!(sizes.iter().all(|(_, bytes, trimmed)| *bytes < 60_000 || *trimmed), "cuts are said: {sizes:?}");
    assert!(sizes.iter().any(|(role, _, trimmed)| *role == Role::TreeAggregator && *trimmed));
}
