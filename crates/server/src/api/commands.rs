//! Routes that command a run: answers, messages, limits, pause, cancel. Each is one engine command, and each response is the
//! run as it stands afterwards.

use super::prelude::*;
use super::tree_parts;
use engine::answer::nullable;
use engine::batch::RunRow;
use engine::budget::BudgetPatch;
use engine::effect::EffectId;
use engine::facts::effect::Decision;
use engine::ids::{NodeId, QuestionId, RunId};
use engine::run::{Command, Lane, Refusal, Remedy, UserAnswer};
use runtime::CommandError;

pub(super) type RunResult = JsonResult<RunRow>;

pub(super) fn routes() -> Vec<Route> {
    vec![
        without_body("/api/runs/{id}/cancel", "End the run", Command::Cancel),
        without_body("/api/runs/{id}/pause", "Let calls in flight finish and start no more", Command::Pause),
        without_body("/api/runs/{id}/resume", "Let a paused run go on", Command::Resume),
        Route::post("/api/runs/{id}/respond", Run, "Answer questions and go on", respond)
            .body(form([("answers", list_of(answer()))], [("budgets", records::budgets())]))
            .returns_run(),
        Route::post("/api/runs/{id}/continue", Run, "Continue a stopped or failed run", continue_run)
            .body(form([], [("budgets", records::budgets()), ("message", text())]))
            .returns_run(),
        Route::post("/api/runs/{id}/messages", Run, "Tell the run something", say)
            .body(form([("text", words(MAX_MESSAGE))], [("node_id", id()), ("lane", one_of(["steer", "queue"]))]))
            .returns_run(),
        Route::patch("/api/runs/{id}/budgets", Run, "Raise or lower limits while it runs", set_budgets)
            .body(records::budgets())
            .returns_run(),
        Route::post("/api/runs/{id}/effects/{effect}", Run, "Settle an effect whose outcome nobody knows", resolve)
            .body(form([("decision", one_of(["happened", "did_not", "retry"]))], [("note", text())]))
            .returns_run(),
        Route::post("/api/runs/{id}/drive", Run, "Ask this process to drive the run too", drive).returns_run(),
    ]
}

fn without_body(path: &'static str, summary: &'static str, command: Command) -> Route {
    let handler = move |Context(app, caller): Context, Id(id): Id<RunId>| async move {
        run_command(&app, &caller, id, command).await
    };
    Route::post(path, Run, summary, handler).returns_run()
}

fn answer() -> Schema {
    form([("text", text())], [("question_id", id())])
}

/// Published for clients; the engine enforces it.
const MAX_MESSAGE: usize = engine::run::MAX_MESSAGE_CHARS;

/// Gives the run a command in the caller's name; the response is the run afterwards.
pub(super) async fn run_command(app: &AppState, caller: &Caller, run: RunId, command: Command) -> RunResult {
    access::steer_run(app, caller, run).await?;
    let row = app.commands()?.command(run, command, caller.actor()).await?;
    tree_parts::with_tree_parts(app, caller, row).await.map(Json)
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

/// 404 for what does not exist, 422 for what can never be right, 409 for what the run's state does not allow now.
pub(super) fn refused(refusal: Refusal) -> Problem {
    let status = match refusal.slug {
        "node_not_found" | "question_not_found" | "effect_not_found" | "criterion_not_found" => StatusCode::NOT_FOUND,
        "note_too_long" | "empty_answer" | "answered_twice" | "unknown_decision" | "empty_message"
        | "message_too_long" | "budget_too_small" => StatusCode::UNPROCESSABLE_ENTITY,
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
            let cost = cost.map(|cost| format!(" --max-cost {:.4}", cost.dollars())).unwrap_or_default();
            let tokens = tokens.map(|tokens| format!(" --max-tokens {tokens}")).unwrap_or_default();
            format!(": pleach extend {run}{cost}{tokens}")
        }
        Remedy::RaiseNodes { above } => format!(": raise --max-nodes above {above} first"),
        Remedy::ResumeNodes { run, nodes } => resume_nodes(run, &nodes),
        Remedy::RetryNode { run, node } => {
            format!(". Retry it (pleach retry {run} --node {node}), or say it to the run")
        }
    }
}

/// The commands that resume the first of these nodes, and how many more there are.
fn resume_nodes(run: RunId, nodes: &[NodeId]) -> String {
    let commands = resume_node_commands(run, nodes);
    let more = nodes.len() - commands.len();
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    format!(": {}{more}", commands.join(", "))
}

/// The commands that resume the first of these nodes.
pub(crate) fn resume_node_commands(run: RunId, nodes: &[NodeId]) -> Vec<String> {
    const NAMED: usize = 3;
    nodes.iter().take(NAMED).map(|node| format!("pleach resume {run} --node {node}")).collect()
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answers {
    pub answers: Vec<QuestionAnswer>,
    #[serde(default, deserialize_with = "nullable")]
    pub budgets: BudgetPatch,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionAnswer {
    pub question_id: Option<QuestionId>,
    pub text: String,
}

async fn respond(Context(app, caller): Context, Id(id): Id<RunId>, JsonBody(response): JsonBody<Answers>) -> RunResult {
    if response.answers.is_empty() {
        return Err(Problem::invalid(
            "no_answer",
            "answers is empty; give at least one {question_id?, text}; nothing was changed",
        ));
    }
    let questions: Vec<QuestionId> = response.answers.iter().filter_map(|answer| answer.question_id).collect();
    let answers = response.answers.into_iter();
    let answers = answers.map(|answer| UserAnswer { question: answer.question_id, text: answer.text }).collect();
    match run_command(&app, &caller, id, Command::Respond { answers, budgets: response.budgets }).await {
        Err(problem) if problem.slug == "already_answered" => {
            let row = caller.run(&app, id).await?;
            Err(problem.with("answer", earlier_answer(&row, &questions)))
        }
        result => result,
    }
}

/// The answer that is stored already for one of these questions.
fn earlier_answer(row: &RunRow, ids: &[QuestionId]) -> Value {
    let questions = row.questions.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_meant = |question: &&Value| ids.iter().any(|id| question["id"] == id.to_string());
    questions.iter().filter(is_meant).map(|question| question["answer"].clone()).find(|answer| !answer.is_null()).into()
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Continuation {
    #[serde(deserialize_with = "nullable")]
    pub budgets: BudgetPatch,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

async fn continue_run(
    Context(app, caller): Context,
    Id(id): Id<RunId>,
    JsonBody(sent): JsonBody<Continuation>,
) -> RunResult {
    run_command(&app, &caller, id, Command::Continue { budgets: sent.budgets, message: sent.message }).await
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    #[serde(default = "steer")]
    pub lane: Lane,
}

fn steer() -> Lane {
    Lane::Steer
}

async fn say(Context(app, caller): Context, Id(id): Id<RunId>, JsonBody(message): JsonBody<Message>) -> RunResult {
    run_command(&app, &caller, id, Command::Say { text: message.text, node: message.node_id, lane: message.lane }).await
}

async fn set_budgets(
    Context(app, caller): Context,
    Id(id): Id<RunId>,
    JsonBody(patch): JsonBody<BudgetPatch>,
) -> RunResult {
    run_command(&app, &caller, id, Command::SetBudgets(patch)).await
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resolution {
    pub decision: Decision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

async fn resolve(
    Context(app, caller): Context,
    Path((id, effect)): Path<(String, String)>,
    JsonBody(sent): JsonBody<Resolution>,
) -> RunResult {
    let id: RunId = id.parse().map_err(|_| Problem::not_found("run"))?;
    let command = Command::Resolve { effect: EffectId(effect), decision: sent.decision, note: sent.note };
    run_command(&app, &caller, id, command).await
}

/// Ask this process to drive the run too.
async fn drive(Context(app, caller): Context, Id(id): Id<RunId>) -> RunResult {
    let row = caller.run(&app, id).await?;
    app.commands()?.drive(id);
    Ok(Json(row))
}
