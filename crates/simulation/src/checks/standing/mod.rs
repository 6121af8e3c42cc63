//! What a run has come to, from its events alone: its criteria, what it made, what it left undone, and its outcome. Written
//! after docs/protocol.md and without the engine's own fold, so that the two can be compared.

mod homework;
mod tree;

use engine::event::Event;
use engine::facts::evidence::{CitedEvidence, CriterionDecision, CriterionState, RunOutcome};
use engine::facts::run::{CriterionChecked, CriterionDecided};
use engine::facts::{Fact, RunFact as R, TaskFact as K};
use engine::run::Status;
pub use homework::{Failed, Homework};
use tree::Tree;

#[derive(Default)]
pub struct Standing {
    pub criteria: Vec<Criterion>,
    /// How the run ended, while it is over.
    ended: Option<Status>,
    made: bool,
    pub homework: Homework,
    tree: Tree,
    /// A task's last action failed.
    action_failed: bool,
}

pub struct Criterion {
    pub id: String,
    pub text: String,
    pub state: CriterionState,
    pub evidence: Vec<CitedEvidence>,
    /// Whether a verifier's verdict is what is known of it.
    pub judged: bool,
}

impl Criterion {
    pub fn is_decided_by_person(&self) -> bool {
        matches!(self.state, CriterionState::Accepted | CriterionState::Rejected)
    }

    /// What was cited, in the versions that were looked at.
    pub fn versions(&self) -> Vec<(String, Option<i64>)> {
        let mut versions: Vec<_> = self.evidence.iter().map(|cited| (cited.reference.clone(), cited.version)).collect();
        versions.sort();
        versions
    }

    fn check(&mut self, fact: &CriterionChecked) {
        if !self.is_decided_by_person() {
            (self.state, self.judged) = (fact.state, fact.model.is_some());
            self.evidence.clone_from(&fact.evidence);
        }
    }

    fn decide(&mut self, fact: &CriterionDecided) {
        match fact.decision {
            CriterionDecision::Accept => self.state = CriterionState::Accepted,
            CriterionDecision::Reject => self.state = CriterionState::Rejected,
            CriterionDecision::Recheck if !self.is_decided_by_person() => {}
            CriterionDecision::Recheck if self.evidence.is_empty() => self.state = CriterionState::Open,
            CriterionDecision::Recheck => self.state = CriterionState::Claimed,
        }
    }
}

impl Standing {
    pub fn learn(&mut self, event: &Event) {
        match &event.fact {
            Fact::Run(fact) => self.learn_of_run(fact),
            Fact::Homework(fact) => {
                self.made |= self.homework.learn(fact);
            }
            Fact::Tree(fact) => {
                self.made |= self.tree.learn(event, fact);
            }
            Fact::Task(K::StepResult(fact)) => {
                (self.action_failed, self.made) = (!fact.ok, self.made || !fact.artifacts.is_empty());
            }
            _ => {}
        }
    }

    fn learn_of_run(&mut self, fact: &R) {
        match fact {
            R::Queued(brief) => {
                let (state, evidence, judged) = (CriterionState::Open, Vec::new(), false);
                let fresh = |id: &String, text: &String| Criterion {
                    id: id.clone(),
                    text: text.clone(),
                    state,
                    evidence: evidence.clone(),
                    judged,
                };
                self.criteria = brief.success_criteria.iter().map(|it| fresh(&it.id, &it.text)).collect();
            }
            R::CriterionChecked(fact) => self.named(&fact.criterion).for_each(|criterion| criterion.check(fact)),
            R::CriterionDecided(fact) => self.named(&fact.criterion).for_each(|criterion| criterion.decide(fact)),
            R::Completed(_) => self.ended = Some(Status::Completed),
            R::Stopped(_) => self.ended = Some(Status::Stopped),
            R::Failed(_) => self.ended = Some(Status::Failed),
            R::Canceled(_) => self.ended = Some(Status::Canceled),
            R::Resumed(_) => self.ended = None,
            _ => {}
        }
    }

    fn named<'a>(&'a mut self, id: &'a str) -> impl Iterator<Item = &'a mut Criterion> {
        self.criteria.iter_mut().filter(move |criterion| criterion.id == id)
    }

    /// What failed and was not made good, in words.
    pub fn failures(&self) -> Vec<String> {
        let mut failures: Vec<String> = self.homework.failed.keys().map(|what| format!("{what:?} failed")).collect();
        failures.extend(self.tree.failures());
        failures.extend(self.action_failed.then(|| "the last action failed".into()));
        failures
    }

    /// `None` while the run is not over.
    pub fn outcome(&self) -> Option<RunOutcome> {
        let completed = self.ended? == Status::Completed;
        let is = |wanted: &[CriterionState]| {
            self.criteria.iter().map(|it| it.state).filter(|state| wanted.contains(state)).count()
        };
        let unmet = is(&[CriterionState::Open, CriterionState::Refuted, CriterionState::Rejected]) > 0;
        let met = is(&[CriterionState::Verified, CriterionState::Accepted]);
        let dropped = self.criteria.is_empty() && self.homework.dropped.values().any(|step| !step.replaced);
        Some(match completed {
            false if !self.made => RunOutcome::Nothing,
            false => RunOutcome::Partial,
            true if unmet || dropped || !self.failures().is_empty() => RunOutcome::Partial,
            true if met > 0 && met == self.criteria.len() => RunOutcome::Verified,
            true => RunOutcome::Claimed,
        })
    }
}
