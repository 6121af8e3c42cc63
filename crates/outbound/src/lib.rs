//! Sends what happened in runs to other systems: webhook deliveries, and traces over OTLP.
//!
//! It reads the log and stores its own progress (what was delivered, how far a run was exported), so a restart continues
//! where the last process stopped. It never writes to a run.

pub mod traces;
pub mod webhooks;
