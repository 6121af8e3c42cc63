//! What the verifier answers.

use crate::answer::{CheckedAnswer, nullable, too_many};
use crate::facts::evidence::{CriterionVerdict as Verdict, GivenQuote, GivenVerdict};
use crate::model::Role;
use crate::shorten;
use serde::Deserialize;

const MAX_QUOTES: usize = 12;
/// In characters.
const MAX_QUOTE_CHARS: usize = 2_000;
const MAX_REASON_CHARS: usize = 1_000;

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct VerifierAnswer {
    pub verdicts: Vec<VerdictAnswer>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct VerdictAnswer {
    pub criterion: String,
    #[serde(default, deserialize_with = "nullable")]
    pub quotes: Vec<QuoteAnswer>,
    #[serde(default, deserialize_with = "nullable")]
    pub reason: String,
    pub verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct QuoteAnswer {
    #[serde(rename = "ref")]
    pub reference: String,
    pub text: String,
}

impl CheckedAnswer for VerifierAnswer {
    fn role() -> Option<Role> {
        Some(Role::Verifier)
    }

    fn errors(&self) -> Vec<String> {
        let mut errors: Vec<String> = too_many("verdicts", self.verdicts.len()).into_iter().collect();
        if self.verdicts.is_empty() {
            errors.push("verdicts is empty: give one for each criterion".into());
        }
        let unexplained =
            self.verdicts.iter().filter(|given| given.verdict == Verdict::NotMet && given.reason.trim().is_empty());
        errors.extend(
            unexplained.map(|given| format!("the verdict on {} is not_met and gives no reason", given.criterion)),
        );
        errors
    }
}

impl VerifierAnswer {
    /// The first verdict on each of these criteria, with its texts cut to their limits; verdicts on others are ignored.
    pub(super) fn on(self, criteria: &[String]) -> Vec<GivenVerdict> {
        let mut verdicts: Vec<GivenVerdict> = Vec::new();
        for given in self.verdicts {
            let criterion = given.criterion.trim().to_owned();
            if !criteria.contains(&criterion) || verdicts.iter().any(|known| known.criterion == criterion) {
                continue;
            }
            let quotes = given.quotes.into_iter().take(MAX_QUOTES);
            verdicts.push(GivenVerdict {
                criterion,
                quotes: quotes
                    .map(|quote| GivenQuote {
                        reference: quote.reference.trim().to_owned(),
                        text: quote.text.chars().take(MAX_QUOTE_CHARS).collect(),
                    })
                    .collect(),
                reason: shorten::text(given.reason.trim(), MAX_REASON_CHARS),
                verdict: given.verdict,
            });
        }
        verdicts
    }
}
