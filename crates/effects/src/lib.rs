//! Performs effects: calls to model providers, built-in tools, toolboxes, and the rehearsal model.
//!
//! One job gives one outcome. This crate never appends to the log or folds it, never retries, never serves HTTP, and does not know
//! what a run does with the outcome.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod delta_throttle;
mod evidence;
pub mod model;
pub mod parsers;
pub mod performer;
mod readable;
pub mod rehearsal;
pub mod text;
pub mod tools;
