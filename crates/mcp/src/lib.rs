//! Both sides of the Model Context Protocol: a client for MCP servers whose tools runs use, and a server through which other
//! programs use runs. Only this crate depends on the MCP library, which takes longest to compile. It must not know runs, the
//! HTTP API or configuration files.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod client;
pub mod process_isolation;
pub mod server;
pub mod warden;
