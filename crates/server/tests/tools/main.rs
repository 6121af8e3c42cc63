//! Tools of runs (MCP servers, web, files) and Pleach as an MCP server, tested on the real binary.

#[allow(dead_code, reason = "shared with the command-line tests, which use more of it")]
#[path = "../cli/home.rs"]
mod home;
#[allow(dead_code, reason = "shared with the tests of the network door, which use more of it")]
#[path = "../http/server.rs"]
mod server;

mod approvals;
mod mcp_server;
mod peers;
mod prompt_injection;
mod runs;
mod secrecy;
mod server_failures;
mod tool_home;
mod trust;
mod web_and_files;
