//! The Model Context Protocol, on both sides: servers of tools that runs use, and the server through which other
//! programs use runs. The only crate that knows the protocol's library, which is the heaviest to compile.

pub mod client;
pub mod secrecy;
pub mod server;
pub mod warden;
