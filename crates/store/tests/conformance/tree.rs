//! The nodes, plans and artifacts of a tree: read in order and in scope, and rebuilt from the log alone.

use crate::played::{dumps, played, raw, replied, sql};
use crate::world::{World, brief, fresh, now, run_id};
use engine::actor::Actor;
use engine::batch::{ArtifactRow, PlanRow};
use engine::effect::{EffectAttempt, Outcome, Work};
use engine::facts::run::Queued;
use engine::ids::{NodeId, NodeNumber};
use engine::model::Role;
use engine::projection;
use engine::run::{Kind, Machine, Run, Status};
use engine::tree::status::NodeStatus;
use engine::workspace::Scope;
use runtime::ports::{Library, Log, RunFilter, Slice};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use store::NodeFilter;

crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [
    t1_nodes_plans_and_artifacts_are_what_the_log_says,
    nodes_are_paged_in_the_order_they_were_made,
    a_nodes_timeline_is_its_own_events,
    a_timeline_over_many_commits_has_each_event_once,
    runs_that_can_still_be_answered_are_found,
    the_parts_of_a_tree_are_seen_by_whoever_sees_the_run,
    one_node_is_found_in_its_own_run_only,
]);

crate::promises!(on [sqlite_rows = Sqlite, inline_rows = Inline, postgres_rows = Postgres]: [
    t1_rebuilding_gives_the_same_rows,
]);

const PROJECTIONS: [&str; 6] = [
    "tree_agent_runs",
    "tree_agent_nodes",
    "tree_agent_plans",
    "tree_agent_artifacts",
    "notifications",
    "onto_document_entries",
];

fn pad() -> Value {
    json!({"append_markdown": "noted", "tail_preview": "noted"})
}

fn step(id: &str) -> Value {
    json!({"id": id, "title": format!("Step {id}"), "reason": "a part", "success_criteria": ["written"], "deliverable": "either", "leaf": true})
}

fn plan() -> Value {
    let bands = json!([
        {"index": 0, "goal": "gather", "steps": [step("a"), step("b")]}, {"index": 1, "goal": "judge", "steps": [step("c")]},
    ]);
    json!({"mode": "plan", "mode_reason": "parts", "plan": {"summary": "gather, then judge", "bands": bands}, "scratchpad": pad()})
}

/// `a` writes a document, `b` fails for good, `c` returns JSON.
fn answer(role: Role, title: &str) -> Value {
    let result = |label: &str| {
        json!({"kind": "document", "summary": "done", "success_assessment": {"met": true}, "primary_artifact_label": label,
            "parent_hint": {"hint_type": "read_documents", "artifact_labels": [label]}})
    };
    let paper = |label: &str| json!({"type": "document", "label": label, "title": label, "markdown": "Twelve oaks."});
    match (role, title) {
        (Role::TreePlanner, _) => plan(),
        (Role::TreeExecutor, "Step b") => json!({"scratchpad": pad()}),
        (Role::TreeExecutor, "Step c") => {
            json!({"artifacts": [{"type": "json", "label": "figures", "json": {"oaks": 12}}], "result": result("figures"), "scratchpad": pad()})
        }
        (Role::TreeExecutor, _) => {
            json!({"artifacts": [paper("prices")], "result": result("prices"), "scratchpad": pad()})
        }
        _ => {
            json!({"synthesis": {"summary": "oak is dear", "key_findings": [], "gaps": []}, "artifacts": [paper("synthesis")],
            "result": result("synthesis"), "next": {"should_replan": false}, "scratchpad": pad()})
        }
    }
}

fn perform(job: &EffectAttempt) -> Outcome {
    let Work::Model(call) = &job.work else { panic!("nobody calls a tool") };
    let parts = call.request.messages.iter().flat_map(|message| &message.parts);
    let title = parts
        .filter_map(|part| match part {
            engine::request::Part::Text(text) => text.lines().find_map(|line| line.strip_prefix("Node: ")),
            engine::request::Part::Stored { .. } => None,
        })
        .next();
    replied(answer(call.role, title.expect("every call names its node")))
}

async fn grown(world: &World) -> Run {
    let project = world.project("Oak").await;
    let brief = Queued { kind: Kind::Tree, ..brief(world.me, &[project]) };
    let run = played(world, brief, perform).await;
    assert_eq!(run.shared.status(), Status::Completed, "{:?}", run.shared.stop_detail);
    run
}

/// The projections, computed from the whole log at once.
async fn implied(world: &World, run: &Run) -> engine::batch::Rows {
    let stored = world.store.events(run_id(run), 0, 1_000).await.unwrap();
    let events: Vec<_> = stored.into_iter().map(|event| event.decode()).collect();
    projection::rows(&Run::fold(&events).unwrap(), &events)
}

async fn t1_nodes_plans_and_artifacts_are_what_the_log_says(world: World) {
    let run = grown(&world).await;
    let implied = implied(&world, &run).await;
    let mine = world.mine();
    let nodes = world.store.nodes(&mine, run_id(&run), NodeFilter::default()).await.unwrap();
    assert_eq!(nodes, implied.nodes);
    let status: Vec<(&str, NodeStatus)> = nodes.iter().map(|node| (node.title.as_str(), node.status)).collect();
    assert_eq!(
        status[1..],
        [("Step a", NodeStatus::Completed), ("Step b", NodeStatus::Failed), ("Step c", NodeStatus::Completed)]
    );
    assert_eq!(world.store.run(&mine, run_id(&run)).await.unwrap().unwrap().root_node_id, Some(nodes[0].id));
    fn by_id<K: Ord, R: Clone>(rows: &[R], id: fn(&R) -> K) -> BTreeMap<K, R> {
        rows.iter().map(|row| (id(row), row.clone())).collect()
    }
    let plans = world.store.plans(&mine, run_id(&run), None, Slice::first(100)).await.unwrap();
    assert_eq!(by_id(&plans, |row: &PlanRow| row.id), by_id(&implied.plans, |row| row.id));
    let artifacts = world.store.artifacts(&mine, run_id(&run), None, Slice::first(100)).await.unwrap();
    assert_eq!(by_id(&artifacts, |row: &ArtifactRow| row.id), by_id(&implied.artifacts, |row| row.id));
    assert!(artifacts.is_sorted_by_key(|artifact| artifact.created_at), "oldest first");
    let labels: BTreeSet<&str> = artifacts.iter().map(|artifact| artifact.label.as_str()).collect();
    assert_eq!(labels, BTreeSet::from(["figures", "prices", "synthesis"]));
    // Page by page, in the order of their creation
    let first = world.store.artifacts(&mine, run_id(&run), None, Slice::first(1)).await.unwrap();
    let behind = Slice { after: Some(first[0].id), limit: 100 };
    let rest = world.store.artifacts(&mine, run_id(&run), None, behind).await.unwrap();
    assert_eq!(first.into_iter().chain(rest).collect::<Vec<_>>(), artifacts);
    let figures = world.store.artifacts(&mine, run_id(&run), Some(nodes[3].id), Slice::first(100)).await.unwrap();
    assert_eq!(figures.len(), 1, "only that node's");
    assert_eq!(figures[0].json_payload, Some(json!({"oaks": 12})));
    assert_eq!(world.store.plans(&mine, run_id(&run), Some(nodes[3].id), Slice::first(100)).await.unwrap(), []);
}

async fn nodes_are_paged_in_the_order_they_were_made(world: World) {
    let run = grown(&world).await;
    let page = |filter| {
        let (world, id) = (world.clone(), run_id(&run));
        async move {
            let rows = world.store.nodes(&world.mine(), id, filter).await.unwrap();
            rows.into_iter().map(|row| row.ordinal.0).collect::<Vec<_>>()
        }
    };
    let filter = NodeFilter { limit: 3, ..NodeFilter::default() };
    assert_eq!(page(filter).await, [0, 1, 2]);
    assert_eq!(page(NodeFilter { after: Some(NodeNumber(2)), ..filter }).await, [3]);
    assert_eq!(page(NodeFilter { after: Some(NodeNumber(3)), ..filter }).await, Vec::<u32>::new());
    let last = run.shared.updated_at;
    assert!(page(NodeFilter { since: Some(last), ..filter }).await.contains(&0), "the root is the last to change");
    assert!(page(NodeFilter { since: Some(last.plus_ms(1)), ..filter }).await.is_empty());
}

async fn a_nodes_timeline_is_its_own_events(world: World) {
    let run = grown(&world).await;
    let (id, root) = (run_id(&run), root(&run));
    let all = world.store.events(id, 0, 1_000).await.unwrap();
    let own: Vec<_> = all.into_iter().filter(|event| event.node_id == Some(root)).collect();
    assert!(own.len() > 10 && own[0].kind == "tree.node_created", "{own:?}");
    let mine = world.mine();
    assert_eq!(world.store.timeline(&mine, id, root, 0, 1_000).await.unwrap(), own);
    assert_eq!(world.store.timeline(&mine, id, root, own[1].seq, 2).await.unwrap(), own[2..4]);
    assert!(world.store.timeline(&Scope::Actor(fresh()), id, root, 0, 10).await.unwrap().is_empty());
}

async fn runs_that_can_still_be_answered_are_found(world: World) {
    let brief = Queued { kind: Kind::Tree, ..brief(world.me, &[]) };
    let asks = json!({"question": {"text": "Which oak?"}, "scratchpad": pad()});
    let mut asking = played(&world, brief, |_| replied(asks.clone())).await;
    assert_eq!(asking.shared.status(), Status::WaitingOnUser);
    grown(&world).await;
    let filter = RunFilter { asking: true, ..RunFilter::default() };
    let found = world.store.runs(&world.mine(), filter.clone()).await.unwrap();
    assert_eq!(found.iter().map(|run| run.id).collect::<Vec<_>>(), [run_id(&asking)]);
    let append = world.commanded(&mut asking, engine::run::Command::Cancel);
    world.store.append(append).await.unwrap();
    assert!(world.store.runs(&world.mine(), filter).await.unwrap().is_empty(), "an ended run waits for nobody");
}

async fn the_parts_of_a_tree_are_seen_by_whoever_sees_the_run(world: World) {
    let run = grown(&world).await;
    let (id, root) = (run_id(&run), root(&run));
    for unseen in [Scope::Actor(fresh()), Scope::Within(world.me, vec![fresh()])] {
        assert!(world.store.nodes(&unseen, id, NodeFilter::default()).await.unwrap().is_empty());
        assert!(world.store.node(&unseen, id, root).await.unwrap().is_none());
        assert!(world.store.plans(&unseen, id, None, Slice::first(100)).await.unwrap().is_empty());
        assert!(world.store.artifacts(&unseen, id, None, Slice::first(100)).await.unwrap().is_empty());
    }
    assert_eq!(world.store.nodes(&Scope::Platform, id, NodeFilter::default()).await.unwrap().len(), 4);
}

async fn one_node_is_found_in_its_own_run_only(world: World) {
    let (first, second) = (grown(&world).await, grown(&world).await);
    let mine = world.mine();
    let found = world.store.node(&mine, run_id(&first), root(&first)).await.unwrap();
    assert_eq!(found.map(|node| node.title), Some(first.shared.brief.objective.clone()));
    assert!(world.store.node(&mine, run_id(&second), root(&first)).await.unwrap().is_none());
    assert!(world.store.node(&mine, run_id(&first), fresh()).await.unwrap().is_none());
}

fn root(run: &Run) -> NodeId {
    let Machine::Tree(state) = &run.machine else { panic!("a tree") };
    state.root().expect("a root").id
}

async fn t1_rebuilding_gives_the_same_rows(world: World) {
    let mut run = grown(&world).await;
    let Machine::Tree(state) = &run.machine else { panic!("a tree") };
    let failed = state.nodes[2].id;
    let retry = engine::run::Command::Node { node: failed, order: engine::run::NodeCommand::Retry };
    run.command(retry, Actor::Person(world.me), now()).expect("a failed step may be tried again");
    world.store.append(crate::world::drafted(&mut run, None)).await.unwrap();
    let before = dumps(&world, &PROJECTIONS).await;
    assert!(before.iter().all(|rows| !rows.is_empty()), "every projection has rows: {before:#?}");
    sql(&world).rebuild().await.unwrap();
    assert_eq!(dumps(&world, &PROJECTIONS).await, before);
}

/// A timeline is read 64 commits at a time: one commit less, exactly as many, and twice as many.
async fn a_timeline_over_many_commits_has_each_event_once(world: World) {
    let run = world.queued(&[]).await.shared.id;
    let (node, hash): (NodeId, String) = (fresh(), "0".repeat(32));
    let mut seqs: Vec<u64> = Vec::new();
    for until in [64, 65, 129] {
        let next = seqs.last().map_or(2, |last| last + 1);
        let commits = (next..=until).map(|seq| {
            let event = format!("[\"{node}\",null,\"tree.later\",0,\"platform\",\"{hash}\",{{}}]");
            format!("INSERT INTO run_commits (run_id, first_seq, events) VALUES ('{run}', {seq}, '[{event}]');")
        });
        raw(&world, &commits.collect::<String>()).await;
        seqs.extend(next..=until);
        let timeline = sql(&world).timeline(&Scope::Platform, run, node, 0, 1_000).await.unwrap();
        assert_eq!(timeline.iter().map(|event| event.seq).collect::<Vec<_>>(), seqs);
        let after = sql(&world).timeline(&Scope::Platform, run, node, 60, 3).await.unwrap();
        assert_eq!(after.iter().map(|event| event.seq).collect::<Vec<_>>(), [61, 62, 63]);
    }
}
