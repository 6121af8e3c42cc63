//! `pleach agents`: subagents, their tasks and their memory.

use super::{Session, encoded, lessons, print, start};
use crate::api::{AgentView, LessonAction, NewAgent, Page};
use crate::args::{AgentRunArgs, AgentTraits, AgentsCommand, RunArgs, ScratchpadCommand};
use crate::failure::Failure;
use crate::render::style::{Color, fit, line, plain};
use crate::render::{section, status_color, status_words};
use axum::http::Method;
use engine::batch::RunRow;
use serde_json::{Value, json};

/// How many tasks `show` lists.
const LAST_TASKS: usize = 10;

pub(crate) async fn agents(session: &Session, command: AgentsCommand) -> Result<u8, Failure> {
    match command {
        AgentsCommand::Create { handle, traits } => {
            let new = NewAgent { handle: Some(handle), ..new_agent(session, traits) };
            let agent: AgentView = session.post("/api/agents", &new).await?;
            let (id, handle) = (agent.record.id, &agent.record.handle);
            session.print_value(&agent, &format!("{id}  {handle}\n`pleach agents run {handle} \"…\"` gives it a task"));
        }
        AgentsCommand::Edit { handle, traits } => {
            let path = format!("/api/agents/{}", encoded(&handle));
            let agent: AgentView = session.send(Method::PATCH, &path, &new_agent(session, traits)).await?;
            session.print_value(&agent, &format!("{handle} is now at version {}", agent.record.version));
        }
        AgentsCommand::Ls => list(session).await?,
        AgentsCommand::Show { handle } => show(session, &handle).await?,
        AgentsCommand::Run(args) => return start::run(session, task(args)).await,
        AgentsCommand::Scratchpad { handle, what, number } => scratchpad(session, &handle, what, number).await?,
        AgentsCommand::Lessons { handle, promote, dismiss } => match (promote, dismiss) {
            (Some(lesson), _) => lessons::decide(session, &handle, lesson, LessonAction::Promote).await?,
            (None, Some(lesson)) => lessons::decide(session, &handle, lesson, LessonAction::Dismiss).await?,
            (None, None) => lessons::list(session, &handle).await?,
        },
    }
    Ok(0)
}

fn task(args: AgentRunArgs) -> RunArgs {
    RunArgs {
        objective: args.task,
        kind: "task".into(),
        agent: Some(args.handle),
        max_steps: args.max_steps,
        limits: args.limits,
        follow: args.follow,
        ..RunArgs::default()
    }
}

/// A list that was not given is left out, so that an edit keeps what is stored.
fn new_agent(session: &Session, traits: AgentTraits) -> NewAgent {
    NewAgent {
        handle: None,
        name: traits.name,
        identity: traits.identity,
        actions: Some(traits.actions).filter(|list| !list.is_empty()),
        projects: Some(traits.projects).filter(|list| !list.is_empty()),
        model: session.asked_model.clone(),
    }
}

async fn list(session: &Session) -> Result<(), Failure> {
    let agents: Vec<AgentView> = session.list("/api/agents?limit=200").await?;
    for agent in &agents {
        let granted = match agent.record.actions.len() {
            0 => "reads only".to_owned(),
            count => format!("{count} actions"),
        };
        let text = format!(
            "{:<20}  {:>6} characters  {:<12}  {} projects  {}",
            agent.record.handle,
            agent.scratchpad.characters,
            granted,
            agent.projects.len(),
            fit(&line(&agent.record.identity), 60)
        );
        session.print_value(agent, text.trim_end());
    }
    Ok(())
}

async fn show(session: &Session, handle: &str) -> Result<(), Failure> {
    let Some(reader) = session.reader().await? else { return Ok(()) };
    let agent: AgentView = reader.client.get(&format!("/api/agents/{}", encoded(handle))).await?;
    let path = format!("/api/runs?agent={}&limit={LAST_TASKS}", encoded(handle));
    let tasks: Page<RunRow> = reader.client.get(&path).await?;
    reader.close().await;
    if session.json {
        session.print_json(&agent);
        return Ok(());
    }
    let (record, style) = (&agent.record, session.style);
    let granted = if record.actions.is_empty() {
        "none: it may only read and keep notes".into()
    } else {
        record.actions.join(", ")
    };
    let mut lines = vec![
        style.paint(Color::Bold, &line(&record.name)),
        format!("handle      {}", record.handle),
        format!("id          {}", record.id),
        format!("actions     {granted}"),
        format!("model       {}", record.model.as_deref().unwrap_or("as configured")),
        format!(
            "scratchpad  {} of {} characters, version {}",
            agent.scratchpad.characters, agent.scratchpad.limit, agent.scratchpad.version
        ),
        format!("lessons     {} pending  (pleach agents lessons {})", agent.pending_lessons, record.handle),
    ];
    section(&mut lines, "Identity", plain(&record.identity).lines().map(|text| format!("  {text}")), style);
    let projects = agent.projects.iter().map(|project| format!("  {}  {}", project.id, line(&project.title)));
    section(&mut lines, "Projects", projects, style);
    let tasks = tasks.items.iter().map(|run| {
        format!(
            "  {}  {}  {}",
            run.id,
            style.paint(status_color(run.status), status_words(run.status)),
            fit(&line(&run.objective), 60)
        )
    });
    section(&mut lines, "Last tasks", tasks, style);
    lines.iter().for_each(|text| print(text));
    Ok(())
}

async fn scratchpad(
    session: &Session,
    handle: &str,
    what: ScratchpadCommand,
    version: Option<i64>,
) -> Result<(), Failure> {
    let pad = format!("/api/agents/{}/scratchpad", encoded(handle));
    match (what, version) {
        (ScratchpadCommand::Show, None) => show_scratchpad(session, &pad).await,
        (ScratchpadCommand::Show, Some(version)) => {
            show_scratchpad(session, &format!("{pad}/versions?limit=1&cursor={}", version.saturating_add(1))).await
        }
        (ScratchpadCommand::History, _) => history(session, &format!("{pad}/versions?limit=200")).await,
        (ScratchpadCommand::Clear, _) => change(session, &format!("{pad}/clear"), json!({}), "cleared").await,
        (ScratchpadCommand::Restore, Some(version)) => {
            change(session, &format!("{pad}/restore"), json!({ "version": version }), "restored").await
        }
        (ScratchpadCommand::Restore, None) => Err(Failure::usage(format!(
            "no version is given; nothing was changed. Type one: pleach agents scratchpad {handle} restore VERSION\n`pleach agents scratchpad {handle} history` lists the versions."
        ))),
    }
}

async fn show_scratchpad(session: &Session, path: &str) -> Result<(), Failure> {
    let Some(found) = session.get::<Value>(path).await? else { return Ok(()) };
    let pad = if found["items"].is_array() { &found["items"][0] } else { &found };
    match pad["content"].as_str() {
        None | Some("") => session.print_value(pad, "The scratchpad is empty."),
        Some(content) => session.print_value(pad, &plain(content)),
    }
    Ok(())
}

async fn history(session: &Session, path: &str) -> Result<(), Failure> {
    let Some(page) = session.get::<Page<Value>>(path).await? else { return Ok(()) };
    for pad in &page.items {
        let from = match (pad["run_id"].as_str(), pad["step"].as_u64()) {
            (Some(run), Some(step)) => format!("step {step} of run {run}"),
            (Some(run), None) if pad["actor"]["kind"] == "platform" => format!("lessons of run {run}"),
            (Some(run), None) => format!("reflection of run {run}"),
            (None, _) if pad["actor"]["kind"] == "subagent" => "the subagent, outside a task".into(),
            (None, _) => "a person".into(),
        };
        let at: String = pad["at"].as_str().unwrap_or_default().chars().take(16).collect();
        let text = format!("{:>4}  {at}  {:>6} characters  {from}", pad["version"], pad["characters"]);
        session.print_value(pad, &text);
    }
    Ok(())
}

async fn change(session: &Session, path: &str, body: Value, done: &str) -> Result<(), Failure> {
    let pad: Value = session.post(path, &body).await?;
    session.print_value(&pad, &format!("{done}: version {}, {} characters", pad["version"], pad["characters"]));
    Ok(())
}
