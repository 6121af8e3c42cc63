//! Views of runs: a view at an earlier seq is the same from a checkpoint as from the first event. The store also knows
//! where each log ends.

use crate::world::{World, drafted, run_id};
use engine::run::{Command, Run};
use engine::time::Timestamp;
use engine::view::{FORMAT, View};
use runtime::ports::Log;
use runtime::views::{self, CHECKPOINT_INTERVAL};

crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [
    t12_a_view_is_the_same_from_a_checkpoint_as_from_the_beginning,
    a_checkpoint_of_another_format_or_a_damaged_one_is_as_good_as_none,
    ends_and_changes_are_known_of_every_run,
]);

/// A run whose log, made of pauses, is a little longer than two checkpoint intervals.
async fn long_run(world: &World) -> (Run, u64) {
    let mut run = world.queued(&[]).await;
    let end = 2 * CHECKPOINT_INTERVAL + 50;
    while run.shared.last_seq < end {
        for _ in 0..250 {
            let command = if run.shared.paused { Command::Resume } else { Command::Pause };
            run.command(command, world.actor(), crate::world::now()).expect("allowed");
        }
        world.store.append(drafted(&mut run, None)).await.expect("stored");
    }
    let end = run.shared.last_seq;
    (run, end)
}

async fn from_the_beginning(world: &World, run: &Run, seq: u64) -> View {
    let mut view: Option<View> = None;
    let mut after = 0;
    while after < seq {
        for stored in world.store.events(run_id(run), after, 1_000.min((seq - after) as usize)).await.unwrap() {
            after = stored.seq;
            let event = stored.decode();
            match &mut view {
                Some(view) => view.apply(&event),
                None => view = View::from_first_event(&event),
            }
        }
    }
    view.expect("a view")
}

async fn t12_a_view_is_the_same_from_a_checkpoint_as_from_the_beginning(world: World) {
    let (run, end) = long_run(&world).await;
    let id = run_id(&run);
    assert!(world.store.checkpoint(id, end, FORMAT).await.unwrap().is_none(), "nobody looked yet");
    let newest = views::view_at(world.store.as_ref(), id, end).await.unwrap().expect("a view");
    assert_eq!(newest.run(), engine::projection::run_row(&run));
    for (seq, kept) in [
        (CHECKPOINT_INTERVAL - 1, None),
        (CHECKPOINT_INTERVAL, Some(CHECKPOINT_INTERVAL)),
        (2 * CHECKPOINT_INTERVAL - 1, Some(CHECKPOINT_INTERVAL)),
        (end, Some(2 * CHECKPOINT_INTERVAL)),
    ] {
        let checkpoint = world.store.checkpoint(id, seq, FORMAT).await.unwrap();
        assert_eq!(checkpoint.map(|text| View::decode(&text).unwrap().seq()), kept, "kept on the way, before {seq}");
        let seen = views::view_at(world.store.as_ref(), id, seq).await.unwrap().expect("a view");
        let whole = from_the_beginning(&world, &run, seq).await;
        assert_eq!(seen.to_json(end).unwrap(), whole.to_json(end).unwrap(), "after {seq}");
    }
    assert!(
        views::view_at(world.store.as_ref(), id, end + 1).await.unwrap().is_none(),
        "there is nothing beyond the log"
    );
}

async fn a_checkpoint_of_another_format_or_a_damaged_one_is_as_good_as_none(world: World) {
    let (run, end) = long_run(&world).await;
    let id = run_id(&run);
    world.store.keep_checkpoint(id, CHECKPOINT_INTERVAL, FORMAT + 1, "from the future".into()).await.unwrap();
    assert!(world.store.checkpoint(id, end, FORMAT).await.unwrap().is_none());
    world.store.keep_checkpoint(id, CHECKPOINT_INTERVAL, FORMAT, "{\"damaged\"".into()).await.unwrap();
    let seen = views::view_at(world.store.as_ref(), id, end).await.unwrap().expect("a view");
    assert_eq!(seen.run(), engine::projection::run_row(&run));
}

async fn ends_and_changes_are_known_of_every_run(world: World) {
    let (one, mut two) = (world.queued(&[]).await, world.queued(&[]).await);
    world.store.append(world.said(&mut two, "hello")).await.unwrap();
    let unknown = crate::world::fresh();
    let mut ends = world.store.ends(&[run_id(&one), run_id(&two), unknown]).await.unwrap();
    ends.sort();
    let mut expected = vec![(run_id(&one), 1), (run_id(&two), 2)];
    expected.sort();
    assert_eq!(ends, expected);
    assert!(world.store.ends(&[]).await.unwrap().is_empty());
    let changed = world.store.changed_runs(Timestamp(0)).await.unwrap();
    assert_eq!(changed.len(), 2);
    assert!(world.store.changed_runs(two.shared.updated_at.plus_ms(1)).await.unwrap().is_empty());
}
