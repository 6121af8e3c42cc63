//! What people tell a run: answers, messages, limits, pause, cancel. Each is one engine command; the answer
//! is the run as it stands afterwards.

use super::caller::{Caller, Id, Sent};
use super::problems::Problem;
use super::{Answer, House};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use engine::batch::RunRow;
use engine::budget::BudgetPatch;
use engine::effect::EffectId;
use engine::facts::effect::Decision;
use engine::ids::{NodeId, QuestionId, RunId};
use engine::run::{Command, Lane};
use runtime::CommandError;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub type Told = Answer<Json<RunRow>>;

pub async fn tell(house: &House, caller: &Caller, run: RunId, command: Command) -> Answer<RunRow> {
    caller.run(house, run).await?;
    Ok(house.desk()?.command(run, command, caller.actor()).await?)
}

impl From<CommandError> for Problem {
    fn from(error: CommandError) -> Problem {
        match error {
            CommandError::NotFound(run) => Problem::not_found("run", run),
            CommandError::Refused(refusal) if refusal.slug == "no_such_node" => {
                Problem::new(StatusCode::NOT_FOUND, "node_not_found", refusal.message)
            }
            CommandError::Refused(refusal) => Problem::new(StatusCode::CONFLICT, refusal.slug, refusal.message),
            CommandError::Store(error) => error.into(),
        }
    }
}

pub async fn cancel(State(house): State<Arc<House>>, caller: Caller, Id(id): Id<RunId>) -> Told {
    tell(&house, &caller, id, Command::Cancel).await.map(Json)
}

pub async fn pause(State(house): State<Arc<House>>, caller: Caller, Id(id): Id<RunId>) -> Told {
    tell(&house, &caller, id, Command::Pause).await.map(Json)
}

pub async fn resume(State(house): State<Arc<House>>, caller: Caller, Id(id): Id<RunId>) -> Told {
    tell(&house, &caller, id, Command::Resume).await.map(Json)
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    pub answers: Vec<GivenAnswer>,
    #[serde(default)]
    pub budgets: BudgetPatch,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenAnswer {
    #[serde(default)]
    pub question_id: Option<QuestionId>,
    pub text: String,
}

/// Limits first, so that the answer finds the room it was given.
pub async fn respond(
    State(house): State<Arc<House>>,
    caller: Caller,
    Id(id): Id<RunId>,
    Sent(response): Sent<Response>,
) -> Told {
    if response.answers.is_empty() {
        return Err(Problem::invalid("no_answer", "answers is empty; give at least one {question_id?, text}"));
    }
    let mut row = caller.run(&house, id).await?;
    if response.budgets != BudgetPatch::default() {
        row = tell(&house, &caller, id, Command::SetBudgets(response.budgets)).await?;
    }
    for answer in response.answers {
        row = tell(&house, &caller, id, Command::Answer { question: answer.question_id, text: answer.text }).await?;
    }
    Ok(Json(row))
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Continuation {
    pub budgets: BudgetPatch,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

pub async fn go_on(
    State(house): State<Arc<House>>,
    caller: Caller,
    Id(id): Id<RunId>,
    Sent(sent): Sent<Continuation>,
) -> Told {
    tell(&house, &caller, id, Command::Continue { budgets: sent.budgets, message: sent.message }).await.map(Json)
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    #[serde(default = "steer")]
    pub lane: Lane,
}

fn steer() -> Lane {
    Lane::Steer
}

pub async fn say(
    State(house): State<Arc<House>>,
    caller: Caller,
    Id(id): Id<RunId>,
    Sent(message): Sent<Message>,
) -> Told {
    tell(&house, &caller, id, Command::Say { text: message.text, node: message.node_id, lane: message.lane })
        .await
        .map(Json)
}

pub async fn set_budgets(
    State(house): State<Arc<House>>,
    caller: Caller,
    Id(id): Id<RunId>,
    Sent(patch): Sent<BudgetPatch>,
) -> Told {
    tell(&house, &caller, id, Command::SetBudgets(patch)).await.map(Json)
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolution {
    pub decision: Decision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

pub async fn resolve(
    State(house): State<Arc<House>>,
    caller: Caller,
    Path((id, effect)): Path<(String, String)>,
    Sent(sent): Sent<Resolution>,
) -> Told {
    let id: RunId = id.parse().map_err(|_| Problem::not_found("run", &id))?;
    let command = Command::Resolve { effect: EffectId(effect), decision: sent.decision, note: sent.note };
    tell(&house, &caller, id, command).await.map(Json)
}

/// Ask this process to drive the run too.
pub async fn drive(State(house): State<Arc<House>>, caller: Caller, Id(id): Id<RunId>) -> Told {
    let row = caller.run(&house, id).await?;
    house.desk()?.drive(id);
    Ok(Json(row))
}
