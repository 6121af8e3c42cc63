//! Commands that change a run. Those that continue it follow it until it settles; the others record the command and return.

use super::follow::{self, FollowOutput, LastLine};
use super::{Session, closing, nodes};
use crate::api::{Answers, Continuation, Drives, HolderView, Message, QuestionAnswer, Resolution, Retry};
use crate::args::{AnswerArgs, DriveArgs, ExtendArgs, Follow, ResolveArgs, RetryArgs, SayArgs, Target};
use crate::attach::Attached;
use crate::failure::Failure;
use crate::render::status_words;
use crate::render::summary::resume_commands;
use engine::batch::RunRow;
use engine::budget::BudgetPatch;
use engine::ids::RunId;
use engine::run::{Lane, Status};
use serde_json::{Value, json};

pub(crate) async fn watch(session: &Session, run: String) -> Result<u8, Failure> {
    let id = session.find(&run).await?;
    let attached = session.driver(id).await?;
    follow::stay(session, attached, id, 0, FollowOutput::for_watching(session), LastLine::Event).await
}

pub(crate) async fn answer(session: &Session, args: AnswerArgs) -> Result<u8, Failure> {
    let id = session.find(&args.run).await?;
    let answers = vec![QuestionAnswer { question_id: args.question, text: args.text }];
    let body = json!(Answers { answers, budgets: BudgetPatch::default() });
    command_and_follow(session, id, "respond", body, args.follow).await
}

pub(crate) async fn resume(session: &Session, args: DriveArgs) -> Result<u8, Failure> {
    let (id, path) = find_target(session, &args.target, "resume").await?;
    command_and_follow(session, id, &path, json!({}), args.follow).await
}

/// A new node repeats the step of the old one; a run that has ended continues for it.
pub(crate) async fn retry(session: &Session, args: RetryArgs) -> Result<u8, Failure> {
    let target = Target { run: args.run, node: Some(args.node) };
    let (id, path) = find_target(session, &target, "retry").await?;
    command_and_follow(session, id, &path, json!(Retry { dependents: args.dependents }), args.follow).await
}

/// The run, and the path below it of a command for the whole run or for one node.
async fn find_target(session: &Session, target: &Target, command: &str) -> Result<(RunId, String), Failure> {
    let run = session.find(&target.run).await?;
    match &target.node {
        Some(node) => Ok((run, format!("nodes/{}/{command}", nodes::find(session, run, node).await?))),
        None => Ok((run, command.to_owned())),
    }
}

pub(crate) async fn extend(session: &Session, args: ExtendArgs) -> Result<u8, Failure> {
    let id = session.find(&args.run).await?;
    let body = json!(Continuation { budgets: args.limits.patch(), message: args.message });
    command_and_follow(session, id, "continue", body, args.follow).await
}

/// Records the command, then follows the run until it settles. This process drives it, or the one that holds the database.
async fn command_and_follow(
    session: &Session,
    id: RunId,
    path: &str,
    body: Value,
    follow: Follow,
) -> Result<u8, Failure> {
    let attached = if follow.detach { session.writer().await? } else { session.driver(id).await? };
    let row = match attached.client.post::<RunRow>(&format!("/api/runs/{id}/{path}"), &body).await {
        Ok(row) => row,
        Err(error) => return closing(attached, Err(error)).await,
    };
    if follow.detach {
        let driven = driven_by(&attached).await;
        attached.close().await;
        session.print_value(&row, &format!("recorded; run {id} is {}; {driven}", status_words(row.status)));
        return Ok(0);
    }
    follow::stay(session, attached, id, row.last_seq, FollowOutput::for_command(session, follow), LastLine::Run).await
}

/// Which process drives a run that this command only recorded something for.
pub(crate) async fn driven_by(attached: &Attached) -> String {
    let holder = attached.client.get::<HolderView>("/api/holder").await;
    match holder {
        Ok(holder) if holder.drives == Drives::All => format!("process {} drives it", holder.pid),
        _ => "`pleach up` will drive it".into(),
    }
}

pub(crate) async fn say(session: &Session, args: SayArgs) -> Result<u8, Failure> {
    let id = session.find(&args.target.run).await?;
    let node_id = match &args.target.node {
        Some(node) => Some(nodes::find(session, id, node).await?),
        None => None,
    };
    let lane = if args.queue { Lane::Queue } else { Lane::Steer };
    let message = Message { text: args.text, node_id, lane };
    let attached = session.writer().await?;
    let posted = attached.client.post::<RunRow>(&format!("/api/runs/{id}/messages"), &message).await;
    let alone = attached.holds();
    let row = closing(attached, posted).await?;
    let next = match row.status {
        status if status.is_terminal() => {
            format!("; it is {} until `pleach extend {id}` continues it", status.name())
        }
        Status::Paused => format!("; it is paused until {}", resumed_by(&row)),
        _ if alone => "; `pleach up` will drive it".into(),
        _ => String::new(),
    };
    let (target, reader) = match &args.target.node {
        Some(node) => (format!("node {node} of run {id}"), "its next model call, or one below it, sees the message"),
        None => (format!("run {id}"), "its next model call sees the message"),
    };
    session.print_value(&row, &format!("queued for {target}{next}; {reader}"));
    Ok(0)
}

/// The commands that move a paused run: itself, or the nodes that hold it up.
fn resumed_by(row: &RunRow) -> String {
    let commands = resume_commands(row).into_iter().map(|command| format!("`{command}`"));
    commands.collect::<Vec<_>>().join(" or ")
}

/// `pause` and `cancel`.
pub(crate) async fn control(session: &Session, target: Target, command: &str) -> Result<u8, Failure> {
    let (id, path) = find_target(session, &target, command).await?;
    let attached = session.writer().await?;
    let posted = attached.client.post::<RunRow>(&format!("/api/runs/{id}/{path}"), &json!({})).await;
    let alone = attached.holds();
    let row = closing(attached, posted).await?;
    let status = status_words(row.status);
    let next = if alone && row.status.is_live() { format!("; `pleach watch {id}` drives it") } else { String::new() };
    let text = match (&target.node, command) {
        (None, "pause") => format!("run {id} is {status}; `pleach resume {id}` continues it"),
        (None, _) => format!("run {id} is {status}"),
        (Some(node), "pause") => format!(
            "node {node} and all below it are paused; run {id} is {status}. `pleach resume {id} --node {node}` continues it"
        ),
        (Some(node), _) => format!("node {node} and all below it are canceled; run {id} is {status}{next}"),
    };
    session.print_value(&row, &text);
    Ok(0)
}

pub(crate) async fn resolve(session: &Session, args: ResolveArgs) -> Result<u8, Failure> {
    let id = session.find(&args.run).await?;
    let body = Resolution { decision: args.decision, note: args.note };
    let row: RunRow = session.post(&format!("/api/runs/{id}/effects/{}", super::encoded(&args.effect)), &body).await?;
    session.print_value(
        &row,
        &format!("decided; run {id} is {}. `pleach watch {id}` continues it", status_words(row.status)),
    );
    Ok(0)
}
