//! Sends what happened in runs to other systems: webhook deliveries, and traces over OTLP.
//!
//! It reads the log and stores its own progress (what was delivered, how far a run was exported), so a restart continues
//! where the last process stopped. It never writes to a run.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod traces;
pub mod webhooks;
