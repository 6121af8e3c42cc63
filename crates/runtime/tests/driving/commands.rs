//! A command is decided by the run's driver when it is in this process, and otherwise appended at the seq it was decided on.

use crate::fixture::{Fixture, say};
use crate::performer::Scripted;
use engine::run::{Command, Kind, Status};
use runtime::CommandError;

#[tokio::test(start_paused = true)]
async fn a_command_to_a_run_driven_here_is_decided_by_its_driver() {
    let fixture = Fixture::new().await;
    let (run, performer) = (fixture.queue(Kind::Tree, 1).await, Scripted::finishing());
    let process = fixture.serve(performer.clone(), 1);
    performer.until_model_calls(1).await;
    let row = process.commands.command(run, Command::Pause, fixture.actor()).await.expect("taken");
    assert_eq!(row.status, Status::Paused);
    let appends = fixture.log.appends();
    let paused = appends.iter().filter(|append| append.batch.events.iter().any(|event| event.kind() == "run.paused"));
    let fences: Vec<_> = paused.map(|append| append.fence.as_ref().map(|lease| lease.worker.as_str())).collect();
    assert_eq!(fences, [Some("here")], "it was committed once, under the driver's lease");
    process.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_command_to_a_run_that_nobody_drives_is_appended_at_the_expected_seq() {
    let fixture = Fixture::new().await;
    let run = fixture.queue(Kind::Tree, 1).await;
    let row = fixture.commands().command(run, say("hello"), fixture.actor()).await.expect("taken");
    assert_eq!(row.last_seq, 2);
    let appends = fixture.log.appends();
    assert_eq!(appends.len(), 1);
    assert_eq!((appends[0].batch.expected_seq, &appends[0].fence), (1, &None));
}

#[tokio::test(start_paused = true)]
async fn of_two_commands_at_once_the_loser_is_folded_again_and_appended_after_the_winner() {
    let fixture = Fixture::new().await;
    let run = fixture.queue(Kind::Tree, 1).await;
    let (winner, actor) = (fixture.other_commands(), fixture.actor());
    fixture.log.before_next_append(move || async move {
        winner.command(run, say("first"), actor).await.expect("the winner is taken");
    });
    fixture.commands().command(run, say("second"), actor).await.expect("the loser is taken too");
    let seqs: Vec<u64> = fixture.log.appends().iter().map(|append| append.batch.expected_seq).collect();
    assert_eq!(seqs, [1, 2], "the second try was decided on the longer log");
    assert_eq!(fixture.kinds(run).await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_loser_that_the_winner_made_impossible_is_refused_and_not_recorded() {
    let fixture = Fixture::new().await;
    let run = fixture.queue(Kind::Tree, 1).await;
    let (winner, actor) = (fixture.other_commands(), fixture.actor());
    fixture.log.before_next_append(move || async move {
        winner.command(run, Command::Cancel, actor).await.expect("the winner is taken");
    });
    let refused = fixture.commands().command(run, say("too late"), actor).await;
    assert!(matches!(refused, Err(CommandError::Refused(_))), "{refused:?}");
    let kinds = fixture.kinds(run).await;
    assert_eq!(kinds.last().map(String::as_str), Some("run.canceled"), "{kinds:?}");
}
