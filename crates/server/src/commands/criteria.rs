//! `accept`, `reject` and `recheck`: a person's word on a success criterion.

use super::{Session, closing};
use crate::api::{ALL_CRITERIA, CriterionWord};
use crate::args::{CriterionArgs, RecheckArgs, RejectArgs};
use crate::failure::Failure;
use crate::render;
use axum::http::Method;
use engine::batch::RunRow;
use engine::facts::evidence::{CriterionDecision, RunOutcome};
use engine::ids::RunId;
use std::time::Duration;

/// How often a recheck looks whether its verdicts are there.
const POLL: Duration = Duration::from_millis(200);

pub(crate) async fn accept(session: &Session, args: CriterionArgs) -> Result<u8, Failure> {
    let word = CriterionWord { decision: CriterionDecision::Accept, note: args.note };
    decide(session, &args.run, &args.criterion, word).await
}

pub(crate) async fn reject(session: &Session, args: RejectArgs) -> Result<u8, Failure> {
    let word = CriterionWord { decision: CriterionDecision::Reject, note: Some(args.why) };
    decide(session, &args.run, &args.criterion, word).await
}

async fn decide(session: &Session, run: &str, criterion: &str, word: CriterionWord) -> Result<u8, Failure> {
    let id = session.find(run).await?;
    let row: RunRow = session.send(Method::PATCH, &path(id, criterion), &word).await?;
    print(session, &row);
    Ok(0)
}

/// Drives the run until its verdicts are there.
pub(crate) async fn recheck(session: &Session, args: RecheckArgs) -> Result<u8, Failure> {
    let id = session.find(&args.run).await?;
    let attached = session.driver(id).await?;
    let word = CriterionWord { decision: CriterionDecision::Recheck, note: None };
    let path = path(id, args.criterion.as_deref().unwrap_or(ALL_CRITERIA));
    let mut row =
        attached.client.send(Method::PATCH, &path, &word).await.and_then(|text| crate::api_client::parse(&text));
    while row.as_ref().is_ok_and(|row: &RunRow| row.success_criteria.iter().any(|criterion| criterion.checking)) {
        tokio::time::sleep(POLL).await;
        row = attached.client.get(&format!("/api/runs/{id}")).await;
    }
    let row = closing(attached, row).await?;
    print(session, &row);
    Ok(0)
}

fn path(run: RunId, criterion: &str) -> String {
    format!("/api/runs/{run}/criteria/{}", super::encoded(criterion))
}

fn print(session: &Session, row: &RunRow) {
    let mut lines = render::criteria(row, session.style);
    if let Some(outcome) = row.outcome {
        lines.push(format!("run {} is {}, outcome {}", row.id, row.status.name(), outcome.name()));
    }
    session.print_value(row, &lines.join("\n"));
}

/// 8 when a completed run came to less than was required.
pub(crate) fn required(required: &str, row: &RunRow) -> Option<u8> {
    let enough = match (required, row.outcome?) {
        ("verified", outcome) => outcome == RunOutcome::Verified,
        (_, outcome) => matches!(outcome, RunOutcome::Verified | RunOutcome::Claimed),
    };
    (!enough).then_some(8)
}
