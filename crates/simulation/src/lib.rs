//! Pleach on a world that can be scripted and broken on purpose.
//!
//! `world` runs the product's own driver, worker, desk, tools and stores on a seeded fake world with virtual
//! time; `checks` hold what happened against the invariants, with the provider's bill and a witness at
//! the store's door as outside oracles; `scripted` is a model server for tests of real processes. There is
//! no loop and no fold of the product's in this crate: a test reads its source to keep it so.

pub mod checks;
mod clock;
mod dice;
mod fake_models;
pub mod fault_rates;
pub mod fuzz;
pub mod scripted;
pub mod seeds;
pub mod world;
