//! What is live: streams, snapshots, the socket, notifications; through HTTP on the binary that people run.

#[allow(dead_code, reason = "shared with the command-line tests, which use more of it")]
#[path = "../cli/home.rs"]
mod home;

mod crowd;
#[allow(dead_code, reason = "shared with the command-line tests, which use more of it")]
#[path = "../cli/database.rs"]
mod database;
mod gone;
mod history;
mod lines;
mod notices;
mod owner;
mod peers;
mod pooler;
mod receiver;
mod snapshot;
mod streams;
mod traces;
