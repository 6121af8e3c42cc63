//! Streams, snapshots, the realtime socket, notifications and traces, tested on the real binary.

#[allow(dead_code, reason = "shared with the command-line tests, which use more of it")]
#[path = "../cli/home.rs"]
mod home;

mod chunked_streams;
#[allow(dead_code, reason = "shared with the command-line tests, which use more of it")]
#[path = "../cli/database.rs"]
mod database;
mod history;
mod live_server;
mod many_readers;
mod notifications;
mod peers;
mod pooler;
mod receiver;
#[allow(dead_code, reason = "shared with the tests over HTTP, which use more of it")]
#[path = "../http/server.rs"]
mod server;
mod snapshot;
mod stream_ends;
mod streams;
mod traces;
mod work_in_progress;
