//! The picture of a run on a terminal, redrawn while it works.

use crate::home::Home;
use serde_json::json;
use simulation::scripted::{Reply, Script};
use std::process::{Command, Stdio};

/// Runs a command on a terminal of its own and returns everything it drew.
fn on_a_terminal(home: &Home, arguments: &[&str]) -> String {
    let plain = home.command(arguments);
    let mut command = Command::new("python3");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/on_a_terminal.py")).arg("n");
    command.arg(plain.get_program()).args(plain.get_args());
    command.current_dir(home.folder.path()).env_clear().env("TERM", "dumb");
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("LINES", "30").env("COLUMNS", "110");
    let said = command.stdin(Stdio::null()).output().expect("python3 runs");
    String::from_utf8_lossy(&said.stdout).into_owned()
}

#[test]
fn t4_h8_a_terminal_shows_what_is_being_written_and_time_and_cost_go_on() {
    // Given a homework run whose planner writes slowly, at a price
    let sentence = "Heat pumps move heat instead of making it. ";
    let answer = json!({"progress_summary": sentence.repeat(100), "plan": {"steps": []}, "tool_calls": [], "executor_tasks": [],
        "remaining_work": ["everything"], "completion_evidence": [], "exit_signal": false, "needs_user_input": true,
        "blocking_questions": ["Which house?"], "next_action_hint": "ask_user", "confidence": "low", "branch_rollup": null});
    let slowly = Reply { stall_after: Some((2_500, 3_500)), ..Reply::json(answer) };
    let home = Home::with(Script::default().on("homework_planner", vec![slowly]));
    let config = home.folder.path().join(".config/pleach");
    std::fs::create_dir_all(&config).expect("a folder");
    let prices = "[providers.openai.models.scripted]\ninput_per_mtok = 10.0\noutput_per_mtok = 30.0\n";
    let provider = format!("[providers.openai]\nkind = \"openai\"\nbase_url = \"{}\"\n{prices}", home.model().url());
    std::fs::write(config.join("config.toml"), provider).expect("a config file");
    // When it is watched on a terminal
    let drawn = on_a_terminal(&home, &["run", "Heat a house", "--kind", "homework"]);
    // Then a line shows the newest of what the planner writes, as text
    assert!(drawn.lines().any(|line| line.contains("✎ planner · ") && line.contains("move heat instead")), "{drawn}");
    assert!(!drawn.contains("progress_summary"), "{drawn}");
    // And the clock and the cost go on during the call, the cost as an estimate
    let times: Vec<&str> =
        ["time ░░░░░░░░░░ 1.", "time ░░░░░░░░░░ 2."].into_iter().filter(|time| drawn.contains(time)).collect();
    assert_eq!(times.len(), 2, "{drawn}");
    let costs: std::collections::BTreeSet<&str> =
        drawn.split("about $").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
    assert!(costs.len() > 1, "{costs:?} in {drawn}");
}
