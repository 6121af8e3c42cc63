//! Trace cursors: one exporter at a time has a run, it continues where the last one ended, and runs from before tracing
//! began are never exported.

use crate::world::World;
use engine::run::Command;
use runtime::ports::Log;
use std::sync::Arc;
use std::time::Duration;
use store::SqlStore;

crate::promises!(on [sqlite = Sqlite, postgres = Postgres]: [
    a_run_is_exported_by_one_at_a_time_from_its_cursor,
    a_run_that_ended_before_tracing_began_is_not_exported,
]);

const HOLD: Duration = Duration::from_millis(400);

fn traces(world: &World) -> Arc<SqlStore> {
    world.store.clone()
}

async fn a_run_is_exported_by_one_at_a_time_from_its_cursor(world: World) {
    let traces = traces(&world);
    traces.begin_tracing().await.unwrap();
    let mut run = world.queued(&[]).await;
    let other = world.queued(&[]).await;
    let (id, begun) = (run.shared.id, run.shared.last_seq);
    assert_eq!(traces.take_unexported(Some(&[id]), 10, HOLD).await.unwrap(), [(id, 0)]);
    assert_eq!(traces.take_unexported(Some(&[id]), 10, HOLD).await.unwrap(), [], "another exporter has claimed it");
    assert_eq!(traces.take_unexported(Some(&[]), 10, HOLD).await.unwrap(), []);
    assert_eq!(traces.take_unexported(None, 10, HOLD).await.unwrap(), [(other.shared.id, 0)], "the others are free");
    traces.mark_exported(id, begun, Duration::ZERO).await.unwrap();
    assert_eq!(traces.take_unexported(Some(&[id]), 10, HOLD).await.unwrap(), [], "there is nothing more to tell");
    world.store.append(world.commanded(&mut run, Command::Cancel)).await.expect("canceled");
    assert_eq!(traces.take_unexported(None, 10, HOLD).await.unwrap(), [(id, begun)]);
    world.pass(HOLD * 2).await;
    traces.begin_tracing().await.unwrap();
    let mut again = traces.take_unexported(None, 10, HOLD).await.unwrap();
    again.sort();
    assert_eq!(again, [(id, begun), (other.shared.id, 0)], "the claims have expired; beginning again changes nothing");
}

async fn a_run_that_ended_before_tracing_began_is_not_exported(world: World) {
    let traces = traces(&world);
    let mut before = world.queued(&[]).await;
    world.store.append(world.commanded(&mut before, Command::Cancel)).await.expect("canceled");
    let mut across = world.queued(&[]).await;
    world.pass(Duration::from_millis(50)).await;
    traces.begin_tracing().await.unwrap();
    assert_eq!(traces.take_unexported(None, 10, HOLD).await.unwrap(), []);
    world.pass(Duration::from_millis(50)).await;
    world.store.append(world.commanded(&mut across, Command::Cancel)).await.expect("canceled");
    assert_eq!(
        traces.take_unexported(None, 10, HOLD).await.unwrap(),
        [(across.shared.id, 0)],
        "exported whole, because it continued"
    );
}
