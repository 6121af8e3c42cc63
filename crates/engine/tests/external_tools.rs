//! Tools that are not built in, played without a store: intents, answers, questions, and calls of unknown outcome.

mod play;

use engine::actor::Actor;
use engine::effect::{
    EffectAttempt, EffectId, ExternalTool, Outcome, RepeatSafety, ToolOutcome, ToolOutput, ToolQuestion, ToolSpec, Work,
};
use engine::facts::effect::Decision;
use engine::facts::run::Queued;
use engine::model::Role;
use engine::run::{Command, EffectState, Kind, Status};
use play::{Play, brief, plan};
use serde_json::{Value, json};

fn with_tool(kind: Kind, class: RepeatSafety) -> Queued {
    let mut brief = brief("Send the letters");
    brief.kind = kind;
    brief.tools.push(ToolSpec {
        name: "post__send".into(),
        arguments: "to".into(),
        description: "Send a letter".into(),
        read: class == RepeatSafety::ReadOnly,
        external: Some(ExternalTool { server: "post".into(), class, hash: "h1".into() }),
    });
    brief
}

/// Calls the tool in the first iteration (or round), `times` times at once, and then goes on.
fn letters(times: usize) -> impl FnMut(Role, &EffectAttempt) -> Result<Value, engine::effect::CallError> {
    let calls = vec![json!({ "tool": "post__send", "arguments": { "to": "ann" }, "purpose": "send" }); times];
    let (mut planned, mut rounds) = (0, 0);
    move |role, _| {
        Ok(match role {
            Role::HomeworkPlanner => {
                planned += 1;
                let mut answer = plan(&format!("iteration {planned}"));
                if planned == 1 {
                    answer["tool_calls"] = json!(calls);
                }
                answer
            }
            Role::TreePlanner => {
                json!({ "mode": "execute", "mode_reason": "small", "leaf_decision": "direct", "scratchpad": { "append_markdown": "x", "tail_preview": "x" } })
            }
            Role::TreeExecutor => {
                rounds += 1;
                let mut answer = json!({ "tool_calls": [], "artifacts": [], "scratchpad": { "append_markdown": "x", "tail_preview": "x" } });
                match rounds {
                    1 => answer["tool_calls"] = json!(calls),
                    _ => {
                        answer["result"] = json!({ "kind": "json", "summary": "sent", "parent_hint": { "hint_type": "read_json", "artifact_labels": [] } })
                    }
                }
                answer
            }
            _ => json!({ "title": "t", "summary": "s", "findings": [], "not_done": [], "corrected_calls": [] }),
        })
    }
}

/// Played up to the moment at which the tool is called, with the attempt of that call.
fn called(kind: Kind, class: RepeatSafety) -> (Play, EffectAttempt) {
    let (play, mut attempts) = called_often(kind, class, 1);
    (play, attempts.remove(0))
}

fn called_often(kind: Kind, class: RepeatSafety, times: usize) -> (Play, Vec<EffectAttempt>) {
    let mut play = Play::new(with_tool(kind, class), letters(times));
    play.step(0);
    for _ in 0..20 {
        let due = play.run.due(play.now);
        let tools: Vec<EffectId> =
            due.external.into_iter().filter(|effect| play.run.provider(effect).is_none()).collect();
        if tools.len() == times {
            let attempts = tools.iter().map(|effect| play.run.intend(effect, play.now).expect("room")).collect();
            play.commit();
            return (play, attempts);
        }
        play.step(1);
    }
    panic!("the tool is never called: {:?}", play.kinds());
}

fn sent() -> Outcome {
    let output = ToolOutput { content: json!({ "text": "sent" }), summary: "sent".into(), read: true };
    Outcome::Tool(ToolOutcome { result: Ok(output), mutations: Vec::new() })
}

fn tell(play: &mut Play, attempt: &EffectAttempt, outcome: Outcome) {
    play.now = play.now.plus_ms(1_000);
    play.run.outcome(&attempt.effect, attempt.number, outcome, None, play.now);
    play.commit();
}

fn command(play: &mut Play, command: Command) -> Result<(), String> {
    let owner = play.run.shared.brief.owner;
    play.now = play.now.plus_ms(1_000);
    let told = play.run.command(command, Actor::Person(owner), play.now).map_err(|refusal| refusal.slug.to_owned());
    play.commit();
    told
}

fn again(play: &mut Play) -> EffectAttempt {
    play.now = play.now.plus_ms(60_000);
    let due = play.run.due(play.now).external;
    let tool = due.into_iter().find(|effect| play.run.provider(effect).is_none()).expect("the tool is due");
    let attempt = play.run.intend(&tool, play.now).expect("room");
    play.commit();
    attempt
}

fn results(play: &Play) -> Vec<(bool, String)> {
    let results = play.events.iter().filter(|event| event.kind().ends_with(".tool_call_result"));
    results
        .map(|event| {
            let payload: Value = serde_json::from_str(&event.payload).expect("JSON");
            (payload["ok"] == true, payload["summary"].as_str().unwrap_or_default().to_owned())
        })
        .collect()
}

fn count(play: &Play, kind: &str) -> usize {
    play.kinds().into_iter().filter(|known| *known == kind).count()
}

#[test]
fn b4_a_call_outside_has_an_intent_before_it_and_one_outcome() {
    for kind in [Kind::Homework, Kind::Tree] {
        let (mut play, attempt) = called(kind, RepeatSafety::Once);
        let Work::Tool(call) = &attempt.work else { panic!("a tool") };
        assert_eq!(
            (call.tool.as_str(), call.external.as_ref().map(|tool| tool.class)),
            ("post__send", Some(RepeatSafety::Once))
        );
        assert_eq!(play.kinds().last(), Some(&"effect.started"));
        assert!(play.run.activity().contains("post__send called at "), "{}", play.run.activity());
        tell(&mut play, &attempt, sent());
        assert_eq!(results(&play), [(true, "sent".to_owned())]);
        // The same news twice changes nothing.
        let seq = play.run.shared.last_seq;
        tell(&mut play, &attempt, sent());
        assert_eq!(play.run.shared.last_seq, seq);
    }
}

#[test]
fn b4_a_once_only_call_under_a_process_that_died_is_unknown_and_waits_for_a_person() {
    for kind in [Kind::Homework, Kind::Tree] {
        let (mut play, attempt) = called(kind, RepeatSafety::Once);
        play.resume_from(&play.events.clone());
        play.step(5);
        assert_eq!((count(&play, "effect.unknown"), count(&play, "effect.started") > 0), (1, true), "{kind:?}");
        assert_eq!(play.run.shared.status(), Status::WaitingOnUser, "{kind:?}: {:?}", play.kinds());
        assert!(play.run.due(play.now).external.is_empty(), "it is not called again");
        let question = play.run.shared.open_questions().next().expect("a question").clone();
        assert!(question.text.contains("post__send") && question.text.contains("ann"), "{}", question.text);
        assert_eq!(question.options, ["happened", "did_not", "retry"]);
        // A late answer of the call that was lost is not taken for one.
        tell(&mut play, &attempt, sent());
        assert!(results(&play).is_empty());
    }
}

fn unknown(kind: Kind) -> (Play, EffectId) {
    let (mut play, attempt) = called(kind, RepeatSafety::Once);
    play.resume_from(&play.events.clone());
    play.step(1);
    (play, attempt.effect)
}

#[test]
fn b4_a_person_settles_an_unknown_call_in_three_ways() {
    for kind in [Kind::Homework, Kind::Tree] {
        for decision in Decision::ALL {
            let (mut play, effect) = unknown(kind);
            let resolve = Command::Resolve { effect: effect.clone(), decision, note: Some("I looked".into()) };
            command(&mut play, resolve.clone()).expect("settled");
            assert_eq!(play.run.shared.status(), Status::Running, "{kind:?} {decision:?}");
            assert_eq!(play.run.shared.open_questions().count(), 0);
            match decision {
                Decision::Happened => assert!(results(&play)[0].0 && results(&play)[0].1.contains("I looked")),
                Decision::DidNot => assert!(!results(&play)[0].0 && results(&play)[0].1.contains("did not happen")),
                Decision::Retry => {
                    assert!(results(&play).is_empty());
                    let attempt = again(&mut play);
                    assert_eq!((attempt.effect.clone(), attempt.number), (effect, 2), "an attempt of its own");
                    tell(&mut play, &attempt, sent());
                    assert_eq!(results(&play), [(true, "sent".to_owned())]);
                }
            }
            assert_eq!(command(&mut play, resolve), Err("effect_not_found".into()));
        }
    }
}

#[test]
fn b4_the_question_about_an_unknown_call_can_simply_be_answered() {
    let (mut play, _) = unknown(Kind::Homework);
    let answer = |text: &str| Command::Answer { question: None, text: text.into() };
    assert_eq!(command(&mut play, answer("perhaps")), Err("unknown_decision".into()));
    command(&mut play, answer("Did not")).expect("understood");
    assert!(results(&play)[0].1.contains("did not happen"), "{:?}", results(&play));
}

#[test]
fn b4_what_may_be_repeated_is_repeated_a_few_times() {
    for class in [RepeatSafety::ReadOnly, RepeatSafety::Idempotent] {
        let (mut play, _) = called(Kind::Homework, class);
        play.resume_from(&play.events.clone());
        play.run.take_over(None, play.now);
        play.commit();
        assert_eq!(count(&play, "effect.unknown"), 0, "{class:?}");
        let mut attempt = again(&mut play);
        assert_eq!(attempt.number, 2, "after a crash");
        for _ in 0..2 {
            tell(&mut play, &attempt, Outcome::Lost("no answer within 60 s".into()));
            assert!(results(&play).is_empty());
            attempt = again(&mut play);
        }
        tell(&mut play, &attempt, Outcome::Lost("no answer within 60 s".into()));
        assert!(!results(&play)[0].0 && results(&play)[0].1.contains("tried 3 times"), "{:?}", results(&play));
    }
}

#[test]
fn b4_a_connection_that_breaks_under_a_once_only_call_leaves_it_unknown_too() {
    let (mut play, attempt) = called(Kind::Tree, RepeatSafety::Once);
    tell(&mut play, &attempt, Outcome::Lost("The server closed the connection".into()));
    assert_eq!((count(&play, "effect.unknown"), play.run.shared.status()), (1, Status::WaitingOnUser));
    let blocked = play.events.iter().filter(|event| event.payload.contains("\"blocked\"")).count();
    assert_eq!(blocked, 1, "the node says so");
}

#[test]
fn b4_an_equal_once_only_call_waits_for_the_decision_about_the_first() {
    let (mut play, attempts) = called_often(Kind::Homework, RepeatSafety::Once, 2);
    tell(&mut play, &attempts[0], Outcome::Lost("gone".into()));
    // The second is out already; a person lets it be made again, and it has to wait for the first.
    tell(&mut play, &attempts[1], Outcome::Lost("gone".into()));
    let retry = Command::Resolve { effect: attempts[1].effect.clone(), decision: Decision::Retry, note: None };
    command(&mut play, retry).expect("settled");
    assert!(play.run.due(play.now).external.is_empty(), "it would repeat what perhaps happened");
    assert_eq!(play.run.shared.status(), Status::WaitingOnUser);
    let happened = Command::Resolve { effect: attempts[0].effect.clone(), decision: Decision::Happened, note: None };
    command(&mut play, happened).expect("settled");
    assert_eq!(again(&mut play).effect, attempts[1].effect);
}

#[test]
fn b9_a_tool_that_asks_becomes_a_question_and_goes_on_with_the_answer() {
    for kind in [Kind::Homework, Kind::Tree] {
        let (mut play, attempt) = called(kind, RepeatSafety::Once);
        let asking = ToolQuestion {
            text: "Which stamp?".into(),
            options: vec!["red".into()],
            tool_state: json!({"state": "s1"}),
        };
        tell(&mut play, &attempt, Outcome::Asks(asking));
        assert_eq!(play.run.shared.status(), Status::WaitingOnUser, "{kind:?}");
        // A new process knows all of it.
        play.resume_from(&play.events.clone());
        play.step(2);
        assert!(matches!(play.run.shared.effects.get(&attempt.effect), Some(EffectState::Asking { .. })));
        command(&mut play, Command::Answer { question: None, text: "red".into() }).expect("answered");
        assert_eq!(play.run.shared.status(), Status::Running, "{kind:?}");
        let attempt = again(&mut play);
        let Work::Tool(call) = &attempt.work else { panic!("a tool") };
        let answered = call.answered.as_ref().expect("the answer");
        assert_eq!((answered.answer.as_str(), &answered.tool_state), ("red", &json!({"state": "s1"})));
        tell(&mut play, &attempt, sent());
        assert_eq!(results(&play), [(true, "sent".to_owned())]);
        play.go();
        let expected = if kind == Kind::Tree { Status::Completed } else { Status::Stopped };
        assert_eq!(play.run.shared.status(), expected, "{kind:?}: {}", play.run.activity());
    }
}

#[test]
fn b4_a_used_up_time_limit_refuses_the_call_and_the_model_is_shown_it() {
    let (mut play, attempt) = called(Kind::Homework, RepeatSafety::ReadOnly);
    tell(&mut play, &attempt, Outcome::Lost("no answer".into()));
    play.now = play.now.plus_ms(3_600_000);
    let patch = serde_json::from_value(json!({ "max_wall_ms": 1 })).expect("a patch");
    command(&mut play, Command::SetBudgets(patch)).expect("set");
    assert!(play.run.intend(&attempt.effect, play.now).is_none());
    play.commit();
    assert!(results(&play)[0].1.contains("no room"), "{:?}", results(&play));
}

#[test]
fn b1_canceling_a_node_withdraws_its_question_and_the_run_ends() {
    let (mut play, attempt) = called(Kind::Tree, RepeatSafety::Once);
    tell(&mut play, &attempt, Outcome::Lost("gone".into()));
    let root = play.run.root_node().expect("a root");
    command(&mut play, Command::Node { node: root, order: engine::run::NodeCommand::Cancel }).expect("canceled");
    assert_eq!(play.run.shared.status(), Status::Canceled);
    assert_eq!(play.run.shared.open_questions().count(), 0, "nobody is asked about it any more");
}
