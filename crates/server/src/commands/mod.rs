//! The commands of the command line: each sends requests through an `ApiClient` and prints the responses. Only the commands
//! that repair or copy a database open the store themselves.

mod agents;
mod anchors;
mod criteria;
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

pub(crate) use demo::DemoArgs;

use crate::api::Page;
use crate::api_client::{self, ApiClient, ApiError};
use crate::args::{Cli, Command};
use crate::attach::{self, Attached};
use crate::config::origins::Origin;
use crate::config::{Config, Environment};
use crate::drive::WorkerScope;
use crate::failure::Failure;
use crate::render::style::{Style, json_line, line};
use axum::http::Method;
use engine::batch::RunRow;
use engine::ids::RunId;
use futures::FutureExt;
use futures::future::{LocalBoxFuture, ready};
use runtime::ports::LOCAL_HANDLE;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// What every command needs: configuration, actor and output format.
pub(crate) struct Session {
    pub config: Config,
    pub actor: String,
    pub json: bool,
    pub style: Style,
    /// The value of `--model`.
    pub asked_model: Option<String>,
}

pub(crate) async fn execute(cli: Cli) -> Result<u8, Failure> {
    let environment = Environment::of_process();
    match cli.command {
        Command::Completions { shell } => return Ok(maintenance::completions(shell)),
        Command::Demo(args) => return demo::play(&args),
        Command::Trust(args) => return trust::trust(&environment, args, cli.global.json),
        Command::Run(_) | Command::Up if !cli.global.json => trust::offer(&environment)?,
        _ => {}
    }
    let config = Config::load(&cli.global, &environment)?;
    config.ignored.iter().for_each(|ignored| note(&line(&ignored.line())));
    if let Some(server) = config.server.as_ref().filter(|_| cli.global.actor.is_some()) {
        return Err(Failure::usage(format!(
            "--actor works only with the local database; on {} ({}) you are the owner of PLEACH_TOKEN.\nNothing was sent. Leave --actor out.",
            server.value, server.origin
        )));
    }
    let actor = cli.global.actor.unwrap_or_else(|| LOCAL_HANDLE.into());
    let session =
        Session { config, actor, json: cli.global.json, style: Style::of_stdout(), asked_model: cli.global.model };
    session.dispatch(cli.command).await
}

impl Session {
    /// Each command is boxed, so that the caller does not hold the largest of them, and `block_on` does not compile all of them
    /// once for each of its own branches.
    fn dispatch(&self, command: Command) -> LocalBoxFuture<'_, Result<u8, Failure>> {
        match command {
            Command::Run(args) => start::run(self, args).boxed_local(),
            Command::Watch(args) => drive::watch(self, args.run).boxed_local(),
            Command::Answer(args) => drive::answer(self, args).boxed_local(),
            Command::Resume(args) => drive::resume(self, args).boxed_local(),
            Command::Retry(args) => drive::retry(self, args).boxed_local(),
            Command::Extend(args) => drive::extend(self, args).boxed_local(),
            Command::Say(args) => drive::say(self, args).boxed_local(),
            Command::Pause(args) => drive::control(self, args, "pause").boxed_local(),
            Command::Cancel(args) => drive::control(self, args, "cancel").boxed_local(),
            Command::Resolve(args) => drive::resolve(self, args).boxed_local(),
            Command::Accept(args) => criteria::accept(self, args).boxed_local(),
            Command::Reject(args) => criteria::reject(self, args).boxed_local(),
            Command::Recheck(args) => criteria::recheck(self, args).boxed_local(),
            Command::Ls(args) => read::list(self, args).boxed_local(),
            Command::Show(args) => read::show(self, args).boxed_local(),
            Command::Log(args) => read::log(self, args).boxed_local(),
            Command::Report(args) => read::report(self, args.run).boxed_local(),
            Command::Doc(args) => read::document(self, args).boxed_local(),
            Command::Search(args) => read::search(self, args.query, None, args.project, args.limit).boxed_local(),
            Command::Project(command) => projects::project(self, command).boxed_local(),
            Command::Invitations { command } => members::invitations(self, command).boxed_local(),
            Command::Actor(command) => projects::actor(self, command).boxed_local(),
            Command::Agents(command) => agents::agents(self, command).boxed_local(),
            Command::Token(command) => tokens::token(self, command).boxed_local(),
            Command::Inbox(args) => inbox::show(self, args).boxed_local(),
            Command::Webhooks(command) => webhooks::webhooks(self, command).boxed_local(),
            Command::Rebuild => maintenance::rebuild(self).boxed_local(),
            Command::Prune(args) => maintenance::prune(self, args.older_than).boxed_local(),
            Command::Tools => tools::list(self).boxed_local(),
            Command::Mcp => tools::converse(self).boxed_local(),
            Command::Doctor(args) => match (args.anchor, args.against) {
                (true, _) => anchors::print_all(self).boxed_local(),
                (false, Some(file)) => anchors::compare(self, file).boxed_local(),
                (false, None) => maintenance::doctor(self, args.quick).boxed_local(),
            },
            Command::Database(command) => database::database(self, command).boxed_local(),
            Command::Trust(args) => ready(trust::trust(&Environment::of_process(), args, self.json)).boxed_local(),
            Command::Config(_) => ready(Ok(maintenance::show_config(self))).boxed_local(),
            Command::Completions { shell } => ready(Ok(maintenance::completions(shell))).boxed_local(),
            Command::Demo(args) => ready(demo::play(&args)).boxed_local(),
            Command::Up => serve::serve(self, serve::Role::Up).boxed_local(),
            Command::Worker => serve::serve(self, serve::Role::Worker).boxed_local(),
        }
    }

    /// A command to type next, with the flags that chose the database or server of this one.
    fn with_flags(&self, command: &str) -> String {
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

    /// Connects to read; `None` when there is no database yet.
    async fn reader(&self) -> Result<Option<Attached>, Failure> {
        if let Some(server) = &self.config.server {
            return attach::to_remote_server(&self.config, server, Duration::ZERO).await.map(Some);
        }
        attach::to_read(&self.config, &self.actor).await
    }

    /// Connects to record commands and to drive these runs. A server that does not answer may have `patience` to come back.
    async fn worker(&self, scope: WorkerScope, patience: Duration) -> Result<Attached, Failure> {
        match &self.config.server {
            Some(server) => attach::to_remote_server(&self.config, server, patience).await,
            None => attach::to_work(&self.config, &self.actor, scope).await,
        }
    }

    /// Connects to record a command, without driving a run.
    async fn writer(&self) -> Result<Attached, Failure> {
        self.worker(WorkerScope::Nothing, Duration::ZERO).await
    }

    /// Connects to record a command and to drive one run.
    async fn driver(&self, run: RunId) -> Result<Attached, Failure> {
        self.worker(WorkerScope::Only(run), Duration::ZERO).await
    }

    /// A run by its id or the beginning of it. Only the beginning needs a look into the database.
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

    /// The value with `--json`, a text for people without.
    fn print_value(&self, value: &impl Serialize, text: &str) {
        if self.json { self.print_json(value) } else { print(text) }
    }

    /// One request that only reads; `None` when there is no database yet.
    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Failure> {
        let Some(reader) = self.reader().await? else { return Ok(None) };
        let found = reader.client.get(path).await;
        closing(reader, found).await.map(Some)
    }

    /// All pages of a list; empty when there is no database yet.
    async fn list<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, Failure> {
        let Some(reader) = self.reader().await? else { return Ok(Vec::new()) };
        let found = all_pages(&reader.client, path, "cursor").await;
        closing(reader, found).await
    }

    /// One request that changes something.
    async fn send<T: DeserializeOwned>(&self, method: Method, path: &str, body: &impl Serialize) -> Result<T, Failure> {
        let attached = self.writer().await?;
        let done = attached.client.send(method, path, body).await;
        closing(attached, done.and_then(|text| api_client::parse(&text))).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Failure> {
        self.send(Method::POST, path, body).await
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
    let runs: Vec<RunRow> = all_pages(client, "/api/runs?limit=200", "cursor").await?;
    let matches: Vec<RunId> = runs.iter().map(|run| run.id).filter(|id| id.to_string().starts_with(&prefix)).collect();
    match matches.as_slice() {
        [only] => Ok(*only),
        [] => Err(no_such_run(text)),
        several => {
            let list: Vec<String> = several.iter().map(|id| format!("\n  {id}")).collect();
            Err(Failure::usage(format!(
                "{} run ids begin with {text}; type more characters:{}",
                several.len(),
                list.concat()
            )))
        }
    }
}

/// All pages of a list. The path must have a query already; `parameter` takes the cursor.
async fn all_pages<T: DeserializeOwned>(client: &ApiClient, path: &str, parameter: &str) -> Result<Vec<T>, ApiError> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page: Page<T> = client.get(&format!("{path}{cursor}")).await?;
        all.extend(page.items);
        match page.next_cursor {
            Some(next) => cursor = format!("&{parameter}={next}"),
            None => return Ok(all),
        }
    }
}

/// To standard output. A reader that went away (`| head`) is not an error.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// To standard error: for people, beside the output that scripts read.
fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Closes the connection before an error is returned, so that a database held here is released in order.
async fn closing<T>(attached: Attached, result: Result<T, ApiError>) -> Result<T, Failure> {
    attached.close().await;
    Ok(result?)
}

/// Text as part of a URL.
pub(crate) fn encoded(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    text.bytes().map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
