//! Leases: who may drive a run and until when. A worker without the lease cannot change the run.

use crate::played::{played, replied};
use crate::world::{LONG, SHORT, World, brief, fenced, run_id};
use engine::effect::{EffectAttempt, Outcome};
use engine::facts::run::Queued;
use engine::ids::{ActorId, RunId};
use engine::run::{Command, Kind, Run, Status};
use runtime::ports::{AppendError, Log, Performer};
use runtime::{ClaimPolicy, Worker, WorkerConfig};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [
    a_waiting_run_is_claimed_by_one_worker,
    runs_are_claimed_oldest_first_and_no_more_than_asked_for,
    a_worker_may_ask_for_one_run_only,
    invariant_21_a_stale_epoch_commits_nothing,
    invariant_22_the_epoch_rises_with_every_claim,
    invariant_25_a_lease_expires_after_its_time_and_not_before,
    a_driver_with_an_expired_lease_that_nobody_claimed_may_go_on,
    renewing_prolongs_and_names_what_was_lost,
    a_released_run_can_be_claimed_at_once,
    a_run_that_ended_gives_up_its_lease,
    a_paused_run_cannot_be_claimed_and_its_driver_may_append_outcomes,
    a_run_that_goes_on_can_be_claimed_again,
    creating_and_claiming_are_one_commit,
    heads_show_commands_given_elsewhere,
    claiming_tells_when_the_last_driver_was_seen,
    h8_a_run_is_driven_now_while_its_lease_holds_and_else_since_its_driver_was_seen,
    many_claims_at_once_never_share_a_run,
    r1_a_run_with_an_expired_lease_is_not_given_to_the_process_that_drives_it,
    r10_owners_take_turns_whoever_has_more_runs_waiting,
    r10_what_one_owner_leaves_of_a_share_goes_to_the_others,
    b9_a_run_that_waits_for_people_is_due_at_its_deadline_and_not_before,
    b9_a_run_that_waits_without_a_deadline_cannot_be_claimed,
    b9_an_answer_makes_a_waiting_run_due_at_once,
    b9_a_deadline_that_passed_while_everything_slept_is_kept_by_the_next_worker,
    waiting_ends_at_the_latest_when_it_said,
    a_new_run_ends_the_waiting,
]);

async fn a_waiting_run_is_claimed_by_one_worker(world: World) {
    let run = world.queued(&[]).await;
    let claimed = world.store.claim("one", 10, LONG, None, &[]).await.unwrap();
    assert_eq!(claimed.len(), 1);
    assert_eq!((claimed[0].lease.run_id, claimed[0].lease.epoch), (run_id(&run), 1));
    assert!(world.store.claim("two", 10, LONG, None, &[]).await.unwrap().is_empty());
}

async fn runs_are_claimed_oldest_first_and_no_more_than_asked_for(world: World) {
    let mut queued = Vec::new();
    for _ in 0..3 {
        queued.push(run_id(&world.queued(&[]).await));
        world.pass(Duration::from_millis(5)).await;
    }
    let claimed = world.store.claim("one", 2, LONG, None, &[]).await.unwrap();
    assert_eq!(claimed.iter().map(|claimed| claimed.lease.run_id).collect::<Vec<_>>(), queued[..2]);
    assert_eq!(world.store.claim("two", 5, LONG, None, &[]).await.unwrap().len(), 1);
}

async fn a_worker_may_ask_for_one_run_only(world: World) {
    let _older = world.queued(&[]).await;
    let wanted = world.queued(&[]).await;
    let claimed = world.store.claim("one", 10, LONG, Some(run_id(&wanted)), &[]).await.unwrap();
    assert_eq!(claimed.iter().map(|claimed| claimed.lease.run_id).collect::<Vec<_>>(), vec![run_id(&wanted)]);
}

async fn invariant_21_a_stale_epoch_commits_nothing(world: World) {
    let mut run = world.queued(&[]).await;
    let stale = world.store.claim("one", 1, SHORT, None, &[]).await.unwrap().remove(0).lease;
    world.pass(SHORT * 2).await;
    let current = world.claim_one("two", &run).await;
    let append = world.said(&mut run, "from the past");
    assert_eq!(world.store.append(fenced(append.clone(), &stale)).await, Err(AppendError::LeaseLost(run_id(&run))));
    assert_eq!(world.store.events(run_id(&run), 0, 10).await.unwrap().len(), 1);
    world.store.append(fenced(append, &current)).await.unwrap();
}

async fn invariant_22_the_epoch_rises_with_every_claim(world: World) {
    let run = world.queued(&[]).await;
    for epoch in 1..=3 {
        let lease = world.claim_one("one", &run).await;
        assert_eq!(lease.epoch, epoch);
        world.store.release(&[lease]).await.unwrap();
    }
}

async fn invariant_25_a_lease_expires_after_its_time_and_not_before(world: World) {
    world.queued(&[]).await;
    world.store.claim("one", 1, SHORT, None, &[]).await.unwrap();
    assert!(world.store.claim("two", 1, SHORT, None, &[]).await.unwrap().is_empty());
    world.pass(SHORT * 2).await;
    assert_eq!(world.store.claim("two", 1, SHORT, None, &[]).await.unwrap().len(), 1);
}

async fn a_driver_with_an_expired_lease_that_nobody_claimed_may_go_on(world: World) {
    let mut run = world.queued(&[]).await;
    let lease = world.store.claim("one", 1, SHORT, None, &[]).await.unwrap().remove(0).lease;
    world.pass(SHORT * 2).await;
    let append = world.said(&mut run, "late, but still mine");
    world.store.append(fenced(append, &lease)).await.unwrap();
}

async fn renewing_prolongs_and_names_what_was_lost(world: World) {
    let (kept, given_up) = (world.queued(&[]).await, world.queued(&[]).await);
    let leases: Vec<_> =
        world.store.claim("one", 2, SHORT, None, &[]).await.unwrap().into_iter().map(|claimed| claimed.lease).collect();
    let lost = leases.iter().find(|lease| lease.run_id == run_id(&given_up)).unwrap();
    world.store.release(std::slice::from_ref(lost)).await.unwrap();
    assert_eq!(world.store.renew(&leases, LONG).await.unwrap(), vec![run_id(&given_up)]);
    world.pass(SHORT * 2).await;
    let again = world.store.claim("two", 5, LONG, None, &[]).await.unwrap();
    assert!(again.iter().all(|claimed| claimed.lease.run_id != run_id(&kept)));
}

async fn a_released_run_can_be_claimed_at_once(world: World) {
    let run = world.queued(&[]).await;
    let lease = world.claim_one("one", &run).await;
    world.store.release(&[lease]).await.unwrap();
    assert_eq!(world.claim_one("two", &run).await.epoch, 2);
}

async fn a_run_that_ended_gives_up_its_lease(world: World) {
    let mut run = world.queued(&[]).await;
    let lease = world.claim_one("one", &run).await;
    let canceled = world.commanded(&mut run, Command::Cancel);
    world.store.append(canceled).await.unwrap();
    assert_eq!(world.store.renew(std::slice::from_ref(&lease), LONG).await.unwrap(), vec![run_id(&run)]);
    assert!(world.store.claim("two", 5, LONG, None, &[]).await.unwrap().is_empty());
}

async fn a_paused_run_cannot_be_claimed_and_its_driver_may_append_outcomes(world: World) {
    let mut run = world.queued(&[]).await;
    let lease = world.claim_one("one", &run).await;
    let paused = world.commanded(&mut run, Command::Pause);
    world.store.append(paused).await.unwrap();
    assert!(world.store.renew(std::slice::from_ref(&lease), LONG).await.unwrap().is_empty());
    let returned = world.said(&mut run, "a call returned");
    world.store.append(fenced(returned, &lease)).await.unwrap();
    world.store.release(std::slice::from_ref(&lease)).await.unwrap();
    assert!(world.store.claim("two", 5, LONG, None, &[]).await.unwrap().is_empty());
    let resumed = world.commanded(&mut run, Command::Resume);
    world.store.append(resumed).await.unwrap();
    assert_eq!(world.store.claim("two", 5, LONG, None, &[]).await.unwrap().len(), 1);
}

async fn a_run_that_goes_on_can_be_claimed_again(world: World) {
    let mut run = world.queued(&[]).await;
    for command in [Command::Pause, Command::Resume] {
        let append = world.commanded(&mut run, command);
        world.store.append(append).await.unwrap();
    }
    assert_eq!(world.store.claim("one", 5, LONG, None, &[]).await.unwrap().len(), 1);
}

async fn creating_and_claiming_are_one_commit(world: World) {
    let (mut run, append) = world.created(&[], Some("one"));
    world.store.append(append).await.unwrap();
    assert!(world.store.claim("two", 5, LONG, None, &[]).await.unwrap().is_empty());
    let lease = runtime::ports::Lease { run_id: run_id(&run), worker: "one".into(), epoch: 1 };
    let next = world.said(&mut run, "driven");
    world.store.append(fenced(next, &lease)).await.unwrap();
}

async fn heads_show_commands_given_elsewhere(world: World) {
    let mut run = world.queued(&[]).await;
    let _not_mine = world.queued(&[]).await;
    world.claim_one("one", &run).await;
    assert_eq!(world.store.last_seqs_of_worker("one").await.unwrap(), vec![(run_id(&run), 1)]);
    let append = world.said(&mut run, "a command");
    world.store.append(append).await.unwrap();
    assert_eq!(world.store.last_seqs_of_worker("one").await.unwrap(), vec![(run_id(&run), 2)]);
}

async fn claiming_tells_when_the_last_driver_was_seen(world: World) {
    let run = world.queued(&[]).await;
    let first = world.store.claim("one", 1, LONG, None, &[]).await.unwrap().remove(0);
    assert_eq!(first.last_seen, None);
    world.pass(Duration::from_millis(20)).await;
    world.store.renew(std::slice::from_ref(&first.lease), LONG).await.unwrap();
    world.store.release(&[first.lease]).await.unwrap();
    world.pass(Duration::from_millis(20)).await;
    let second = world.store.claim("two", 1, SHORT, Some(run_id(&run)), &[]).await.unwrap().remove(0);
    let seen = second.last_seen.expect("the first driver was seen");
    world.pass(SHORT * 2).await;
    let third = world.store.claim("three", 1, LONG, None, &[]).await.unwrap().remove(0);
    assert!(third.last_seen.expect("the second driver was seen") > seen);
}

async fn h8_a_run_is_driven_now_while_its_lease_holds_and_else_since_its_driver_was_seen(world: World) {
    let run = world.queued(&[]).await;
    let last_driven = async || world.store.last_driven(run_id(&run)).await.unwrap();
    assert_eq!(last_driven().await, None, "nobody has driven it");
    let claimed = world.store.claim("one", 1, SHORT, None, &[]).await.unwrap().remove(0);
    world.pass(SHORT / 4).await;
    let driven = last_driven().await.unwrap();
    assert!(driven.now && driven.at > claimed.at, "{driven:?} {claimed:?}");
    world.pass(SHORT * 2).await;
    let gone = last_driven().await.unwrap();
    assert_eq!((gone.now, gone.at), (false, claimed.at), "when its driver was last seen");
}

async fn many_claims_at_once_never_share_a_run(world: World) {
    for _ in 0..20 {
        world.queued(&[]).await;
    }
    let claims = (0..8).map(|n| {
        let store = world.store.clone();
        tokio::spawn(async move { store.claim(&format!("worker-{n}"), 5, LONG, None, &[]).await.unwrap() })
    });
    let mut runs: Vec<_> = futures::future::join_all(claims)
        .await
        .into_iter()
        .flat_map(|claimed| claimed.unwrap())
        .map(|c| c.lease.run_id)
        .collect();
    // A claim skips rows that another claim has locked. The next claim gets them.
    runs.extend(
        world.store.claim("last", 20, LONG, None, &[]).await.unwrap().into_iter().map(|claimed| claimed.lease.run_id),
    );
    let claimed = runs.len();
    runs.sort();
    runs.dedup();
    assert_eq!((claimed, runs.len()), (20, 20));
}

async fn r1_a_run_with_an_expired_lease_is_not_given_to_the_process_that_drives_it(world: World) {
    // Given a run whose lease has expired while its driver is still alive
    let run = world.queued(&[]).await;
    let lease = world.store.claim("one", 1, SHORT, None, &[]).await.unwrap().remove(0).lease;
    world.pass(SHORT * 2).await;
    // When the same process claims runs, this run is left out, even if it is asked for
    for only in [None, Some(run_id(&run))] {
        assert!(world.store.claim("one", 5, LONG, only, &[run_id(&run)]).await.unwrap().is_empty());
    }
    // Then its driver may renew the lease
    assert!(world.store.renew(std::slice::from_ref(&lease), SHORT).await.unwrap().is_empty());
    // And once the lease has expired again, another worker may claim the run
    world.pass(SHORT * 2).await;
    let taken = world.store.claim("two", 5, LONG, None, &[]).await.unwrap();
    assert_eq!((taken.len(), taken[0].lease.epoch), (1, lease.epoch + 1));
}

/// Queues runs of one owner, oldest first.
async fn queued_by(world: &World, owner: ActorId, runs: usize) -> Vec<RunId> {
    let mut ids = Vec::new();
    for _ in 0..runs {
        let run = world.queued_as(brief(owner, &[])).await;
        ids.push(run_id(&run));
        world.pass(Duration::from_millis(5)).await;
    }
    ids
}

async fn claimed(world: &World, limit: usize) -> Vec<RunId> {
    let claimed = world.store.claim("one", limit, LONG, None, &[]).await.unwrap();
    claimed.into_iter().map(|claimed| claimed.lease.run_id).collect()
}

async fn r10_owners_take_turns_whoever_has_more_runs_waiting(world: World) {
    // Given many runs of one person, and a later single run of another
    let (ann, bob) = (crate::world::fresh(), crate::world::fresh());
    let many = queued_by(&world, ann, 12).await;
    let one = queued_by(&world, bob, 1).await;
    // When runs are claimed one at a time
    assert_eq!(claimed(&world, 1).await, many[..1], "the oldest of those who have none");
    // Then the other person's run is second, and not the thirteenth
    assert_eq!(claimed(&world, 1).await, one);
    // And two people with equally many leased runs share the claim
    let two = queued_by(&world, bob, 6).await;
    let next = claimed(&world, 6).await;
    assert_eq!(next.iter().filter(|run| two.contains(run)).count(), 3, "{next:?}");
    assert_eq!(claimed(&world, 20).await.len(), 12 + 7 - 8, "nothing is left behind");
}

async fn r10_what_one_owner_leaves_of_a_share_goes_to_the_others(world: World) {
    let (ann, bob, eve) = (crate::world::fresh(), crate::world::fresh(), crate::world::fresh());
    queued_by(&world, ann, 5).await;
    queued_by(&world, bob, 1).await;
    queued_by(&world, eve, 1).await;
    // Each share would be two of six, but two of the people have only one run
    assert_eq!(claimed(&world, 6).await.len(), 6);
    assert_eq!(claimed(&world, 6).await.len(), 1);
}

async fn waiting_ends_at_the_latest_when_it_said(world: World) {
    let began = Instant::now();
    world.store.wakeup(Duration::from_millis(50)).await;
    assert!(began.elapsed() < Duration::from_secs(5));
}

async fn a_new_run_ends_the_waiting(world: World) {
    let began = Instant::now();
    // `join!` polls in this order, so the wait begins before the run is queued.
    tokio::join!(world.store.wakeup(Duration::from_secs(30)), world.queued(&[]));
    assert!(began.elapsed() < Duration::from_secs(20));
}

/// A tree of one node that asks a question and waits.
async fn asking(world: &World, default: Option<&str>) -> Run {
    let brief = Queued { kind: Kind::Tree, ..brief(world.me, &[]) };
    let question = json!({"question": {"text": "Which oak?", "default": default}});
    let run = played(world, brief, |_| replied(question.clone())).await;
    assert_eq!(run.shared.status(), Status::WaitingOnUser);
    run
}

/// The same, asked so long ago that the question expires in `left_ms`.
async fn due_in(world: &World, left_ms: i64) -> Run {
    let mut run = asking(world, Some("the red one")).await;
    let mut append = world.said(&mut run, "the clock goes round");
    append.rows.wake_at = Some(world.now().plus_ms(left_ms));
    world.store.append(append).await.unwrap();
    run
}

async fn b9_a_run_that_waits_for_people_is_due_at_its_deadline_and_not_before(world: World) {
    let run = due_in(&world, 400).await;
    assert!(world.store.claim("one", 5, LONG, None, &[]).await.unwrap().is_empty(), "not yet");
    world.pass(Duration::from_millis(600)).await;
    let claimed = world.store.claim("one", 5, LONG, None, &[]).await.unwrap();
    assert_eq!(claimed.iter().map(|claimed| claimed.lease.run_id).collect::<Vec<_>>(), [run_id(&run)]);
    assert!(world.store.claim("two", 5, LONG, None, &[]).await.unwrap().is_empty(), "one of them is enough");
}

async fn b9_a_run_that_waits_without_a_deadline_cannot_be_claimed(world: World) {
    asking(&world, None).await;
    assert!(world.store.claim("one", 5, LONG, None, &[]).await.unwrap().is_empty());
}

async fn b9_an_answer_makes_a_waiting_run_due_at_once(world: World) {
    let mut run = due_in(&world, 3_600_000).await;
    let append = world.commanded(&mut run, Command::Answer { question: None, text: "the old one".into() });
    world.store.append(append).await.unwrap();
    assert_eq!(world.claim_one("one", &run).await.run_id, run_id(&run));
}

struct Answers;

#[async_trait::async_trait]
impl Performer for Answers {
    async fn perform(&self, _job: EffectAttempt) -> Outcome {
        let result = json!({"kind": "document", "summary": "done", "parent_hint": {"artifact_labels": []}});
        replied(json!({"mode": "execute", "result": result}))
    }
}

async fn b9_a_deadline_that_passed_while_everything_slept_is_kept_by_the_next_worker(world: World) {
    let run = due_in(&world, 0).await;
    let config = WorkerConfig { id: "w".into(), slots: 2, lease: LONG, claims: ClaimPolicy::AnyRun, shared: false };
    let worker = Worker::new(world.store.clone(), Arc::new(Answers), world.wall(), config);
    let (commands, stop) = (worker.commands(), CancellationToken::new());
    let mut lifecycle = commands.live().lifecycle();
    let serving = tokio::spawn(worker.serve(stop.clone()));
    let ended = tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            lifecycle.recv().await.expect("the worker publishes what it commits");
            let row = commands.log().run_row(run_id(&run)).await.unwrap().unwrap();
            if row.status.is_terminal() {
                return row;
            }
        }
    });
    let row = ended.await.expect("the deadline is kept");
    stop.cancel();
    serving.await.unwrap();
    assert_eq!(row.status, Status::Completed);
    let kinds: Vec<String> =
        world.store.events(run_id(&run), 0, 1_000).await.unwrap().into_iter().map(|event| event.kind).collect();
    assert!(kinds.contains(&"run.question_expired".to_owned()), "{kinds:?}");
    assert_eq!(row.questions[0]["answer"], json!("the red one"), "the default counts as the answer");
}
