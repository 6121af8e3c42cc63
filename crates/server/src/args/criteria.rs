//! `accept`, `reject` and `recheck`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct CriterionArgs {
    /// The run: its id, or the beginning of it (at least 4 characters)
    pub run: String,
    /// The criterion, as `show` names it: c1, c2, …
    pub criterion: String,
    /// A note that is kept with the decision
    pub note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RejectArgs {
    /// The run: its id, or the beginning of it (at least 4 characters)
    pub run: String,
    /// The criterion, as `show` names it: c1, c2, …
    pub criterion: String,
    /// Why it is not met
    pub why: String,
}

#[derive(Debug, Args)]
pub(crate) struct RecheckArgs {
    /// The run: its id, or the beginning of it (at least 4 characters)
    pub run: String,
    /// The criterion; all of them without it
    pub criterion: Option<String>,
}
