//! The gateway against a scripted model server over real HTTP: what counts as an answer, what does not,
//! and what is sent.

mod answers;
mod faults;
mod harness;
mod models;
mod raw;
mod request;
mod schema_fallback;
mod schema_order;
mod secrets;
mod unusual_answers;
