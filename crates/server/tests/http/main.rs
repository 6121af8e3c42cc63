//! The HTTP API over the network, tested on the real binary.

#[allow(dead_code, reason = "shared with the command-line tests, which use more of it")]
#[path = "../cli/home.rs"]
mod home;

#[allow(dead_code, reason = "shared with the command-line tests, which use more of it")]
#[path = "../cli/database.rs"]
mod database;

mod access;
mod access_matrix;
mod agents;
mod bound_tokens;
mod connection_limits;
mod connections;
mod homework;
mod idempotency;
mod isolation;
mod limits;
mod login;
mod members;
mod pages;
mod peers;
mod problems;
mod raw;
#[allow(dead_code, reason = "shared with the tests of what is live, which use more of it")]
#[path = "../live/receiver.rs"]
mod receiver;
mod refusals;
mod remote_cli;
mod response_schemas;
mod runs;
mod secrets;
mod server;
mod web_page;
mod workspace;
