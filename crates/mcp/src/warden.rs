//! The warden of an MCP server: this program, started with another first argument. It starts the MCP server in its own process
//! group with its own input and output, and ends the group when the server ends or when the process that holds the other
//! end of the input is gone, even by `kill -9`.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getpgrp, kill_process_group};
use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

/// The first argument that makes this program a warden.
pub const ARGUMENT: &str = "mcp-warden";
/// How long a server may take to end by itself once its input is closed.
const EXIT_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Runs the command until it ends; does not return while anything of it is left.
pub fn watch(mut words: impl Iterator<Item = OsString>) -> u8 {
    let Some(command) = words.next() else { return 2 };
    let name = command.to_string_lossy().into_owned();
    let mut child = match Command::new(command).args(words).spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("{name} cannot be started: {error}");
            return 127;
        }
    };
    std::thread::spawn(end_with_the_other_side);
    match child.wait() {
        Ok(status) => eprintln!("{name} ended: {status}"),
        Err(error) => eprintln!("{name} cannot be waited for: {error}"),
    }
    end_all()
}

/// Waits until nobody can write to our input any more. Nothing is read: that is the server's.
fn end_with_the_other_side() {
    let input = std::io::stdin();
    loop {
        let mut run_to_end = [PollFd::new(&input, PollFlags::HUP)];
        let polled = poll(&mut run_to_end, None);
        let gone = run_to_end[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        if gone || matches!(polled, Err(error) if error != rustix::io::Errno::INTR) {
            std::thread::sleep(EXIT_TIMEOUT);
            end_all();
        }
    }
}

/// This process is one of the group.
fn end_all() -> u8 {
    let _ = kill_process_group(getpgrp(), Signal::KILL);
    1
}
