//! `pleach agents`: subagents, their tasks and their memory.

use super::{Session, closing, encoded, every, lessons, print, start};
use crate::api::{AgentView, LessonAction, NewAgent, Page};
use crate::args::{AgentRunArgs, AgentTraits, AgentsCommand, RunArgs, ScratchpadCommand};
use crate::failure::Failure;
use crate::render::style::{Color, fit, line, plain};
use crate::render::{section, status_ink};
use axum::http::Method;
use engine::batch::RunRow;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Tasks that `show` lists.
const LAST_TASKS: usize = 10;

pub async fn agents(session: &Session, command: AgentsCommand) -> Result<u8, Failure> {
    match command {
        AgentsCommand::Create { handle, traits } => {
            let new = NewAgent { handle: Some(handle), ..asked(session, traits) };
            let attached = session.writer().await?;
            let made = attached.client.post::<AgentView>("/api/agents", &new).await;
            let agent = closing(attached, made).await?;
            let next = format!("`pleach agents run {} \"…\"` sends it on a task", agent.record.handle);
            print_agent(session, &agent, &format!("{}  {}\n{next}", agent.record.id, agent.record.handle));
        }
        AgentsCommand::Edit { handle, traits } => {
            let attached = session.writer().await?;
            let path = format!("/api/agents/{}", encoded(&handle));
            let edited = attached.client.send(Method::PATCH, &path, &asked(session, traits)).await;
            let agent: AgentView = read(&closing(attached, edited).await?)?;
            print_agent(session, &agent, &format!("{} is now at version {}", handle, agent.record.version));
        }
        AgentsCommand::Ls => list(session).await?,
        AgentsCommand::Show { handle } => show(session, &handle).await?,
        AgentsCommand::Run(args) => return start::run(session, sent(args)).await,
        AgentsCommand::Scratchpad { handle, what, number } => scratchpad(session, &handle, what, number).await?,
        AgentsCommand::Lessons { handle, promote, dismiss } => match (promote, dismiss) {
            (Some(lesson), _) => lessons::settle(session, &handle, lesson, LessonAction::Promote).await?,
            (None, Some(lesson)) => lessons::settle(session, &handle, lesson, LessonAction::Dismiss).await?,
            (None, None) => lessons::list(session, &handle).await?,
        },
    }
    Ok(0)
}

fn sent(args: AgentRunArgs) -> RunArgs {
    RunArgs {
        objective: args.task,
        kind: "task".into(),
        agent: Some(args.handle),
        max_steps: args.max_steps,
        with_agents: Vec::new(),
        projects: Vec::new(),
        success: Vec::new(),
        tools: Vec::new(),
        limits: args.limits,
        follow: args.follow,
    }
}

/// Lists that were not given stay as they are.
fn asked(session: &Session, traits: AgentTraits) -> NewAgent {
    let some = |list: Vec<String>| Some(list).filter(|list| !list.is_empty());
    NewAgent {
        handle: None,
        name: traits.name,
        identity: traits.identity,
        actions: some(traits.actions),
        projects: Some(traits.projects).filter(|list| !list.is_empty()),
        model: session.asked_model.clone(),
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::failed(error.to_string()))
}

fn print_agent(session: &Session, agent: &AgentView, sentence: &str) {
    if session.json { session.print_json(agent) } else { print(sentence) }
}

async fn list(session: &Session) -> Result<(), Failure> {
    let Some(reader) = session.reader().await? else { return Ok(()) };
    let agents: Vec<AgentView> = every(&reader.client, "/api/agents?limit=200").await?;
    reader.close().await;
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
        print_agent(session, agent, text.trim_end());
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
    let granted =
        if record.actions.is_empty() { "none: it reads, and keeps notes".into() } else { record.actions.join(", ") };
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
            style.paint(status_ink(run.status), run.status.name()),
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
        (ScratchpadCommand::Show, None) => shown(session, &pad).await,
        (ScratchpadCommand::Show, Some(version)) => {
            shown(session, &format!("{pad}/versions?limit=1&cursor={}", version.saturating_add(1))).await
        }
        (ScratchpadCommand::History, _) => history(session, &format!("{pad}/versions?limit=200")).await,
        (ScratchpadCommand::Clear, _) => changed(session, &format!("{pad}/clear"), json!({}), "cleared").await,
        (ScratchpadCommand::Restore, Some(version)) => {
            changed(session, &format!("{pad}/restore"), json!({ "version": version }), "restored").await
        }
        (ScratchpadCommand::Restore, None) => Err(Failure::usage(format!(
            "say which version: pleach agents scratchpad {handle} restore N\n`pleach agents scratchpad {handle} history` lists them."
        ))),
    }
}

async fn shown(session: &Session, path: &str) -> Result<(), Failure> {
    let Some(reader) = session.reader().await? else { return Ok(()) };
    let found: Value = reader.client.get(path).await?;
    reader.close().await;
    let pad = if found["items"].is_array() { &found["items"][0] } else { &found };
    match (session.json, pad["content"].as_str()) {
        (true, _) => session.print_json(pad),
        (false, None | Some("")) => print("The scratchpad is empty."),
        (false, Some(content)) => print(&plain(content)),
    }
    Ok(())
}

async fn history(session: &Session, path: &str) -> Result<(), Failure> {
    let Some(reader) = session.reader().await? else { return Ok(()) };
    let page: Page<Value> = reader.client.get(path).await?;
    reader.close().await;
    for pad in &page.items {
        if session.json {
            session.print_json(pad);
            continue;
        }
        let from = match (pad["run_id"].as_str(), pad["step"].as_u64()) {
            (Some(run), Some(step)) => format!("step {step} of run {run}"),
            (Some(run), None) if pad["actor"]["kind"] == "platform" => format!("lessons of run {run}"),
            (Some(run), None) => format!("reflection of run {run}"),
            (None, _) => "a person, or the agent itself outside a task".into(),
        };
        let at: String = pad["at"].as_str().unwrap_or_default().chars().take(16).collect();
        print(&format!("{:>4}  {at}  {:>6} characters  {from}", pad["version"], pad["characters"]));
    }
    Ok(())
}

async fn changed(session: &Session, path: &str, body: Value, what: &str) -> Result<(), Failure> {
    let attached = session.writer().await?;
    let written = attached.client.post::<Value>(path, &body).await;
    let pad = closing(attached, written).await?;
    match session.json {
        true => session.print_json(&pad),
        false => print(&format!("{what}: version {}, {} characters", pad["version"], pad["characters"])),
    }
    Ok(())
}
