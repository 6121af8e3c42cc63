//! Routes that command a run: answers, messages, limits, pause, cancel. Each is one engine command, and each response is the
//! run as it stands afterwards.

use super::caller::{Caller, Id, JsonBody};
use super::problems::Problem;
use super::route::Access::Run;
use super::route::Route;
use super::schema::{Schema, form, id, list, one_of, text, words};
use super::{ApiResult, AppState, access, records};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use engine::answer::nullable;
use engine::batch::RunRow;
use engine::budget::BudgetPatch;
use engine::effect::EffectId;
use engine::facts::effect::Decision;
use engine::ids::{NodeId, QuestionId, RunId};
use engine::run::{Command, Lane, Refusal, Remedy, Reply};
use runtime::CommandError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

pub type RunResult = ApiResult<Json<RunRow>>;

pub fn routes() -> Vec<Route> {
    vec![
        Route::post("/api/runs/{id}/cancel", Run, "End the run", cancel).gives_run(),
        Route::post("/api/runs/{id}/pause", Run, "Let calls in flight finish and start no more", pause).gives_run(),
        Route::post("/api/runs/{id}/resume", Run, "Let a paused run go on", resume).gives_run(),
        Route::post("/api/runs/{id}/respond", Run, "Answer questions and go on", respond)
            .takes(form([("answers", list(answer()))], [("budgets", records::budgets())]))
            .gives_run(),
        Route::post("/api/runs/{id}/continue", Run, "Continue a stopped or failed run", go_on)
            .takes(form([], [("budgets", records::budgets()), ("message", text())]))
            .gives_run(),
        Route::post("/api/runs/{id}/messages", Run, "Tell the run something", say)
            .takes(form([("text", words(MAX_MESSAGE))], [("node_id", id()), ("lane", one_of(["steer", "queue"]))]))
            .gives_run(),
        Route::patch("/api/runs/{id}/budgets", Run, "Raise or lower limits while it runs", set_budgets)
            .takes(records::budgets())
            .gives_run(),
        Route::post("/api/runs/{id}/effects/{effect}", Run, "Settle an effect whose outcome nobody knows", resolve)
            .takes(form([("decision", one_of(["happened", "did_not", "retry"]))], [("note", text())]))
            .gives_run(),
        Route::post("/api/runs/{id}/drive", Run, "Ask this process to drive the run too", drive).gives_run(),
    ]
}

fn answer() -> Schema {
    form([("text", text())], [("question_id", id())])
}

/// Said here for clients; the engine is who refuses.
const MAX_MESSAGE: usize = engine::run::LONGEST_MESSAGE;

pub async fn tell(app: &AppState, caller: &Caller, run: RunId, command: Command) -> ApiResult<RunRow> {
    access::steer_run(app, caller, run).await?;
    Ok(app.commands()?.command(run, command, caller.actor()).await?)
}

impl From<CommandError> for Problem {
    fn from(error: CommandError) -> Problem {
        match error {
            CommandError::NotFound(_) => Problem::not_found("run"),
            CommandError::Refused(refusal) => refused(refusal),
            CommandError::Store(error) => error.into(),
        }
    }
}

/// What does not exist, what could never be right, and what is only wrong as things stand.
pub(super) fn refused(refusal: Refusal) -> Problem {
    let status = match refusal.slug {
        "node_not_found" | "question_not_found" | "effect_not_found" => StatusCode::NOT_FOUND,
        "empty_answer" | "answered_twice" | "unknown_decision" | "empty_message" | "message_too_long"
        | "budget_too_small" => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::CONFLICT,
    };
    let message = match refusal.remedy {
        Some(remedy) => format!("{}{}", refusal.message, in_cli_words(remedy)),
        None => refusal.message,
    };
    Problem::new(status, refusal.slug, message)
}

fn in_cli_words(remedy: Remedy) -> String {
    match remedy {
        Remedy::RaiseIterations { run, to } => format!(": pleach extend {run} --max-iterations {to}"),
        Remedy::RaiseMinutes { run, to } => format!(": pleach extend {run} --max-minutes {to}"),
        Remedy::RaiseSpending { run, cost, tokens } => {
            format!(": pleach extend {run} --max-cost {:.4} --max-tokens {tokens}", cost.dollars())
        }
        Remedy::RaiseNodes { above } => format!(": raise --max-nodes above {above} first"),
        Remedy::RetryNode { run, node } => {
            format!(". Retry it (pleach retry {run} --node {node}), or say it to the run")
        }
    }
}

async fn cancel(State(app): State<Arc<AppState>>, caller: Caller, Id(id): Id<RunId>) -> RunResult {
    tell(&app, &caller, id, Command::Cancel).await.map(Json)
}

async fn pause(State(app): State<Arc<AppState>>, caller: Caller, Id(id): Id<RunId>) -> RunResult {
    tell(&app, &caller, id, Command::Pause).await.map(Json)
}

async fn resume(State(app): State<Arc<AppState>>, caller: Caller, Id(id): Id<RunId>) -> RunResult {
    tell(&app, &caller, id, Command::Resume).await.map(Json)
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    pub answers: Vec<QuestionAnswer>,
    #[serde(default, deserialize_with = "nullable")]
    pub budgets: BudgetPatch,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionAnswer {
    #[serde(default)]
    pub question_id: Option<QuestionId>,
    pub text: String,
}

async fn respond(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    Id(id): Id<RunId>,
    JsonBody(response): JsonBody<Response>,
) -> RunResult {
    if response.answers.is_empty() {
        return Err(Problem::invalid("no_answer", "answers is empty; give at least one {question_id?, text}"));
    }
    let asked: Vec<QuestionId> = response.answers.iter().filter_map(|answer| answer.question_id).collect();
    let answers = response.answers.into_iter();
    let answers = answers.map(|answer| Reply { question: answer.question_id, text: answer.text }).collect();
    match tell(&app, &caller, id, Command::Respond { answers, budgets: response.budgets }).await {
        Err(problem) if problem.slug == "already_answered" => {
            let row = caller.run(&app, id).await?;
            Err(problem.with("answer", standing_answer(&row, &asked)))
        }
        told => told.map(Json),
    }
}

/// What the question was answered with before.
fn standing_answer(row: &RunRow, asked: &[QuestionId]) -> Value {
    let questions = row.questions.as_array().map(Vec::as_slice).unwrap_or_default();
    let meant = |question: &&Value| asked.iter().any(|id| question["id"] == id.to_string());
    questions.iter().filter(meant).map(|question| question["answer"].clone()).find(|answer| !answer.is_null()).into()
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Continuation {
    #[serde(deserialize_with = "nullable")]
    pub budgets: BudgetPatch,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

async fn go_on(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    Id(id): Id<RunId>,
    JsonBody(sent): JsonBody<Continuation>,
) -> RunResult {
    tell(&app, &caller, id, Command::Continue { budgets: sent.budgets, message: sent.message }).await.map(Json)
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

async fn say(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    Id(id): Id<RunId>,
    JsonBody(message): JsonBody<Message>,
) -> RunResult {
    tell(&app, &caller, id, Command::Say { text: message.text, node: message.node_id, lane: message.lane })
        .await
        .map(Json)
}

async fn set_budgets(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    Id(id): Id<RunId>,
    JsonBody(patch): JsonBody<BudgetPatch>,
) -> RunResult {
    tell(&app, &caller, id, Command::SetBudgets(patch)).await.map(Json)
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolution {
    pub decision: Decision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

async fn resolve(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    Path((id, effect)): Path<(String, String)>,
    JsonBody(sent): JsonBody<Resolution>,
) -> RunResult {
    let id: RunId = id.parse().map_err(|_| Problem::not_found("run"))?;
    let command = Command::Resolve { effect: EffectId(effect), decision: sent.decision, note: sent.note };
    tell(&app, &caller, id, command).await.map(Json)
}

/// Ask this process to drive the run too.
async fn drive(State(app): State<Arc<AppState>>, caller: Caller, Id(id): Id<RunId>) -> RunResult {
    let row = caller.run(&app, id).await?;
    app.commands()?.drive(id);
    Ok(Json(row))
}
