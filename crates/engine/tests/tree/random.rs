//! Random trees under random faults, people and crashes: whatever happens, the log keeps its promises and the run ends.

use crate::*;
use engine::blob::Hash;
use engine::run::{Status, StopReason};
use proptest::prelude::*;

/// A number drawn from the seed and a place: equal places draw equal numbers, so a crash changes no answer.
fn draw(seed: u64, place: &str, of: u64) -> u64 {
    let hash = Hash::of(&[&seed.to_le_bytes(), place.as_bytes()]);
    u64::from_le_bytes(hash.0[..8].try_into().expect("eight bytes")) % of
}

fn bands(seed: u64, place: &str) -> Value {
    let count = draw(seed, &format!("{place} bands"), 3) + 1;
    let bands: Vec<Value> = (0..count)
        .map(|band| {
            let steps = draw(seed, &format!("{place} steps {band}"), 3) + 1;
            let steps = (0..steps).map(|index| json!({ "id": format!("b{band}s{index}"), "title": format!("{place} b{band}s{index}"), "leaf": draw(seed, &format!("{place}{band}{index}"), 2) == 0 }));
            json!({ "index": band, "goal": "", "steps": steps.collect::<Vec<_>>() })
        })
        .collect();
    json!({ "mode": "plan", "plan": { "summary": "", "bands": bands } })
}

fn answer(seed: u64, faults: u64, role: Role, job: &Job) -> Result<Value, CallError> {
    let place = &job.effect.0;
    let fault = draw(seed, &format!("{place} fault {}", job.attempt), 100);
    if fault < faults / 2 {
        return Err(play::rate_limited());
    }
    if fault < faults {
        return Ok(json!({ "tool_calls": "nonsense" }));
    }
    let kind = draw(seed, &format!("{place} kind"), 10);
    Ok(match role {
        Role::TreePlanner if kind < 5 => bands(seed, place),
        Role::TreePlanner if kind == 5 => json!({ "question": { "text": "Which way?", "default": "left" } }),
        Role::TreePlanner => execute(),
        Role::TreeExecutor if kind < 3 => json!({ "tool_calls": [{ "tool": "create_document", "arguments": { "title": place, "content": "text" } }, { "tool": "search_documents", "arguments": {} }] }),
        Role::TreeExecutor if kind == 3 => json!({ "question": { "text": "What colour?" } }),
        Role::TreeExecutor if kind == 4 => json!({ "artifacts": [{ "type": "json", "label": "data", "json": { "n": kind } }], "result": { "summary": "data" } }),
        Role::TreeExecutor => done("paper"),
        _ => {
            let mut answer = summed("synthesis");
            answer["next"]["should_replan"] = json!(kind < 3);
            answer
        }
    })
}

/// Someone at the controls, by the numbers.
fn meddle(play: &mut Play, seed: u64, turn: u64) {
    let nodes = state(play).nodes.len() as u64;
    if nodes == 0 {
        return;
    }
    let node = state(play).nodes[draw(seed, &format!("{turn} node"), nodes) as usize].id;
    let owner = Actor::Person(play.run.shared.brief.owner);
    let order = |order| Command::Node { node, order };
    let command = match draw(seed, &format!("{turn} command"), 16) {
        0 => order(NodeOrder::Cancel),
        1 | 2 => order(NodeOrder::Retry),
        3 => order(NodeOrder::Pause),
        4 => order(NodeOrder::Resume),
        5 => Command::Say { text: "hm".into(), node: Some(node), lane: engine::run::Lane::Steer },
        6 => Command::Answer { question: None, text: "so".into() },
        7 => Command::Pause,
        8 => Command::Resume,
        9 => {
            let events = play.events.clone();
            let batches = std::mem::take(&mut play.batches);
            play.resume_from(&events);
            play.batches = batches;
            return;
        }
        _ => return,
    };
    let _ = play.run.command(command, owner, play.now);
    play.commit();
}

/// Whoever must act does: everything that waits for people is given what it waits for.
fn unpark(play: &mut Play) {
    let owner = Actor::Person(play.run.shared.brief.owner);
    let paused: Vec<NodeId> = state(play).nodes.iter().filter(|node| node.paused).map(|node| node.id).collect();
    for node in paused {
        let _ = play.run.command(Command::Node { node, order: NodeOrder::Resume }, owner, play.now);
    }
    if play.run.shared.status() == Status::Paused {
        let _ = play.run.command(Command::Resume, owner, play.now);
    }
    let open: Vec<_> = play.run.shared.open_questions().map(|question| question.id).collect();
    for question in open {
        let _ = play.run.command(Command::Answer { question: Some(question), text: "so".into() }, owner, play.now);
    }
    play.commit();
}

fn tumble(seed: u64, faults: u64, tokens: Option<u64>) -> Play {
    let mut brief = brief("Tumble");
    (brief.budgets.max_nodes, brief.budgets.max_depth, brief.budgets.max_parallel) = (25, 3, 3);
    (brief.budgets.max_cost_usd, brief.budgets.max_tokens) = (None, tokens);
    let mut play = Play::new(brief, move |role, job| answer(seed, faults, role, job));
    play.usage.input = 2_000;
    for turn in 0..60 {
        play.step(draw(seed, &format!("{turn} steps"), 6) as usize);
        meddle(&mut play, seed, turn);
        if draw(seed, &format!("{turn} unpark"), 3) == 0 {
            unpark(&mut play);
        }
    }
    for _ in 0..40 {
        unpark(&mut play);
        play.go();
        if play.run.shared.status().is_terminal() {
            break;
        }
    }
    play
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn t1_invariants_10_to_18_and_30_hold_of_random_trees(seed in any::<u64>(), faults in prop_oneof![Just(0u64), Just(10), Just(40)], tokens in prop_oneof![Just(None), (40_000..200_000u64).prop_map(Some)]) {
        let play = tumble(seed, faults, tokens);
        check(&play);
        prop_assert!(play.run.shared.status().is_terminal(), "30: {:?} {}", play.run.shared.status(), play.run.activity());
        prop_assert_eq!(play.run.shared.ledger.open, 0, "nothing is left reserved");
        if let Some(limit) = tokens {
            prop_assert!(play.run.shared.ledger.spent.tokens <= limit, "33: {} of {limit}", play.run.shared.ledger.spent.tokens);
        }
        prop_assert!(state(&play).nodes.iter().all(|node| play.run.shared.stop_reason == Some(StopReason::ProviderAuth) || node.status.is_terminal()), "every node ended");
    }
}
