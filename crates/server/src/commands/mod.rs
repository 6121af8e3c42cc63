//! The commands of the command line: each sends requests through an `ApiClient` and prints the responses. No command touches the
//! store except those that repair or copy it.

mod agents;
mod anchors;
mod database;
mod demo;
mod drive;
mod follow;
mod inbox;
mod integrity;
mod lessons;
mod maintenance;
mod members;
mod nodes;
mod projects;
mod read;
mod serve;
mod start;
mod tokens;
mod tools;
mod trust;
mod webhooks;

pub use demo::DemoArgs;

use crate::api::Page;
use crate::api_client::{ApiClient, ApiError};
use crate::args::{Cli, Command};
use crate::attach::{self, Attached};
use crate::config::origins::Origin;
use crate::config::{Config, Environment};
use crate::drive::WorkerScope;
use crate::failure::Failure;
use crate::render::style::{Style, json_line, line};
use engine::batch::RunRow;
use engine::ids::RunId;
use runtime::ports::LOCAL_HANDLE;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// What a command knows of its surroundings.
pub struct Session {
    pub config: Config,
    pub actor: String,
    pub json: bool,
    pub style: Style,
    /// `--model`, where it was typed.
    pub asked_model: Option<String>,
}

pub async fn execute(cli: Cli) -> Result<u8, Failure> {
    if let Command::Completions { shell } = cli.command {
        return Ok(maintenance::completions(shell));
    }
    if let Command::Demo(args) = &cli.command {
        return demo::play(args);
    }
    let environment = Environment::of_process();
    match cli.command {
        Command::Trust(args) => return trust::trust(&environment, args, cli.global.json),
        Command::Run(_) | Command::Up if !cli.global.json => trust::offer(&environment)?,
        _ => {}
    }
    let config = Config::load(&cli.global, &environment)?;
    config.ignored.iter().for_each(|ignored| note(&line(&ignored.line())));
    if let Some(server) = config.server.as_ref().filter(|_| cli.global.actor.is_some()) {
        return Err(Failure::usage(format!(
            "--actor is for this machine's own database; on {} ({}) you are whoever PLEACH_TOKEN belongs to",
            server.value, server.origin
        )));
    }
    let actor = cli.global.actor.unwrap_or_else(|| LOCAL_HANDLE.into());
    let session =
        Session { config, actor, json: cli.global.json, style: Style::of_stdout(), asked_model: cli.global.model };
    session.dispatch(cli.command).await
}

impl Session {
    async fn dispatch(&self, command: Command) -> Result<u8, Failure> {
        match command {
            Command::Run(args) => start::run(self, args).await,
            Command::Watch(args) => drive::watch(self, &args.run).await,
            Command::Answer(args) => drive::answer(self, args).await,
            Command::Resume(args) => drive::resume(self, args).await,
            Command::Retry(args) => drive::retry(self, args).await,
            Command::Extend(args) => drive::extend(self, args).await,
            Command::Say(args) => drive::say(self, args).await,
            Command::Pause(args) => drive::control(self, args, "pause").await,
            Command::Cancel(args) => drive::control(self, args, "cancel").await,
            Command::Resolve(args) => drive::resolve(self, args).await,
            Command::Ls(args) => read::list(self, args).await,
            Command::Show(args) => read::show(self, args).await,
            Command::Log(args) => read::log(self, args).await,
            Command::Report(args) => read::report(self, &args.run).await,
            Command::Doc(args) => read::document(self, args).await,
            Command::Search(args) => read::search(self, &args.query, None, args.project, args.limit).await,
            Command::Project(command) => projects::project(self, command).await,
            Command::Invitations { command } => members::invitations(self, command).await,
            Command::Actor(command) => projects::actor(self, command).await,
            Command::Agents(command) => agents::agents(self, command).await,
            Command::Token(command) => tokens::token(self, command).await,
            Command::Inbox(args) => inbox::show(self, &args).await,
            Command::Webhooks(command) => webhooks::webhooks(self, command).await,
            Command::Rebuild => maintenance::rebuild(self).await,
            Command::Prune(args) => maintenance::prune(self, args.older_than).await,
            Command::Tools => tools::list(self).await,
            Command::Mcp => tools::converse(self).await,
            Command::Doctor(args) => match (args.anchor, &args.against) {
                (true, _) => anchors::print_all(self).await,
                (false, Some(file)) => anchors::compare(self, file).await,
                (false, None) => maintenance::doctor(self, args.quick).await,
            },
            Command::Database(command) => database::database(self, command).await,
            Command::Trust(args) => trust::trust(&Environment::of_process(), args, self.json),
            Command::Config(_) => Ok(maintenance::show_config(self)),
            Command::Completions { shell } => Ok(maintenance::completions(shell)),
            Command::Demo(args) => demo::play(&args),
            Command::Up => serve::serve(self, serve::Role::Up).await,
            Command::Worker => serve::serve(self, serve::Role::Worker).await,
        }
    }

    /// A command line as it works from here: with the flags that told this one where to work.
    fn spelled(&self, command: &str) -> String {
        let Config { data_dir, database, server, .. } = &self.config;
        let named = [
            ("--data-dir", &data_dir.origin, data_dir.value.display().to_string()),
            ("--database", &database.origin, database.value.to_string()),
        ];
        let mut flags: Vec<String> = Vec::new();
        for (flag, origin, value) in named {
            if matches!(origin, Origin::Flag(_)) {
                flags.push(format!(" {flag} {value}"));
            }
        }
        if let Some(server) = server.as_ref().filter(|server| matches!(server.origin, Origin::Flag(_))) {
            flags.push(format!(" --server {}", server.value));
        }
        command.replacen("pleach", &format!("pleach{}", flags.concat()), 1)
    }

    /// Look only; `None` when there is no database yet.
    async fn reader(&self) -> Result<Option<Attached>, Failure> {
        if let Some(server) = &self.config.server {
            return attach::to_server(&self.config, server, Duration::ZERO).await.map(Some);
        }
        attach::to_read(&self.config, &self.actor).await
    }

    /// Record a command, driving nothing.
    async fn writer(&self) -> Result<Attached, Failure> {
        if let Some(server) = &self.config.server {
            return attach::to_server(&self.config, server, Duration::ZERO).await;
        }
        attach::to_work(&self.config, &self.actor, WorkerScope::Nothing).await
    }

    /// Record and drive one run.
    async fn driver(&self, run: RunId) -> Result<Attached, Failure> {
        if let Some(server) = &self.config.server {
            return attach::to_server(&self.config, server, Duration::ZERO).await;
        }
        attach::to_work(&self.config, &self.actor, WorkerScope::Only(run)).await
    }

    /// The same after the other side went away: a server may come back, a database may be free to take over.
    async fn driver_again(&self, run: RunId) -> Result<Attached, Failure> {
        match &self.config.server {
            Some(server) => attach::to_server(&self.config, server, attach::PATIENCE).await,
            None => self.driver(run).await,
        }
    }

    /// A whole id, or the beginning of one. The run need not be reachable for writing to be named.
    async fn find(&self, text: &str) -> Result<RunId, Failure> {
        if let Ok(id) = text.parse() {
            return Ok(id);
        }
        match self.reader().await? {
            Some(reader) => by_prefix(&reader.client, text).await,
            None => Err(no_such_run(text)),
        }
    }

    fn print_json(&self, value: &impl Serialize) {
        print(&json_line(&serde_json::to_string(value).unwrap_or_default()));
    }

    /// The run as JSON, or a sentence for people.
    fn print_run(&self, run: &RunRow, sentence: &str) {
        if self.json { self.print_json(run) } else { print(sentence) }
    }

    fn on_terminal(&self) -> bool {
        std::io::stdout().is_terminal()
    }
}

fn no_such_run(text: &str) -> Failure {
    Failure::usage(format!("there is no run {text} that you may see\n`pleach ls` lists the runs you may see."))
}

async fn by_prefix(client: &ApiClient, text: &str) -> Result<RunId, Failure> {
    let prefix = text.trim().to_lowercase();
    if prefix.len() < 4 || !prefix.chars().all(|c| c.is_ascii_hexdigit() || c == '-') {
        return Err(Failure::usage(format!(
            "{text} is neither a run id nor the beginning of one (at least 4 characters)\n`pleach ls` lists the runs you may see."
        )));
    }
    let runs: Vec<RunRow> = every(client, "/api/runs?limit=200").await?;
    let matches: Vec<RunId> = runs.iter().map(|run| run.id).filter(|id| id.to_string().starts_with(&prefix)).collect();
    match matches.as_slice() {
        [only] => Ok(*only),
        [] => Err(no_such_run(text)),
        several => {
            let list: Vec<String> = several.iter().map(|id| format!("\n  {id}")).collect();
            Err(Failure::usage(format!(
                "{text} is the beginning of {} run ids; give more of it:{}",
                several.len(),
                list.concat()
            )))
        }
    }
}

/// All parts of a list.
async fn every<T: DeserializeOwned>(client: &ApiClient, path: &str) -> Result<Vec<T>, ApiError> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page: Page<T> = client.get(&format!("{path}{cursor}")).await?;
        all.extend(page.items);
        match page.next_cursor {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(all),
        }
    }
}

/// A reader that went away (`| head`) is no error of ours.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// For people, beside the output proper.
fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Close in order, whatever came of it.
async fn closing<T>(attached: Attached, result: Result<T, ApiError>) -> Result<T, Failure> {
    attached.close().await;
    Ok(result?)
}

/// Text in a query string.
pub fn encoded(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    text.bytes().map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
