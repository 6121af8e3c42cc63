//! What a run that is over came to: the first of `none`, `partial`, `verified`, `claimed` that fits.

use crate::facts::evidence::{CriterionState, EndState, RunOutcome};
use crate::facts::{Fact, RunFact};
use crate::run::{Shared, Status};

impl Shared {
    /// `None` while the run can still move. A run that an earlier version ended counts as claimed: nobody checked it.
    pub fn outcome(&self) -> Option<RunOutcome> {
        let status = self.status();
        if !status.is_terminal() {
            return None;
        }
        Some(self.end_state.map_or(RunOutcome::Claimed, |end| self.outcome_of(status, end)))
    }

    pub(crate) fn outcome_of(&self, status: Status, end: EndState) -> RunOutcome {
        let completed = status == Status::Completed;
        let unmet = self.criteria.iter().any(|criterion| {
            matches!(criterion.state, CriterionState::Open | CriterionState::Refuted | CriterionState::Rejected)
        });
        let dropped = self.criteria.is_empty() && end.dropped;
        if !completed && !end.made {
            RunOutcome::Nothing
        } else if !completed || end.failed || unmet || dropped {
            RunOutcome::Partial
        } else if !self.criteria.is_empty() && self.criteria.iter().all(|criterion| criterion.holds()) {
            RunOutcome::Verified
        } else {
            RunOutcome::Claimed
        }
    }

    /// Adds to a fact that ends the run what the run came to.
    pub(crate) fn name_outcome(&self, fact: &mut Fact, end: impl FnOnce() -> EndState) {
        let Fact::Run(fact) = fact else { return };
        let (status, ended) = match fact {
            RunFact::Completed(fact) => (Status::Completed, &mut fact.ended),
            RunFact::Stopped(fact) => (Status::Stopped, &mut fact.ended),
            RunFact::Failed(fact) => (Status::Failed, &mut fact.ended),
            RunFact::Canceled(fact) => (Status::Canceled, &mut fact.ended),
            _ => return,
        };
        let end = end();
        ended.outcome = Some(self.outcome_of(status, end));
        ended.end_state = Some(end);
    }
}
