//! Somebody sets the clock while a run works. Neither its time limit nor its waits may follow the clock.

use crate::played::replied;
use crate::world::{LONG, World, brief, run_id};
use engine::effect::{CallError, CallFailure, EffectAttempt, Outcome};
use engine::facts::run::Queued;
use engine::run::{Kind, Status};
use runtime::ports::Performer;
use runtime::{Duty, Worker, WorkerConfig};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

crate::promises!(on [inline = Inline]: [
    r3_a_clock_set_a_day_ahead_uses_up_no_limit,
    r3_a_clock_set_back_an_hour_still_counts_the_work,
    r3_a_clock_set_back_prolongs_no_wait,
]);

const CALL: Duration = Duration::from_millis(300);

/// A slow model. The clock is set while its first call is in flight.
struct ClockSettingModel {
    world: World,
    by_ms: i64,
    /// The first call is refused with this `Retry-After`.
    retry_after_ms: Option<i64>,
    calls: AtomicU32,
}

#[async_trait::async_trait]
impl Performer for ClockSettingModel {
    async fn perform(&self, _job: EffectAttempt) -> Outcome {
        tokio::time::sleep(CALL / 2).await;
        let first = self.calls.fetch_add(1, Ordering::SeqCst) == 0;
        if first {
            self.world.set_clock(self.by_ms);
        }
        tokio::time::sleep(CALL / 2).await;
        if let (true, Some(_)) = (first, self.retry_after_ms) {
            let message = "slow down".into();
            let retry_after_ms = self.retry_after_ms;
            return Outcome::Model(Err(CallError {
                failure: CallFailure::RateLimited,
                message,
                retry_after_ms,
                maybe_paid: false,
            }));
        }
        let result = json!({"kind": "document", "summary": "done", "parent_hint": {"artifact_labels": []}});
        replied(json!({"mode": "execute", "result": result}))
    }
}

/// The run's row at its end, and how long the run took.
async fn run_to_end(world: World, by_ms: i64, retry_after_ms: Option<i64>) -> (engine::batch::RunRow, Duration) {
    let mut brief = Queued { kind: Kind::Tree, ..brief(world.me, &[]) };
    brief.budgets.max_wall_ms = Some(60_000);
    let run = world.queued_as(brief).await;
    let config = WorkerConfig { id: "w".into(), slots: 2, lease: LONG, duty: Duty::All, shared: false };
    let performer = ClockSettingModel { world: world.clone(), by_ms, retry_after_ms, calls: AtomicU32::new(0) };
    let worker = Worker::new(world.store.clone(), Arc::new(performer), world.wall(), config);
    let (commands, stop, began) = (worker.commands(), CancellationToken::new(), Instant::now());
    let serving = tokio::spawn(worker.serve(stop.clone()));
    let row = tokio::time::timeout(Duration::from_secs(30), commands.settled(run_id(&run))).await;
    let took = began.elapsed();
    stop.cancel();
    serving.await.unwrap();
    (row.expect("it comes to rest").unwrap(), took)
}

async fn r3_a_clock_set_a_day_ahead_uses_up_no_limit(world: World) {
    let (row, _) = run_to_end(world, 86_400_000, None).await;
    assert_eq!(row.status, Status::Completed, "{:?}", row.stop_detail);
    assert!(row.metrics.running_ms < 20_000, "{} ms", row.metrics.running_ms);
}

async fn r3_a_clock_set_back_an_hour_still_counts_the_work(world: World) {
    let (row, _) = run_to_end(world, -3_660_000, None).await;
    assert_eq!(row.status, Status::Completed, "{:?}", row.stop_detail);
    assert!(row.metrics.running_ms >= CALL.as_millis() as i64, "{} ms", row.metrics.running_ms);
}

async fn r3_a_clock_set_back_prolongs_no_wait(world: World) {
    let (row, took) = run_to_end(world, -90_000, Some(1_000)).await;
    assert_eq!(row.status, Status::Completed, "{:?}", row.stop_detail);
    assert!(took >= Duration::from_secs(1) && took < Duration::from_secs(20), "{took:?}");
}
