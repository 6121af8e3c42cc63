//! The loop between the pure engine and the world. It owns its ports and knows no database, no provider and no protocol.
//!
//! `driver` moves one run, `worker` holds the leases of many, `run_commands` takes what people say to them, `live` broadcasts
//! what was committed, `views` folds runs as they stood, `breaker` remembers which providers are down, and `run_clock` is
//! the time that a run's work and waits are measured in. `ports` is what the loop and its tools need from outside;
//! `agents` and `search_terms` belong to that. `notifications` and `traces` are for what is sent out of the process; the
//! loop does not use them.

pub mod agents;
pub mod breaker;
mod driver;
pub mod live;
mod load;
pub mod notifications;
mod perform;
pub mod ports;
mod run_clock;
pub mod run_commands;
pub mod search_terms;
pub mod traces;
pub mod views;
pub mod worker;

pub use run_commands::{CommandError, RunCommands};
pub use worker::{Duty, Worker, WorkerConfig};
