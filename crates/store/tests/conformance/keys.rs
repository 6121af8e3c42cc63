//! Credentials and stored answers. A credential is found only by its digest and revoked once; a request with an
//! idempotency key is answered once.

use crate::world::World;
use engine::ids::{self, KeyId};
use engine::time::Timestamp;
use runtime::ports::Slice;
use store::keys::{
    Credential, Digest, Grant, KEPT_SECONDS, KeptAnswer, Key, KeyKind, REMEMBERED_SECONDS, Reservation,
    UNFINISHED_SECONDS,
};

crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [
    a_credential_is_found_by_its_digest_with_whose_it_is,
    of_many_who_end_a_credential_one_succeeds,
    ended_credentials_are_told_apart_from_valid_and_unknown_ones,
    sessions_and_codes_are_forgotten_after_their_end_and_tokens_are_not,
    x9_an_answer_belongs_to_the_credential_and_not_to_its_actor,
    a_request_sent_twice_is_answered_once,
    a_name_given_back_or_left_unfinished_is_free_again,
]);

const NOW: Timestamp = Timestamp(1_790_000_000_000);

fn later(seconds: i64) -> Timestamp {
    NOW.plus_ms(seconds * 1000)
}

fn key(world: &World, kind: KeyKind, number: u8) -> (Key, Digest) {
    let key = Key {
        id: ids::derive(NOW, &[b"key", &[number]]).into(),
        actor_id: world.me,
        kind,
        parent: None,
        name: format!("key {number}"),
        grant: Grant::Run,
        projects: vec![ids::derive(NOW, &[b"project", &[number]]).into()],
        prefix: "pleach_0123".into(),
        created_at: NOW,
        expires_at: Some(later(10)),
        used_at: None,
        revoked_at: None,
    };
    (key, [number; 32])
}

async fn a_credential_is_found_by_its_digest_with_whose_it_is(world: World) {
    let (mine, digest) = key(&world, KeyKind::Token, 1);
    world.store.keep_key(mine.clone(), digest).await.unwrap();
    let (found, whose) = world.store.key(digest).await.unwrap().unwrap();
    assert_eq!((found, whose.handle.as_str()), (mine.clone(), "local"));
    assert_eq!(world.store.key([9; 32]).await.unwrap(), None);
    world.store.key_used(mine.id, later(3)).await.unwrap();
    assert_eq!(
        world.store.keys(Some(world.me), Slice::first(10)).await.unwrap(),
        [Key { used_at: Some(later(3)), ..mine }]
    );
    assert_eq!(world.store.keys(Some(ids::derive(NOW, &[b"nobody"]).into()), Slice::first(10)).await.unwrap(), []);
}

async fn of_many_who_end_a_credential_one_succeeds(world: World) {
    let (code, digest) = key(&world, KeyKind::Code, 1);
    let id = code.id;
    world.store.keep_key(code, digest).await.unwrap();
    let tries = (0..8).map(|_| {
        let keys = world.store.clone();
        tokio::spawn(async move { keys.revoke_key(id, later(1)).await.unwrap() })
    });
    let mut ended = 0;
    for one in tries.collect::<Vec<_>>() {
        ended += usize::from(one.await.unwrap());
    }
    assert_eq!(ended, 1);
    assert_eq!(world.store.key(digest).await.unwrap().unwrap().0.revoked_at, Some(later(1)));
}

async fn ended_credentials_are_told_apart_from_valid_and_unknown_ones(world: World) {
    let (valid, first) = key(&world, KeyKind::Session, 1);
    let (revoked, second) = key(&world, KeyKind::Token, 2);
    let (child, third) = key(&world, KeyKind::Session, 3);
    let child = Key { parent: Some(revoked.id), ..child };
    world.store.keep_key(child.clone(), third).await.unwrap();
    world.store.keep_key(valid.clone(), first).await.unwrap();
    world.store.keep_key(revoked.clone(), second).await.unwrap();
    world.store.revoke_key(revoked.id, later(1)).await.unwrap();
    let unknown: KeyId = ids::derive(NOW, &[b"unknown"]).into();
    let asked = [valid.id, revoked.id, child.id, unknown];
    assert_eq!(
        world.store.ended_keys(&asked, later(2)).await.unwrap(),
        [revoked.id, child.id, unknown],
        "a token takes its sessions along"
    );
    assert_eq!(world.store.ended_keys(&asked, later(10)).await.unwrap(), asked);
    assert_eq!(world.store.ended_keys(&[], NOW).await.unwrap(), []);
}

async fn sessions_and_codes_are_forgotten_after_their_end_and_tokens_are_not(world: World) {
    for (number, kind) in KeyKind::ALL.into_iter().enumerate() {
        let (key, digest) = key(&world, kind, number as u8);
        world.store.keep_key(key, digest).await.unwrap();
    }
    let (new, digest) = key(&world, KeyKind::Session, 9);
    let much_later = later(REMEMBERED_SECONDS + 11);
    world.store.keep_key(Key { created_at: much_later, expires_at: None, ..new }, digest).await.unwrap();
    let mut left: Vec<String> =
        world.store.keys(None, Slice::first(10)).await.unwrap().into_iter().map(|key| key.name).collect();
    left.sort();
    assert_eq!(left, ["key 0", "key 9"]);
}

fn answer() -> KeptAnswer {
    KeptAnswer { status: 201, content_type: "application/json".into(), body: "{\"id\":7}".into() }
}

fn mine(world: &World) -> Credential {
    Credential::Socket(world.me)
}

async fn x9_an_answer_belongs_to_the_credential_and_not_to_its_actor(world: World) {
    let (first, second) = (key(&world, KeyKind::Token, 1).0, key(&world, KeyKind::Token, 2).0);
    assert_eq!(first.actor_id, second.actor_id);
    let begin = async |by: Credential| world.store.begin(by, "order-1", [1; 32], NOW).await.unwrap();
    let (first, second) = (Credential::Key(first.id), Credential::Key(second.id));
    assert_eq!(begin(first).await, Reservation::New);
    world.store.finish(first, "order-1", Some(answer())).await.unwrap();
    assert_eq!(begin(first).await, Reservation::Completed(answer()));
    assert_eq!(begin(second).await, Reservation::New);
    assert_eq!(begin(mine(&world)).await, Reservation::New);
}

async fn a_request_sent_twice_is_answered_once(world: World) {
    let begin = async |digest: Digest, at| world.store.begin(mine(&world), "order-1", digest, at).await.unwrap();
    assert_eq!(begin([1; 32], NOW).await, Reservation::New);
    assert_eq!(begin([1; 32], NOW).await, Reservation::InProgress);
    world.store.finish(mine(&world), "order-1", Some(answer())).await.unwrap();
    assert_eq!(begin([1; 32], later(5)).await, Reservation::Completed(answer()));
    assert_eq!(begin([2; 32], later(5)).await, Reservation::DifferentRequest);
    assert_eq!(begin([2; 32], later(KEPT_SECONDS + 1)).await, Reservation::New, "kept for a day");
}

async fn a_name_given_back_or_left_unfinished_is_free_again(world: World) {
    let begin = async |at| world.store.begin(mine(&world), "order-1", [1; 32], at).await.unwrap();
    assert_eq!(begin(NOW).await, Reservation::New);
    world.store.finish(mine(&world), "order-1", None).await.unwrap();
    assert_eq!(begin(NOW).await, Reservation::New);
    assert_eq!(begin(later(UNFINISHED_SECONDS + 1)).await, Reservation::New);
}
