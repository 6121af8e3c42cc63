//! The loop between the pure engine and the world: it owns its ports and knows no database, no
//! provider and no protocol.
//!
//! `driver` moves one run, `worker` holds the leases of many, `desk` takes what people say to them,
//! `live` tells who is listening what was committed, `views` shows runs as they stood, `breaker` remembers which
//! providers are down, `agents` is what is kept of subagents, `keys`, `removal`, `post` and `traces` are what doors, letters and onlookers need of a store and the loop does not,
//! `run_clock` is the time that a run's work and waits are measured in.

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
