//! What an operator may rely on: damage is found, projections are rebuilt to the same rows, pruning
//! takes whole runs and nothing that people keep.

use crate::world::{Place, World, brief, client, document, drafted, fenced, fresh, now, rewrite, run_id};
use engine::effect::{ModelReply, Outcome, ToolOutcome, ToolOutput, Usage, Work};
use engine::facts::run::Queued;
use engine::run::{Command, Run, Status};
use engine::time::Timestamp;
use engine::workspace::{Mutation, Scope};
use runtime::ports::{DocumentFilter, Lease};
use serde_json::json;
use store::Verdict;

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

async fn raw(world: &World, sql: &str) {
    match &world.place {
        Place::File(path) => rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap(),
        Place::Database(url) => client(url).await.batch_execute(sql).await.unwrap(),
        Place::Nowhere => panic!("this store has no rows to look at"),
    }
}

/// Every column of every row, in some fixed order.
async fn dump(world: &World, table: &str) -> Vec<String> {
    let mut rows: Vec<String> = match &world.place {
        Place::File(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let columns = statement.column_count();
            let row =
                |row: &rusqlite::Row<'_>| Ok((0..columns).map(|n| format!("{:?}|", row.get_ref(n).unwrap())).collect());
            statement.query_map([], row).unwrap().map(Result::unwrap).collect()
        }
        Place::Database(url) => {
            let rows =
                client(url).await.query(&format!("SELECT row_to_json(t)::text FROM {table} t"), &[]).await.unwrap();
            rows.iter().map(|row| row.get(0)).collect()
        }
        Place::Nowhere => panic!("this store has no rows to look at"),
    };
    rows.sort();
    rows
}

async fn dump_all(world: &World) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for table in PROJECTIONS {
        all.push(dump(world, table).await);
    }
    all
}

fn sql(world: &World) -> &store::SqlStore {
    world.sql.as_ref().expect("a store on SQL")
}

/// Drives a run by hand to its end: one iteration that makes a document, committed effect by effect.
async fn completed(world: &World) -> Run {
    let project = world.project("Oak").await;
    let tool = json!({"name": "create_document", "arguments": "title, content", "description": "", "read": false});
    let brief = Queued { tools: vec![serde_json::from_value(tool).unwrap()], ..brief(world.me, &[project]) };
    let mut run = Run::create(fresh(), brief, world.actor(), now()).unwrap();
    let mut append = drafted(&mut run, None);
    append.claim_for = Some("driver".into());
    world.store.append(append).await.unwrap();
    let lease = Lease { run_id: run_id(&run), worker: "driver".into(), epoch: 1 };
    run.take_over(None, now());
    for _ in 0..20 {
        if run.has_draft() {
            let append = fenced(drafted(&mut run, None), &lease);
            world.store.append(append).await.unwrap();
        }
        if run.shared.status().is_terminal() {
            return run;
        }
        work(&mut run, project);
    }
    panic!("the run did not end: {}", run.activity());
}

fn work(run: &mut Run, project: engine::ids::ProjectId) {
    let due = run.due(now());
    let jobs: Vec<_> = due.outside.iter().filter_map(|effect| run.intend(effect, now())).collect();
    let inline: Vec<_> = due.inline.iter().filter_map(|effect| run.inline_job(effect, now())).collect();
    for job in jobs.into_iter().chain(inline) {
        let outcome = match &job.work {
            Work::Model(_) => Outcome::Model(Ok(answer())),
            Work::Tool(_) => Outcome::Tool(ToolOutcome {
                result: Ok(ToolOutput { content: json!({"ok": true}), summary: "made".into(), read: false }),
                mutations: vec![document(project, "Prices of oak", "twelve").1],
            }),
        };
        run.outcome(&job.effect, job.attempt, outcome, None, now());
    }
}

fn answer() -> ModelReply {
    let text = json!({
        "progress_summary": "made the document",
        "plan": {"steps": []},
        "tool_calls": [{"tool": "create_document", "arguments": {"title": "Prices of oak", "content": "twelve"}, "purpose": "to keep"}],
        "executor_tasks": [], "remaining_work": [],
        "completion_evidence": [{"claim": "the document exists", "refs": []}],
        "exit_signal": true, "needs_user_input": false, "blocking_questions": [],
        "next_action_hint": "stop", "confidence": "high",
        "title": "Oak", "summary": "Twelve.", "findings": [], "not_done": [],
    });
    let usage = Usage { input: 100, cached: 0, output: 20, estimated: false };
    ModelReply { text: text.to_string(), usage, truncated: false, provider_request_id: None }
}

async fn a_whole_log_is_intact(world: World) {
    let run = completed(&world).await;
    assert_eq!(run.shared.status(), Status::Completed);
    assert_eq!(sql(&world).verify(run_id(&run)).await.unwrap(), Verdict::Intact { events: run.shared.last_seq });
    assert!(sql(&world).verify_all().await.unwrap().is_empty());
}

async fn a_changed_event_is_found(world: World) {
    let run = completed(&world).await;
    raw(&world, "UPDATE homework_run_events SET payload = replace(payload, '{', '{ ') WHERE seq = 3").await;
    let verdict = sql(&world).verify(run_id(&run)).await.unwrap();
    assert!(matches!(verdict, Verdict::Broken { seq: 3, .. }), "{verdict:?}");
}

async fn a_missing_event_is_found(world: World) {
    let run = completed(&world).await;
    raw(&world, "DELETE FROM homework_run_events WHERE seq = 4").await;
    let verdict = sql(&world).verify(run_id(&run)).await.unwrap();
    assert!(matches!(verdict, Verdict::Broken { seq: 4, .. }), "{verdict:?}");
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
    for table in
        PROJECTIONS.into_iter().chain(["homework_run_events", "jobs", "blobs", "blob_refs", "onto_document_versions"])
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
    let mut own = made.iter().filter(|doc| doc.props.get("doc_role").is_some());
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
    assert!(matches!(sql(&world).verify(run_id(&waiting)).await.unwrap(), Verdict::Intact { events: 1 }));
}
