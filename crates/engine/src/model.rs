//! Which model plays which role, and its prices. Recorded with the run, so that later changes of prices or
//! configuration do not affect it.

use crate::words::words;
use serde::{Deserialize, Serialize};

words! {
    /// The role of a model call.
    Role {
        HomeworkPlanner = "homework_planner",
        HomeworkExecutor = "homework_executor",
        HomeworkRepair = "homework_repair",
        HomeworkReport = "homework_report",
        TreePlanner = "tree_planner",
        TreeExecutor = "tree_executor",
        TreeAggregator = "tree_aggregator",
        Verifier = "verifier",
        AgentStep = "agent_step",
        AgentReflection = "agent_reflection",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    Fast,
    Balanced,
    Powerful,
}

impl Role {
    /// Whether messages are shown to this role, which makes them delivered.
    pub fn is_shown_messages(self) -> bool {
        matches!(
            self,
            Role::HomeworkPlanner
                | Role::HomeworkExecutor
                | Role::TreePlanner
                | Role::TreeExecutor
                | Role::TreeAggregator
                | Role::AgentStep
        )
    }

    pub fn profile(self) -> Profile {
        match self {
            Role::HomeworkPlanner
            | Role::HomeworkReport
            | Role::TreePlanner
            | Role::TreeAggregator
            | Role::Verifier => Profile::Powerful,
            Role::HomeworkExecutor | Role::TreeExecutor | Role::AgentStep => Profile::Balanced,
            Role::HomeworkRepair | Role::AgentReflection => Profile::Fast,
        }
    }
}

/// Pico-dollars per token, so that every published price is exact; rounded once per call, upwards, to micro-dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Price {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
}

impl Price {
    pub const FREE: Price = Price { input: 0, cached: 0, output: 0 };

    /// Micro-dollars for one call; `input` includes the cached tokens.
    pub fn cost(&self, input: u64, cached: u64, output: u64) -> u64 {
        let cached = cached.min(input);
        let pico = u128::from(input - cached) * u128::from(self.input)
            + u128::from(cached) * u128::from(self.cached)
            + u128::from(output) * u128::from(self.output);
        u64::try_from(pico.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelSpec {
    pub provider: String,
    pub model: String,
    pub context_window: u32,
    pub max_output: u32,
    /// `None` = unknown: tokens are capped instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

impl ModelSpec {
    /// `provider/model`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Models {
    pub fast: ModelSpec,
    pub balanced: ModelSpec,
    pub powerful: ModelSpec,
}

impl Models {
    pub fn uniform(spec: ModelSpec) -> Models {
        Models { fast: spec.clone(), balanced: spec.clone(), powerful: spec }
    }

    pub fn for_role(&self, role: Role) -> &ModelSpec {
        match role.profile() {
            Profile::Fast => &self.fast,
            Profile::Balanced => &self.balanced,
            Profile::Powerful => &self.powerful,
        }
    }

    pub fn all(&self) -> [&ModelSpec; 3] {
        [&self.fast, &self.balanced, &self.powerful]
    }

    /// Each once, however many profiles it serves.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.all().map(ModelSpec::name).to_vec();
        names.dedup();
        names
    }

    pub fn price_known(&self) -> bool {
        self.all().iter().all(|spec| spec.price.is_some())
    }
}
