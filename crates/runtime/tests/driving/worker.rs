//! A worker holds no more runs than it has slots, and gives all of them back when it stops.

use crate::fixture::{Fixture, a_while};
use crate::performer::Scripted;
use engine::run::{Kind, Status};

#[tokio::test(start_paused = true)]
async fn a_worker_claims_no_more_runs_than_it_has_slots() {
    let fixture = Fixture::new().await;
    for number in 1..=3 {
        fixture.queue(Kind::Tree, number).await;
    }
    let performer = Scripted::finishing();
    let process = fixture.serve(performer.clone(), 2);
    performer.until_model_calls(2).await;
    a_while().await;
    assert_eq!(performer.model_calls(), 2);
    assert_eq!(fixture.claim_elsewhere().await.len(), 1, "the third is left to others");
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_becomes_free_is_given_to_the_next_run() {
    let fixture = Fixture::new().await;
    let runs = [fixture.queue(Kind::Tree, 1).await, fixture.queue(Kind::Tree, 2).await];
    let performer = Scripted::finishing();
    let process = fixture.serve(performer.clone(), 1);
    performer.until_model_calls(1).await;
    performer.answer_all();
    for run in runs {
        assert_eq!(process.settled(run).await.status, Status::Completed);
    }
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_hands_its_runs_back_at_once() {
    let fixture = Fixture::new().await;
    for number in 1..=2 {
        fixture.queue(Kind::Tree, number).await;
    }
    let performer = Scripted::finishing();
    let process = fixture.serve(performer.clone(), 2);
    performer.until_model_calls(2).await;
    assert!(fixture.claim_elsewhere().await.is_empty());
    process.stop().await;
    assert_eq!(fixture.claim_elsewhere().await.len(), 2, "nobody has to wait for the leases to lapse");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_answered_while_the_worker_stops_is_committed() {
    let fixture = Fixture::new().await;
    let (run, performer) = (fixture.queue(Kind::Tree, 1).await, Scripted::finishing());
    let process = fixture.serve(performer.clone(), 1);
    performer.until_model_calls(1).await;
    let stopping = tokio::spawn(process.stop());
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    performer.answer(1);
    stopping.await.unwrap();
    assert!(fixture.kinds(run).await.contains(&"effect.finished".to_owned()));
    assert_eq!(performer.model_calls(), 1, "and nothing new is begun");
}
