//! The loop between the pure engine and the world. It owns its ports and knows no database, no provider and no protocol.
//!
//! - `driver` moves one run: fold, act, commit, wait.
//! - `worker` holds the leases of many runs and gives each a driver.
//! - `run_commands` takes people's commands to runs.
//! - `live` broadcasts what was committed; `views` folds a run up to a given event.
//! - `breaker` remembers which providers are down; `run_clock` measures a run's work and waits.
//! - `ports` is what the loop and its tools need from outside; `agents` and `search_terms` belong to it.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod agents;
pub mod breaker;
mod driver;
pub mod live;
mod load;
mod perform;
pub mod ports;
mod run_clock;
pub mod run_commands;
pub mod search_terms;
pub mod views;
pub mod worker;

pub use run_commands::{CommandError, RunCommands};
pub use worker::{ClaimPolicy, Worker, WorkerConfig};
