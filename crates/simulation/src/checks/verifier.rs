//! 61, 64: a criterion is judged on what its evidence is now, and once; the verifier is asked a limited number of times, sees
//! nothing but criteria and evidence, and costs what is shown.

use super::standing::Standing;
use super::{RunLog, breaks_off};
use engine::event::Event;
use engine::facts::effect::FinishedAs;
use engine::facts::evidence::EvidenceText;
use engine::facts::run::CheckStarted;
use engine::facts::{EffectFact, Fact, HomeworkFact as H, RunFact as R};
use engine::metrics::ModelMetrics;
use engine::model::Role;
use std::collections::{BTreeMap, BTreeSet};

/// For one criterion in one check: the first, the one after an invalid answer, the one after missing quotes.
const MAX_CALLS: usize = 3;

pub fn check(log: &RunLog<'_>) {
    let mut checks = Checks::default();
    log.events.iter().for_each(|event| checks.learn(log, event));
    if log.row.status.is_terminal() && log.row.success_criteria.iter().any(|criterion| criterion.checking) {
        log.violation("64: the run is over and a check of it is not");
    }
    checks.asked(log);
    paid(log);
}

type Versions = Vec<(String, Option<i64>)>;

/// Every check of the run: what it read for each criterion, and which of them had a verdict on just that.
#[derive(Default)]
struct Checks {
    standing: Standing,
    begun: Option<CheckStarted>,
    /// Of the last check, by criterion.
    read: BTreeMap<String, Versions>,
    /// Criteria of a check that must not be asked about.
    known: BTreeMap<u32, BTreeSet<String>>,
    forced: BTreeSet<u32>,
    /// Criteria of the last check that have no verdict yet on what it read.
    due: BTreeSet<String>,
}

impl Checks {
    fn learn(&mut self, log: &RunLog<'_>, event: &Event) {
        self.standing.learn(event);
        match &event.fact {
            Fact::Run(R::CheckStarted(fact)) => {
                self.forced.extend(fact.forced.then_some(fact.check));
                self.read.clear();
                self.due.clear();
                self.begun = Some(fact.clone());
            }
            Fact::Run(R::EvidenceRead(fact)) => self.texts_read(&fact.evidence),
            Fact::Run(R::CriterionChecked(fact)) => drop(self.due.remove(&fact.criterion)),
            Fact::Homework(H::IterationCompleted(fact)) if fact.lost.is_none() && !breaks_off(&fact.verdict) => {
                self.nothing_due(log, event);
            }
            Fact::Run(R::Completed(_)) => {
                self.nothing_due(log, event);
                self.judged_as_read(log, event);
            }
            _ => {}
        }
    }

    fn texts_read(&mut self, texts: &[EvidenceText]) {
        let Some(begun) = &self.begun else { return };
        for citation in &begun.citations {
            let all = begun.known.iter().chain(texts).filter(|text| text.text.is_some());
            let of = all.filter(|text| citation.refs.contains(&text.reference));
            let mut versions: Versions = of.map(|text| (text.reference.clone(), text.version)).collect();
            versions.sort();
            let known = self.standing.criteria.iter().find(|known| known.id == citation.criterion);
            if !begun.forced && known.is_some_and(|known| known.judged && known.versions() == versions) {
                self.known.entry(begun.check).or_default().insert(citation.criterion.clone());
            } else {
                self.due.insert(citation.criterion.clone());
            }
            self.read.insert(citation.criterion.clone(), versions);
        }
    }

    /// A check is over when everything it read anew was judged.
    fn nothing_due(&self, log: &RunLog<'_>, event: &Event) {
        let undecided =
            |id: &&String| self.standing.criteria.iter().any(|known| known.id == **id && !known.is_decided_by_person());
        for id in self.due.iter().filter(undecided) {
            log.violation_at(event, format_args!("61: {id} has no verdict on what was read for it"));
        }
    }

    /// A run completes with verdicts on what its last check read.
    fn judged_as_read(&self, log: &RunLog<'_>, event: &Event) {
        for criterion in self.standing.criteria.iter().filter(|criterion| !criterion.is_decided_by_person()) {
            let read = self.read.get(&criterion.id);
            if read.is_some_and(|read| *read != criterion.versions()) {
                let (id, state) = (&criterion.id, criterion.state);
                log.violation_at(event, format_args!("61: {id} is {state:?} on other evidence than was read last"));
            }
        }
    }

    fn asked(&self, log: &RunLog<'_>) {
        let no_verify = log.brief().is_some_and(|brief| brief.no_verify);
        let mut calls: BTreeMap<(u32, &String), BTreeSet<&String>> = BTreeMap::new();
        for request in log.bill.iter().filter(|request| request.role == Role::Verifier) {
            let Some(number) = check_number(&request.effect) else {
                log.violation(format_args!("64: {request} belongs to no check"));
                continue;
            };
            if no_verify && !self.forced.contains(&number) {
                log.violation(format_args!("64: {request} was asked though nothing is to be verified"));
            }
            if !request.people_texts.is_empty() {
                log.violation(format_args!("64: {request} was shown more than criteria and evidence"));
            }
            let known = self.known.get(&number);
            for criterion in &request.judged {
                calls.entry((number, criterion)).or_default().insert(&request.effect);
                if known.is_some_and(|known| known.contains(criterion)) {
                    log.violation(format_args!("64: {request} asks about {criterion}, whose evidence had not changed"));
                }
            }
        }
        for ((number, criterion), effects) in calls.into_iter().filter(|(_, effects)| effects.len() > MAX_CALLS) {
            log.violation(format_args!("64: check {number} asked {} times about {criterion}", effects.len()));
        }
    }
}

/// `<run>.v<check>.a<call>`
fn check_number(effect: &str) -> Option<u32> {
    effect.rsplit_once(".v")?.1.split_once(".a")?.0.parse().ok()
}

/// What the verifier cost is shown apart, and is what its calls were charged.
fn paid(log: &RunLog<'_>) {
    let mut verifiers = BTreeSet::new();
    let mut paid = ModelMetrics::default();
    for event in &log.events {
        match &event.fact {
            Fact::Effect(EffectFact::Started(fact)) if fact.what == Role::Verifier.name() => {
                verifiers.insert((&fact.effect, fact.attempt));
            }
            Fact::Effect(EffectFact::Finished(fact)) if verifiers.remove(&(&fact.effect, fact.attempt)) => {
                paid.charge(&fact.settled, fact.outcome == FinishedAs::Ok);
            }
            _ => {}
        }
    }
    if paid != log.row.metrics.verifier {
        log.violation(format_args!("64: the verifier cost {paid:?}, shown are {:?}", log.row.metrics.verifier));
    }
}
