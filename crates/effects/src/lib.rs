//! Work at the edge of the world: model calls, tools, and what people and collectors are sent.
//!
//! Everything here turns a job into an outcome and nothing else: it never appends, never retries, never
//! knows what a run will do with the answer.

mod delta_throttle;
mod guard;
pub mod model;
pub mod notify;
pub mod pages;
pub mod parsers;
pub mod performer;
pub mod rehearsal;
pub mod tools;
pub mod trace;
