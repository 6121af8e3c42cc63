//! The command line, word for word as people type it. Parsing only; what a command does is in `commands`.

mod agents;
mod projects;
mod tokens;
mod trust;

pub use agents::{AgentRunArgs, AgentTraits, AgentsCommand, ScratchpadCommand};
pub use projects::{InvitationCommand, ProjectCommand};
pub use tokens::TokenCommand;
pub use trust::{TrustArgs, TrustCommand};

use clap::{Args, Parser, Subcommand, ValueEnum};
use engine::budget::BudgetPatch;
use engine::facts::effect::Decision;
use engine::ids::{DocumentId, ProjectId, QuestionId};
use engine::money::Usd;
use std::path::PathBuf;

#[derive(Debug, Parser)]
#[command(
    name = "pleach",
    version,
    about = "Runs long LLM work durably, and shows it growing",
    propagate_version = true
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Settings that every command takes; each beats its environment variable and the configuration files.
#[derive(Debug, Default, Args)]
pub struct Global {
    /// Where data lives [env: PLEACH_DATA_DIR]
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// sqlite://PATH or postgres://… [env: PLEACH_DATABASE_URL]
    #[arg(long, global = true, value_name = "URL")]
    pub database: Option<String>,
    /// provider/model for every role [env: PLEACH_MODEL]
    #[arg(long, global = true, value_name = "PROVIDER/MODEL")]
    pub model: Option<String>,
    /// A remote server for the client commands [env: PLEACH_SERVER]
    #[arg(long, global = true, value_name = "URL")]
    pub server: Option<String>,
    /// Address of the HTTP API [env: PLEACH_LISTEN]
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Runs driven at once by this process [env: PLEACH_WORKERS]
    #[arg(long, global = true, value_name = "N")]
    pub workers: Option<String>,
    /// Act as this person of the database
    #[arg(long, global = true, value_name = "HANDLE")]
    pub actor: Option<String>,
    /// One compact JSON value per line
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a run
    Run(RunArgs),
    /// List runs, newest first
    Ls(ListArgs),
    /// Where a run stands: plan, evidence, documents, questions
    Show(ShowArgs),
    /// Follow a run live, driving it when nobody else does
    Watch(RunRef),
    /// The event log
    Log(LogArgs),
    /// Answer a question and let the run go on
    Answer(AnswerArgs),
    /// Tell a run something; its next model call is shown it
    Say(SayArgs),
    /// Let calls in flight finish and start no more, in a run or below one node
    Pause(ControlArgs),
    /// Let a paused run, or one node of it, go on
    Resume(DriveArgs),
    /// End a run, or one node of it with all below
    Cancel(ControlArgs),
    /// Do a step of a tree again, with a new node; finished siblings are kept
    Retry(RetryArgs),
    /// Raise limits, and continue a stopped run
    Extend(ExtendArgs),
    /// Settle an effect whose outcome nobody knows
    Resolve(ResolveArgs),
    /// A run's report
    Report(RunRef),
    /// Print a document, or find documents
    Doc(DocArgs),
    /// Full-text search over projects, documents and tasks
    Search(SearchArgs),
    /// Projects and who belongs to them
    #[command(subcommand)]
    Project(ProjectCommand),
    /// The projects you are invited to; accept or decline
    Invitations {
        #[command(subcommand)]
        command: Option<InvitationCommand>,
    },
    /// People and subagents of this database
    #[command(subcommand)]
    Actor(ActorCommand),
    /// Subagents: who they are, what they may do, what they remember
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Tokens for programs and links for browsers
    #[command(subcommand)]
    Token(TokenCommand),
    /// What runs had to say to you: questions asked, runs that wait or ended
    Inbox(InboxArgs),
    /// Where else to send it
    #[command(subcommand)]
    Webhooks(WebhookCommand),
    /// Compute the projections again from the log
    Rebuild,
    /// Remove old finished runs
    Prune(PruneArgs),
    /// What runs can be given to do, and how the servers of tools are
    Tools,
    /// Serve runs to a program that speaks MCP on standard input and output
    Mcp,
    /// Check configuration, database, providers and servers of tools
    Doctor(DoctorArgs),
    /// Move to another database
    #[command(subcommand)]
    Database(DatabaseCommand),
    /// Trust the configuration files of this directory, after seeing what they would do
    Trust(TrustArgs),
    /// The configuration in force
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Completions for a shell
    Completions { shell: clap_complete::Shell },
    /// Serve the page and the API, and drive every run of this database
    Up,
    /// Add a worker to a shared PostgreSQL
    Worker,
    /// Watch a whole tree run on rehearsal, in a temporary directory: no key, no network
    Demo(crate::commands::DemoArgs),
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// What to achieve; `-` reads it from standard input
    pub objective: String,
    /// homework (iterations of one planner), tree (nodes that plan, delegate and sum up) or task (a subagent's errand)
    #[arg(long, default_value = "homework")]
    pub kind: String,
    /// Of a task: the subagent that is sent
    #[arg(long, value_name = "HANDLE")]
    pub agent: Option<String>,
    /// Of a task: pages and actions it may use (30, at most 50)
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u32>,
    /// A subagent of yours that work may be given to; repeat for several
    #[arg(long = "with-agent", value_name = "HANDLE")]
    pub with_agents: Vec<String>,
    /// Bind the run to a project; repeat for several
    #[arg(long = "project", value_name = "ID")]
    pub projects: Vec<String>,
    /// A success criterion; repeat for several
    #[arg(long = "success", value_name = "CRITERION")]
    pub success: Vec<String>,
    /// Only these tools; repeat for several
    #[arg(long = "tool", value_name = "NAME")]
    pub tools: Vec<String>,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub follow: Follow,
}

/// How a command stays with the run it drives.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Follow {
    /// Show the run live (default on a terminal)
    #[arg(long, group = "staying")]
    pub watch: bool,
    /// Wait for its end (default elsewhere)
    #[arg(long, group = "staying")]
    pub wait: bool,
    /// Record the command and return
    #[arg(long, group = "staying")]
    pub detach: bool,
}

#[derive(Clone, Debug, Default, Args)]
pub struct Limits {
    /// Dollars
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub max_cost: Option<Usd>,
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// Minutes of running time
    #[arg(long, value_name = "N", value_parser = minutes, allow_negative_numbers = true)]
    pub max_minutes: Option<i64>,
    #[arg(long, value_name = "N")]
    pub max_iterations: Option<u32>,
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u32>,
    #[arg(long, value_name = "N")]
    pub max_nodes: Option<u32>,
    #[arg(long, value_name = "N")]
    pub max_parallel: Option<u32>,
}

impl Limits {
    pub fn patch(&self) -> BudgetPatch {
        BudgetPatch {
            max_cost_usd: self.max_cost,
            max_tokens: self.max_tokens.map(Some),
            max_wall_ms: self.max_minutes,
            max_iterations: self.max_iterations,
            max_depth: self.max_depth,
            max_nodes: self.max_nodes,
            max_parallel: self.max_parallel,
            ..BudgetPatch::default()
        }
    }
}

fn dollars(text: &str) -> Result<Usd, String> {
    let amount: f64 =
        text.trim_start_matches('$').parse().map_err(|_| "dollars as a decimal number, e.g. 2.00".to_owned())?;
    match (0.0..=1e9).contains(&amount) {
        true => Ok(Usd::from_dollars(amount)),
        false => Err("dollars from 0 to 1000000000".into()),
    }
}

/// Minutes in, milliseconds out.
fn minutes(text: &str) -> Result<i64, String> {
    let amount: f64 = text.parse().map_err(|_| "minutes as a number, e.g. 30 or 0.5".to_owned())?;
    match amount.is_finite() && amount > 0.0 && amount <= 1e7 {
        true => Ok((amount * 60_000.0).round() as i64),
        false => Err("minutes above 0, at most 10000000".into()),
    }
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Words of the objective
    #[arg(long, value_name = "TEXT")]
    pub q: Option<String>,
    #[arg(long)]
    pub status: Option<String>,
    #[arg(long)]
    pub kind: Option<String>,
    #[arg(long, default_value_t = 50)]
    pub limit: usize,
}

#[derive(Debug, Args)]
pub struct RunRef {
    /// A run's id, or a beginning of it that no other run has
    pub run: String,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    pub run: String,
    /// A node of a tree run: its id, or its number as `show` prints it
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
}

#[derive(Debug, Args)]
pub struct LogArgs {
    pub run: String,
    /// Go on until the run ends
    #[arg(long, short)]
    pub follow: bool,
    /// Only what came after this seq
    #[arg(long, default_value_t = 0, value_name = "SEQ")]
    pub after: u64,
}

#[derive(Debug, Args)]
pub struct AnswerArgs {
    pub run: String,
    pub text: String,
    #[arg(long, value_name = "ID")]
    pub question: Option<QuestionId>,
    #[command(flatten)]
    pub follow: Follow,
}

#[derive(Debug, Args)]
pub struct SayArgs {
    pub run: String,
    pub text: String,
    /// A node of a tree run: its id, or its number as `show` prints it
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
    /// Only for the next planner, not for calls of this iteration
    #[arg(long)]
    pub queue: bool,
}

#[derive(Debug, Args)]
pub struct ControlArgs {
    pub run: String,
    /// A node of a tree run: its id, or its number as `show` prints it
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
}

#[derive(Debug, Args)]
pub struct DriveArgs {
    pub run: String,
    /// A node of a tree run: its id, or its number as `show` prints it
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
    #[command(flatten)]
    pub follow: Follow,
}

#[derive(Debug, Args)]
pub struct RetryArgs {
    pub run: String,
    /// The node whose step is done again: its id, or its number as `show` prints it
    #[arg(long, value_name = "NODE")]
    pub node: String,
    #[command(flatten)]
    pub follow: Follow,
}

#[derive(Debug, Args)]
pub struct ExtendArgs {
    pub run: String,
    #[command(flatten)]
    pub limits: Limits,
    /// Something to tell the run as it goes on
    #[arg(long, value_name = "TEXT")]
    pub message: Option<String>,
    #[command(flatten)]
    pub follow: Follow,
}

#[derive(Debug, Args)]
pub struct ResolveArgs {
    pub run: String,
    /// The effect, as `show` and `log` name it
    pub effect: String,
    pub decision: EffectDecision,
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum EffectDecision {
    Happened,
    DidNot,
    Retry,
}

impl From<EffectDecision> for Decision {
    fn from(verdict: EffectDecision) -> Decision {
        match verdict {
            EffectDecision::Happened => Decision::Happened,
            EffectDecision::DidNot => Decision::DidNot,
            EffectDecision::Retry => Decision::Retry,
        }
    }
}

#[derive(Debug, Args)]
pub struct DocArgs {
    #[arg(required_unless_present = "search")]
    pub id: Option<DocumentId>,
    /// Find documents by their words
    #[arg(long, value_name = "QUERY", conflicts_with = "id")]
    pub search: Option<String>,
    #[arg(long, value_name = "ID")]
    pub project: Option<ProjectId>,
}

#[derive(Debug, Args)]
pub struct SearchArgs {
    pub query: String,
    #[arg(long, value_name = "ID")]
    pub project: Option<ProjectId>,
    #[arg(long, default_value_t = 20)]
    pub limit: usize,
}

#[derive(Debug, Subcommand)]
pub enum ActorCommand {
    Create {
        /// Lower-case letters, digits and dashes
        handle: String,
        #[arg(long)]
        name: Option<String>,
    },
    Ls,
}

#[derive(Debug, Args)]
pub struct InboxArgs {
    /// Those that were read too
    #[arg(long)]
    pub all: bool,
    /// Mark what is shown as read
    #[arg(long)]
    pub read: bool,
    #[arg(long, default_value_t = 50)]
    pub limit: usize,
}

#[derive(Debug, Subcommand)]
pub enum WebhookCommand {
    /// Send notifications to a URL, signed; its secret is printed this once
    Add {
        url: String,
        /// question, waiting, completed, stopped, failed or canceled; repeat for several, all when left out
        #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
        kinds: Vec<String>,
        /// standard, slack, discord or ntfy
        #[arg(long, default_value = "standard")]
        template: String,
    },
    /// Your webhooks, without their secrets
    Ls,
    /// Send nothing there any more
    Rm { id: uuid::Uuid },
    /// Send a test there now, and say what came of it
    Test { id: uuid::Uuid },
    /// What came of the last deliveries
    Deliveries { id: uuid::Uuid },
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print where every log ends, to be kept outside the database
    #[arg(long, conflicts_with = "against")]
    pub anchor: bool,
    /// Compare the logs with what --anchor printed before
    #[arg(long, value_name = "FILE")]
    pub against: Option<std::path::PathBuf>,
    /// Leave out what takes long on a large database: texts, and rows that follow from the logs
    #[arg(long)]
    pub quick: bool,
}

#[derive(Debug, Subcommand)]
pub enum DatabaseCommand {
    /// Copy a whole SQLite database into an empty PostgreSQL, and check the copy
    Copy {
        /// sqlite://PATH; the configured database when it is left out
        #[arg(long, value_name = "URL")]
        from: Option<String>,
        /// postgres://USER@HOST/DATABASE
        #[arg(long, value_name = "URL")]
        to: String,
    },
}

#[derive(Debug, Args)]
pub struct PruneArgs {
    /// Age of the end of a run: 90d, 12h, 30m
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub older_than: std::time::Duration,
}

fn age(text: &str) -> Result<std::time::Duration, String> {
    let wrong = || "an age such as 90d, 12h or 30m".to_owned();
    // Longer than anything has been running.
    const LONGEST_DAYS: u64 = 36_500;
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let count: u64 = text[..split].parse().map_err(|_| wrong())?;
    let seconds = match &text[split..] {
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        "s" => 1,
        _ => return Err(wrong()),
    };
    let age = count.checked_mul(seconds).filter(|seconds| *seconds <= LONGEST_DAYS * 86_400);
    age.map(std::time::Duration::from_secs).ok_or_else(|| format!("an age of at most {LONGEST_DAYS}d"))
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Every value with where it comes from
    Show,
}

#[cfg(test)]
mod tests;
