//! What only SQLite can promise: the file outlives its process, an unknown schema is refused, and many appends share
//! one commit.

use crate::world::{LONG, brief, drafted, fresh, now};
use engine::actor::Actor;
use engine::run::{Command, Lane, Run};
use engine::workspace::Scope;
use runtime::ports::{Append, AppendError, LOCAL_HANDLE, Library, Log, RunFilter, StoreError};
use std::path::Path;
use std::sync::Arc;
use store::{Options, SqlStore};

async fn opened(path: &Path) -> Arc<SqlStore> {
    store::open(&format!("sqlite://{}", path.display()), Options::default()).await.expect("the database opens")
}

fn created() -> (Run, Append) {
    let owner = fresh();
    let mut run = Run::create(fresh(), brief(owner, &[]), Actor::Person(owner), now()).unwrap();
    let append = drafted(&mut run, None);
    (run, append)
}

fn said(run: &mut Run, text: &str) -> Append {
    let actor = Actor::Person(run.shared.brief.owner);
    run.command(Command::Say { text: text.into(), node: None, lane: Lane::Queue }, actor, now()).unwrap();
    drafted(run, None)
}

#[tokio::test]
async fn invariant_6_what_was_acknowledged_survives_a_process_that_never_closed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pleach.db");
    let (mut run, append) = created();
    let store = opened(&path).await;
    store.append(append).await.unwrap();
    store.append(said(&mut run, "last words")).await.unwrap();
    std::mem::forget(store);
    let store = opened(&path).await;
    assert_eq!(store.events(run.shared.id, 0, 10).await.unwrap().len(), 2);
    store.append(said(&mut run, "it goes on")).await.unwrap();
}

#[tokio::test]
async fn the_next_holder_takes_over_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pleach.db");
    let (run, append) = created();
    let store = opened(&path).await;
    store.append(append).await.unwrap();
    let claimed = store.claim("first", 1, LONG, None, &[]).await.unwrap();
    drop(store);
    let store = opened(&path).await;
    let again = store.claim("second", 1, LONG, None, &[]).await.unwrap();
    assert_eq!((again[0].lease.run_id, again[0].lease.epoch), (run.shared.id, claimed[0].lease.epoch + 1));
    assert!(again[0].last_seen.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_producers_share_commits_and_each_is_answered_for_itself() {
    let directory = tempfile::tempdir().unwrap();
    let store = opened(&directory.path().join("pleach.db")).await;
    let producers = (0..64).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let (mut run, append) = created();
            store.append(append).await.unwrap();
            let mut behind = run.clone();
            for step in 0..10 {
                store.append(said(&mut run, &format!("{n}.{step}"))).await.unwrap();
            }
            // A refused append in a group commit does not affect the others.
            let late = store.append(said(&mut behind, "late")).await;
            assert_eq!(late, Err(AppendError::Moved { run_id: run.shared.id, last_seq: 11 }));
            run.shared.id
        })
    });
    for run in futures::future::join_all(producers).await {
        let run = run.unwrap();
        assert_eq!(store.events(run, 0, 100).await.unwrap().len(), 11);
        assert!(matches!(store.verify(run).await.unwrap(), store::LogCheck::Intact { events: 11 }));
    }
}

#[tokio::test]
async fn a_reader_sees_what_the_holder_has_not_yet_checkpointed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pleach.db");
    assert!(store::open_read_only(&path).await.unwrap().is_none(), "no database yet");
    let holder = opened(&path).await;
    let (_, append) = created();
    holder.append(append).await.unwrap();
    let reader = store::open_read_only(&path).await.unwrap().expect("a database");
    assert_eq!(reader.runs(&Scope::Platform, RunFilter::default()).await.unwrap().len(), 1);
    let (_, append) = created();
    assert!(matches!(reader.append(append).await, Err(AppendError::Store(StoreError::Unusable(_)))));
    drop(holder);
    assert_eq!(reader.runs(&Scope::Platform, RunFilter::default()).await.unwrap().len(), 1);
    let alone = store::open_read_only(&path).await.unwrap().expect("a database");
    assert_eq!(alone.runs(&Scope::Platform, RunFilter::default()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_empty_file_is_no_database_yet() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pleach.db");
    std::fs::write(&path, b"").unwrap();
    assert!(store::open_read_only(&path).await.unwrap().is_none());
    assert!(opened(&path).await.actor(LOCAL_HANDLE).await.unwrap().is_some());
}

#[tokio::test]
async fn a_newer_schema_is_refused_by_name_and_version() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pleach.db");
    drop(opened(&path).await);
    let sql = "INSERT INTO schema_migrations VALUES (99, 'future', 'x', 0)";
    rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    for refused in
        [store::open(path.to_str().unwrap(), Options::default()).await.err(), store::open_read_only(&path).await.err()]
    {
        let Some(StoreError::Unusable(message)) = refused else { panic!("{refused:?}") };
        assert!(
            message.contains("99") && message.contains("pleach.db") && message.contains("knows up to"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_damaged_file_is_refused_with_its_name_and_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pleach.db");
    std::fs::write(&path, "this is not a database, it is a poem about oak trees ".repeat(200)).unwrap();
    let refused = store::open(path.to_str().unwrap(), Options::default()).await.err();
    let Some(StoreError::Unusable(message)) = refused else { panic!("{refused:?}") };
    assert!(message.contains("pleach.db") && message.contains("restore"), "{message}");
}

#[tokio::test]
async fn a_path_that_cannot_be_opened_is_named() {
    let refused = store::open("sqlite:///nowhere/at/all/pleach.db", Options::default()).await.err();
    let Some(StoreError::Unavailable(message)) = refused else { panic!("{refused:?}") };
    assert!(message.contains("/nowhere/at/all/pleach.db"), "{message}");
}

/// An `OR` over free and expired runs would make SQLite scan the whole table.
#[tokio::test]
async fn claiming_never_scans_the_jobs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pleach.db");
    drop(opened(&path).await);
    let connection = rusqlite::Connection::open(&path).unwrap();
    for range in [
        "lease_owner IS NULL AND owner = 'ann' ORDER BY due, run_id",
        "lease_owner IS NULL AND owner > 'ann' ORDER BY owner",
        "lease_owner IS NOT NULL AND lease_until <= 5 ORDER BY lease_until",
    ] {
        let sql = format!("EXPLAIN QUERY PLAN SELECT run_id, due FROM jobs WHERE state = 'live' AND {range} LIMIT 5");
        let mut statement = connection.prepare(&sql).unwrap();
        let plan: Vec<String> = statement.query_map([], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        let plan = plan.join("; ");
        assert!(plan.contains("USING INDEX jobs_") && !plan.contains("TEMP B-TREE"), "{plan}");
    }
}
