//! The log: a batch is appended whole or not at all, events are read in order, and no event is ever changed.

use crate::world::{World, drafted, fresh, run_id};
use engine::blob::{Blob, Hash};
use engine::event::genesis;
use engine::ids::RunId;
use engine::run::Command;
use engine::workspace::Scope;
use runtime::ports::{AppendError, Library, Log, StoreError};

crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [
    invariant_1_seq_is_gapless_and_read_in_order,
    invariant_3_stored_events_come_back_as_the_bytes_that_were_hashed,
    a_batch_that_expects_another_end_is_told_where_the_log_ends_and_writes_nothing,
    a_run_is_created_once,
    of_two_commands_at_once_one_is_appended,
    an_unknown_run_has_no_events,
    texts_come_back_in_the_order_asked_and_a_missing_one_is_said,
    a_large_batch_is_one_append,
    the_run_row_follows_the_log,
    hostile_text_is_kept_as_text,
]);

async fn invariant_1_seq_is_gapless_and_read_in_order(world: World) {
    let mut run = world.queued(&[]).await;
    for text in ["a", "b", "c", "d"] {
        let append = world.said(&mut run, text);
        world.store.append(append).await.unwrap();
    }
    let all = world.store.events(run_id(&run), 0, 100).await.unwrap();
    assert_eq!(all.iter().map(|event| event.seq).collect::<Vec<_>>(), vec![1, 2, 3, 4, 5]);
    let page = world.store.events(run_id(&run), 2, 2).await.unwrap();
    assert_eq!(page.iter().map(|event| event.seq).collect::<Vec<_>>(), vec![3, 4]);
}

async fn invariant_3_stored_events_come_back_as_the_bytes_that_were_hashed(world: World) {
    let mut run = world.queued(&[]).await;
    let append = world.said(&mut run, "ünïcödé \"quoted\" \u{1F332}");
    world.store.append(append).await.unwrap();
    let mut head = genesis(run_id(&run));
    for stored in world.store.events(run_id(&run), 0, 100).await.unwrap() {
        let event = stored.decode();
        assert_eq!(event.link(head), event.hash, "event {} is as it was written", event.seq);
        head = event.hash;
    }
    assert_eq!(head, run.shared.head);
}

async fn a_batch_that_expects_another_end_is_told_where_the_log_ends_and_writes_nothing(world: World) {
    let mut run = world.queued(&[]).await;
    let mut other = run.clone();
    let first = world.said(&mut run, "first");
    let late = world.said(&mut other, "late");
    world.store.append(first).await.unwrap();
    let refused = world.store.append(late).await;
    assert_eq!(refused, Err(AppendError::Moved { run_id: run_id(&run), last_seq: 2 }));
    assert_eq!(world.store.events(run_id(&run), 0, 100).await.unwrap().len(), 2);
}

async fn a_run_is_created_once(world: World) {
    let (run, append) = world.created(&[], None);
    world.store.append(append.clone()).await.unwrap();
    assert_eq!(world.store.append(append).await, Err(AppendError::Moved { run_id: run_id(&run), last_seq: 1 }));
}

async fn of_two_commands_at_once_one_is_appended(world: World) {
    let run = world.queued(&[]).await;
    let appends = (0..8).map(|n| world.said(&mut run.clone(), &format!("voice {n}")));
    let appended = appends.map(|append| {
        let store = world.store.clone();
        tokio::spawn(async move { store.append(append).await })
    });
    let outcomes = futures::future::join_all(appended).await;
    let won = outcomes.into_iter().filter(|outcome| matches!(outcome, Ok(Ok(())))).count();
    assert_eq!(won, 1);
    assert_eq!(world.store.events(run_id(&run), 0, 100).await.unwrap().len(), 2);
}

async fn an_unknown_run_has_no_events(world: World) {
    assert!(world.store.events(fresh::<RunId>(), 0, 10).await.unwrap().is_empty());
    assert!(world.store.run(&Scope::Platform, fresh()).await.unwrap().is_none());
}

async fn texts_come_back_in_the_order_asked_and_a_missing_one_is_said(world: World) {
    let mut run = world.queued(&[]).await;
    let mut append = world.said(&mut run, "with texts");
    let (long, short) = (Blob::new("oak ".repeat(5000)), Blob::new("pine"));
    append.batch.blobs = vec![long.clone(), short.clone(), long.clone()];
    world.store.append(append).await.unwrap();
    let texts = world.store.blobs(&[short.hash, long.hash, short.hash]).await.unwrap();
    assert_eq!(texts, vec![short.text.clone(), long.text, short.text]);
    let missing = world.store.blobs(&[Hash::of(&[b"nothing"])]).await;
    assert!(matches!(missing, Err(StoreError::Unusable(_))), "{missing:?}");
}

async fn a_large_batch_is_one_append(world: World) {
    let mut run = world.queued(&[]).await;
    for n in 0..300 {
        let say = Command::Say { text: format!("message {n}"), node: None, lane: engine::run::Lane::Queue };
        run.command(say, world.actor(), crate::world::now()).unwrap();
    }
    let append = drafted(&mut run, None);
    assert_eq!(append.batch.events.len(), 300);
    world.store.append(append).await.unwrap();
    assert_eq!(world.store.events(run_id(&run), 0, 1000).await.unwrap().len(), 301);
}

async fn the_run_row_follows_the_log(world: World) {
    let mut run = world.queued(&[]).await;
    let append = world.commanded(&mut run, Command::Cancel);
    let expected = append.rows.run.clone();
    world.store.append(append).await.unwrap();
    let row = world.store.run(&world.mine(), run_id(&run)).await.unwrap().unwrap();
    assert_eq!(row, expected);
    assert_eq!((row.last_seq, row.head), (run.shared.last_seq, run.shared.head));
}

async fn hostile_text_is_kept_as_text(world: World) {
    let mut run = world.queued(&[]).await;
    let text = "'); DROP TABLE jobs; -- \u{0} $1 ?1 %s \u{202e}";
    let append = world.said(&mut run, text);
    world.store.append(append).await.unwrap();
    let last = world.store.events(run_id(&run), 1, 10).await.unwrap().pop().unwrap();
    assert!(last.payload.contains("DROP TABLE"));
    assert_eq!(last.decode().hash, run.shared.head);
}
