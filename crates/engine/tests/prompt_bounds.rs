//! Homework requests, messages and limits stay bounded, whatever models and people write.

mod play;

use engine::actor::Actor;
use engine::budget::BudgetPatch;
use engine::effect::Work;
use engine::model::{Models, Role};
use engine::run::{Command, Lane, Refusal, StopReason, check_brief};
use play::{Play, asking, brief, plan, report, role_of, section, spec, texts};
use serde_json::{Value, json};

const PROMPT_BYTES: usize = 24_000 * 3;

fn create(title: &str) -> Value {
    json!({ "tool": "create_document", "arguments": { "title": title, "content": format!("The text of {title}") }, "purpose": "write" })
}

fn executor_task(branch: &str) -> Value {
    json!({ "branch_id": branch, "step_id": "s1", "title": format!("Study {branch}"), "objective": "Write", "tools": ["create_document"] })
}

fn person(play: &Play) -> Actor {
    Actor::Person(play.run.shared.brief.owner)
}

fn say(play: &mut Play, text: &str, lane: Lane) -> Result<(), Refusal> {
    let (person, now) = (person(play), play.now);
    let said = play.run.command(Command::Say { text: text.into(), node: None, lane }, person, now);
    play.commit();
    said
}

#[test]
fn h1_no_prompt_is_larger_than_the_cap_and_what_was_trimmed_is_said() {
    // Given models that write as much as they can, and people who do too
    let mut brief = brief(&"Compare everything. ".repeat(1_500));
    brief.budgets.max_iterations = 6;
    let (mut play, asked) = asking(brief, |role, n, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan(&"word ".repeat(3_900));
            answer["remaining_work"] = (0..20).map(|item| format!("rw{item} ").repeat(400)).collect();
            answer["tool_calls"] = json!([create(&format!("D{n} {}", "t".repeat(9_000))), create(&format!("E{n}"))]);
            answer["executor_tasks"] = (0..3).map(|branch| executor_task(&format!("b{n}-{branch}"))).collect();
            answer
        }
        Role::HomeworkExecutor => {
            json!({ "thought": "x".repeat(9_000), "tool_calls": [], "done": true, "summary": "sum ".repeat(6_000), "result_snippet": "s".repeat(900) })
        }
        _ => report(),
    });
    (0..20).for_each(|_| say(&mut play, &"m".repeat(8_000), Lane::Steer).expect("queued"));
    // When the run works
    play.go();
    // Then every prompt is within the cap, and the late ones say what they leave out
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::MaxIterations), "{:?}", play.run.shared.stop_detail);
    for attempt in asked.borrow().iter() {
        let (text, role) = (play.whole_text(attempt), role_of(attempt));
        assert!(text.len() <= PROMPT_BYTES, "{role:?}: {} bytes", text.len());
        let Work::Model(call) = &attempt.work else { panic!("a model call") };
        assert!(
            call.request.bytes() + 200 >= text.len(),
            "{role:?}: reserved for {}, sent {}",
            call.request.bytes(),
            text.len()
        );
    }
    let last = texts(&play, &asked, Role::HomeworkPlanner).pop().expect("a planner");
    let trimmed = section(&last, "trimmed")[0].to_string();
    for name in ["objective", "messages", "scratchpad", "branches"] {
        assert!(trimmed.contains(&format!("{name}: ")), "{name}: {trimmed}");
    }
    assert_eq!(section(&last, "plan").len() + section(&last, "iteration").len(), 1, "what is short is whole");
}

#[test]
fn h1_a_prompt_and_its_answer_fit_the_models_window() {
    // Given a model that holds 8,000 tokens and writes 2,000
    let mut brief = brief("Compare");
    brief.budgets.max_iterations = 3;
    brief.models = Models::uniform(engine::model::ModelSpec { context_window: 8_000, max_output: 2_000, ..spec() });
    let (mut play, asked) = asking(brief, |role, n, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan(&"word ".repeat(900));
            answer["tool_calls"] = json!([create(&format!("D{n} {}", "t".repeat(20_000)))]);
            answer
        }
        _ => report(),
    });
    // When it works, then every prompt leaves room for the answer
    play.go();
    for attempt in asked.borrow().iter() {
        let Work::Model(call) = &attempt.work else { panic!("a model call") };
        let tokens = play.whole_text(attempt).len().div_ceil(3) + call.max_tokens as usize;
        assert!(tokens <= 8_000 && call.max_tokens >= 1_500, "{:?}: {tokens} with {}", call.role, call.max_tokens);
    }
}

#[test]
fn e2_an_answer_gets_as_many_tokens_as_the_model_is_said_to_write() {
    let mut brief = brief("Compare");
    brief.models = Models::uniform(engine::model::ModelSpec { max_output: 32_000, ..spec() });
    let (mut play, asked) = asking(brief, |_, _, _| report());
    play.step(1);
    let Work::Model(call) = &asked.borrow()[0].work else { panic!("a model call") };
    assert_eq!(call.max_tokens, 32_000);
}

#[test]
fn p1_one_result_of_24_000_characters_is_shown_whole_in_any_script() {
    // Given a result of 20,000 characters of three bytes each
    let title = "試".repeat(20_000);
    let made = title.clone();
    let mut brief = brief("Write");
    brief.budgets.max_iterations = 2;
    let (mut play, asked) = asking(brief, move |role, n, _| {
        let mut answer = plan(&format!("iteration {n}"));
        answer["tool_calls"] = json!([create(&made)]);
        if role == Role::HomeworkPlanner { answer } else { report() }
    });
    // When the next planner call is made, then it is shown all of it
    play.go();
    let second = texts(&play, &asked, Role::HomeworkPlanner).swap_remove(1);
    let result = section(&second, "tool_results")[0]["result"]["title"].clone();
    assert_eq!(result.as_str().map(|shown| shown.chars().count()), Some(20_000));
}

#[test]
fn h1_every_branch_is_shown_or_said_to_be_left_out() {
    // Given fifteen branches, three an iteration
    let mut brief = brief("Compare");
    brief.budgets.max_iterations = 6;
    let (mut play, asked) = asking(brief, |role, n, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan(&format!("iteration {n}"));
            answer["executor_tasks"] = (0..3).map(|branch| executor_task(&format!("b{n}-{branch}"))).collect();
            answer
        }
        Role::HomeworkExecutor => {
            json!({ "thought": "", "tool_calls": [create(&format!("F{n}"))], "done": true, "summary": "found" })
        }
        _ => report(),
    });
    // When the sixth planner call is made, then it is told of all of them
    play.go();
    let sixth = texts(&play, &asked, Role::HomeworkPlanner).swap_remove(5);
    assert_eq!(section(&sixth, "branches")[0].as_array().map(Vec::len), Some(15));
}

#[test]
fn h6_only_the_newest_twenty_messages_are_shown_and_only_those_get_a_receipt() {
    // Given twenty-five messages before the first call
    let (mut play, asked) = asking(brief("Work"), |_, _, _| report());
    (0..25).for_each(|n| say(&mut play, &format!("message {n}"), Lane::Steer).expect("queued"));
    // When the planner is called
    play.step(1);
    // Then it sees the newest twenty, unread, and is told of the others' number
    let first = texts(&play, &asked, Role::HomeworkPlanner).swap_remove(0);
    let shown = section(&first, "messages")[0].as_array().cloned().unwrap_or_default();
    assert_eq!((shown.len(), &shown[0]), (20, &json!({ "text": "message 5", "unread": true })));
    assert!(section(&first, "trimmed")[0].to_string().contains("newest 20 of 25"));
    assert_eq!(play.kinds().iter().filter(|kind| **kind == "run.message_delivered").count(), 20);
}

#[test]
fn h6_a_message_or_answer_that_is_too_long_is_refused_with_its_size_and_the_limit() {
    let (mut play, _) = asking(brief("Work"), |_, _, _| report());
    let refusal = say(&mut play, &"m".repeat(500_000), Lane::Steer).expect_err("too long");
    assert_eq!(refusal.slug, "message_too_long");
    assert!(refusal.message.contains("500000") && refusal.message.contains("32768"), "{}", refusal.message);
    assert!(!play.kinds().contains(&"run.message_queued"));
}

#[test]
fn h6_what_steers_reaches_executors_at_work_and_what_is_queued_waits_for_the_planner() {
    // Given an executor in its first round
    let mut brief = brief("Work");
    brief.budgets.max_iterations = 2;
    let (mut play, asked) = asking(brief, |role, n, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan(&format!("iteration {n}"));
            answer["executor_tasks"] = json!([executor_task("b1")]);
            answer
        }
        Role::HomeworkExecutor => {
            json!({ "thought": "", "tool_calls": [create(&format!("F{n}"))], "done": n % 2 == 0, "summary": "found" })
        }
        _ => report(),
    });
    play.step(2);
    // When a person steers, and another message is queued
    say(&mut play, "prefer green", Lane::Steer).expect("queued");
    say(&mut play, "then blue", Lane::Queue).expect("queued");
    play.go();
    // Then the executor's next round is shown the first, and the next planner call both, unread to it
    let rounds = texts(&play, &asked, Role::HomeworkExecutor);
    assert_eq!(section(&rounds[1], "messages")[0], json!([{ "text": "prefer green", "unread": true }]));
    let heard = json!([{ "text": "prefer green", "unread": false }, { "text": "then blue", "unread": false }]);
    assert_eq!(section(&rounds[2], "messages")[0], heard, "what the planner has heard meanwhile is no secret");
    let planner = texts(&play, &asked, Role::HomeworkPlanner).swap_remove(1);
    assert_eq!(
        section(&planner, "messages")[0],
        json!([{ "text": "prefer green", "unread": true }, { "text": "then blue", "unread": true }])
    );
    assert_eq!(play.kinds().iter().filter(|kind| **kind == "run.message_delivered").count(), 2);
}

#[test]
fn h4_limits_under_which_nothing_works_are_refused_at_creation_and_later() {
    for (name, patch) in [
        ("repeat_limit", BudgetPatch { repeat_limit: Some(0), ..Default::default() }),
        ("no_progress_limit", BudgetPatch { no_progress_limit: Some(0), ..Default::default() }),
        ("max_parallel", BudgetPatch { max_parallel: Some(0), ..Default::default() }),
        ("max_wall_ms", BudgetPatch { max_wall_ms: Some(-5), ..Default::default() }),
    ] {
        let mut brief = brief("Work");
        let (mut play, _) = asking(brief.clone(), |_, _, _| report());
        let refused = play.run.command(Command::SetBudgets(patch.clone()), Actor::Platform, play.now);
        assert!(refused.is_err_and(|refusal| refusal.message.contains(name)), "{name}");
        brief.budgets = brief.budgets.patched(&patch, &brief.models);
        assert!(check_brief(&brief).is_err_and(|refusal| refusal.message.contains(name)), "{name}");
    }
    let negative = serde_json::from_value::<BudgetPatch>(json!({ "max_cost_usd": -1 }));
    assert!(negative.is_err_and(|error| error.to_string().contains("-1")));
    let free: BudgetPatch = serde_json::from_value(json!({ "max_tokens": null })).expect("nullable");
    let limited = engine::budget::Budgets { max_tokens: Some(50_000), ..Default::default() };
    assert_eq!(limited.patched(&free, &Models::uniform(spec())).max_tokens, None, "null takes the limit away");
    let mut small = brief("Work");
    small.models = Models::uniform(engine::model::ModelSpec { context_window: 4_000, ..spec() });
    assert!(check_brief(&small).is_err_and(|refusal| refusal.message.contains("4000")));
}

#[test]
fn h4_a_limit_without_room_for_a_call_is_warned_of_before_it_stops_the_run() {
    // Given a budget that holds one call and the wrap-up, and no second call
    let mut brief = brief("Work");
    brief.budgets.max_tokens = Some(36_000);
    let (mut play, asked) = asking(brief, |role, n, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan(&format!("iteration {n}"));
            answer["tool_calls"] = json!([create(&format!("D{n}"))]);
            answer
        }
        _ => report(),
    });
    play.usage.input = 6_000;
    // When it stops there
    play.go();
    // Then it warned first, and never promised the planner the tokens that are kept for wrapping up
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::BudgetTokens));
    let at = |kind: &str| play.kinds().iter().position(|known| *known == kind);
    assert!(at("run.budget_warning").is_some() && at("run.budget_warning") < at("run.stopped"), "{:?}", play.kinds());
    let first = texts(&play, &asked, Role::HomeworkPlanner).swap_remove(0);
    assert_eq!(section(&first, "budgets_left")[0]["tokens"], 20_000);
}

#[test]
fn h7_the_report_is_asked_for_within_the_reserve_and_sees_what_was_written() {
    // Given a run that wrote much
    let mut brief = brief("Compare");
    brief.budgets.max_iterations = 3;
    let (mut play, asked) = asking(brief, |role, n, _| match role {
        Role::HomeworkPlanner => {
            let mut answer = plan(&"lorem ipsum ".repeat(1_500));
            answer["tool_calls"] = json!([
                { "tool": "create_document", "arguments": { "title": format!("D{n}"), "content": format!("The answer is {n}. {}", "x".repeat(40_000)) }, "purpose": "write" }
            ]);
            answer
        }
        _ => report(),
    });
    // When its report is asked for
    play.go();
    // Then the call fits the 16,000 tokens kept for it, and the texts are before the model
    let last = asked.borrow().last().cloned().expect("the report");
    let (Work::Model(call), text) = (&last.work, play.whole_text(&last)) else { panic!("a model call") };
    assert_eq!(call.role, Role::HomeworkReport);
    assert!(text.len().div_ceil(3) + call.max_tokens as usize <= 16_000, "{} bytes", text.len());
    let documents = section(&text, "documents")[0].clone();
    assert!(documents[2]["text"].as_str().is_some_and(|text| text.starts_with("The answer is 3.")), "{documents}");
}
