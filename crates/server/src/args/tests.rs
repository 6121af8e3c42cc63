//! Parsing of command lines.

use super::*;
use clap::CommandFactory;
use engine::money::Usd;

fn parse(words: &[&str]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once("pleach").chain(words.iter().copied()))
}

#[test]
fn the_command_table_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn run_takes_every_limit_of_the_contract() {
    let words = "run tidy --kind homework --success a --success b --tool search --max-cost 2.00 --max-tokens 9 --max-minutes 0.5 \
                 --max-iterations 3 --max-depth 1 --max-nodes 5 --max-parallel 2 --model openai/gpt-x --wait --json";
    let cli = parse(&words.split_whitespace().collect::<Vec<_>>()).unwrap();
    assert!(cli.global.json);
    assert_eq!(cli.global.model.as_deref(), Some("openai/gpt-x"));
    let Command::Run(run) = cli.command else { panic!("not a run") };
    let patch = run.limits.patch();
    assert_eq!(
        (patch.max_cost_usd, patch.max_wall_ms, patch.max_tokens),
        (Some(Usd(2_000_000)), Some(30_000), Some(Some(9)))
    );
    assert_eq!(run.success, ["a", "b"]);
    assert!(run.follow.wait && !run.follow.watch);
}

#[test]
fn watching_and_detaching_exclude_each_other() {
    assert_eq!(parse(&["run", "x", "--watch", "--detach"]).unwrap_err().exit_code(), 2);
}

#[test]
fn decisions_have_the_names_of_the_api() {
    let cli = parse(&["resolve", "r", "i1.t2", "did_not"]).unwrap();
    let Command::Resolve(resolve) = cli.command else { panic!("not a resolve") };
    assert_eq!(resolve.decision, Decision::DidNot);
}

#[test]
fn bad_numbers_name_the_value_and_what_is_valid() {
    let error = parse(&["run", "x", "--max-cost", "cheap"]).unwrap_err().to_string();
    assert!(error.contains("cheap") && error.contains("e.g. 2.00"), "{error}");
    let error = parse(&["prune", "--older-than", "soon"]).unwrap_err().to_string();
    assert!(error.contains("soon") && error.contains("90d"), "{error}");
}

#[test]
fn global_flags_may_follow_the_command() {
    let cli = parse(&["ls", "--data-dir", "/d", "--actor", "eve"]).unwrap();
    assert_eq!(cli.global.actor.as_deref(), Some("eve"));
    assert_eq!(cli.global.data_dir.as_deref(), Some(std::path::Path::new("/d")));
}

#[test]
fn naming_a_member_does_not_change_who_acts() {
    let cli = parse(&["project", "grant", "01a1de11-0000-7000-8000-000000000000", "ann"]).unwrap();
    assert_eq!(cli.global.actor, None);
}

#[test]
fn an_unknown_role_is_refused_with_the_valid_ones() {
    let grant =
        |role: &str| parse(&["project", "grant", "01a1de11-0000-7000-8000-000000000000", "ann", "--role", role]);
    assert!(grant("editor").is_ok());
    let refused = grant("admin").unwrap_err().to_string();
    assert!(refused.contains("roles are viewer, editor, owner"), "{refused}");
}
