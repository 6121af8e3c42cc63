//! A check in progress: what is cited is read, the verifier judges it in one call or more, its quotes are looked up. Folded from
//! the run's log, so a process that dies in the middle goes on where the log ends. Stored in view checkpoints.

use super::record::CriterionRecord;
use crate::calls::RejectedAnswer;
use crate::effect::EffectId;
use crate::facts::RunFact;
use crate::facts::evidence::{Citation, CitedEvidence, EvidenceText};
use crate::facts::run::{CheckStarted, VerdictsGiven};
use crate::run::Shared;
use serde::{Deserialize, Serialize};

/// The bytes of evidence that one call is given, unless one criterion alone has more.
const MAX_BATCH_BYTES: u64 = 60_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Check {
    /// Part of the ids of its effects.
    pub number: u32,
    pub citations: Vec<Citation>,
    pub forced: bool,
    pub evidence: Vec<EvidenceText>,
    pub read: bool,
    /// Criteria that have no verdict yet, and those of them that the current call is about.
    pub open: Vec<String>,
    pub batch: Vec<String>,
    /// The number of the verifier's current call, from 1.
    pub call: u32,
    /// The answer that the current call is to correct.
    pub rejected: Option<RejectedAnswer>,
    /// An answer about this batch did not fit the schema; another lacked quotes. Each is asked again once.
    pub was_invalid: bool,
    pub lacked_quotes: bool,
    /// The answer whose quotes are being looked up.
    pub given: Option<VerdictsGiven>,
}

/// What an effect of a check does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckPart {
    Read,
    Judge(u32),
    Quotes(u32),
}

impl Check {
    fn begin(fact: &CheckStarted) -> Check {
        Check {
            number: fact.check,
            citations: fact.citations.clone(),
            forced: fact.forced,
            evidence: fact.known.clone(),
            read: false,
            open: fact.citations.iter().map(|citation| citation.criterion.clone()).collect(),
            batch: Vec::new(),
            call: 1,
            rejected: None,
            was_invalid: false,
            lacked_quotes: false,
            given: None,
        }
    }

    pub(super) fn effect(&self, tag: &str, part: CheckPart) -> EffectId {
        let number = self.number;
        EffectId(match part {
            CheckPart::Read => format!("{tag}.v{number}.read"),
            CheckPart::Judge(call) => format!("{tag}.v{number}.a{call}"),
            CheckPart::Quotes(call) => format!("{tag}.v{number}.a{call}.quotes"),
        })
    }

    pub(super) fn part_of(&self, tag: &str, effect: &EffectId) -> Option<CheckPart> {
        let rest = effect.0.strip_prefix(tag)?.strip_prefix(&format!(".v{}.", self.number))?;
        let call = |part: &str| part.strip_prefix('a')?.parse().ok();
        match rest.split_once('.') {
            None if rest == "read" => Some(CheckPart::Read),
            None => call(rest).map(CheckPart::Judge),
            Some((first, "quotes")) => call(first).map(CheckPart::Quotes),
            Some(_) => None,
        }
    }

    /// The one effect a check waits for.
    pub(super) fn wanted(&self) -> CheckPart {
        match (self.read, &self.given) {
            (false, _) => CheckPart::Read,
            (true, None) => CheckPart::Judge(self.call),
            (true, Some(_)) => CheckPart::Quotes(self.call),
        }
    }

    /// `doc:` and `task:` references, which are read when the check begins; the others are known from the log.
    pub(super) fn refs_to_read(&self) -> Vec<String> {
        let mut refs: Vec<String> = Vec::new();
        for reference in self.citations.iter().flat_map(|citation| &citation.refs) {
            if !refs.contains(reference) && self.text(reference).is_none() {
                refs.push(reference.clone());
            }
        }
        refs
    }

    pub(super) fn text(&self, reference: &str) -> Option<&EvidenceText> {
        self.evidence.iter().find(|text| text.reference == reference)
    }

    /// What is cited for the criterion and could be read.
    pub(super) fn readable<'a>(&'a self, criterion: &str) -> impl Iterator<Item = &'a EvidenceText> + use<'a> {
        let citation = self.citations.iter().find(|citation| citation.criterion == criterion);
        let refs = citation.into_iter().flat_map(|citation| &citation.refs);
        refs.filter_map(|reference| self.text(reference)).filter(|text| text.text.is_some())
    }

    /// The same as it is recorded, with the quotes that were found.
    pub(super) fn cited(&self, criterion: &str, quotes: &[(String, String)]) -> Vec<CitedEvidence> {
        let of = |text: &EvidenceText| CitedEvidence {
            reference: text.reference.clone(),
            version: text.version,
            quotes: quotes.iter().filter(|(at, _)| *at == text.reference).map(|(_, quote)| quote.clone()).collect(),
        };
        self.readable(criterion).map(of).collect()
    }

    /// The texts were read. Criteria that were judged on the same versions need no new verdict.
    fn texts_read(&mut self, texts: &[EvidenceText], known: &[CriterionRecord]) {
        self.read = true;
        self.evidence.extend(texts.iter().cloned());
        if !self.forced {
            let (open, check) = (std::mem::take(&mut self.open), &*self);
            let is_new = |id: &String| {
                let cited = check.cited(id, &[]);
                !known.iter().any(|record| record.id == *id && record.is_judged_on(&cited))
            };
            self.open = open.into_iter().filter(is_new).collect();
        }
        self.next_batch();
    }

    /// As many criteria as one prompt has room for.
    fn next_batch(&mut self) {
        let mut shown: Vec<&str> = Vec::new();
        let mut bytes = 0;
        let mut batch = Vec::new();
        for criterion in &self.open {
            for text in self.readable(criterion) {
                if !shown.contains(&text.reference.as_str()) {
                    shown.push(&text.reference);
                    bytes += text.text.map_or(0, |blob| u64::from(blob.bytes));
                }
            }
            if bytes > MAX_BATCH_BYTES && !batch.is_empty() {
                break;
            }
            batch.push(criterion.clone());
        }
        self.batch = batch;
        (self.was_invalid, self.lacked_quotes, self.rejected, self.given) = (false, false, None, None);
    }

    fn settled(&mut self, criterion: &str) {
        self.open.retain(|open| open != criterion);
        self.batch.retain(|open| open != criterion);
        if self.read && self.batch.is_empty() {
            self.call += 1;
            self.next_batch();
        }
    }
}

impl Shared {
    /// The fold of the facts about criteria.
    pub(crate) fn apply_to_criteria(&mut self, fact: &RunFact) {
        match fact {
            RunFact::CheckStarted(fact) => {
                self.checks = fact.check;
                self.check = Some(Box::new(Check::begin(fact)));
            }
            RunFact::EvidenceRead(fact) => {
                if let Some(check) = &mut self.check {
                    check.texts_read(&fact.evidence, &self.criteria);
                }
            }
            RunFact::CheckRejected(fact) => {
                if let Some(check) = &mut self.check {
                    check.call += 1;
                    check.given = None;
                    check.rejected = Some(RejectedAnswer { errors: fact.errors.clone(), response: fact.response });
                    check.was_invalid |= !fact.quotes;
                    check.lacked_quotes |= fact.quotes;
                }
            }
            RunFact::VerdictsGiven(fact) => {
                if let Some(check) = &mut self.check {
                    check.given = Some(fact.clone());
                }
            }
            RunFact::CriterionChecked(fact) => {
                self.criteria
                    .iter_mut()
                    .filter(|known| known.id == fact.criterion)
                    .for_each(|known| known.checked(fact));
                if let Some(check) = &mut self.check {
                    check.settled(&fact.criterion);
                }
            }
            RunFact::CriterionDecided(fact) => {
                self.criteria
                    .iter_mut()
                    .filter(|known| known.id == fact.criterion)
                    .for_each(|known| known.decided(fact));
            }
            _ => return,
        }
        self.check.take_if(|check| check.read && check.open.is_empty());
        let open: &[String] = self.check.as_ref().map_or(&[], |check| &check.open);
        self.criteria.iter_mut().for_each(|known| known.checking = open.contains(&known.id));
    }
}
