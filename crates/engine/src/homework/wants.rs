//! The effects an iteration waits for, computed from its state.

use super::effect_id::EffectPosition;
use super::state::{Executor, State};
use crate::calls::{self, RecordedCall};
use crate::model::Role;
use crate::run::{Shared, Want};

impl State {
    pub(super) fn wanted_in_iteration(&self, shared: &Shared) -> Vec<Want> {
        if self.current.planned.is_none() {
            return self.model_want(Role::HomeworkPlanner, |fix| EffectPosition::Plan { fix }).into_iter().collect();
        }
        let open: Vec<Want> = calls::open(&self.current.calls).map(|call| Want::tool(shared, call)).collect();
        if !open.is_empty() {
            return open;
        }
        if self.wants_repair() {
            return self.model_want(Role::HomeworkRepair, |fix| EffectPosition::Repair { fix }).into_iter().collect();
        }
        self.current
            .executors
            .iter()
            .enumerate()
            .filter(|(_, executor)| executor.finished.is_none())
            .flat_map(|(index, executor)| self.wanted_by(shared, index, executor))
            .collect()
    }

    fn wanted_by(&self, shared: &Shared, index: usize, executor: &Executor) -> Vec<Want> {
        let open: Vec<Want> = calls::open(&executor.calls).map(|call| Want::tool(shared, call)).collect();
        if !open.is_empty() || executor.answered >= executor.round {
            return open;
        }
        let round = executor.round;
        self.model_want(Role::HomeworkExecutor, |fix| EffectPosition::Round { executor: index, round, fix })
            .into_iter()
            .collect()
    }

    /// The call, or its one correction after a rejected answer; `None` once the correction was rejected too.
    fn model_want(&self, role: Role, position: impl Fn(bool) -> EffectPosition) -> Option<Want> {
        let rejected = |fix| self.current.rejected.contains_key(&position(fix).id(&self.tag, self.iteration));
        match (rejected(false), rejected(true)) {
            (false, _) => Some(self.model_call_wanted(position(false), role, false)),
            (true, false) => Some(self.model_call_wanted(position(true), role, false)),
            (true, true) => None,
        }
    }

    /// Failed planner calls get one repair together, if any of them is worth correcting.
    pub(super) fn wants_repair(&self) -> bool {
        !self.current.repaired && self.failed_calls().next().is_some()
    }

    pub(super) fn failed_calls(&self) -> impl Iterator<Item = &RecordedCall> {
        self.current.calls.iter().filter(|call| {
            call.repair_of.is_none()
                && call.result.as_ref().is_some_and(|result| !result.ok && result.summary != crate::answer::NOT_RUN)
        })
    }

    pub(super) fn model_call_wanted(&self, position: EffectPosition, role: Role, wrap_up: bool) -> Want {
        Want { effect: position.id(&self.tag, self.iteration), role: Some(role), inline: false, wrap_up }
    }
}
