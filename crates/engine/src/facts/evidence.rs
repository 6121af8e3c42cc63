//! Payload types of the facts about success criteria: what is cited for one, what a check found, and what a run came to.

use crate::blob::BlobRef;
use crate::words::words;
use serde::{Deserialize, Serialize};

words! {
    /// What is known about a success criterion.
    #[derive(Default)]
    CriterionState {
        /// Nothing was said about it.
        #[default]
        Open = "open",
        /// Something was cited for it, and no check found it met or not met.
        Claimed = "claimed",
        /// A check found it met, and its quotes are in what it cites.
        Verified = "verified",
        /// A check found it not met.
        Refuted = "refuted",
        /// A person's word, which beats a check.
        Accepted = "accepted",
        Rejected = "rejected",
    }
}

words! {
    /// What the verifier says of one criterion.
    CriterionVerdict { Met = "met", NotMet = "not_met", CannotTell = "cannot_tell" }
}

words! {
    /// What a person says of one criterion. `recheck` takes an earlier word back and asks the verifier.
    CriterionDecision { Accept = "accept", Reject = "reject", Recheck = "recheck" }
}

words! {
    /// What a run that is over came to.
    RunOutcome {
        /// It did not complete, and made nothing.
        Nothing = "none",
        Partial = "partial",
        /// Every criterion was verified or accepted.
        Verified = "verified",
        Claimed = "claimed",
    }
}

/// Something cited for a criterion, in the version that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CitedEvidence {
    /// `doc:<id>`, `task:<id>`, `event:<seq>` or `artifact:<id>`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Documents and tasks change; the other kinds do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// The quotes that were found in it, word for word.
    #[serde(default)]
    pub quotes: Vec<String>,
}

/// What is cited for one criterion when a check begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Citation {
    pub criterion: String,
    pub refs: Vec<String>,
}

/// One cited text as the check sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EvidenceText {
    #[serde(rename = "ref")]
    pub reference: String,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// One JSON value; absent when it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<BlobRef>,
}

/// What the verifier said of one criterion, before its quotes were looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GivenVerdict {
    pub criterion: String,
    pub quotes: Vec<GivenQuote>,
    pub reason: String,
    pub verdict: CriterionVerdict,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GivenQuote {
    #[serde(rename = "ref")]
    pub reference: String,
    pub text: String,
}

/// What an outcome rests on besides the criteria, recorded with the event that ends the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndState {
    /// The run created or changed something.
    pub made: bool,
    /// A step, branch or node ended failed or canceled, and nothing took its place.
    pub failed: bool,
    /// A plan dropped steps that were not done, and added none.
    pub dropped: bool,
}
