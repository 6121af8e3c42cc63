//! Arguments of `pleach agents`.

use super::{Follow, Limits};
use clap::{Args, Subcommand, ValueEnum};
use engine::ids::{LessonId, ProjectId};

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// Create a subagent; without --action it may only read and keep notes
    Create {
        /// Lower-case letters, digits and dashes
        handle: String,
        #[command(flatten)]
        traits: AgentTraits,
    },
    /// List your subagents
    Ls,
    /// Show a subagent: identity, grants, projects, last tasks
    Show { handle: String },
    /// Change a subagent: name, identity, grants, projects, model
    Edit {
        handle: String,
        #[command(flatten)]
        traits: AgentTraits,
    },
    /// Start a task run of a subagent
    Run(AgentRunArgs),
    /// Show, restore or clear its scratchpad, or list the versions
    Scratchpad {
        handle: String,
        #[arg(value_enum, default_value = "show")]
        what: ScratchpadCommand,
        /// The version to show or restore
        #[arg(value_name = "VERSION")]
        number: Option<i64>,
    },
    /// List, promote or dismiss its lessons
    Lessons {
        handle: String,
        /// Promote this pending lesson to the scratchpad
        #[arg(long, value_name = "ID", group = "decision")]
        promote: Option<LessonId>,
        /// Dismiss this pending lesson
        #[arg(long, value_name = "ID", group = "decision")]
        dismiss: Option<LessonId>,
    },
}

#[derive(Debug, Default, Args)]
pub(crate) struct AgentTraits {
    /// Its name
    #[arg(long)]
    pub name: Option<String>,
    /// Who it is and how it works; its model calls are shown this text
    #[arg(long, value_name = "TEXT")]
    pub identity: Option<String>,
    /// Grant an action, by its name in `pleach tools`; repeat for several
    #[arg(long = "action", value_name = "NAME")]
    pub actions: Vec<String>,
    /// Add it to a project of yours; repeat for several
    #[arg(long = "project", value_name = "ID")]
    pub projects: Vec<ProjectId>,
}

#[derive(Debug, Args)]
pub(crate) struct AgentRunArgs {
    pub handle: String,
    /// What to do; `-` reads it from standard input
    pub task: String,
    /// Pages and actions it may use: 30 by default, at most 50
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u32>,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub follow: Follow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScratchpadCommand {
    Show,
    History,
    Restore,
    Clear,
}
