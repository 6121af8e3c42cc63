//! What only PostgreSQL can promise: several processes on one database, lost connections, refused settings.

use crate::world::{Database, World, client, execute, run_id};
use runtime::ports::{Log, StoreError};
use std::time::{Duration, Instant};
use store::Options;

crate::promises!(on [alone = Postgres]: [
    connections_that_were_cut_are_replaced,
    appends_whose_connections_are_cut_are_stored_once,
    a_hint_from_another_process_ends_the_waiting,
    two_processes_that_open_a_new_database_agree,
]);

fn url(world: &World) -> String {
    let crate::world::Place::Database(url) = &world.place else { panic!("a database") };
    url.clone()
}

const CUT_OTHERS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";

async fn connections_that_were_cut_are_replaced(world: World) {
    let mut run = world.queued(&[]).await;
    client(&url(&world)).await.execute(CUT_OTHERS, &[]).await.unwrap();
    let append = world.said(&mut run, "after the cut");
    world.store.append(append).await.unwrap();
    assert_eq!(world.store.events(run_id(&run), 0, 10).await.unwrap().len(), 2);
}

/// `COMMIT` is sent with the statements, so a connection that is cut may or may not have committed.
async fn appends_whose_connections_are_cut_are_stored_once(world: World) {
    let mut run = world.queued(&[]).await;
    let knife = client(&url(&world)).await;
    let cut = async {
        loop {
            knife.execute(CUT_OTHERS, &[]).await.unwrap();
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    };
    let append = async {
        for nth in 0..60 {
            let append = world.said(&mut run, &format!("message {nth}"));
            // A server that is never reachable for long enough may refuse; then the same append is made again.
            while world.store.append(append.clone()).await.is_err() {
                if world.store.events(run_id(&run), 0, 100).await.is_ok_and(|events| events.len() == nth + 2) {
                    break;
                }
            }
        }
    };
    tokio::select! { () = cut => {}, () = append => {} }
    let events = world.store.events(run_id(&run), 0, 100).await.unwrap();
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=61).collect::<Vec<_>>());
    for (nth, event) in events[1..].iter().enumerate() {
        assert!(event.payload.contains(&format!("message {nth}\"")), "{} is number {nth}", event.payload);
    }
}

async fn a_hint_from_another_process_ends_the_waiting(world: World) {
    let other =
        store::open(&url(&world), Options { direct_url: Some(url(&world)), ..Options::default() }).await.unwrap();
    // Listening begins in the background, so the first hints may be missed. A wait that ends early was ended by a hint.
    const AT_MOST: Duration = Duration::from_secs(2);
    for _ in 0..10 {
        let wait = async {
            let began = Instant::now();
            other.wakeup(AT_MOST).await;
            began.elapsed()
        };
        let (waited, _) = tokio::join!(wait, world.queued(&[]));
        if waited < AT_MOST / 2 {
            return;
        }
    }
    panic!("no hint ended any of ten waits");
}

async fn two_processes_that_open_a_new_database_agree(_world: World) {
    let database = Database::create().await;
    let opening = (0..4).map(|_| store::open(&database.url, Options::default()));
    for store in futures::future::join_all(opening).await {
        let store = store.expect("each of them opens");
        assert_eq!(store.actors(runtime::ports::Slice::first(10)).await.unwrap().len(), 1);
    }
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_may_lose_commits_is_refused_by_the_settings_name() {
    let database = Database::create().await;
    let name = database.url.rsplit_once('/').unwrap().1.to_owned();
    execute(&database.url, &format!("ALTER DATABASE {name} SET synchronous_commit = off")).await;
    let refused = store::open(&database.url, Options::default()).await.err();
    database.drop().await;
    let Some(StoreError::Unusable(message)) = refused else { panic!("{refused:?}") };
    assert!(message.contains("synchronous_commit"), "{message}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let refused = store::open("postgres://postgres@127.0.0.1:1/none", Options::default()).await.err();
    assert!(matches!(refused, Some(StoreError::Unavailable(_))), "{refused:?}");
}
