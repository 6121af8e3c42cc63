//! Maintenance: damage is found, a rebuild gives the same rows, and pruning deletes whole runs and nothing that people
//! keep.

use crate::played::{dump, dumps, played, raw, replied, sql};
use crate::world::{World, brief, document, fresh, rewrite, run_id};
use engine::effect::{Outcome, ToolOutcome, ToolOutput, Work};
use engine::facts::run::Queued;
use engine::run::{Command, Run, Status};
use engine::time::Timestamp;
use engine::workspace::{Document, Mutation, Scope};
use runtime::ports::{DocumentFilter, Library, Log};
use serde_json::{Value, json};
use store::LogCheck;

crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [
    a_whole_log_is_intact,
    a_changed_event_is_found,
    a_missing_event_is_found,
    invariant_4_rebuilding_gives_the_same_rows,
    rebuilding_restores_lost_projections,
    pruning_removes_whole_ended_runs_and_the_texts_nobody_needs,
    pruning_keeps_what_people_edited_or_refer_to,
    invariant_28_pruning_leaves_young_and_unfinished_runs_alone,
]);

const PROJECTIONS: [&str; 5] =
    ["homework_runs", "homework_run_iterations", "run_projects", "notifications", "onto_document_entries"];

async fn dump_all(world: &World) -> Vec<Vec<String>> {
    dumps(world, &PROJECTIONS).await
}

/// A completed run of one iteration that creates a document.
async fn completed(world: &World) -> Run {
    let project = world.project("Oak").await;
    let tool = json!({"name": "create_document", "arguments": "title, content", "description": "", "read": false});
    let brief = Queued { tools: vec![serde_json::from_value(tool).unwrap()], ..brief(world.me, &[project]) };
    played(world, brief, |job| match &job.work {
        Work::Check(work) => panic!("no criteria are checked here: {work:?}"),
        Work::Model(_) => replied(answer()),
        Work::Tool(_) => Outcome::Tool(ToolOutcome {
            result: Ok(ToolOutput { content: json!({"ok": true}), summary: "made".into(), read: false }),
            mutations: vec![document(project, "Prices of oak", "twelve").1],
        }),
    })
    .await
}

fn answer() -> Value {
    json!({
        "progress_summary": "made the document",
        "plan": {"steps": []},
        "tool_calls": [{"tool": "create_document", "arguments": {"title": "Prices of oak", "content": "twelve"}, "purpose": "to keep"}],
        "executor_tasks": [], "remaining_work": [],
        "completion_evidence": [{"claim": "the document exists", "refs": []}],
        "exit_signal": true, "needs_user_input": false, "blocking_questions": [],
        "next_action_hint": "stop", "confidence": "high",
        "title": "Oak", "summary": "Twelve.", "findings": [], "not_done": [],
    })
}

async fn a_whole_log_is_intact(world: World) {
    let run = completed(&world).await;
    assert_eq!(run.shared.status(), Status::Completed);
    assert_eq!(sql(&world).verify(run_id(&run)).await.unwrap(), LogCheck::Intact { events: run.shared.last_seq });
    assert!(sql(&world).verify_all().await.unwrap().is_empty());
}

async fn a_changed_event_is_found(world: World) {
    let run = completed(&world).await;
    let last_commit = "first_seq = (SELECT MAX(c.first_seq) FROM run_commits c)";
    raw(&world, &format!("UPDATE run_commits SET events = replace(events, ':', ': ') WHERE {last_commit}")).await;
    let verdict = sql(&world).verify(run_id(&run)).await.unwrap();
    assert!(matches!(verdict, LogCheck::Broken { seq: 2.., .. }), "{verdict:?}");
}

async fn a_missing_event_is_found(world: World) {
    let run = completed(&world).await;
    let second_commit = "first_seq = (SELECT MIN(c.first_seq) FROM run_commits c WHERE c.first_seq > 1)";
    raw(&world, &format!("DELETE FROM run_commits WHERE {second_commit}")).await;
    let verdict = sql(&world).verify(run_id(&run)).await.unwrap();
    assert!(matches!(verdict, LogCheck::Broken { seq: 2.., .. }), "{verdict:?}");
}

async fn invariant_4_rebuilding_gives_the_same_rows(world: World) {
    completed(&world).await;
    let mut other = world.queued(&[]).await;
    let append = world.commanded(&mut other, Command::Cancel);
    world.store.append(append).await.unwrap();
    let before = dump_all(&world).await;
    assert!(before.iter().all(|rows| !rows.is_empty()), "every projection has rows: {before:#?}");
    assert_eq!(sql(&world).rebuild().await.unwrap(), 2);
    assert_eq!(dump_all(&world).await, before);
}

async fn rebuilding_restores_lost_projections(world: World) {
    completed(&world).await;
    let before = dump_all(&world).await;
    for table in PROJECTIONS {
        raw(&world, &format!("DELETE FROM {table}")).await;
    }
    sql(&world).rebuild().await.unwrap();
    assert_eq!(dump_all(&world).await, before);
}

const LATER: Timestamp = Timestamp(4_000_000_000_000);

async fn pruning_removes_whole_ended_runs_and_the_texts_nobody_needs(world: World) {
    let run = completed(&world).await;
    let pruned = sql(&world).prune(LATER).await.unwrap();
    assert_eq!((pruned.runs, pruned.events), (1, run.shared.last_seq));
    assert!(pruned.documents > 0 && pruned.blobs > 0, "{pruned:?}");
    for table in PROJECTIONS.into_iter().chain(["run_commits", "jobs", "blobs", "blob_refs", "onto_document_versions"])
    {
        assert!(dump(&world, table).await.is_empty(), "{table} is empty");
    }
    let left = world
        .store
        .documents(&Scope::Platform, DocumentFilter { type_key: Some("document.note".into()), ..Default::default() })
        .await
        .unwrap();
    assert_eq!(
        left.iter().map(|doc| doc.title.as_str()).collect::<Vec<_>>(),
        vec!["Prices of oak"],
        "what was made for people stays"
    );
}

async fn pruning_keeps_what_people_edited_or_refer_to(world: World) {
    let run = completed(&world).await;
    let of_run = DocumentFilter { run_id: Some(run_id(&run)), ..DocumentFilter::default() };
    let made = world.store.documents(&Scope::Platform, of_run).await.unwrap();
    // Scratchpads have entries, and nobody edits those.
    let edits = |doc: &&Document| doc.props["doc_role"].as_str().is_some_and(|role| !role.starts_with("scratchpad"));
    let mut own = made.iter().filter(edits);
    let (edited, linked) = (own.next().unwrap(), own.next().unwrap());
    world.change(rewrite(edited.id, Some(edited.version), "a person's words")).await.unwrap();
    let edge = Mutation::Link {
        id: fresh(),
        project_id: linked.project_id,
        src: edited.project_id.0,
        dst: linked.id.0,
        rel: "cites".into(),
        props: json!({}),
    };
    world.change(edge).await.unwrap();
    sql(&world).prune(LATER).await.unwrap();
    for kept in [edited, linked] {
        assert!(world.store.document(&Scope::Platform, kept.id).await.unwrap().is_some(), "{} is kept", kept.title);
    }
}

async fn invariant_28_pruning_leaves_young_and_unfinished_runs_alone(world: World) {
    let ended = completed(&world).await;
    let waiting = world.queued(&[]).await;
    let before = dump_all(&world).await;
    assert_eq!(sql(&world).prune(Timestamp(0)).await.unwrap(), store::Pruned::default());
    assert_eq!(dump_all(&world).await, before);
    assert_eq!(sql(&world).prune(LATER).await.unwrap().runs, 1);
    assert!(world.store.run(&Scope::Platform, run_id(&ended)).await.unwrap().is_none());
    assert!(world.store.run(&Scope::Platform, run_id(&waiting)).await.unwrap().is_some());
    assert!(matches!(sql(&world).verify(run_id(&waiting)).await.unwrap(), LogCheck::Intact { events: 1 }));
}
