//! Performs effects: calls to model providers, built-in tools, toolboxes, and the rehearsal model.
//!
//! Everything here turns one job into one outcome. It never appends to the log or folds it, never retries, never serves
//! HTTP, and does not know what a run will do with the outcome.

mod delta_throttle;
pub mod model;
pub mod parsers;
pub mod performer;
pub mod rehearsal;
pub mod tools;
