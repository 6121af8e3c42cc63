//! What a run knows of one success criterion, as the run object shows it.

use crate::facts::evidence::{CitedEvidence, CriterionDecision, CriterionState};
use crate::facts::run::{CriterionChecked, CriterionDecided};
use crate::run::Criterion;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CriterionRecord {
    pub id: String,
    pub text: String,
    #[serde(default)]
    pub state: CriterionState,
    #[serde(default)]
    pub evidence: Vec<CitedEvidence>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The model that judged it last; absent when nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The verifier is at it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checking: bool,
    /// A cited document or task has another version now. Found when the run is read, never stored.
    #[serde(default)]
    pub stale: bool,
}

impl From<&Criterion> for CriterionRecord {
    fn from(criterion: &Criterion) -> CriterionRecord {
        CriterionRecord { id: criterion.id.clone(), text: criterion.text.clone(), ..CriterionRecord::default() }
    }
}

impl CriterionRecord {
    pub(crate) fn is_decided_by_person(&self) -> bool {
        matches!(self.state, CriterionState::Accepted | CriterionState::Rejected)
    }

    /// Verified, or accepted by a person.
    pub fn holds(&self) -> bool {
        matches!(self.state, CriterionState::Verified | CriterionState::Accepted)
    }

    pub(super) fn checked(&mut self, fact: &CriterionChecked) {
        self.checking = false;
        if self.is_decided_by_person() {
            return;
        }
        self.state = fact.state;
        self.reason.clone_from(&fact.reason);
        self.evidence.clone_from(&fact.evidence);
        self.model.clone_from(&fact.model);
    }

    pub(super) fn decided(&mut self, fact: &CriterionDecided) {
        self.state = match fact.decision {
            CriterionDecision::Accept => CriterionState::Accepted,
            CriterionDecision::Reject => CriterionState::Rejected,
            CriterionDecision::Recheck if !self.is_decided_by_person() => self.state,
            CriterionDecision::Recheck if self.evidence.is_empty() => CriterionState::Open,
            CriterionDecision::Recheck => CriterionState::Claimed,
        };
        if fact.decision != CriterionDecision::Recheck {
            self.reason.clone_from(&fact.note);
        }
    }

    /// Whether a verdict was given on just this evidence, so that asking again would bring nothing.
    pub(super) fn is_judged_on(&self, evidence: &[CitedEvidence]) -> bool {
        let versions = |cited: &[CitedEvidence]| {
            let mut versions: Vec<_> = cited.iter().map(|one| (one.reference.clone(), one.version)).collect();
            versions.sort();
            versions
        };
        self.model.is_some() && versions(&self.evidence) == versions(evidence)
    }
}
