//! The Model Context Protocol, on both sides: MCP servers whose tools runs use, and the MCP server through which other programs
//! use runs. The only crate that knows the protocol's library, which is the heaviest to compile. It must not know runs,
//! the HTTP API or configuration files.

pub mod client;
pub mod process_isolation;
pub mod server;
pub mod warden;
