//! The warden of an MCP server: this program, started with a special first argument. It starts the MCP server in its own process
//! group with its own input and output. It kills the group when the server exits, or when the process at the other end of the
//! input is gone, even by `kill -9`.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getpgrp, kill_process_group};
use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

/// The first argument that makes this program a warden.
pub const ARGUMENT: &str = "mcp-warden";
/// How long a server may take to exit after its input is closed.
const EXIT_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Runs the command until it exits, then kills its process group, which this process belongs to.
pub fn watch(mut arguments: impl Iterator<Item = OsString>) -> u8 {
    let Some(command) = arguments.next() else { return 2 };
    let name = command.to_string_lossy().into_owned();
    let mut child = match Command::new(command).args(arguments).spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("{name} cannot be started: {error}");
            return 127;
        }
    };
    std::thread::spawn(end_with_parent);
    match child.wait() {
        Ok(status) => eprintln!("{name} exited: {status}"),
        Err(error) => eprintln!("{name} cannot be waited for: {error}"),
    }
    end_all()
}

/// Waits until the other end of our input is closed. Reads nothing, since the input belongs to the server.
fn end_with_parent() {
    let input = std::io::stdin();
    loop {
        let mut polled = [PollFd::new(&input, PollFlags::HUP)];
        let result = poll(&mut polled, None);
        let closed = polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        if closed || matches!(result, Err(error) if error != rustix::io::Errno::INTR) {
            std::thread::sleep(EXIT_TIMEOUT);
            end_all();
        }
    }
}

/// Kills this process too, which is in the group.
fn end_all() -> u8 {
    let _ = kill_process_group(getpgrp(), Signal::KILL);
    1
}
