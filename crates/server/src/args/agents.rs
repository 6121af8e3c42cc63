//! `pleach agents …` as people type it.

use super::{Follow, Limits};
use clap::{Args, Subcommand, ValueEnum};
use engine::ids::{LessonId, ProjectId};

#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// A new subagent of yours; without --action it may only read and keep notes
    Create {
        /// Lower-case letters, digits and dashes
        handle: String,
        #[command(flatten)]
        traits: AgentTraits,
    },
    /// Your subagents
    Ls,
    /// Who a subagent is, what it may do, and its last tasks
    Show { handle: String },
    /// Change what it is, what it may do and where
    Edit {
        handle: String,
        #[command(flatten)]
        traits: AgentTraits,
    },
    /// Send a subagent on a task
    Run(AgentRunArgs),
    /// What it remembers: show it, its history, restore a version, clear it
    Scratchpad {
        handle: String,
        #[arg(value_enum, default_value = "show")]
        what: ScratchpadCommand,
        /// The version to show or to restore
        #[arg(value_name = "VERSION")]
        number: Option<i64>,
    },
    /// What it learned in runs: list it, promote it to the scratchpad, dismiss it
    Lessons {
        handle: String,
        /// Add a pending lesson to the scratchpad
        #[arg(long, value_name = "ID", group = "settling")]
        promote: Option<LessonId>,
        /// Lay a pending lesson aside
        #[arg(long, value_name = "ID", group = "settling")]
        dismiss: Option<LessonId>,
    },
}

#[derive(Debug, Default, Args)]
pub struct AgentTraits {
    /// What it is called
    #[arg(long)]
    pub name: Option<String>,
    /// Who it is and how it works, in your words
    #[arg(long, value_name = "TEXT")]
    pub identity: Option<String>,
    /// Something it may do, as `pleach agents` and /api/tools name it; repeat for several
    #[arg(long = "action", value_name = "NAME")]
    pub actions: Vec<String>,
    /// A project of yours that it may see; repeat for several
    #[arg(long = "project", value_name = "ID")]
    pub projects: Vec<ProjectId>,
}

#[derive(Debug, Args)]
pub struct AgentRunArgs {
    pub handle: String,
    /// What to do; `-` reads it from standard input
    pub task: String,
    /// Pages and actions it may use (30, at most 50)
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u32>,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub follow: Follow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScratchpadCommand {
    Show,
    History,
    Restore,
    Clear,
}
