//! The pure half of Pleach: what a run is, what may happen to it, and what it wants next.
//!
//! No IO, no clock, no randomness, no async: `now` is an argument and ids are derived. Everything here
//! can be folded, replayed and simulated; `tests/purity.rs` keeps the dependency list short.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod actor;
pub mod answer;
pub mod batch;
pub mod blob;
pub mod budget;
pub mod calls;
pub mod criteria;
pub mod effect;
pub mod event;
pub mod facts;
pub mod homework;
pub mod ids;
pub mod json;
pub mod ledger;
pub mod lessons;
pub mod lines;
pub mod member_role;
pub mod metrics;
pub mod model;
pub mod money;
pub mod projection;
pub mod prompt;
pub mod prompts;
pub mod report;
pub mod request;
pub mod role_schema;
pub mod run;
pub mod schema;
pub mod section_reader;
pub mod sections;
pub mod shorten;
pub mod sightings;
pub mod task;
pub mod time;
pub mod tree;
pub mod view;
mod words;
pub mod workspace;
