//! Notifications and deliveries: a notification is marked read by its owner, delivered to the webhooks that exist when
//! it is written, and each delivery is claimed by one sender.

use crate::world::{World, now};
use engine::ids::{self, ActorId};
use engine::run::Command;
use runtime::ports::Log;
use std::sync::Arc;
use std::time::Duration;
use store::SqlStore;
use store::notifications::{Attempted, Delivery, DeliveryState, Next, Template, Webhook};
use uuid::Uuid;

crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [
    h7_a_notification_goes_to_the_webhooks_that_want_it_and_to_no_others,
    h7_a_delivery_is_claimed_by_one_sender_and_again_when_that_one_is_gone,
    h7_what_was_read_stays_read_and_nothing_is_sent_again_by_a_rebuild,
]);

const HOLD: Duration = Duration::from_millis(400);

fn webhook(owner: ActorId, kinds: &[&str]) -> Webhook {
    let id: Uuid = ids::derive(now(), &[kinds.concat().as_bytes(), owner.0.as_bytes()]);
    Webhook {
        id,
        owner,
        url: "https://example.com/".into(),
        template: Template::Standard,
        kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        secret: "whsec_x".into(),
        disabled_reason: None,
        created_at: now(),
    }
}

fn store_of(world: &World) -> Arc<SqlStore> {
    world.store.clone()
}

async fn sent(store: &SqlStore, webhook: &Webhook) -> Vec<Delivery> {
    store.deliveries(webhook.id, 10).await.unwrap()
}

async fn take(store: &SqlStore) -> Vec<Delivery> {
    store.take_due(10, HOLD).await.unwrap().into_iter().map(|(delivery, _)| delivery).collect()
}

/// A canceled run, which makes one notification.
async fn canceled(world: &World) {
    let mut run = world.queued(&[]).await;
    world.store.append(world.commanded(&mut run, Command::Cancel)).await.expect("canceled");
}

async fn h7_a_notification_goes_to_the_webhooks_that_want_it_and_to_no_others(world: World) {
    let store = store_of(&world);
    let stranger = ActorId(ids::derive(now(), &[b"stranger"]));
    let (all, some, none) = (webhook(world.me, &[]), webhook(world.me, &["canceled"]), webhook(world.me, &["failed"]));
    let theirs = webhook(stranger, &[]);
    for webhook in [&all, &some, &none, &theirs] {
        store.add_webhook(webhook).await.unwrap();
    }
    assert_eq!(store.webhooks(world.me).await.unwrap().len(), 3);
    canceled(&world).await;
    let (to_all, to_some) = (sent(&store, &all).await, sent(&store, &some).await);
    let to_others = (sent(&store, &none).await.len(), sent(&store, &theirs).await.len());
    assert_eq!((to_all.len(), to_some.len(), to_others), (1, 1, (0, 0)));
    assert_ne!(to_all[0].id, to_some[0].id, "each has an id of its own");
    let body: serde_json::Value = serde_json::from_str(&to_all[0].body).unwrap();
    assert_eq!((&body["type"], &body["data"]["status"]), (&"run.canceled".into(), &"canceled".into()));
    assert!(store.remove_webhook(world.me, all.id).await.unwrap());
    assert!(!store.remove_webhook(world.me, theirs.id).await.unwrap(), "not theirs to remove");
    assert!(sent(&store, &all).await.is_empty(), "its deliveries went with it");
    store.disable_webhook(some.id, "gone").await.unwrap();
    canceled(&world).await;
    assert_eq!(sent(&store, &some).await.len(), 1, "nothing more for one that is disabled");
}

async fn h7_a_delivery_is_claimed_by_one_sender_and_again_when_that_one_is_gone(world: World) {
    let store = store_of(&world);
    let webhook = webhook(world.me, &[]);
    store.add_webhook(&webhook).await.unwrap();
    canceled(&world).await;
    let first = take(&store).await;
    assert_eq!((first.len(), first[0].attempts), (1, 1));
    assert!(take(&store).await.is_empty(), "another sender has claimed it");
    world.pass(HOLD * 2).await;
    let second = take(&store).await;
    assert_eq!((second[0].id.as_str(), second[0].attempts), (first[0].id.as_str(), 2), "he died; the id stays");
    let later = Attempted { next: Next::Again(HOLD), status: Some(500), error: Some("no".into()) };
    store.attempted(&first[0].id, later).await.unwrap();
    assert!(take(&store).await.is_empty(), "not yet");
    world.pass(HOLD * 2).await;
    assert_eq!(take(&store).await.len(), 1);
    store.attempted(&first[0].id, Attempted { next: Next::Done, status: Some(204), error: None }).await.unwrap();
    world.pass(HOLD * 2).await;
    assert!(take(&store).await.is_empty());
    let done = store.deliveries(webhook.id, 10).await.unwrap().remove(0);
    assert_eq!((done.state, done.attempts, done.last_status), (DeliveryState::Delivered, 3, Some(204)));
    assert!(done.delivered_at.is_some() && done.last_error.is_none());
    assert_eq!(store.delivery_counts().await.unwrap(), [("delivered".to_owned(), 1)]);
}

async fn h7_what_was_read_stays_read_and_nothing_is_sent_again_by_a_rebuild(world: World) {
    let store = store_of(&world);
    canceled(&world).await;
    let webhook = webhook(world.me, &[]);
    store.add_webhook(&webhook).await.unwrap();
    canceled(&world).await;
    let notices = store.notices(world.me, true, None, 10).await.unwrap();
    assert_eq!((notices.len(), store.unread(world.me).await.unwrap()), (2, 2));
    let newest = (notices[0].run_id.expect("a run"), notices[0].seq);
    store.mark_read(world.me, Some(&[newest])).await.unwrap();
    store.mark_read(world.me, Some(&[newest])).await.unwrap();
    store.rebuild().await.unwrap();
    assert_eq!(store.unread(world.me).await.unwrap(), 1);
    assert_eq!(store.deliveries(webhook.id, 10).await.unwrap().len(), 1, "only what came after it was made");
    let stranger = ActorId(ids::derive(now(), &[b"stranger"]));
    store.mark_read(stranger, None).await.unwrap();
    assert_eq!(store.unread(world.me).await.unwrap(), 1, "nobody reads for somebody else");
    store.mark_read(world.me, None).await.unwrap();
    assert_eq!(store.unread(world.me).await.unwrap(), 0);
}
