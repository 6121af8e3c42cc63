//! Commands that tell a run something. Those that make it go on wait until it settles; the others record and return.

use super::follow::{self, FollowOutput, LastLine};
use super::{Session, closing, nodes};
use crate::api::{Answers, Continuation, Drives, HolderView, Message, QuestionAnswer, Resolution};
use crate::args::{AnswerArgs, ControlArgs, DriveArgs, ExtendArgs, Follow, ResolveArgs, RetryArgs, SayArgs};
use crate::attach::Attached;
use crate::failure::Failure;
use engine::batch::RunRow;
use engine::budget::BudgetPatch;
use engine::ids::RunId;
use engine::run::{Lane, Status};
use serde::Serialize;
use serde_json::json;

pub async fn watch(session: &Session, run: &str) -> Result<u8, Failure> {
    let id = session.find(run).await?;
    let attached = session.driver(id).await?;
    follow::stay(session, attached, id, 0, FollowOutput::for_watching(session), LastLine::Event).await
}

pub async fn answer(session: &Session, args: AnswerArgs) -> Result<u8, Failure> {
    let id = session.find(&args.run).await?;
    let answers = vec![QuestionAnswer { question_id: args.question, text: args.text }];
    tell_and_stay(session, id, "respond", &Answers { answers, budgets: BudgetPatch::default() }, args.follow).await
}

pub async fn resume(session: &Session, args: DriveArgs) -> Result<u8, Failure> {
    let id = session.find(&args.run).await?;
    let what = ordered(session, id, args.node.as_deref(), "resume").await?;
    tell_and_stay(session, id, &what, &json!({}), args.follow).await
}

/// A new node takes the step of the old one; a finished run goes on for it.
pub async fn retry(session: &Session, args: RetryArgs) -> Result<u8, Failure> {
    let id = session.find(&args.run).await?;
    let what = ordered(session, id, Some(&args.node), "retry").await?;
    tell_and_stay(session, id, &what, &json!({}), args.follow).await
}

/// Where an order for a whole run, or for one of its nodes, is sent.
async fn ordered(session: &Session, run: RunId, node: Option<&str>, what: &str) -> Result<String, Failure> {
    match node {
        Some(node) => Ok(format!("nodes/{}/{what}", nodes::find(session, run, node).await?)),
        None => Ok(what.to_owned()),
    }
}

pub async fn extend(session: &Session, args: ExtendArgs) -> Result<u8, Failure> {
    let id = session.find(&args.run).await?;
    tell_and_stay(
        session,
        id,
        "continue",
        &Continuation { budgets: args.limits.patch(), message: args.message },
        args.follow,
    )
    .await
}

/// Record the command, then drive the run, or ask its holder to, until it settles.
async fn tell_and_stay(
    session: &Session,
    id: RunId,
    what: &str,
    body: &impl Serialize,
    follow: Follow,
) -> Result<u8, Failure> {
    let attached = if follow.detach { session.writer().await? } else { session.driver(id).await? };
    let told = attached.client.post::<RunRow>(&format!("/api/runs/{id}/{what}"), body).await;
    let row = match told {
        Ok(row) => row,
        Err(error) => return closing(attached, Err(error)).await,
    };
    if follow.detach {
        let worked = worked_by(&attached).await;
        attached.close().await;
        session.print_run(&row, &format!("recorded; run {id} is {}. {worked}", row.status.name()));
        return Ok(0);
    }
    follow::stay(session, attached, id, row.last_seq, FollowOutput::for_command(session, follow), LastLine::Run).await
}

/// Who will work a run that this command only recorded something for.
pub async fn worked_by(attached: &Attached) -> String {
    let holder = attached.client.get::<HolderView>("/api/holder").await;
    match holder {
        Ok(holder) if holder.drives == Drives::All => format!("process {} works it", holder.pid),
        _ => "`pleach up` will work it".into(),
    }
}

pub async fn say(session: &Session, args: SayArgs) -> Result<u8, Failure> {
    let id = session.find(&args.run).await?;
    let node_id = match &args.node {
        Some(node) => Some(nodes::find(session, id, node).await?),
        None => None,
    };
    let lane = if args.queue { Lane::Queue } else { Lane::Steer };
    let message = Message { text: args.text, node_id, lane };
    let attached = session.writer().await?;
    let told = attached.client.post::<RunRow>(&format!("/api/runs/{id}/messages"), &message).await;
    let alone = attached.holds();
    let row = closing(attached, told).await?;
    let worked = match row.status {
        status if status.is_terminal() => {
            format!("; it is {} until `pleach extend {id}` continues it", status.name())
        }
        Status::Paused => format!("; it is paused until `pleach resume {id}`"),
        _ if alone => "; `pleach up` will work it".into(),
        _ => String::new(),
    };
    let (whom, whose) = match &args.node {
        Some(node) => (format!("node {node} of run {id}"), "its next model call, or one below it, is shown it"),
        None => (format!("run {id}"), "its next model call is shown it"),
    };
    session.print_run(&row, &format!("queued for {whom}{worked}; {whose}"));
    Ok(0)
}

pub async fn control(session: &Session, args: ControlArgs, what: &str) -> Result<u8, Failure> {
    let id = session.find(&args.run).await?;
    let order = ordered(session, id, args.node.as_deref(), what).await?;
    let attached = session.writer().await?;
    let told = attached.client.post::<RunRow>(&format!("/api/runs/{id}/{order}"), &json!({})).await;
    let alone = attached.holds();
    let row = closing(attached, told).await?;
    let status = row.status.name();
    let worked = if alone && row.status.is_live() { format!("; `pleach watch {id}` works it") } else { String::new() };
    let sentence = match (&args.node, what) {
        (None, "pause") => format!("run {id} is {status}; `pleach resume {id}` continues it"),
        (None, _) => format!("run {id} is {status}"),
        (Some(node), "pause") => format!(
            "node {node} starts nothing more; run {id} is {status}. `pleach resume {id} --node {node}` lets it go on"
        ),
        (Some(node), _) => format!("node {node} and all below it are canceled; run {id} is {status}{worked}"),
    };
    session.print_run(&row, &sentence);
    Ok(0)
}

pub async fn resolve(session: &Session, args: ResolveArgs) -> Result<u8, Failure> {
    let id = session.find(&args.run).await?;
    let body = Resolution { decision: args.decision.into(), note: args.note };
    let attached = session.writer().await?;
    let told = attached
        .client
        .post::<RunRow>(&format!("/api/runs/{id}/effects/{}", super::encoded(&args.effect)), &body)
        .await;
    let row = closing(attached, told).await?;
    session.print_run(&row, &format!("settled; run {id} is {}. `pleach watch {id}` continues it", row.status.name()));
    Ok(0)
}
