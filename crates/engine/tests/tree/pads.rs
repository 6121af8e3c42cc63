//! What a node's scratchpad holds, and what people read of failures.

use crate::reads::first_document;
use crate::*;
use engine::projection;
use engine::run::{Status, StopReason};
use engine::workspace::Mutation;

/// The scratchpad of a node as a reader finds it: what it was created with, then its entries.
fn pad_of(play: &Play, title: &str) -> String {
    let id = state(play).node(by_title(play, title)).expect("the node").scratchpad;
    let opening = play.batches.iter().flat_map(|batch| &batch.changes).find_map(|change| match &change.mutation {
        Mutation::CreateDocument { id: made, content, .. } if *made == id => Some(content.clone()),
        _ => None,
    });
    let entries = projection::rows(&play.run, &play.events).entries;
    let own = entries.into_iter().filter(|entry| entry.document_id == id).map(|entry| entry.markdown);
    opening.into_iter().chain(own).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn t18_a_pad_opens_with_task_criteria_and_what_the_node_was_given_and_logs_each_call() {
    // given: a second band that is given a document and a failure, reads, writes and fails at a call
    let mut play =
        scripted(brief("Compare two sheds\n\nThe cheap one first."), |role, title, attempt| match (role, title) {
            (Role::TreePlanner, _) => Some(Ok(plan(&[&["a", "b"], &["c"]]))),
            (Role::TreeExecutor, "Step b") => Some(Ok(json!({}))),
            (Role::TreeExecutor, "Step c") if attempt.effect.0.ends_with("r1") => {
                let call =
                    |tool: &str, arguments: Value| json!({ "tool": tool, "arguments": arguments, "purpose": "p" });
                Some(Ok(json!({ "tool_calls": [
                call("get_document", json!({ "document_id": first_document(&own_text(attempt)) })),
                call("create_document", json!({ "title": "Sheds", "content": "long ".repeat(40) })),
                call("no_such", json!({})),
            ], "scratchpad": pad("looked") })))
            }
            _ => None,
        });
    // when
    play.go();
    // then
    check(&play);
    let made = |nth: usize| payloads(&play, "tree.artifact_created")[nth]["documentId"].as_str().unwrap().to_owned();
    let (given, written) = (made(0), made(1));
    let failed = by_title(&play, "Step b");
    let pad = pad_of(&play, "Step c");
    let expected = format!(
        "# Task\n\nStep c\n\nwhy not\n\n**Criteria**\n\n- it is there\n\n**Delivers**: a document\n\n**Given**\n\n\
         - Step a: done, doc:{given}\n\
         - Step b: failed (its answers did not fit the schema: the answer has neither tool_calls nor result), node:{failed}\n\n\
         looked\n\n\
         - `get_document(document_id: \"{given}\")`: document \"Paper\", 7 characters\n\n\
         - `create_document(content: \"{}…\", title: \"Sheds\")`: created Sheds (doc:{written})\n\n\
         - `no_such()`: failed: unknown tool no_such; valid: search_documents, create_document\n\n\
         wrote it",
        "long ".repeat(12)
    );
    assert_eq!(pad, expected);
}

#[test]
fn t18_a_planning_pad_keeps_the_reason_and_what_became_of_the_children() {
    let mut play = scripted(brief("Two sheds\n\nThe cheap one first."), |role, title, _| match (role, title) {
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["a", "b"]]))),
        (Role::TreeExecutor, "Step b") => Some(Ok(json!({}))),
        _ => None,
    });
    play.go();
    check(&play);
    let pad = pad_of(&play, "Two sheds");
    let begin = "# Task\n\nTwo sheds\n\nThe cheap one first.\n\n**Criteria**\n\n- A recommendation exists\n\nplanned\n\n**Plans**: parts";
    assert!(pad.starts_with(begin), "{pad}");
    let document = payloads(&play, "tree.artifact_created")[0]["documentId"].as_str().unwrap().to_owned();
    assert!(
        pad.contains(&format!(
            "summed up\n\n**Steps**: 1 done, 1 failed\n- Step a: done, doc:{document}\n- Step b: failed ("
        )),
        "{pad}"
    );
    assert!(
        pad_of(&play, "Step b")
            .ends_with("**Failed**: its answers did not fit the schema: the answer has neither tool_calls nor result")
    );
}

#[test]
fn t18_failures_speak_to_people_and_say_each_thing_once() {
    // given: two steps that fail for the same reason, eleven artifacts wrong in the same way
    let wrong = || json!({ "type": "document", "label": "x", "markdown": "" });
    let mut play = scripted(brief("Fails"), move |role, _, _| match role {
        Role::TreePlanner => Some(Ok(plan(&[&["a", "b"]]))),
        Role::TreeExecutor => {
            Some(Ok(json!({ "artifacts": (0..11).map(|_| wrong()).collect::<Vec<_>>(), "result": { "summary": "s" } })))
        }
        Role::TreeAggregator => {
            Some(Ok(json!({ "synthesis": { "summary": "nothing" }, "next": { "should_replan": true } })))
        }
        _ => None,
    });
    play.run.shared.budgets.max_replans = 0;
    // when
    play.go();
    // then
    let error = state(&play).nodes[1].error.clone().expect("failed");
    assert_eq!(
        error,
        "its answers did not fit the schema: artifact \"x\" has no markdown; artifact label \"x\" is used twice"
    );
    let error = state(&play).nodes[0].error.clone().expect("failed");
    assert_eq!(error.matches("did not fit").count(), 1, "both steps share the sentence: {error}");
    assert!(error.starts_with("all 2 steps failed; Step a, Step b: its answers"), "{error}");
}

#[test]
fn t18_a_limit_is_named_once_and_in_words() {
    // given: a tree that its tokens do not suffice for
    let mut small = brief("Little");
    small.budgets.max_cost_usd = None;
    small.budgets.max_tokens = Some(60_000);
    let mut play = scripted(small, |role, title, _| {
        (role == Role::TreePlanner && title == "Little").then(|| Ok(plan(&[&["a", "b"], &["c", "d"], &["e"]])))
    });
    play.usage = engine::effect::Usage { input: 9_000, cached: 0, output: 1_000, estimated: false };
    // when
    play.go();
    // then
    assert_eq!(play.run.shared.status(), Status::Stopped);
    let rows = projection::rows(&play.run, &play.events);
    let told = &rows.notifications.last().expect("a notification").body;
    let report = engine::report::markdown(play.run.shared.report.as_ref().expect("a report"));
    for text in [told, &report] {
        assert!(!text.contains("budget_tokens: budget_tokens"), "{text}");
    }
    let short: Vec<&str> =
        state(&play).nodes.iter().filter_map(|node| node.shortfall.as_deref().or(node.error.as_deref())).collect();
    assert!(!short.is_empty() && short.iter().all(|why| !why.contains("budget_")), "{short:?}");
    assert_eq!(StopReason::BudgetCost.with_detail("budget_cost: spent"), "budget_cost: spent");
}
