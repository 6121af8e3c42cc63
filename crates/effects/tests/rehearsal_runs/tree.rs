//! Complete tree runs on the rehearsal model: plans that fit their objective, pages and data, and the question and failure of the
//! demo.

use crate::fixture::{Fixture, RUN, brief};
use engine::batch::{ArtifactRow, NodeRow, PlanRow};
use engine::facts::run::Queued;
use engine::facts::tree::ArtifactType;
use engine::run::{Command, Kind, Status};
use engine::tree::status::NodeStatus;
use engine::workspace::Scope;
use proptest::prelude::*;
use runtime::ports::{Library, Slice};
use std::collections::BTreeSet;
use store::NodeFilter;

const OBJECTIVES: [(&str, &str); 12] = [
    ("Compare SQLite and PostgreSQL for a small bookkeeping team", "SQLite"),
    ("Plan a vegetable garden for a family of four on 60 square metres", "vegetable garden"),
    ("Please write an onboarding guide for new support engineers.", "onboarding guide"),
    ("Find out why our nightly backups take six hours; suggest three fixes", "nightly backups"),
    ("Prepare a two-day workshop on threat modelling", "threat modelling"),
    ("Design a loyalty programme for an independent bookshop", "loyalty programme"),
    ("Summarise the state of heat pump adoption in old apartment buildings", "heat pump adoption"),
    ("I need a migration plan from REST to GraphQL for the orders service", "GraphQL"),
    ("Draft a privacy policy for a chess club", "privacy policy"),
    ("Choose a bicycle for commuting through the winter", "bicycle"),
    ("Organise the archive of a village newspaper", "archive"),
    ("Estimate the cost of moving a library to a new building", "library"),
];

fn brief_for(model: &str, objective: &str, owner: engine::ids::ActorId) -> Queued {
    let mut brief = Queued { kind: Kind::Tree, ..brief(objective, &[], &[], owner) };
    let spec = engine::model::ModelSpec { model: model.into(), ..brief.models.balanced.clone() };
    brief.models = engine::model::Models::uniform(spec);
    brief
}

async fn completed_tree(objective: &str) -> Fixture {
    let mut fixture = Fixture::with_brief(|owner| brief_for("default", objective, owner)).await;
    let row = fixture.settled().await;
    assert_eq!(row.status, Status::Completed, "{objective}: {:?}", row.stop_detail);
    assert_eq!(row.questions.as_array().map(Vec::len), Some(0), "nobody is asked");
    assert_eq!(row.report["not_done"].as_array().map(Vec::len), Some(0), "{}", row.report);
    fixture
}

async fn nodes(fixture: &Fixture) -> Vec<NodeRow> {
    fixture.store.nodes(&Scope::Platform, RUN, NodeFilter::default()).await.expect("readable")
}

/// The versions of the root's plan.
async fn plans(fixture: &Fixture) -> Vec<PlanRow> {
    let root = nodes(fixture).await[0].id;
    fixture.store.plans(&Scope::Platform, RUN, Some(root), Slice::first(1_000)).await.expect("readable")
}

async fn artifacts(fixture: &Fixture) -> Vec<ArtifactRow> {
    fixture.store.artifacts(&Scope::Platform, RUN, None, Slice::first(1_000)).await.expect("readable")
}

/// Band by band, the titles of the root's steps.
fn shape(plan: &PlanRow) -> Vec<Vec<String>> {
    let titles = |band: &serde_json::Value| {
        let steps = band["steps"].as_array().into_iter().flatten();
        steps.map(|step| step["title"].as_str().unwrap_or_default().to_owned()).collect()
    };
    plan.plan_json["bands"].as_array().into_iter().flatten().map(titles).collect()
}

#[tokio::test]
async fn t6_e3_twelve_objectives_give_twelve_trees_of_pages_and_data() {
    let mut shapes = BTreeSet::new();
    let mut texts = BTreeSet::new();
    for (objective, words) in OBJECTIVES {
        let fixture = completed_tree(objective).await;
        let plan = shape(&plans(&fixture).await[0]);
        assert!((2..=3).contains(&plan.len()), "{objective}: {} bands", plan.len());
        assert!(plan[0].len() >= 3, "{objective}: {plan:?}");
        for page in fixture.pages().await {
            let count = page.content.split_whitespace().count();
            assert!(count >= 150, "{}: {count} words", page.title);
            assert!(page.content.contains(words), "{} is about something else than {words}", page.title);
            texts.insert(page.content);
        }
        let made = artifacts(&fixture).await;
        assert!(made.iter().any(|made| made.artifact_type == ArtifactType::Json && made.json_payload.is_some()));
        let root = &nodes(&fixture).await[0];
        let primary = made.iter().find(|made| made.node_id == root.id && made.is_primary).expect("a primary artifact");
        let document = primary.document_id.expect("a document");
        let synthesis = fixture.store.document(&Scope::Platform, document).await.expect("readable").expect("there");
        assert!(synthesis.title.starts_with("Synthesis: "), "{}", synthesis.title);
        shapes.insert(plan);
    }
    assert_eq!(shapes.len(), 12, "twelve plans");
    assert!(texts.len() >= 48, "{} pages", texts.len());
}

#[tokio::test]
async fn an_objective_always_grows_the_same_tree() {
    let objective = OBJECTIVES[1].0;
    let (one, two) = (completed_tree(objective).await, completed_tree(objective).await);
    assert_eq!(shape(&plans(&one).await[0]), shape(&plans(&two).await[0]));
    let texts =
        |pages: Vec<engine::workspace::Document>| pages.into_iter().map(|page| page.content).collect::<BTreeSet<_>>();
    assert_eq!(texts(one.pages().await), texts(two.pages().await));
}

#[tokio::test]
async fn t7_small_allowances_give_small_trees() {
    for (depth, most) in [(0, 100), (1, 4), (4, 1), (1, 2)] {
        let mut fixture = Fixture::with_brief(|owner| {
            let mut brief = brief_for("default", OBJECTIVES[0].0, owner);
            (brief.budgets.max_depth, brief.budgets.max_nodes) = (depth, most);
            brief
        })
        .await;
        let row = fixture.settled().await;
        assert_eq!(row.status, Status::Completed, "{:?}", row.stop_detail);
        let grown = nodes(&fixture).await.len();
        assert!(grown <= most as usize && (depth > 0 || grown == 1), "{grown} nodes of {most} at depth {depth}");
    }
}

#[tokio::test]
async fn b9_the_demonstration_asks_with_a_default_fails_once_and_plans_anew() {
    let mut fixture = Fixture::with_brief(|owner| brief_for("demo", OBJECTIVES[1].0, owner)).await;
    let row = fixture.settled().await;
    assert_eq!(row.status, Status::WaitingOnUser);
    let question = &row.questions[0];
    assert!(question["default"].is_string() && question["deadline_at"].is_string(), "{question}");
    fixture.command(Command::Answer { question: None, text: "a quick one".into() }).await;
    let row = fixture.settled().await;
    assert_eq!(row.status, Status::Completed, "{:?}", row.stop_detail);
    let nodes = nodes(&fixture).await;
    let replaced: Vec<_> = nodes.iter().filter(|node| node.status == NodeStatus::Superseded).collect();
    assert_eq!(replaced.len(), 1, "the new plan replaces the step that failed");
    assert!(replaced[0].error.is_some(), "it says why it failed");
    let versions: Vec<u32> = plans(&fixture).await.iter().map(|plan| plan.version).collect();
    assert_eq!(versions, [1, 2]);
    assert!(fixture.pages().await.iter().any(|page| page.content.contains("a quick one")), "the answer is used");
    let kinds: Vec<String> = fixture.events().await.into_iter().map(|(kind, _)| kind).collect();
    assert!(kinds.contains(&"tree.replan_requested".to_owned()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn e3_a_tree_completes_whatever_the_words_of_its_objective(objective in "\\PC{0,200}[a-z!?東é]") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let row = runtime.block_on(async {
            Fixture::with_brief(|owner| brief_for("default", &objective, owner)).await.settled().await
        });
        prop_assert_eq!(row.status, Status::Completed, "{:?}", row.stop_detail);
    }
}
