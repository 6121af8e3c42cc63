//! `pleach run`.

use super::follow::{self, FollowOutput};
use super::{Session, closing, criteria, note};
use crate::api::NewRun;
use crate::args::RunArgs;
use crate::attach::Attached;
use crate::drive::SystemClock;
use crate::failure::Failure;
use engine::batch::RunRow;
use engine::ids::{self, RunId};
use engine::run::MAX_OBJECTIVE_CHARS;
use runtime::ports::Clock;
use std::io::Read;

pub(crate) async fn run(session: &Session, args: RunArgs) -> Result<u8, Failure> {
    let objective = objective(&args.objective)?;
    // Chosen here, so that sending the request again after a lost connection does not create a second run.
    let id: RunId = ids::derive(SystemClock.now(), &[&rand::random::<[u8; 16]>()]).into();
    let new = NewRun {
        id: Some(id),
        kind: args.kind,
        objective,
        scope: None,
        project_ids: args.projects,
        success_criteria: args.success,
        tools: args.tools,
        budgets: args.limits.patch(),
        model: None,
        models: session.config.model.names(),
        agent: args.agent,
        max_steps: args.max_steps,
        agents: args.with_agents,
        verify: args.no_verify.then_some(false),
    };
    if args.follow.detach {
        let attached = session.writer().await?;
        let created = attached.client.post::<RunRow>("/api/runs", &new).await;
        let driven = super::drive::driven_by(&attached).await;
        let row = closing(attached, created).await?;
        session.print_value(&row, &format!("run {} is queued; {driven}\n`pleach watch {}` follows it", row.id, row.id));
        return Ok(0);
    }
    let attached = session.driver(id).await?;
    let code = match attached.client.post::<RunRow>("/api/runs", &new).await {
        Ok(row) => begin(session, attached, &row, args.follow).await?,
        Err(error) => return closing(attached, Err(error)).await,
    };
    match args.require.as_deref().filter(|_| code == 0) {
        Some(required) => {
            let row: Option<RunRow> = session.get(&format!("/api/runs/{id}")).await?;
            Ok(row.and_then(|row| criteria::required(required, &row)).unwrap_or(code))
        }
        None => Ok(code),
    }
}

async fn begin(
    session: &Session,
    attached: Attached,
    row: &RunRow,
    follow: crate::args::Follow,
) -> Result<u8, Failure> {
    let showing = if session.json { FollowOutput::Events } else { FollowOutput::for_command(session, follow) };
    if showing == FollowOutput::Nothing {
        note(&format!(
            "run {} started with {}; `pleach watch {}` in another terminal shows it",
            row.id, row.model, row.id
        ));
    }
    follow::stay(session, attached, row.id, 0, showing, follow::LastLine::Run).await
}

fn objective(text: &str) -> Result<String, Failure> {
    let mut objective = text.to_owned();
    if text == "-" {
        objective.clear();
        std::io::stdin().read_to_string(&mut objective).map_err(|error| {
            Failure::usage(format!("the objective cannot be read from standard input: {error}\nNo run was made."))
        })?;
    }
    // Checked here too, so that a text larger than a request may be is refused with its own size.
    let characters = objective.chars().count();
    match objective.trim().is_empty() {
        true => Err(Failure::usage(
            "the objective is empty; no run was made.\nType what to achieve, e.g. pleach run \"Compare three note-taking apps\"",
        )),
        false if characters > MAX_OBJECTIVE_CHARS => Err(Failure::usage(format!(
            "the objective has {characters} characters; at most {MAX_OBJECTIVE_CHARS} are allowed. No run was made.\nPut the material into a document and refer to it."
        ))),
        false => Ok(objective),
    }
}
