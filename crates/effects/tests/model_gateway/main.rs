//! The gateway against a scripted model server over real HTTP: what counts as an answer, what does not,
//! and what is sent.

mod answers;
mod awkward;
mod faults;
mod harness;
mod ladder;
mod models;
mod raw;
mod request;
mod secrets;
