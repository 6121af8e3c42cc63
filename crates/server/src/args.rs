//! The command line: verbs, flags and their help texts. Parsing only; `commands` carries the commands out.

mod agents;
mod criteria;
mod limits;
mod projects;
mod tokens;
mod trust;

pub(crate) use agents::{AgentRunArgs, AgentTraits, AgentsCommand, ScratchpadCommand};
pub(crate) use criteria::{CriterionArgs, RecheckArgs, RejectArgs};
pub(crate) use limits::Limits;
pub(crate) use projects::{InvitationCommand, ProjectCommand};
pub(crate) use tokens::TokenCommand;
pub(crate) use trust::{TrustArgs, TrustCommand};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use engine::facts::effect::Decision;
use engine::ids::{DocumentId, ProjectId, QuestionId};
use std::path::PathBuf;

#[derive(Debug, Parser)]
#[command(name = "pleach", version, about = "Runs long LLM work durably and shows it live", propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Flags of every command. A flag beats its environment variable and the configuration files.
#[derive(Debug, Default, Args)]
pub(crate) struct Global {
    /// Directory of the database, the socket and the lock [env: PLEACH_DATA_DIR]
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Database: sqlite://PATH or postgres://… [env: PLEACH_DATABASE_URL]
    #[arg(long, global = true, value_name = "URL")]
    pub database: Option<String>,
    /// Model for every role [env: PLEACH_MODEL]
    #[arg(long, global = true, value_name = "PROVIDER/MODEL")]
    pub model: Option<String>,
    /// Send commands to this server instead of the local database [env: PLEACH_SERVER]
    #[arg(long, global = true, value_name = "URL")]
    pub server: Option<String>,
    /// Address that `up` serves the page and the API on [env: PLEACH_LISTEN]
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Runs that this process drives at once [env: PLEACH_WORKERS]
    #[arg(long, global = true, value_name = "N")]
    pub workers: Option<String>,
    /// Act as this person of the local database
    #[arg(long, global = true, value_name = "HANDLE")]
    pub actor: Option<String>,
    /// Print one compact JSON value per line
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a run
    Run(RunArgs),
    /// List runs, newest first
    Ls(ListArgs),
    /// Show a run: status, plan, evidence, documents, questions
    Show(Target),
    /// Follow a run live, and drive it when no other process does
    Watch(RunRef),
    /// Print the event log of a run
    Log(LogArgs),
    /// Answer a question; the run continues
    Answer(AnswerArgs),
    /// Send a message to a run; its next model call sees it
    Say(SayArgs),
    /// Pause a run, or one node and all below it; calls in flight finish
    Pause(Target),
    /// Resume a paused run or node
    Resume(DriveArgs),
    /// Cancel a run, or one node and all below it
    Cancel(Target),
    /// Repeat a step of a tree with a new node; finished siblings are kept
    Retry(RetryArgs),
    /// Raise limits and continue a stopped or failed run
    Extend(ExtendArgs),
    /// Decide an effect whose outcome is unknown
    Resolve(ResolveArgs),
    /// Say that a criterion is met, whatever a check found
    Accept(CriterionArgs),
    /// Say that a criterion is not met, and why
    Reject(RejectArgs),
    /// Have criteria of an ended run checked again: one model call
    Recheck(RecheckArgs),
    /// Print the report of a run
    Report(RunRef),
    /// Print a document, or find documents
    Doc(DocArgs),
    /// Search projects, documents and tasks
    Search(SearchArgs),
    /// Create and list projects, and manage their members
    #[command(subcommand)]
    Project(ProjectCommand),
    /// List, accept and decline invitations to projects
    Invitations {
        #[command(subcommand)]
        command: Option<InvitationCommand>,
    },
    /// Create and list the people of this database
    #[command(subcommand)]
    Actor(ActorCommand),
    /// Manage subagents: identity, grants, tasks, scratchpad, lessons
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Manage tokens for programs and login links for browsers
    #[command(subcommand)]
    Token(TokenCommand),
    /// List notifications: questions, and runs that wait or have ended
    Inbox(InboxArgs),
    /// Send notifications to other systems
    #[command(subcommand)]
    Webhooks(WebhookCommand),
    /// Compute the projections again from the logs
    Rebuild,
    /// Delete runs that ended long ago
    Prune(PruneArgs),
    /// List the tools that runs may use, and the state of MCP servers
    Tools,
    /// Serve runs to another program as an MCP server on standard input and output
    Mcp,
    /// Check the configuration, the database, the model provider and MCP servers
    Doctor(DoctorArgs),
    /// Copy the database to another one
    #[command(subcommand)]
    Database(DatabaseCommand),
    /// Show what the configuration files of this directory would do, and trust them
    Trust(TrustArgs),
    /// Print the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
    /// Serve the page and the API, and drive every run of the database
    Up,
    /// Drive runs of a shared PostgreSQL database without serving a page
    Worker,
    /// Play a whole tree run on the rehearsal model, in a temporary directory: no key, no network
    Demo(crate::commands::DemoArgs),
}

#[derive(Debug, Default, Args)]
pub(crate) struct RunArgs {
    /// What to achieve; `-` reads it from standard input
    pub objective: String,
    /// homework (iterations of one planner), tree (nodes that plan, delegate and sum up) or task (the work of one subagent)
    #[arg(long, default_value = "homework")]
    pub kind: String,
    /// The subagent that does the task; only with --kind task
    #[arg(long, value_name = "HANDLE")]
    pub agent: Option<String>,
    /// Pages and actions a task may use: 30 by default, at most 50; only with --kind task
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u32>,
    /// A subagent of yours that the run may delegate work to; repeat for several
    #[arg(long = "with-agent", value_name = "HANDLE")]
    pub with_agents: Vec<String>,
    /// Restrict the run to a project; repeat for several
    #[arg(long = "project", value_name = "ID")]
    pub projects: Vec<String>,
    /// A criterion that the run must show evidence for; repeat for several
    #[arg(long = "success", value_name = "CRITERION")]
    pub success: Vec<String>,
    /// Do not have the criteria checked; what the run cites for them stays a claim
    #[arg(long)]
    pub no_verify: bool,
    /// Exit with 8 when the run completes with less than this outcome
    #[arg(long, value_name = "OUTCOME", value_parser = ["verified", "claimed"])]
    pub require: Option<String>,
    /// Allow only this tool; repeat for several
    #[arg(long = "tool", value_name = "NAME")]
    pub tools: Vec<String>,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub follow: Follow,
}

/// Whether a command that drives a run shows it, waits for it or returns at once.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Follow {
    /// Show the run live (the default on a terminal)
    #[arg(long, group = "follow_mode")]
    pub watch: bool,
    /// Print nothing until the run ends or waits (the default elsewhere)
    #[arg(long, group = "follow_mode")]
    pub wait: bool,
    /// Record the command and return at once
    #[arg(long, group = "follow_mode")]
    pub detach: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only runs whose objective has these words
    #[arg(long, value_name = "TEXT")]
    pub q: Option<String>,
    /// Only runs with this status
    #[arg(long)]
    pub status: Option<String>,
    /// Only runs of this kind: homework, tree or task
    #[arg(long)]
    pub kind: Option<String>,
    /// How many runs at most
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct RunRef {
    /// The run: its id, or the beginning of it (at least 4 characters)
    pub run: String,
}

/// A run, or one node of a tree run.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The run: its id, or the beginning of it (at least 4 characters)
    pub run: String,
    /// A node of a tree run: its id, or its number as `show` prints it
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// The run: its id, or the beginning of it (at least 4 characters)
    pub run: String,
    /// Print new events until the run ends
    #[arg(long, short)]
    pub follow: bool,
    /// Only events after this seq
    #[arg(long, default_value_t = 0, value_name = "SEQ")]
    pub after: u64,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The run: its id, or the beginning of it (at least 4 characters)
    pub run: String,
    /// The answer
    pub text: String,
    /// The question; needed only when several are open
    #[arg(long, value_name = "ID")]
    pub question: Option<QuestionId>,
    #[command(flatten)]
    pub follow: Follow,
}

#[derive(Debug, Args)]
pub(crate) struct SayArgs {
    #[command(flatten)]
    pub target: Target,
    /// The message
    pub text: String,
    /// Show it to the next planner call only
    #[arg(long)]
    pub queue: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DriveArgs {
    #[command(flatten)]
    pub target: Target,
    #[command(flatten)]
    pub follow: Follow,
}

#[derive(Debug, Args)]
pub(crate) struct RetryArgs {
    /// The run: its id, or the beginning of it (at least 4 characters)
    pub run: String,
    /// The node whose step is repeated: its id, or its number as `show` prints it
    #[arg(long, value_name = "NODE")]
    pub node: String,
    /// Repeat after it, in order, what rested on its result in later bands
    #[arg(long)]
    pub dependents: bool,
    #[command(flatten)]
    pub follow: Follow,
}

#[derive(Debug, Args)]
pub(crate) struct ExtendArgs {
    /// The run: its id, or the beginning of it (at least 4 characters)
    pub run: String,
    #[command(flatten)]
    pub limits: Limits,
    /// A message to the run
    #[arg(long, value_name = "TEXT")]
    pub message: Option<String>,
    #[command(flatten)]
    pub follow: Follow,
}

#[derive(Debug, Args)]
pub(crate) struct ResolveArgs {
    /// The run: its id, or the beginning of it (at least 4 characters)
    pub run: String,
    /// The effect, as `show` and `log` name it
    pub effect: String,
    /// What became of it: it happened, it did not, or try it again
    #[arg(value_parser = decision())]
    pub decision: Decision,
    /// A note for the log
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

fn decision() -> impl TypedValueParser<Value = Decision> {
    PossibleValuesParser::new(Decision::ALL.map(Decision::name))
        .try_map(|name| Decision::parse(&name).ok_or("not a decision"))
}

#[derive(Debug, Args)]
pub(crate) struct DocArgs {
    /// The document's id
    #[arg(required_unless_present = "search")]
    pub id: Option<DocumentId>,
    /// Search documents instead
    #[arg(long, value_name = "QUERY", conflicts_with = "id")]
    pub search: Option<String>,
    /// Only documents of this project
    #[arg(long, value_name = "ID")]
    pub project: Option<ProjectId>,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// The words to find
    pub query: String,
    /// Only in this project
    #[arg(long, value_name = "ID")]
    pub project: Option<ProjectId>,
    /// How many results at most
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub limit: usize,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ActorCommand {
    /// Create a person
    Create {
        /// Lower-case letters, digits and dashes
        handle: String,
        /// The name that others see
        #[arg(long)]
        name: Option<String>,
    },
    /// List people and subagents
    Ls,
}

#[derive(Debug, Args)]
pub(crate) struct InboxArgs {
    /// Include notifications that were read
    #[arg(long)]
    pub all: bool,
    /// Mark the listed notifications as read
    #[arg(long)]
    pub read: bool,
    /// How many notifications at most
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub limit: usize,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// Send signed notifications to a URL; the secret is printed only once
    Add {
        /// Where to send them
        url: String,
        /// question, waiting, completed, stopped, failed or canceled; repeat for several, all by default
        #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
        kinds: Vec<String>,
        /// standard, slack, discord or ntfy
        #[arg(long, default_value = "standard")]
        template: String,
    },
    /// List your webhooks, without their secrets
    Ls,
    /// Remove a webhook
    Rm { id: uuid::Uuid },
    /// Send a test notification now and print the outcome
    Test { id: uuid::Uuid },
    /// List the last deliveries and their outcomes
    Deliveries { id: uuid::Uuid },
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print the anchor of every log, to be kept outside the database
    #[arg(long, conflicts_with = "against")]
    pub anchor: bool,
    /// Compare the logs with what --anchor printed before
    #[arg(long, value_name = "FILE")]
    pub against: Option<std::path::PathBuf>,
    /// Skip what takes long on a large database: texts and projections
    #[arg(long)]
    pub quick: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DatabaseCommand {
    /// Copy a SQLite database into an empty PostgreSQL database, and check the copy
    Copy {
        /// Source: sqlite://PATH; the configured database by default
        #[arg(long, value_name = "URL")]
        from: Option<String>,
        /// Target: postgres://USER@HOST/DATABASE
        #[arg(long, value_name = "URL")]
        to: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// How long ago a run must have ended: 90d, 12h, 30m
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub older_than: std::time::Duration,
}

fn age(text: &str) -> Result<std::time::Duration, String> {
    let wrong = || "an age such as 90d, 12h or 30m".to_owned();
    const MAX_DAYS: u64 = 36_500;
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let count: u64 = text[..split].parse().map_err(|_| wrong())?;
    let seconds = match &text[split..] {
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        "s" => 1,
        _ => return Err(wrong()),
    };
    let age = count.checked_mul(seconds).filter(|seconds| *seconds <= MAX_DAYS * 86_400);
    age.map(std::time::Duration::from_secs).ok_or_else(|| format!("an age of at most {MAX_DAYS}d"))
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting with its origin
    Show,
}

#[cfg(test)]
mod tests;
