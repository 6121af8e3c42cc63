//! The statuses of nodes and steps, and their transitions. The table is published in `docs/tree-transitions.md`; a test
//! compares the two and checks every log against them.

use crate::words::words;
use serde::{Deserialize, Serialize};

words! {
    NodeStatus {
        Planning = "planning",
        Delegating = "delegating",
        Executing = "executing",
        /// Waits for its children.
        Waiting = "waiting",
        Aggregating = "aggregating",
        /// Waits for a person.
        Blocked = "blocked",
        Completed = "completed",
        Failed = "failed",
        Canceled = "canceled",
        /// Another plan replaced the step it had worked on. How it ended is in its error or result.
        Superseded = "superseded",
    }
}

use NodeStatus as S;

/// From → to. A node is created into its first status; `Completed`, `Failed` and `Canceled` are events of their own.
pub const TRANSITIONS: &[(NodeStatus, &[NodeStatus])] = &[
    (S::Planning, &[S::Delegating, S::Executing, S::Blocked, S::Completed, S::Failed, S::Canceled]),
    (S::Delegating, &[S::Waiting, S::Failed, S::Canceled]),
    (S::Executing, &[S::Blocked, S::Planning, S::Completed, S::Failed, S::Canceled]),
    (S::Waiting, &[S::Delegating, S::Aggregating, S::Failed, S::Canceled]),
    (S::Aggregating, &[S::Waiting, S::Planning, S::Completed, S::Failed, S::Canceled]),
    (S::Blocked, &[S::Planning, S::Executing, S::Failed, S::Canceled]),
    (S::Completed, &[S::Waiting, S::Planning, S::Executing, S::Superseded]),
    (S::Failed, &[S::Waiting, S::Planning, S::Executing, S::Superseded]),
    (S::Canceled, &[S::Superseded]),
    (S::Superseded, &[]),
];

impl NodeStatus {
    pub fn is_terminal(self) -> bool {
        matches!(self, S::Completed | S::Failed | S::Canceled | S::Superseded)
    }

    /// A new node starts by planning, or at once when it is a leaf.
    pub fn may_begin(self) -> bool {
        matches!(self, S::Planning | S::Executing)
    }

    pub fn may_become(self, next: NodeStatus) -> bool {
        TRANSITIONS.iter().any(|(from, to)| *from == self && to.contains(&next))
    }
}

words! {
    NodeRole {
        Planner = "planner",
        Executor = "executor",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    Pending,
    Running,
    Completed,
    Failed,
    Canceled,
    /// A replan replaced it.
    Superseded,
    /// An earlier band failed whole, or a limit ended the work; pending again when its node is reopened.
    Skipped,
}

impl StepStatus {
    pub fn is_terminal(self) -> bool {
        !matches!(self, StepStatus::Pending | StepStatus::Running)
    }
}
