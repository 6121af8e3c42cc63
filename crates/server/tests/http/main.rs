//! The promises of the network door, through HTTP on the binary that people run.

#[allow(dead_code, reason = "shared with the command-line tests, which use more of it")]
#[path = "../cli/home.rs"]
mod home;

mod access;
mod agents;
mod client;
mod limits;
mod matrix;
mod once;
mod page;
mod pages;
mod peers;
mod people;
mod problems;
mod runs;
mod server;
mod shapes;
mod workspace;
