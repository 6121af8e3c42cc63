//! Success criteria: what is known of each, the check in which the verifier judges them, and what a run came to.
//!
//! The verifier sees a criterion and what is cited for it, never the words of whoever did the work, and the platform looks its
//! quotes up. Every kind of run uses this module; it must not know how a kind works.

mod answer;
mod check;
mod decide;
mod outcome;
mod record;
mod request;

pub use check::Check;
pub use record::CriterionRecord;

use crate::effect::EffectId;
use crate::facts::evidence::{Citation, CitedEvidence, CriterionState, EvidenceText};
use crate::facts::run::{CheckStarted, CriterionChecked};
use crate::run::{Facts, Shared};

/// The most texts cited for one criterion: the newest, or the most important.
pub const MAX_REFS: usize = 8;

impl Shared {
    /// Whether the verifier is to judge this run's criteria.
    pub(crate) fn verifies(&self) -> bool {
        !self.brief.no_verify && !self.criteria.is_empty()
    }

    pub fn is_checking(&self) -> bool {
        self.check.is_some()
    }

    pub(crate) fn is_check_effect(&self, effect: &EffectId) -> bool {
        self.check.as_ref().is_some_and(|check| check.part_of(&self.id.tag(), effect).is_some())
    }

    pub(crate) fn criterion(&self, id: &str) -> Option<&CriterionRecord> {
        self.criteria.iter().find(|criterion| criterion.id == id)
    }

    /// Records what is cited for criteria that nothing was said about before.
    pub(crate) fn note_claims(&self, citations: &[Citation], facts: &mut Facts) {
        for Citation { criterion, refs } in citations {
            let is_open = self.criterion(criterion).is_some_and(|known| known.state == CriterionState::Open);
            if is_open && !refs.is_empty() {
                let cite = |reference: &String| CitedEvidence {
                    reference: reference.clone(),
                    version: None,
                    quotes: Vec::new(),
                };
                facts.push(CriterionChecked {
                    criterion: criterion.clone(),
                    state: CriterionState::Claimed,
                    reason: None,
                    evidence: refs.iter().map(cite).collect(),
                    model: None,
                });
            }
        }
    }

    /// The fact that begins a check of these criteria.
    pub(crate) fn start_check(&self, citations: Vec<Citation>, known: Vec<EvidenceText>, forced: bool) -> CheckStarted {
        CheckStarted { check: self.checks + 1, citations, known, forced }
    }
}

/// The cited texts that the log has already, each once.
pub(crate) fn known_texts(citations: &[Citation], known: impl Fn(&str) -> Option<EvidenceText>) -> Vec<EvidenceText> {
    let mut refs: Vec<&String> = citations.iter().flat_map(|citation| &citation.refs).collect();
    refs.sort();
    refs.dedup();
    refs.into_iter().filter_map(|reference| known(reference)).collect()
}
