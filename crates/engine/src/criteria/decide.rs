//! From an input to facts: the steps of a check. Whatever goes wrong with the verifier leaves a criterion claimed, with the reason;
//! only a verdict with quotes that were found makes it verified.

use super::answer::VerifierAnswer;
use super::check::{Check, CheckPart};
use super::request::verifier_call;
use crate::blob::BlobRef;
use crate::effect::{CheckWork, EffectId, ModelReply, QuoteToFind, ToolOutcome, Work};
use crate::facts::evidence::{CriterionState, CriterionVerdict as Verdict, EvidenceText, GivenQuote, GivenVerdict};
use crate::facts::run::{CheckRejected, CriterionChecked, EvidenceRead, VerdictsGiven};
use crate::model::Role;
use crate::run::{Facts, Input, Shared, Want};
use serde::Deserialize;
use serde_json::Value;

/// In characters: a shorter quote stands in almost any text.
const MIN_QUOTE_CHARS: usize = 12;

/// A document or task as it was read.
#[derive(Deserialize)]
struct ReadText {
    title: String,
    version: i64,
    text: String,
}

impl Shared {
    /// The effect that the check in progress waits for.
    pub(crate) fn check_want(&self) -> Option<Want> {
        let check = self.check.as_deref()?;
        let part = check.wanted();
        let judges = matches!(part, CheckPart::Judge(_));
        let effect = check.effect(&self.id.tag(), part);
        Some(Want { effect, role: judges.then_some(Role::Verifier), inline: !judges, wrap_up: false })
    }

    pub(crate) fn check_work(&self, effect: &EffectId) -> Option<Work> {
        let check = self.check.as_deref()?;
        Some(match check.part_of(&self.id.tag(), effect)? {
            CheckPart::Read => Work::Check(CheckWork::ReadEvidence { refs: check.refs_to_read() }),
            CheckPart::Judge(_) => Work::Model(verifier_call(self, check)),
            CheckPart::Quotes(_) => Work::Check(CheckWork::FindQuotes { quotes: quotes_to_find(check) }),
        })
    }

    pub(crate) fn decide_check(&self, input: Input<'_>, facts: &mut Facts) {
        let Some(check) = self.check.as_deref() else { return };
        match input {
            Input::Tool { effect, outcome } => match check.part_of(&self.id.tag(), effect) {
                Some(CheckPart::Read) => self.texts_read(check, outcome, facts),
                Some(CheckPart::Quotes(_)) => self.quotes_looked_up(check, outcome, facts),
                Some(CheckPart::Judge(_)) | None => {}
            },
            Input::Reply { effect, reply, response } => self.judged(check, effect, reply, response, facts),
            Input::Failed { error, .. } => give_up(check, &format!("not checked: {error}"), facts),
            Input::Proceed | Input::Continued => {}
        }
    }

    fn texts_read(&self, check: &Check, outcome: &ToolOutcome, facts: &mut Facts) {
        let found: Vec<Value> = match &outcome.result {
            Ok(output) => output.content.as_array().cloned().unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        let mut found = found.into_iter();
        let evidence = check.refs_to_read().into_iter().map(|reference| {
            match found.next().and_then(|value| ReadText::deserialize(value).ok()) {
                Some(ReadText { title, version, text }) => EvidenceText {
                    reference,
                    title,
                    version: Some(version),
                    text: Some(facts.store_text(Value::from(text).to_string())),
                },
                None => EvidenceText { reference, title: String::new(), version: None, text: None },
            }
        });
        let evidence: Vec<EvidenceText> = evidence.collect();
        let is_readable = |reference: &String| {
            let mut all = check.evidence.iter().chain(&evidence);
            all.any(|text| text.reference == *reference && text.text.is_some())
        };
        let unreadable = check.citations.iter().filter(|citation| !citation.refs.iter().any(is_readable));
        let unreadable: Vec<String> = unreadable.map(|citation| citation.criterion.clone()).collect();
        facts.push(EvidenceRead { check: check.number, evidence });
        for criterion in unreadable {
            facts.push(claimed(criterion, Vec::new(), "not checked: nothing of what is cited for it can be read"));
        }
    }

    fn judged(&self, check: &Check, effect: &EffectId, reply: &ModelReply, response: BlobRef, facts: &mut Facts) {
        match crate::answer::read::<VerifierAnswer>(reply) {
            Ok(answer) => {
                let verdicts = answer.on(&check.batch);
                facts.push(VerdictsGiven { effect: effect.clone(), verdicts, response });
            }
            Err(errors) if !check.was_invalid => {
                facts.push(CheckRejected { effect: effect.clone(), errors, response, quotes: false });
            }
            Err(errors) => {
                let why = format!("not checked: the verifier's answers did not fit the schema ({})", errors.join("; "));
                give_up(check, &why, facts);
            }
        }
    }

    /// Settles every criterion of the batch, except those called met whose quotes are not there: these are asked for once more.
    fn quotes_looked_up(&self, check: &Check, outcome: &ToolOutcome, facts: &mut Facts) {
        let Some(given) = &check.given else { return };
        let answers = outcome.result.as_ref().ok().and_then(|output| output.content.as_array());
        let mut there = answers.into_iter().flatten().map(|found| found.as_bool().unwrap_or(false));
        let mut missing = Vec::new();
        let mut settled = Vec::new();
        for criterion in &check.batch {
            let Some(verdict) = given.verdicts.iter().find(|verdict| verdict.criterion == *criterion) else {
                settled.push(claimed(
                    criterion.clone(),
                    check.cited(criterion, &[]),
                    "the verifier gave no verdict on it",
                ));
                continue;
            };
            let quotes: Vec<(String, String)> = look_upable(check, verdict)
                .map(|(quote, _)| (quote, there.next().unwrap_or(false)))
                .filter(|(_, found)| *found)
                .map(|(quote, _)| (quote.reference.clone(), quote.text.clone()))
                .collect();
            match verdict.verdict {
                Verdict::Met if quotes.is_empty() && !check.lacked_quotes => {
                    missing.push(missing_quotes(check, verdict))
                }
                _ => settled.push(self.settle(check, verdict, &quotes)),
            }
        }
        settled.into_iter().for_each(|fact| facts.push(fact));
        if !missing.is_empty() {
            let (effect, response) = (given.effect.clone(), given.response);
            facts.push(CheckRejected { effect, errors: missing, response, quotes: true });
        }
    }

    fn settle(&self, check: &Check, given: &GivenVerdict, quotes: &[(String, String)]) -> CriterionChecked {
        let (state, reason) = match given.verdict {
            Verdict::Met if quotes.is_empty() => {
                (CriterionState::Claimed, "the verifier calls it met and gave no quote that is there".to_owned())
            }
            Verdict::Met => (CriterionState::Verified, given.reason.clone()),
            Verdict::NotMet => (CriterionState::Refuted, given.reason.clone()),
            Verdict::CannotTell => (CriterionState::Claimed, given.reason.clone()),
        };
        CriterionChecked {
            criterion: given.criterion.clone(),
            state,
            reason: Some(reason).filter(|reason| !reason.is_empty()),
            evidence: check.cited(&given.criterion, quotes),
            model: Some(self.brief.models.for_role(Role::Verifier).name()),
        }
    }
}

/// The quotes of a verdict that are long enough and stand under a text cited for its criterion.
fn look_upable<'a>(check: &'a Check, verdict: &'a GivenVerdict) -> impl Iterator<Item = (&'a GivenQuote, BlobRef)> {
    let long_enough = |quote: &&GivenQuote| chars_between_spaces(&quote.text) >= MIN_QUOTE_CHARS;
    verdict.quotes.iter().filter(long_enough).filter_map(|quote| {
        let text = check.readable(&verdict.criterion).find(|text| text.reference == quote.reference)?;
        Some((quote, text.text?))
    })
}

/// White space counts once, wherever it is: it is no part of what is compared.
fn chars_between_spaces(quote: &str) -> usize {
    let words = quote.split_whitespace().map(|word| word.chars().count() + 1);
    words.sum::<usize>().saturating_sub(1)
}

/// In the order of the batch: so the answers are told apart.
fn quotes_to_find(check: &Check) -> Vec<QuoteToFind> {
    let given = |criterion: &String| {
        let verdicts = check.given.iter().flat_map(|given| &given.verdicts);
        verdicts.clone().find(|verdict| verdict.criterion == *criterion)
    };
    let verdicts = check.batch.iter().filter_map(given);
    verdicts
        .flat_map(|verdict| look_upable(check, verdict))
        .map(|(quote, text)| QuoteToFind { quote: quote.text.clone(), text: text.hash })
        .collect()
}

fn missing_quotes(check: &Check, verdict: &GivenVerdict) -> String {
    let criterion = &verdict.criterion;
    if verdict.quotes.is_empty() {
        return format!("criterion {criterion} is called met without a quote: copy the passage that shows it");
    }
    let refs: Vec<&str> = check.readable(criterion).map(|text| text.reference.as_str()).collect();
    let quotes = verdict.quotes.iter().map(|quote| format!("{:?} under {}", quote.text, quote.reference));
    format!(
        "criterion {criterion}: not found word for word: {}; its texts are {}, and a quote has at least {MIN_QUOTE_CHARS} characters",
        quotes.collect::<Vec<_>>().join(", "),
        refs.join(", ")
    )
}

/// The rest of the batch stays claimed.
fn give_up(check: &Check, why: &str, facts: &mut Facts) {
    for criterion in &check.batch {
        facts.push(claimed(criterion.clone(), check.cited(criterion, &[]), why));
    }
}

fn claimed(criterion: String, evidence: Vec<crate::facts::evidence::CitedEvidence>, reason: &str) -> CriterionChecked {
    CriterionChecked { criterion, state: CriterionState::Claimed, reason: Some(reason.into()), evidence, model: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h1_a_quote_is_not_longer_for_its_white_space() {
        assert_eq!(chars_between_spaces("  #          Page \n"), 6);
        assert_eq!(chars_between_spaces("twelve chars"), MIN_QUOTE_CHARS);
        assert_eq!(chars_between_spaces(" \n"), 0);
    }
}
