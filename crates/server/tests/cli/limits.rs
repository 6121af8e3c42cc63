//! Budgets and limits that stop a run.

use crate::home::{Home, of_type, user_text};
use crate::planner::{calling, creates_documents, exit, iteration, planned_as, planned_by, planner_answer};
use serde_json::json;
use simulation::scripted::{Reply, Request, Script};

/// Never exits; each call costs 4,500 tokens.
fn tireless() -> Script {
    planned_by(|request| Reply::json(creates_documents(request)).tokens(4_000, 0, 500))
}

#[test]
fn h4_max_iterations_stops_with_exit_4_and_extend_continues() {
    let home = Home::with(tireless());
    let run = home.run("Go on", &["--max-iterations", "2"]).exits(4).run();
    assert_eq!(
        (&run["status"], &run["stop_reason"], &run["iteration"]),
        (&json!("stopped"), &json!("max_iterations"), &json!(2))
    );
    assert_eq!(run["report"]["stop_reason"], "max_iterations");
    let id = run["id"].as_str().expect("an id");
    let refused = home.pleach(&["resume", id]).exits(2);
    assert!(refused.err.contains("max-iterations"), "the next step is named: {}", refused.err);
    let run = home.pleach(&["extend", id, "--max-iterations", "3", "--json"]).exits(4).run();
    assert_eq!(
        (&run["iteration"], &run["report"]["iterations"]),
        (&json!(3), &json!(3)),
        "H6: the report is refreshed after continuing"
    );
}

#[test]
fn h4_b2_the_token_budget_stops_before_it_is_passed_and_the_reserve_pays_the_report() {
    let home = Home::with(tireless());
    let run = home.run("Spend tokens", &["--max-tokens", "45000"]).exits(4).run();
    assert_eq!(run["stop_reason"], "budget_tokens");
    let used = run["metrics"]["tokens_in"].as_u64().unwrap_or(0) + run["metrics"]["tokens_out"].as_u64().unwrap_or(0);
    assert!(used <= 45_000, "{used}");
    assert_eq!(home.asked("homework_report").len(), 1, "the wrap-up reserve pays for it");
    assert_eq!(run["report"]["prose_by"], "model");
}

#[test]
fn h4_b2_the_cost_budget_stops_before_it_is_passed() {
    let home = Home::with(tireless());
    let prices = "[providers.openai]\nkind = \"openai\"\n[providers.openai.models.scripted]\ninput_per_mtok = 10.0\noutput_per_mtok = 30.0\n";
    let base = format!("base_url = \"{}\"\n", home.model().url());
    std::fs::write(
        home.folder.path().join("pleach.toml"),
        prices.replace("kind = \"openai\"\n", &format!("kind = \"openai\"\n{base}")),
    )
    .expect("a config file");
    home.trust();
    let run = home.run("Spend money", &["--max-cost", "1.0"]).exits(4).run();
    assert_eq!(run["stop_reason"], "budget_cost");
    assert!(run["metrics"]["cost_usd"].as_f64().is_some_and(|cost| cost > 0.2 && cost <= 1.0), "{}", run["metrics"]);
    let priced: f64 =
        home.model().ledger().iter().map(|entry| entry.tokens.0 as f64 * 10e-6 + entry.tokens.1 as f64 * 30e-6).sum();
    assert!(
        (run["metrics"]["cost_usd"].as_f64().unwrap_or_default() - priced).abs() < 1e-4,
        "the bill and the ledger agree"
    );
}

#[test]
fn p5_a_planner_that_repeats_itself_is_hinted_replanned_and_stopped_in_the_third_iteration() {
    let same = |_: &Request| Reply::json(calling("searching", [("search_documents", json!({ "query": "anything" }))]));
    let home = Home::with(planned_by(same));
    let run = home.run("Search for this", &[]).exits(5).run();
    assert_eq!(
        (&run["status"], &run["stop_reason"], &run["iteration"]),
        (&json!("stopped"), &json!("no_progress"), &json!(3))
    );
    let third = user_text(&home.asked("homework_planner")[2]);
    assert!(third.contains("Do not repeat the same action; choose a different approach or replan."));
    let events = home.events(run["id"].as_str().expect("an id"));
    assert_eq!(of_type(&events, "homework.replan_forced").len(), 1);
    assert_eq!(of_type(&events, "homework.tool_call_requested").len(), 2, "the third set is not carried out");
}

#[test]
fn b10_idle_iterations_stop_at_the_no_progress_limit() {
    let idle = |request: &Request| Reply::json(planner_answer(&format!("thinking {}", request.nth)));
    let home = Home::with(planned_by(idle));
    let run = home.run("Think", &[]).exits(5).run();
    assert_eq!((&run["iteration"], &run["metrics"]["no_progress_streak"]), (&json!(3), &json!(3)));
}

#[test]
fn h4_an_exit_without_evidence_is_refused_and_says_why_in_the_next_request() {
    let boast = |request: &Request| {
        let iteration = iteration(request);
        if iteration == 2 {
            assert!(request.section("exit_refused").is_some_and(|reasons| reasons.to_string().contains("c1")));
            return calling("making it", [("create_document", json!({ "title": "It", "content": "x" }))]);
        }
        let mut answer = exit(request);
        if iteration == 1 {
            answer["completion_evidence"] = json!([{ "criterion": "c1", "claim": "trust me", "refs": ["doc:019a0000-0000-7000-8000-000000000000", "it is in my head"] }]);
        }
        answer
    };
    let home = Home::with(planned_as(boast));
    let run = home.run("Claim victory", &["--success", "It exists"]).exits(0).run();
    assert_eq!(run["iteration"], 3);
    let events = home.events(run["id"].as_str().expect("an id"));
    assert_eq!(of_type(&events, "homework.exit_refused").len(), 1);
}

#[test]
fn h4_an_unknown_price_is_warned_about_and_tokens_are_capped_instead() {
    let home = Home::with(tireless()).set("OPENAI_API_KEY", "k").set("PLEACH_MODEL", "openai/nobody-knows-this-model");
    let run = home.run("Unknown price", &["--max-iterations", "1"]).exits(4).run();
    assert_eq!(run["metrics"]["cost_known"], json!(false));
    assert_eq!(run["budgets"]["max_tokens"], json!(2_000_000));
    assert!(!run["warnings"].as_array().expect("warnings").is_empty());
}
