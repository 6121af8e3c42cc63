//! Twelve objectives give twelve plans and twelve sets of pages: equal requests get equal answers, different objectives different
//! ones. The tests call the model directly with the sections of a request.

use effects::rehearsal::answer;
use engine::effect::{ModelReply, Usage};
use engine::homework::answer::{CheckedAnswer, ExecutorAnswer, PlannerAnswer, RepairAnswer, ReportAnswer, read};
use engine::model::Role;
use engine::request::Speaker;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Objectives with the headline and the two sides the model must see in them.
const GOLDEN: [(&str, &str, [&str; 2]); 12] = [
    (
        "Compare SQLite and PostgreSQL for a small bookkeeping team",
        "Compare SQLite and PostgreSQL for a small bookkeeping team",
        ["Limits and boundaries", "People and needs"],
    ),
    (
        "Plan a vegetable garden for a family of four on 60 square metres",
        "Plan a vegetable garden for a family of four on 60 square metres",
        ["Order of work", "Cost and effort"],
    ),
    (
        "Please write an onboarding guide for new support engineers.",
        "Write an onboarding guide for new support engineers",
        ["Limits and boundaries", "People and needs"],
    ),
    (
        "Find out why our nightly backups take six hours; suggest three fixes",
        "Find out why our nightly backups take six hours",
        ["Cost and effort", "Limits and boundaries"],
    ),
    (
        "Prepare a two-day workshop on threat modelling",
        "Prepare a two-day workshop on threat modelling",
        ["Where things stand", "Risks and unknowns"],
    ),
    (
        "Design a loyalty programme for an independent bookshop",
        "Design a loyalty programme for an independent bookshop",
        ["Signs of success", "Where things stand"],
    ),
    (
        "Summarise the state of heat pump adoption in old apartment buildings",
        "Summarise the state of heat pump adoption in old apartment buildings",
        ["People and needs", "Options and trade-offs"],
    ),
    (
        "I need a migration plan from REST to GraphQL for the orders service",
        "A migration plan from REST to GraphQL for the orders service",
        ["Cost and effort", "Where things stand"],
    ),
    (
        "Draft a privacy policy for a chess club",
        "Draft a privacy policy for a chess club",
        ["Cost and effort", "Risks and unknowns"],
    ),
    (
        "Should we open-source the scheduler?",
        "Should we open-source the scheduler",
        ["Options and trade-offs", "Risks and unknowns"],
    ),
    (
        "Bereite einen Umzug nach Lissabon vor: Wohnung, Schule, Steuern",
        "Bereite einen Umzug nach Lissabon vor: Wohnung, Schule, Steuern",
        ["Signs of success", "Limits and boundaries"],
    ),
    ("東京で三日間の旅行を計画する", "東京で三日間の旅行を計画する", ["Signs of success", "Options and trade-offs"]),
];

fn ask(role: Role, sections: &[(&str, Value)]) -> String {
    let text: String = sections.iter().map(|(name, value)| format!("## {name}\n{value}\n\n")).collect();
    answer("default", role, &[(Speaker::System, "Play your part.".into()), (Speaker::User, text)])
}

fn parsed<T: serde::de::DeserializeOwned + CheckedAnswer>(text: &str) -> T {
    let reply = ModelReply { text: text.into(), usage: Usage::default(), truncated: false, provider_request_id: None };
    read(&reply).unwrap_or_else(|errors| panic!("{errors:?} in {text}"))
}

fn planner(objective: &str, more: &[(&str, Value)]) -> PlannerAnswer {
    let mut sections = vec![("objective", json!(objective)), ("iteration", json!(1))];
    sections.extend(more.iter().cloned());
    parsed(&ask(Role::HomeworkPlanner, &sections))
}

fn artifact(number: u32, title: &str) -> Value {
    json!({"ref": format!("doc:0190f000-0000-7000-8000-0000000000{number:02}"), "title": title})
}

/// The plan and the pages an objective leads to, by playing its stages.
fn play(objective: &str) -> (Vec<String>, Vec<(String, String)>) {
    let first = planner(objective, &[]);
    let page = |call: &engine::homework::answer::CallAnswer| {
        let text = |name: &str| call.arguments[name].as_str().unwrap_or_default().to_owned();
        (text("title"), text("content"))
    };
    let written = |calls: &[engine::homework::answer::CallAnswer]| {
        calls.iter().filter(|call| call.tool == "create_document").map(page).collect::<Vec<_>>()
    };
    let steps = first.plan.steps.iter().map(|step| step.title.clone()).collect();
    let mut pages = written(&first.tool_calls);
    let artifacts = json!([artifact(1, &pages[0].0)]);
    for task in planner(objective, &[("artifacts", artifacts)]).executor_tasks {
        let task = json!({"branch_id": task.branch_id, "step_id": task.step_id, "title": task.title, "objective": task.objective});
        let sections = [
            ("objective", json!(objective)),
            ("task", task),
            ("tool_results", json!({"tool": "search_documents", "ok": true, "result": {"results": []}})),
        ];
        let note: ExecutorAnswer = parsed(&ask(Role::HomeworkExecutor, &sections));
        pages.extend(written(&note.tool_calls));
    }
    let artifacts: Vec<Value> = pages.iter().zip(1..).map(|((title, _), number)| artifact(number, title)).collect();
    pages.extend(written(&planner(objective, &[("artifacts", json!(artifacts))]).tool_calls));
    (steps, pages)
}

#[test]
fn twelve_objectives_give_twelve_plans_and_twelve_sets_of_pages() {
    let mut plans = BTreeSet::new();
    let mut texts = BTreeSet::new();
    for (objective, ..) in GOLDEN {
        let (steps, pages) = play(objective);
        assert_eq!((steps.len(), pages.len()), (4, 4), "{objective}");
        for (title, content) in &pages {
            assert!(content.split_whitespace().count() >= 150, "{title}: {} words", content.split_whitespace().count());
            assert!(!content.contains(['{', '}']), "an empty slot in {title}: {content}");
            texts.insert(content.clone());
        }
        plans.insert(steps);
    }
    assert_eq!((plans.len(), texts.len()), (12, 48));
}

#[test]
fn an_objective_always_leads_to_the_same_headline_and_the_same_two_sides() {
    for (objective, topic, angles) in GOLDEN {
        let (_, pages) = play(objective);
        let titles: Vec<&str> = pages.iter().map(|(title, _)| title.as_str()).collect();
        let expected = [
            format!("Outline: {topic}"),
            format!("{}: {topic}", angles[0]),
            format!("{}: {topic}", angles[1]),
            format!("Synthesis: {topic}"),
        ];
        assert_eq!(titles, expected);
        assert_eq!(play(objective), play(objective));
    }
}

#[test]
fn a_refused_exit_is_answered_in_writing_and_then_cited() {
    let objective = GOLDEN[0].0;
    let (_, pages) = play(objective);
    let mut artifacts: Vec<Value> = pages.iter().zip(1..).map(|((title, _), number)| artifact(number, title)).collect();
    let refused = ("exit_refused", json!(["criterion c1 has no verified evidence"]));
    let criteria = ("success_criteria", json!([{"id": "c1", "text": "names a winner"}]));
    let again = planner(objective, &[("artifacts", json!(artifacts)), refused.clone(), criteria.clone()]);
    assert!(!again.exit_signal && again.progress_summary.contains("criterion c1 has no verified evidence"));
    let addendum = &again.tool_calls[0].arguments;
    assert!(addendum["content"].as_str().is_some_and(|text| text.contains("criterion c1 has no verified evidence")));
    artifacts.push(artifact(9, addendum["title"].as_str().unwrap_or_default()));
    let last = planner(objective, &[("artifacts", json!(artifacts)), refused, criteria]);
    assert!(last.exit_signal && last.remaining_work.is_empty());
    assert_eq!(last.completion_evidence[0].refs[0], "doc:0190f000-0000-7000-8000-000000000009");
}

#[test]
fn a_message_after_the_synthesis_changes_it_before_the_end() {
    let objective = GOLDEN[1].0;
    let (_, pages) = play(objective);
    let artifacts: Vec<Value> = pages.iter().zip(1..).map(|((title, _), number)| artifact(number, title)).collect();
    let message = |unread: bool| ("messages", json!([{"text": "No tomatoes", "unread": unread}]));
    let heard = planner(objective, &[("artifacts", json!(artifacts)), message(true)]);
    assert_eq!((heard.exit_signal, heard.tool_calls[0].tool.as_str()), (false, "update_document"));
    assert_eq!(heard.tool_calls[0].arguments["document_id"], "0190f000-0000-7000-8000-000000000004");
    assert!(planner(objective, &[("artifacts", json!(artifacts)), message(false)]).exit_signal);
}

#[test]
fn notes_that_executors_did_not_bring_are_written_by_the_planner() {
    let objective = GOLDEN[2].0;
    let (steps, pages) = play(objective);
    let plan =
        json!({"version": 2, "steps": [{"id": "s2", "title": steps[1], "status": "doing", "owner": "executor"}]});
    let again = planner(
        objective,
        &[("artifacts", json!([artifact(1, &pages[0].0), artifact(2, &pages[1].0)])), ("plan", plan.clone())],
    );
    assert_eq!(again.executor_tasks.len(), 1, "the other note was not tried yet");
    let again = planner(objective, &[("artifacts", json!([artifact(1, &pages[0].0)])), ("plan", plan)]);
    assert!(again.executor_tasks.is_empty());
    assert_eq!(
        again.tool_calls.iter().map(|call| call.arguments["title"].clone()).collect::<Vec<_>>(),
        [pages[1].0.clone(), pages[2].0.clone()]
    );
}

#[test]
fn repairs_and_reports_fit_their_schemas_whatever_is_missing() {
    let _: RepairAnswer = parsed(&ask(Role::HomeworkRepair, &[]));
    let report: ReportAnswer = parsed(&ask(
        Role::HomeworkReport,
        &[
            ("objective", json!(GOLDEN[3].0)),
            ("outcome", json!({"status": "stopped", "stop_reason": "max_iterations", "detail": "…"})),
            ("plan", json!({"steps": [{"id": "s1", "title": "Open step", "status": "doing"}]})),
        ],
    ));
    assert!(
        report.title.ends_with("(stopped)")
            && report.summary.contains("max_iterations")
            && report.summary.contains("rehearsal")
    );
    assert_eq!(report.not_done, ["Open step"]);
    let _: PlannerAnswer = parsed(&ask(Role::HomeworkPlanner, &[]));
    let _: ExecutorAnswer = parsed(&ask(Role::HomeworkExecutor, &[]));
}

const SECTIONS: [&str; 16] = [
    "objective",
    "success_criteria",
    "iteration",
    "artifacts",
    "plan",
    "tool_results",
    "executor_results",
    "exit_refused",
    "questions",
    "messages",
    "hints",
    "tools",
    "task",
    "failed_calls",
    "outcome",
    "evidence",
];

const FIELDS: [&str; 12] =
    ["title", "text", "answer", "unread", "ref", "steps", "id", "status", "ok", "event", "tool", "arguments"];

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(json!(true)),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let named = (prop::sample::select(&FIELDS), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            prop::collection::vec(named, 0..5)
                .prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_request_makes_the_model_panic_or_answer_anything_but_json(
        sections in prop::collection::vec((prop::sample::select(&SECTIONS), any_json()), 0..8),
        stray in any::<String>(),
    ) {
        for role in Role::ALL {
            let text = ask(role, &sections) + &answer("demo", role, &[(Speaker::User, stray.clone())]);
            let answers = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
            prop_assert_eq!(answers.filter_map(Result::ok).filter(Value::is_object).count(), 2);
        }
    }
}
