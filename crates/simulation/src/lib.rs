//! Deterministic simulation, fuzzing and a scripted model server.
//!
//! `world` runs the product's own driver, worker, run commands, tools and store in a seeded world with virtual time and
//! injected faults. `checks` compares what happened with the invariants; the fake provider's bill and `world::witness`,
//! which records every call to the store, are independent oracles. `scripted` is a model server for tests of real
//! processes. This crate must not have a driver loop or a fold of its own; `tests/one_loop.rs` checks that.

pub mod checks;
mod clock;
mod dice;
mod fake_models;
pub mod fault_rates;
pub mod fuzz;
pub mod scripted;
pub mod seeds;
pub mod world;
