//! The closed vocabularies of a run: kind, scope, status, stop reason, lane.

use crate::words::words;
use serde::{Deserialize, Serialize};

words! { Kind { Homework = "homework", Tree = "tree", Task = "task" } }
words! { ScopeKind { Global = "global", Project = "project", MultiProject = "multi_project" } }
words! {
    Status {
        Queued = "queued", Running = "running", WaitingOnUser = "waiting_on_user", Paused = "paused",
        Completed = "completed", Stopped = "stopped", Canceled = "canceled", Failed = "failed",
    }
}
words! {
    /// Each belongs to one status and one exit code.
    StopReason {
        Completed = "completed",
        BudgetCost = "budget_cost", BudgetTokens = "budget_tokens", BudgetWallClock = "budget_wall_clock",
        MaxIterations = "max_iterations", MaxSteps = "max_steps",
        NoProgress = "no_progress", CannotBeDone = "cannot_be_done", UserInput = "user_input", Canceled = "canceled",
        ProviderAuth = "provider_auth", ProviderQuota = "provider_quota", Error = "error",
    }
}
words! {
    /// `steer` is shown to the next model call, `queue` to the next planner.
    Lane { Steer = "steer", Queue = "queue" }
}

impl Kind {
    /// The property that marks what a run created.
    pub fn run_key(self) -> &'static str {
        match self {
            Kind::Homework => "homework_run_id",
            Kind::Tree => "tree_agent_run_id",
            Kind::Task => "agent_task_run_id",
        }
    }
}

impl Status {
    pub fn is_terminal(self) -> bool {
        matches!(self, Status::Completed | Status::Stopped | Status::Canceled | Status::Failed)
    }

    /// Whether a driver must move it.
    pub fn is_live(self) -> bool {
        matches!(self, Status::Queued | Status::Running)
    }
}

impl StopReason {
    pub fn status(self) -> Status {
        match self {
            StopReason::Completed => Status::Completed,
            StopReason::UserInput => Status::WaitingOnUser,
            StopReason::Canceled => Status::Canceled,
            StopReason::ProviderAuth | StopReason::ProviderQuota | StopReason::Error => Status::Failed,
            _ => Status::Stopped,
        }
    }

    /// Whether the run ended in the middle of what it was doing.
    pub fn breaks_off(self) -> bool {
        matches!(self.status(), Status::Canceled | Status::Failed)
    }

    /// The reason and what is known of it, the name once: details of earlier versions begin with it.
    pub fn with_detail(self, detail: &str) -> String {
        let detail = detail.strip_prefix(self.name()).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(detail);
        if detail.is_empty() { self.name().to_owned() } else { format!("{}: {detail}", self.name()) }
    }

    pub fn exit_code(self) -> u8 {
        match self {
            StopReason::Completed => 0,
            StopReason::ProviderAuth | StopReason::ProviderQuota | StopReason::Error => 1,
            StopReason::UserInput => 3,
            StopReason::NoProgress | StopReason::CannotBeDone => 5,
            StopReason::Canceled => 6,
            _ => 4,
        }
    }
}

impl From<crate::budget::Exhausted> for StopReason {
    fn from(limit: crate::budget::Exhausted) -> Self {
        use crate::budget::Exhausted;
        match limit {
            Exhausted::BudgetCost => StopReason::BudgetCost,
            Exhausted::BudgetTokens => StopReason::BudgetTokens,
            Exhausted::BudgetWallClock => StopReason::BudgetWallClock,
        }
    }
}

/// A success criterion; the planner cites it as `c1`, `c2`, …
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Criterion {
    pub id: String,
    pub text: String,
}

impl Criterion {
    pub fn number(texts: impl IntoIterator<Item = String>) -> Vec<Criterion> {
        texts.into_iter().enumerate().map(|(index, text)| Criterion { id: format!("c{}", index + 1), text }).collect()
    }
}
