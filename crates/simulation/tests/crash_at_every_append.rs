//! Runs one quiet world repeatedly, with its worker killed before and after every single append.

use engine::facts::{Fact, HomeworkFact as H, TreeFact as T};
use engine::ids::NodeId;
use engine::workspace::Scope;
use runtime::ports::{DocumentFilter, Library};
use simulation::checks::{self, RunLog};
use simulation::fault_rates::FaultRates;
use simulation::world::faults::CrashAt;
use simulation::world::{FinishedWorld, Kinds, Setup, run_world};
use std::collections::BTreeMap;

/// Worlds with trees of several levels, with tools, questions, failures and second plans among them.
const TREES: [u64; 6] = [9, 4, 12, 24, 28, 37];

/// What of a run does not depend on timing or on the number of attempts.
#[derive(Debug, PartialEq)]
struct Essence {
    status: String,
    stop_reason: String,
    iterations: u32,
    plan: serde_json::Value,
    answers: u64,
    entries: Vec<String>,
    documents: Vec<(String, String)>,
    tools: Vec<(String, bool)>,
    /// A tree's nodes by their place in it, and everything that was decided about each, in order.
    nodes: BTreeMap<String, Vec<String>>,
}

fn in_world<T>(setup: Setup, visible_nodes: impl AsyncFnOnce(FinishedWorld) -> T) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(async { visible_nodes(run_world(setup).await).await })
}

fn quiet(seed: u64, kinds: Kinds, crash_at: Option<CrashAt>) -> Setup {
    let fault_rates = FaultRates { faults_end_after_ms: 20_000, ..FaultRates::calm() };
    Setup { fault_rates, workers: 1, planned_runs: 1, crash_at, ..Setup::of(seed, kinds) }
}

/// Titles name places; two nodes of one title were tried one after the other.
fn nodes(log: &RunLog<'_>) -> BTreeMap<String, Vec<String>> {
    let (mut names, mut lives) = (BTreeMap::<NodeId, String>::new(), BTreeMap::<String, Vec<String>>::new());
    for event in &log.events {
        let (Fact::Tree(fact), Some(id)) = (&event.fact, event.node_id) else { continue };
        if let T::NodeCreated(fact) = fact {
            let tried = names.values().filter(|name| name.starts_with(&format!("{} #", fact.title))).count();
            names.insert(id, format!("{} #{tried}", fact.title));
        }
        let fake_answer = match fact {
            T::NodeStatusChanged(fact) => format!("{:?} {:?}", fact.status, fact.message),
            T::StepStatusChanged(fact) => format!("step {} {:?}", fact.step_id, fact.status),
            T::NodeCompleted(fact) => without_ids(&format!("{:?} {:?}", fact.outcome, fact.evidence)),
            T::NodeFailed(fact) => format!("failed {}", fact.error),
            T::ArtifactCreated(fact) => format!("{:?} {:?}", fact.artifact_type, fact.label),
            T::NodeResult(fact) => format!("{} with {}", fact.result.summary, fact.result.artifact_ids.len()),
            T::NodeAggregated(fact) => format!("{} of {} children", fact.summary, fact.child_ids.len()),
            _ => event.kind().to_owned(),
        };
        lives.entry(names.get(&id).cloned().unwrap_or_default()).or_default().push(fake_answer);
    }
    // Siblings end in any order; what a parent notes of its steps is compared as a set.
    for fake_answer in lives.values_mut() {
        fake_answer.sort();
    }
    lives
}

async fn essence(finished: &FinishedWorld) -> Essence {
    let log = RunLog::read(finished, finished.planned_runs[0].id).await.expect("the run exists");
    let filter = DocumentFilter { run_id: Some(log.id), limit: 1_000, ..DocumentFilter::default() };
    let documents = finished.store.documents(&Scope::Platform, filter).await.expect("documents");
    let mut documents: Vec<_> = documents.into_iter().map(|document| (document.title, document.type_key)).collect();
    documents.sort();
    let entries = log.events.iter().filter_map(|event| match &event.fact {
        Fact::Homework(H::ScratchpadAppended(fact)) => Some(fact.entry_key.clone()),
        Fact::Homework(H::ExecutorFinished(fact)) => {
            fact.entry.as_ref().map(|entry| format!("{} {}", fact.branch_id, entry.entry_key))
        }
        // The key contains the node's number, which depends on timing.
        Fact::Tree(T::ScratchpadUpdated(fact)) => Some(without_ids(&fact.markdown)),
        _ => None,
    });
    let mut entries: Vec<String> = entries.collect();
    entries.sort();
    let tools = log.events.iter().filter_map(|event| match &event.fact {
        Fact::Homework(H::ToolCallResult(fact)) => Some((fact.call_id.0.clone(), fact.ok)),
        Fact::Tree(T::ToolCallResult(fact)) => Some((fact.tool.clone(), fact.ok)),
        _ => None,
    });
    let mut tools: Vec<_> = tools.collect();
    tools.sort();
    Essence {
        status: log.row.status.name().to_owned(),
        stop_reason: log.row.stop_reason.map(|reason| reason.name().to_owned()).unwrap_or_default(),
        iterations: log.row.iteration,
        plan: log.row.plan.clone(),
        answers: log.row.metrics.llm_calls,
        entries,
        documents,
        tools,
        nodes: nodes(&log),
    }
}

/// Ids are derived from times, and a crash moves those.
fn without_ids(text: &str) -> String {
    let words = text.split_inclusive(|letter: char| !letter.is_ascii_hexdigit() && letter != '-');
    let is_id = |word: &str| word.len() == 36 && word.matches('-').count() == 4;
    let shown = words.map(|word| {
        let bare = word.trim_end_matches(|letter: char| !letter.is_ascii_hexdigit() && letter != '-');
        if is_id(bare) { format!("<id>{}", &word[bare.len()..]) } else { word.to_owned() }
    });
    shown.collect()
}

/// Runs the world once per append and side of it, and compares how it ended.
fn sweep(seed: u64, kinds: Kinds) -> u64 {
    let (appends, expected) = in_world(quiet(seed, kinds, None), async |finished| {
        assert_eq!(
            checks::check_world(&finished).await.violations,
            Vec::<String>::new(),
            "the undisturbed world of seed {seed}"
        );
        (finished.appends, essence(&finished).await)
    });
    // The first append creates the run; a crash there leaves no run.
    for append in 2..=appends {
        for after in [false, true] {
            in_world(quiet(seed, kinds, Some(CrashAt { append, after })), async |finished| {
                let place = format!("seed {seed}, crash {} append {append}", if after { "after" } else { "before" });
                assert_eq!(checks::check_world(&finished).await.violations, Vec::<String>::new(), "{place}");
                assert_eq!(essence(&finished).await, expected, "{place}");
            });
        }
    }
    appends
}

#[test]
fn s2_p4_h1_killed_at_every_append_a_run_ends_as_it_would_have() {
    let appends: u64 = [1, 2, 3, 4, 7].iter().map(|seed| sweep(*seed, Kinds::Homework)).sum();
    assert!(appends > 50, "only {appends} appends were tried");
}

#[test]
fn s2_p4_t1_killed_at_every_append_a_tree_ends_as_it_would_have() {
    let appends: u64 = TREES.iter().map(|seed| sweep(*seed, Kinds::Tree)).sum();
    assert!(appends > 100, "only {appends} appends were tried");
}
