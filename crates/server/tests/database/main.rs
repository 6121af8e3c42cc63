//! Databases that are remote, silent, damaged or copied: the binary against real SQLite files and PostgreSQL servers.

#[allow(dead_code, reason = "shared with the command-line tests, which use more of it")]
#[path = "../cli/home.rs"]
mod home;

#[allow(dead_code, reason = "shared with the command-line tests, which use more of it")]
#[path = "../cli/database.rs"]
mod server_database;

#[allow(dead_code, reason = "shared with the tests of streams, which use more of it")]
#[path = "../live/live_server.rs"]
mod live_server;
#[allow(dead_code, reason = "shared with the tests over HTTP, which use more of it")]
#[path = "../http/server.rs"]
mod server;

mod anchor;
mod bit_flips;
mod cluster;
mod copy;
mod damage;
mod holder;
mod proxy;
mod rebuild;
mod silent_connections;
mod tls;
