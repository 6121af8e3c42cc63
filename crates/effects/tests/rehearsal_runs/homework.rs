//! Complete homework runs on the rehearsal model.

use crate::fixture::Fixture;
use engine::batch::RunRow;
use engine::run::{Command, Lane, Status};
use proptest::prelude::*;

const SIGNATURE: &str = "Written by the built-in rehearsal model";

fn assert_completed(row: &RunRow, iterations: u32) {
    let why = (&row.stop_reason, &row.stop_detail);
    assert_eq!(row.status, Status::Completed, "{why:?}");
    assert!(row.iteration <= iterations, "{} iterations", row.iteration);
}

#[tokio::test]
async fn e3_a_run_completes_whatever_the_number_of_criteria() {
    let criteria = ["names the crops", "gives a calendar", "fits one page", "says what it costs", "lists the risks"];
    for count in 0..=criteria.len() {
        let objective = "Plan a vegetable garden for a family of four on 60 square metres";
        let mut fixture = Fixture::with(objective, &criteria[..count], &[]).await;
        let row = fixture.settled().await;
        assert_completed(&row, 4);
        let evidence = row.report["evidence"].as_array().expect("evidence").len();
        assert_eq!(evidence, if count == 0 { 4 } else { count }, "without criteria, what was made");
        let pages = fixture.pages().await;
        assert_eq!(pages.len(), 4, "outline, two notes, synthesis");
        for page in pages {
            assert!(page.content.split_whitespace().count() >= 150, "{} is short", page.title);
            assert!(page.content.contains("vegetable garden"), "{} is about something else", page.title);
            assert!(
                page.content.trim_end().lines().last().is_some_and(|line| line.contains(SIGNATURE)),
                "{}",
                page.title
            );
        }
    }
}

#[tokio::test]
async fn p3_two_executors_work_in_two_rounds_each_and_mark_their_steps() {
    let mut fixture = Fixture::with("Compare SQLite and PostgreSQL for a small bookkeeping team", &[], &[]).await;
    assert_completed(&fixture.settled().await, 4);
    let events = fixture.events().await;
    let count = |kind: &str| events.iter().filter(|(found, _)| found == kind).count();
    assert_eq!(count("homework.executor_started"), 2);
    assert_eq!(count("homework.executor_answered"), 4);
    assert_eq!(count("homework.answer_rejected"), 0);
    assert_eq!(count("homework.exit_refused"), 0);
    let finished = events.iter().filter(|(kind, _)| kind == "homework.executor_finished");
    assert!(finished.clone().all(|(_, payload)| payload.contains("\"ok\":true")));
    let steps: Vec<_> =
        finished.filter(|(_, payload)| payload.contains("[\"s2\"]") || payload.contains("[\"s3\"]")).collect();
    assert_eq!(steps.len(), 2);
    let failed =
        events.iter().filter(|(kind, payload)| kind == "homework.tool_call_result" && payload.contains("\"ok\":false"));
    assert_eq!(failed.count(), 0);
}

#[tokio::test]
async fn h5_an_objective_that_says_ask_me_asks_once_and_uses_the_answer() {
    let mut fixture = Fixture::with(
        "Plan a summer party for the office. Ask me about the budget first.",
        &["it fits the budget"],
        &[],
    )
    .await;
    let row = fixture.settled().await;
    assert_eq!((row.status, row.iteration), (Status::WaitingOnUser, 1));
    fixture.command(Command::Answer { question: None, text: "At most 400 euros, and no fireworks".into() }).await;
    assert_completed(&fixture.settled().await, 5);
    for page in fixture.pages().await {
        assert!(page.content.contains("At most 400 euros, and no fireworks"), "{} ignores the answer", page.title);
    }
    let asked = fixture.events().await.into_iter().filter(|(kind, _)| kind == "run.question_asked").count();
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn b8_a_message_is_acknowledged_and_quoted_in_the_pages() {
    let mut fixture = Fixture::with("Write a guide to sharpening kitchen knives", &[], &[]).await;
    fixture.command(Command::Say { text: "Left-handed readers too".into(), node: None, lane: Lane::Steer }).await;
    assert_completed(&fixture.settled().await, 5);
    let acknowledges = |(kind, payload): &(String, String)| {
        kind == "homework.planned" && payload.contains("Heard: \\\"Left-handed readers too")
    };
    assert!(fixture.events().await.iter().any(acknowledges));
    assert!(fixture.pages().await.iter().all(|page| page.content.contains("Left-handed readers too")));
}

#[tokio::test]
async fn h3_a_run_that_may_only_read_completes_with_what_it_read() {
    let mut fixture = Fixture::with("Say what the workspace holds", &[], &["list_projects", "search"]).await;
    assert_completed(&fixture.settled().await, 3);
    assert!(fixture.pages().await.is_empty());
}

#[tokio::test]
async fn h3_a_run_that_may_only_create_documents_completes_too() {
    let mut fixture = Fixture::with("Describe the tides to a child", &[], &["create_document"]).await;
    assert_completed(&fixture.settled().await, 4);
    assert_eq!(fixture.pages().await.len(), 4);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn e3_a_run_completes_whatever_the_words_of_its_objective(objective in "\\PC{0,200}[a-z!?東é]") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let row = runtime.block_on(async { Fixture::with(&objective, &["it is done"], &[]).await.settled().await });
        prop_assert_eq!(row.status, Status::Completed, "{:?}", row.stop_detail);
        prop_assert!(row.iteration <= 5);
    }
}
