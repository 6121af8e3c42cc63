//! Random trees under random faults, commands and crashes: the log keeps the invariants and the run ends.

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

fn answer(seed: u64, faults: u64, role: Role, attempt: &EffectAttempt) -> Result<Value, CallError> {
    let place = &attempt.effect.0;
    let fault = draw(seed, &format!("{place} fault {}", attempt.number), 100);
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
        Role::TreeExecutor if kind < 3 => {
            json!({ "tool_calls": [{ "tool": "create_document", "arguments": { "title": place, "content": "text" } }, { "tool": "search_documents", "arguments": {} }] })
        }
        Role::TreeExecutor if kind == 3 => json!({ "question": { "text": "What colour?" } }),
        Role::TreeExecutor if kind == 4 => {
            json!({ "artifacts": [{ "type": "json", "label": "data", "json": { "n": kind } }], "result": { "summary": "data" } })
        }
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
        0 => order(NodeCommand::Cancel),
        1 => order(NodeCommand::Retry),
        2 => order(NodeCommand::RetryWithDependents),
        3 => order(NodeCommand::Pause),
        4 => order(NodeCommand::Resume),
        5 => Command::Say { text: "hm".into(), node: Some(node), lane: engine::run::Lane::Steer },
        6 => Command::Answer { question: None, text: "so".into() },
        7 => Command::Pause,
        8 => Command::Resume,
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
        let _ = play.run.command(Command::Node { node, order: NodeCommand::Resume }, owner, play.now);
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

/// Calls out in the world, coming back in any order, or never.
struct Loose {
    play: Play,
    out: Vec<EffectAttempt>,
}

impl Loose {
    /// A new process finds the log and nothing else.
    fn crash(&mut self) {
        let (events, batches) = (self.play.events.clone(), std::mem::take(&mut self.play.batches));
        self.out.clear();
        self.play.resume_from(&events);
        self.play.batches = batches;
        self.play.run.take_over(None, self.play.now);
        self.play.commit();
    }

    fn send(&mut self) {
        let due = self.play.run.due(self.play.now);
        let play = &mut self.play;
        self.out.extend(due.external.iter().filter_map(|effect| play.run.intend(effect, play.now)));
        play.commit();
    }

    fn land(&mut self, which: usize) {
        if let Some(effect) = self.play.run.due(self.play.now).inline.first().cloned() {
            self.play.perform(&effect);
        } else if !self.out.is_empty() {
            let attempt = self.out.swap_remove(which % self.out.len());
            self.play.land(&attempt);
        } else {
            self.play.now = self.play.now.plus_ms(5_000);
            self.play.run.tick(self.play.now);
            self.play.commit();
        }
    }
}

fn tumble(seed: u64, faults: u64, tokens: Option<u64>) -> Play {
    let mut brief = brief("Tumble");
    (brief.budgets.max_nodes, brief.budgets.max_depth, brief.budgets.max_parallel) = (25, 3, 3);
    (brief.budgets.max_cost_usd, brief.budgets.max_tokens) = (None, tokens);
    let mut play = Play::new(brief, move |role, attempt| answer(seed, faults, role, attempt));
    play.usage.input = 2_000;
    play.run.take_over(None, play.now);
    play.commit();
    let mut loose = Loose { play, out: Vec::new() };
    for turn in 0..160 {
        loose.play.now = loose.play.now.plus_ms(700);
        match draw(seed, &format!("{turn} turn"), 20) {
            0 => loose.crash(),
            1 | 2 => meddle(&mut loose.play, seed, turn),
            3 => unpark(&mut loose.play),
            4..9 => loose.send(),
            _ => loose.land(draw(seed, &format!("{turn} which"), 7) as usize),
        }
    }
    loose.crash();
    for _ in 0..40 {
        unpark(&mut loose.play);
        loose.play.go();
        if loose.play.run.shared.status().is_terminal() {
            break;
        }
    }
    loose.play
}

/// More for a long look: `TREE_SEEDS=5000`.
fn cases() -> u32 {
    std::env::var("TREE_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or(150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

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
