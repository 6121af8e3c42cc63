//! Credentials and stored responses. A credential is found only by its digest and revoked once; a request with an
//! idempotency key is answered once.

use crate::world::World;
use engine::ids::{self, CredentialId};
use engine::time::Timestamp;
use runtime::ports::Slice;
use store::credentials::{
    Credential, CredentialKind, Digest, Grant, IdempotencyOwner, LISTED_AFTER_END_SECONDS, Reservation,
    STORED_RESPONSE_SECONDS, StoredResponse, UNFINISHED_REQUEST_SECONDS,
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

fn credential(world: &World, kind: CredentialKind, number: u8) -> (Credential, Digest) {
    let credential = Credential {
        id: ids::derive(NOW, &[b"credential", &[number]]).into(),
        actor_id: world.me,
        kind,
        parent: None,
        name: format!("credential {number}"),
        grant: Grant::Run,
        projects: vec![ids::derive(NOW, &[b"project", &[number]]).into()],
        prefix: "pleach_0123".into(),
        created_at: NOW,
        expires_at: Some(later(10)),
        used_at: None,
        revoked_at: None,
    };
    (credential, [number; 32])
}

async fn a_credential_is_found_by_its_digest_with_whose_it_is(world: World) {
    let (mine, digest) = credential(&world, CredentialKind::Token, 1);
    world.store.store_credential(mine.clone(), digest).await.unwrap();
    let (found, whose) = world.store.credential(digest).await.unwrap().unwrap();
    assert_eq!((found, whose.handle.as_str()), (mine.clone(), "local"));
    assert_eq!(world.store.credential([9; 32]).await.unwrap(), None);
    world.store.mark_credential_used(mine.id, later(3)).await.unwrap();
    assert_eq!(
        world.store.credentials(Some(world.me), Slice::first(10)).await.unwrap(),
        [Credential { used_at: Some(later(3)), ..mine }]
    );
    assert_eq!(
        world.store.credentials(Some(ids::derive(NOW, &[b"nobody"]).into()), Slice::first(10)).await.unwrap(),
        []
    );
}

async fn of_many_who_end_a_credential_one_succeeds(world: World) {
    let (code, digest) = credential(&world, CredentialKind::Code, 1);
    let id = code.id;
    world.store.store_credential(code, digest).await.unwrap();
    let tries = (0..8).map(|_| {
        let store = world.store.clone();
        tokio::spawn(async move { store.revoke_credential(id, later(1)).await.unwrap() })
    });
    let mut ended = 0;
    for one in tries.collect::<Vec<_>>() {
        ended += usize::from(one.await.unwrap());
    }
    assert_eq!(ended, 1);
    assert_eq!(world.store.credential(digest).await.unwrap().unwrap().0.revoked_at, Some(later(1)));
}

async fn ended_credentials_are_told_apart_from_valid_and_unknown_ones(world: World) {
    let (valid, first) = credential(&world, CredentialKind::Session, 1);
    let (revoked, second) = credential(&world, CredentialKind::Token, 2);
    let (child, third) = credential(&world, CredentialKind::Session, 3);
    let child = Credential { parent: Some(revoked.id), ..child };
    world.store.store_credential(child.clone(), third).await.unwrap();
    world.store.store_credential(valid.clone(), first).await.unwrap();
    world.store.store_credential(revoked.clone(), second).await.unwrap();
    world.store.revoke_credential(revoked.id, later(1)).await.unwrap();
    let unknown: CredentialId = ids::derive(NOW, &[b"unknown"]).into();
    let asked = [valid.id, revoked.id, child.id, unknown];
    assert_eq!(
        world.store.ended_credentials(&asked, later(2)).await.unwrap(),
        [revoked.id, child.id, unknown],
        "a token takes its sessions along"
    );
    assert_eq!(world.store.ended_credentials(&asked, later(10)).await.unwrap(), asked);
    assert_eq!(world.store.ended_credentials(&[], NOW).await.unwrap(), []);
}

async fn sessions_and_codes_are_forgotten_after_their_end_and_tokens_are_not(world: World) {
    for (number, kind) in CredentialKind::ALL.into_iter().enumerate() {
        let (credential, digest) = credential(&world, kind, number as u8);
        world.store.store_credential(credential, digest).await.unwrap();
    }
    let (new, digest) = credential(&world, CredentialKind::Session, 9);
    let much_later = later(LISTED_AFTER_END_SECONDS + 11);
    world.store.store_credential(Credential { created_at: much_later, expires_at: None, ..new }, digest).await.unwrap();
    let mut left: Vec<String> = world
        .store
        .credentials(None, Slice::first(10))
        .await
        .unwrap()
        .into_iter()
        .map(|credential| credential.name)
        .collect();
    left.sort();
    assert_eq!(left, ["credential 0", "credential 9"]);
}

fn answer() -> StoredResponse {
    StoredResponse { status: 201, content_type: "application/json".into(), body: "{\"id\":7}".into() }
}

fn mine(world: &World) -> IdempotencyOwner {
    IdempotencyOwner::Socket(world.me)
}

async fn x9_an_answer_belongs_to_the_credential_and_not_to_its_actor(world: World) {
    let (first, second) =
        (credential(&world, CredentialKind::Token, 1).0, credential(&world, CredentialKind::Token, 2).0);
    assert_eq!(first.actor_id, second.actor_id);
    let begin = async |by: IdempotencyOwner| world.store.begin(by, "order-1", [1; 32], NOW).await.unwrap();
    let (first, second) = (IdempotencyOwner::Credential(first.id), IdempotencyOwner::Credential(second.id));
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
    assert_eq!(begin([2; 32], later(STORED_RESPONSE_SECONDS + 1)).await, Reservation::New, "kept for a day");
}

async fn a_name_given_back_or_left_unfinished_is_free_again(world: World) {
    let begin = async |at| world.store.begin(mine(&world), "order-1", [1; 32], at).await.unwrap();
    assert_eq!(begin(NOW).await, Reservation::New);
    world.store.finish(mine(&world), "order-1", None).await.unwrap();
    assert_eq!(begin(NOW).await, Reservation::New);
    assert_eq!(begin(later(UNFINISHED_REQUEST_SECONDS + 1)).await, Reservation::New);
}
