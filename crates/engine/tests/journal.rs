//! What a homework run writes down: the entries of the main pad and of the branches, and the summaries of ten iterations.

mod play;

use engine::actor::Actor;
use engine::effect::{CallError, CallFailure, Outcome};
use engine::facts::run::Queued;
use engine::model::Role;
use engine::projection;
use engine::run::{Command, Lane, Run, Status, StopReason};
use engine::workspace::Mutation;
use play::{Asked, Play, asking, brief, payloads, plan, report, section, texts};
use serde_json::{Value, json};

fn create(title: &str) -> Value {
    json!({ "tool": "create_document", "arguments": { "title": title, "content": format!("The text of {title}") }, "purpose": "write" })
}

fn task(branch: &str, step: &str) -> Value {
    json!({ "branch_id": branch, "step_id": step, "title": format!("Study {branch}"), "objective": "Write", "tools": ["create_document"] })
}

fn step(id: &str, status: &str) -> Value {
    json!({ "id": id, "title": format!("Step {id}"), "status": status, "owner": "executor" })
}

/// An executor that writes one document and says what it found.
fn finding(n: usize) -> Value {
    json!({ "thought": "", "tool_calls": [create(&format!("Finding {n}"))], "done": true, "summary": format!("wrote finding {n}"), "result_snippet": format!("the answer is {n}") })
}

fn entries(play: &Play) -> Vec<String> {
    let markdown = |fact: &Value| fact["markdown"].as_str().expect("markdown").to_owned();
    payloads(play, "homework.scratchpad_appended").iter().map(markdown).collect()
}

/// The ids of documents that calls created, in order.
fn created(play: &Play) -> Vec<String> {
    let results = payloads(play, "homework.tool_call_result");
    let ids = results.iter().filter_map(|fact| fact["artifacts"]["created_documents"][0]["id"].as_str());
    ids.map(str::to_owned).collect()
}

/// The part of a markdown text under a bold heading.
fn under<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("**{heading}**")).unwrap_or_else(|| panic!("{heading}: {text}"));
    rest.split("\n\n**").next().unwrap_or_default()
}

fn within(iterations: u32) -> Queued {
    let mut brief = brief("Compare");
    brief.budgets.max_iterations = iterations;
    brief
}

/// Three new branches in each iteration; in the last one the very first is continued.
fn many_branches(iterations: usize) -> (Play, Asked) {
    asking(within(iterations as u32), move |role, n, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan(&format!("iteration {n}"));
            let tasks: Vec<Value> = (0..3).map(|branch| task(&format!("b{n}-{branch}"), "s1")).collect();
            answer["executor_tasks"] = if n == iterations { json!([task("b1-0", "s1")]) } else { json!(tasks) };
            answer
        }
        Role::HomeworkExecutor => finding(n),
        _ => report(),
    })
}

#[test]
fn h2_the_first_of_many_branches_still_remembers_when_it_is_continued() {
    // Given thirty-three branches, of which the first is continued last
    let (mut play, asked) = many_branches(12);
    // When its executor is asked again
    play.go();
    // Then its own entry is before it, with what it made
    let continued = texts(&play, &asked, Role::HomeworkExecutor).pop().expect("an executor");
    let remembered = section(&continued, "branch_scratchpad")[0].as_str().expect("an entry").to_owned();
    assert!(remembered.starts_with("## Iteration 1: Study b1-0"), "{remembered}");
    assert!(remembered.contains(&format!("created doc:{} \"Finding 1\"", created(&play)[0])), "{remembered}");
}

#[test]
fn h2_the_planner_is_told_where_every_branch_stands_and_whose_entries_are_left_out() {
    let (mut play, asked) = many_branches(13);
    play.go();
    let last = texts(&play, &asked, Role::HomeworkPlanner).pop().expect("a planner");
    let branches = section(&last, "branches")[0].as_array().expect("a list").clone();
    assert_eq!(branches.len(), 36);
    for branch in &branches {
        assert!(branch["title"].is_string() && branch["document_id"].is_string(), "{branch}");
        assert!(branch["last_outcome"].as_str().is_some_and(|said| said.contains("the answer is")), "{branch}");
    }
    let with_entries = branches.iter().filter(|branch| branch["last_entries"].is_array()).count();
    assert_eq!(with_entries, 30);
    let trimmed = section(&last, "trimmed")[0].to_string();
    assert!(trimmed.contains("branches: the entries of 6 of 36 are left out"), "{trimmed}");
}

#[test]
fn h6_a_branch_names_what_it_made_and_found() {
    let (mut play, _) = asking(within(1), |role, n, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan("delegate");
            answer["executor_tasks"] = json!([task("b1", "s1")]);
            answer
        }
        Role::HomeworkExecutor => finding(n),
        _ => report(),
    });
    play.go();
    let entry =
        payloads(&play, "homework.executor_finished")[0]["entry"]["markdown"].as_str().expect("an entry").to_owned();
    assert!(
        under(&entry, "New and changed").contains(&format!("created doc:{} \"Finding 1\"", created(&play)[0])),
        "{entry}"
    );
    assert!(entry.contains("**Found**: the answer is 1"), "{entry}");
}

#[test]
fn h6_the_rollup_lists_every_open_branch_and_the_models_own_is_added() {
    // Given two branches, one of whose steps is done, and a planner that rolls up only once
    let (mut play, _) = asking(within(3), |role, n, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan(&format!("iteration {n}"));
            answer["plan"]["steps"] = json!([step("s1", if n < 3 { "doing" } else { "done" }), step("s2", "doing")]);
            answer["tool_calls"] = json!([create(&format!("Notes {n}"))]);
            match n {
                1 => answer["executor_tasks"] = json!([task("b1", "s1"), task("b2", "s2")]),
                2 => answer["branch_rollup"] = json!("both go well"),
                _ => {}
            }
            answer
        }
        Role::HomeworkExecutor => finding(n),
        _ => report(),
    });
    play.go();
    // Then the second entry, in which nobody worked, has both with pad, outcome and documents, and the model's words
    let pads: Vec<Value> =
        payloads(&play, "homework.executor_started").iter().map(|fact| fact["scratchpadDocumentId"].clone()).collect();
    let second = entries(&play)[1].clone();
    let rollup = under(&second, "Branch rollup");
    for (pad, (branch, made)) in pads.iter().zip([("b1", 1), ("b2", 2)]) {
        let pad = pad.as_str().expect("an id");
        assert!(
            rollup.contains(&format!(
                "{branch} \"Study {branch}\", pad doc:{pad}: done in iteration 1: the answer is {made}; made doc:"
            )),
            "{rollup}"
        );
    }
    assert!(second.contains("both go well"), "{second}");
    // And the third has only the one whose step is not done
    let third = entries(&play)[2].clone();
    assert!(
        !under(&third, "Branch rollup").contains("b1 ") && under(&third, "Branch rollup").contains("b2 "),
        "{third}"
    );
}

#[test]
fn h6_answers_messages_and_forced_replans_are_journaled_once() {
    // Given a run that asks, is answered and told something, and then goes round in circles
    let (mut play, _) = asking(within(9), |role, n, _| {
        let mut answer = plan(&format!("iteration {n}"));
        match n {
            1 => {
                answer["needs_user_input"] = json!(true);
                answer["blocking_questions"] = json!(["Which colour?"]);
            }
            _ => {
                answer["tool_calls"] =
                    json!([{ "tool": "search_documents", "arguments": { "query": "blue" }, "purpose": "look" }])
            }
        }
        if role == Role::HomeworkPlanner { answer } else { report() }
    });
    play.go();
    let (person, now) = (Actor::Person(play.run.shared.brief.owner), play.now);
    let words = [
        Command::Say { text: "be  brief".into(), node: None, lane: Lane::Steer },
        Command::Answer { question: None, text: "blue".into() },
    ];
    words.into_iter().for_each(|words| play.run.command(words, person, now).expect("heard"));
    play.commit();
    play.go();
    // Then the entry after them has them, no other has, and the replan stands where it was forced
    let entries = entries(&play);
    let heard = under(&entries[1], "Messages and answers");
    assert!(heard.contains("a message: \"be brief\""), "{heard}");
    assert!(heard.contains("an answer to \"Which colour?\": \"blue\""), "{heard}");
    assert!(entries.iter().filter(|entry| entry.contains("**Messages and answers**")).count() == 1);
    assert!(under(&entries[2], "Replan forced").contains("search_documents {\"query\":\"blue\"}"), "{}", entries[2]);
    assert!(entries.iter().filter(|entry| entry.contains("**Replan forced**")).count() == 1);
}

/// One executor is at work when something happens; the planner has written a document before.
fn at_work() -> Play {
    let (mut play, _) = asking(within(9), |role, n, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan(&format!("iteration {n}"));
            answer["tool_calls"] = json!([create(&format!("Notes {n}"))]);
            answer["executor_tasks"] = json!([task("b1", "s1")]);
            answer
        }
        Role::HomeworkExecutor => finding(n),
        _ => report(),
    });
    play.step(2);
    play
}

#[test]
fn h5_a_canceled_or_failed_run_closes_its_iteration_once() {
    for (failure, status) in [(None, Status::Canceled), (Some(CallFailure::Auth), Status::Failed)] {
        // Given a run whose executor is at work
        let mut play = at_work();
        let effect = play.run.due(play.now).external[0].clone();
        let attempt = play.run.intend(&effect, play.now).expect("a call");
        play.commit();
        // When it is canceled, or its key is refused
        let person = Actor::Person(play.run.shared.brief.owner);
        match failure {
            None => play.run.command(Command::Cancel, person, play.now).expect("canceled"),
            Some(failure) => {
                let error =
                    CallError { failure, message: "401 from test".into(), retry_after_ms: None, maybe_paid: false };
                play.run.outcome(&effect, attempt.number, Outcome::Model(Err(error)), None, play.now);
            }
        }
        play.commit();
        assert_eq!(play.run.shared.status(), status);
        // Then its row has ended, with what was used and made
        let rows = projection::rows(&play.run, &play.events).iterations;
        assert_eq!((rows.len(), rows[0].status.as_str()), (1, status.name()));
        assert!(rows[0].ended_at.is_some() && rows[0].metrics["llm_calls"] == 1, "{}", rows[0].metrics);
        assert_eq!(rows[0].artifacts["created_documents"][0]["title"], "Notes 1");
        assert_eq!(rows[0].metrics["cost_usd"], json!(play.run.shared.metrics.cost_usd), "abandoned calls are its own");
        // And the journal has one entry of it, and the branch one that says how it ended
        let entries = entries(&play);
        assert_eq!(entries.len(), 1);
        assert!(
            entries[0].contains("created doc:")
                && entries[0].contains(&format!("(ends: {}", play.run.shared.stop_reason.expect("one").name())),
            "{}",
            entries[0]
        );
        let branch = &payloads(&play, "homework.executor_finished")[0];
        assert!(
            branch["ok"] == false
                && branch["entry"]["markdown"]
                    .as_str()
                    .is_some_and(|text| text.contains("the run ended while it worked")),
            "{branch}"
        );
        assert_eq!(projection::run_row(&Run::fold(&play.events).expect("a run")), projection::run_row(&play.run));
        play::view::check(&play.events);
    }
}

#[test]
fn h5_a_failed_run_goes_on_with_the_next_iteration_and_within_its_limit() {
    let (mut play, _) = asking(within(1), |_, _, _| report());
    play.step(0);
    let effect = play.run.due(play.now).external[0].clone();
    let attempt = play.run.intend(&effect, play.now).expect("a call");
    let error =
        CallError { failure: CallFailure::Auth, message: "401".into(), retry_after_ms: None, maybe_paid: false };
    play.run.outcome(&effect, attempt.number, Outcome::Model(Err(error)), None, play.now);
    play.commit();
    // Given a run that failed in its only iteration: going on needs another one
    let refused = play.run.command(Command::Resume, Actor::Platform, play.now).expect_err("no iteration is left");
    assert_eq!(refused.slug, "limit_not_raised");
    let budgets = engine::budget::BudgetPatch { max_iterations: Some(2), ..Default::default() };
    play.run.command(Command::Continue { budgets, message: None }, Actor::Platform, play.now).expect("continued");
    assert_eq!((play.run.iteration(), play.run.shared.status()), (2, Status::Running));
}

#[test]
fn h5_a_run_canceled_between_iterations_writes_no_second_entry() {
    let (mut play, _) = asking(within(9), |_, _, _| {
        let mut answer = plan("ask");
        answer["needs_user_input"] = json!(true);
        answer["blocking_questions"] = json!(["Which?"]);
        answer
    });
    play.go();
    play.run.command(Command::Cancel, Actor::Platform, play.now).expect("canceled");
    play.commit();
    assert_eq!((entries(&play).len(), payloads(&play, "homework.iteration_completed").len()), (1, 1));
}

#[test]
fn h7_the_summary_of_ten_iterations_is_made_from_what_happened() {
    // Given ten iterations that write, delegate, fail and are told something, under status lines that say nothing
    let (mut play, _) = asking(within(10), |role, n, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan(&format!("Working on iteration {n}: gathering data"));
            let done = |id: usize| if id < n { "done" } else { "doing" };
            answer["plan"]["steps"] = (1..=10).map(|id| step(&format!("s{id}"), done(id))).collect();
            answer["tool_calls"] = json!([create(&format!("Notes {n}"))]);
            if n == 4 {
                answer["tool_calls"] = json!([{ "tool": "no_such_tool", "arguments": {}, "purpose": "x" }]);
                answer["executor_tasks"] = json!([task("b1", "s4")]);
            }
            answer
        }
        Role::HomeworkExecutor => finding(n),
        Role::HomeworkRepair => json!({ "corrected_calls": [] }),
        _ => report(),
    });
    play.step(3);
    play.run
        .command(Command::Say { text: "mind the gap".into(), node: None, lane: Lane::Steer }, Actor::Platform, play.now)
        .expect("said");
    // When they are over
    play.go();
    let summaries = play.batches.iter().flat_map(|batch| &batch.changes).filter_map(|change| match &change.mutation {
        Mutation::CreateDocument { type_key, content, .. } if type_key == engine::homework::SUMMARY => {
            Some(content.clone())
        }
        _ => None,
    });
    let summaries: Vec<String> = summaries.collect();
    assert_eq!(summaries.len(), 1);
    // Then the document says what was made, found, failed, moved and learned, and no status line
    let summary = &summaries[0];
    assert!(!summary.contains("gathering data"), "{summary}");
    for made in created(&play) {
        assert!(under(summary, "Made").contains(&made), "{made}: {summary}");
    }
    assert!(under(summary, "Found").contains("Study b1: the answer is 1 (iteration 4)"), "{summary}");
    assert!(under(summary, "Failed").contains("no_such_tool: unknown tool"), "{summary}");
    assert!(under(summary, "The plan moved").contains("s9 \"Step s9\": doing → done (iteration 10)"), "{summary}");
    assert!(under(summary, "Learned").contains("a message: \"mind the gap\""), "{summary}");
    let progress: Vec<&str> = under(summary, "Progress").lines().filter(|line| line.contains("(progress)")).collect();
    assert_eq!(progress.len(), 10, "the tenth has its mark: {summary}");
}

fn stopping(n: usize) -> Value {
    let mut answer = plan(&format!("There is no access to the archive, said {n}"));
    answer["next_action_hint"] = json!("stop");
    answer
}

#[test]
fn h11_a_hint_to_ask_with_a_question_is_a_question() {
    for (question, status) in [("Which colour?", Status::WaitingOnUser), (" ", Status::Stopped)] {
        let (mut play, _) = asking(within(2), move |role, n, _| {
            let mut answer = plan(&format!("iteration {n}"));
            answer["next_action_hint"] = json!("ask_user");
            answer["blocking_questions"] = json!([question]);
            if role == Role::HomeworkPlanner { answer } else { report() }
        });
        play.go();
        assert_eq!(play.run.shared.status(), status, "{question:?}");
    }
}

#[test]
fn h11_stop_said_twice_ends_the_run_as_what_cannot_be_done() {
    // Given a planner that gives up
    let (mut play, asked) =
        asking(within(9), |role, n, _| if role == Role::HomeworkPlanner { stopping(n) } else { report() });
    // When it says so again
    play.go();
    // Then it was asked once more with its own words, and the run ends with its reason
    assert_eq!(
        (play.run.shared.status(), play.run.shared.stop_reason),
        (Status::Stopped, Some(StopReason::CannotBeDone))
    );
    assert_eq!(play.run.shared.stop_detail.as_deref(), Some("There is no access to the archive, said 2"));
    assert_eq!(StopReason::CannotBeDone.exit_code(), 5);
    let second = texts(&play, &asked, Role::HomeworkPlanner).swap_remove(1);
    assert!(section(&second, "hints")[0].to_string().contains("There is no access to the archive, said 1"), "{second}");
    let entries = entries(&play);
    assert!(entries[0].ends_with("**Next**: stop (asked once more whether it can be done)"), "{}", entries[0]);
    assert!(entries[1].contains("**Next**: stop (ends: cannot_be_done: There is no access"), "{}", entries[1]);
}

#[test]
fn h11_stop_with_something_made_or_said_once_is_no_end() {
    let (mut play, _) = asking(within(4), |role, n, _| match role {
        Role::HomeworkPlanner if n % 2 == 1 => stopping(n),
        Role::HomeworkPlanner => {
            let mut answer = stopping(n);
            answer["tool_calls"] = json!([create(&format!("Notes {n}"))]);
            answer
        }
        _ => report(),
    });
    play.go();
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::MaxIterations), "{:?}", play.run.shared.stop_detail);
}

#[test]
fn h13_a_refused_exit_names_the_reference_and_results_name_their_call() {
    let long = "word ".repeat(40);
    let title = long.clone();
    let (mut play, _) = asking(within(1), move |role, _, _| {
        let mut answer = plan("leave");
        (answer["exit_signal"], answer["remaining_work"]) = (json!(true), json!([]));
        answer["completion_evidence"] = json!([{ "criterion": "c1", "claim": "there", "refs": ["event:4711"] }]);
        answer["tool_calls"] = json!([
            { "tool": "search_documents", "arguments": { "query": "blue" }, "purpose": "x" },
            { "tool": "search_documents", "arguments": { "query": title }, "purpose": "x" },
        ]);
        if role == Role::HomeworkPlanner { answer } else { report() }
    });
    play.go();
    let entry = entries(&play).swap_remove(0);
    assert!(under(&entry, "The planner may not end the run yet").contains("event:4711"), "{entry}");
    assert!(under(&entry, "Results").contains("search_documents \"blue\": 1 document (event:"), "{entry}");
    let shown: String = long.chars().take(60).collect();
    assert!(under(&entry, "Actions").contains(&format!("(query: \"{shown}…\")")), "{entry}");
}
