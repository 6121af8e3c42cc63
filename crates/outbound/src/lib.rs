//! Tells other systems what happened in runs: webhook deliveries, and traces over OTLP.
//!
//! It reads the log and keeps its own bookkeeping (what was delivered, how far a run was exported), so a restart goes on
//! where the last process stopped. It writes nothing to a run and decides nothing about one.

pub mod traces;
pub mod webhooks;
