//! The promises of the network door, through HTTP on the binary that people run.

#[allow(dead_code, reason = "shared with the command-line tests, which use more of it")]
#[path = "../cli/home.rs"]
mod home;

#[allow(dead_code, reason = "shared with the command-line tests, which use more of it")]
#[path = "../cli/database.rs"]
mod database;

mod access;
mod agents;
mod bounds;
mod client;
mod connections;
mod crowd;
mod limits;
mod login;
mod matrix;
mod members;
mod once;
mod page;
mod pages;
mod peers;
mod people;
mod problems;
mod raw;
#[allow(dead_code, reason = "shared with the tests of what is live, which use more of it")]
#[path = "../live/receiver.rs"]
mod receiver;
mod refusals;
mod runs;
mod secrets;
mod server;
mod shapes;
mod workspace;
