//! Tools from everywhere, and runs for everybody: servers of tools as runs use them, and the MCP door as programs use it;
//! on the binary that people run.

#[allow(dead_code, reason = "shared with the command-line tests, which use more of it")]
#[path = "../cli/home.rs"]
mod home;
#[allow(dead_code, reason = "shared with the tests of the network door, which use more of it")]
#[path = "../http/server.rs"]
mod server;

mod approvals;
mod entry_points;
mod life;
mod obedient;
mod own;
mod peers;
mod runs;
mod secrecy;
mod tool_home;
mod trust;
