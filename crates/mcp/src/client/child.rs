//! An MCP server that is a child process. It is in a process group with everything it starts, under a warden that ends the group
//! when this process exits, even by a crash.

use super::config::{ServerConfig, Transport};
use super::messages::part_of_line;
use crate::process_isolation::inherited_env;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

/// How many of the last lines of its stderr error messages show.
const STDERR_LINES: usize = 8;
const MAX_LINE_BYTES: usize = 400;
/// How long it may take to exit after its input is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
const STDERR_DRAIN: Duration = Duration::from_millis(500);

pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
    stderr_lines: Arc<Mutex<VecDeque<String>>>,
    stderr_reader: JoinHandle<()>,
}

impl Process {
    pub(super) fn start(config: &ServerConfig) -> Result<(Process, ChildStdout, ChildStdin), String> {
        let Transport::Stdio { command, args, env } = &config.transport else {
            return Err("it is not configured with a command".into());
        };
        let own = std::env::current_exe()
            .map_err(|error| format!("the path of this program cannot be determined: {error}"))?;
        let mut warden = Command::new(own);
        warden.arg(crate::warden::ARGUMENT).arg(command).args(args);
        warden.env_clear().envs(inherited_env()).envs(env);
        warden.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = warden.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("its input and output are not available".into());
        };
        let stderr_lines = Arc::new(Mutex::new(VecDeque::new()));
        let stderr_reader = tokio::spawn(read_stderr(stderr, config.name.clone(), stderr_lines.clone()));
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok((Process { child, group, stderr_lines, stderr_reader }, stdout, stdin))
    }

    /// The last lines of its stderr as one text.
    pub(super) fn stderr_tail(&self) -> String {
        let lines = self.stderr_lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect::<Vec<_>>().join(" | ")
    }

    /// Call after its input was closed. Waits for it to exit, kills it, and reads the rest of its stderr.
    pub(super) async fn end(&mut self) {
        let _ = tokio::time::timeout(EXIT_TIMEOUT, self.child.wait()).await;
        self.kill();
        let _ = tokio::time::timeout(EXIT_TIMEOUT, self.child.wait()).await;
        // A process that left the group may still hold stderr open, so this wait has a limit.
        if !self.stderr_reader.is_finished() {
            let _ = tokio::time::timeout(STDERR_DRAIN, &mut self.stderr_reader).await;
        }
    }

    fn kill(&mut self) {
        if let Some(group) = self.group.take() {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Reads stderr to its end. Remembers the beginning of each line, however long it is.
async fn read_stderr(stderr: impl AsyncRead + Unpin, name: String, lines: Arc<Mutex<VecDeque<String>>>) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        let part = part_of_line(&mut stderr).await.unwrap_or_default();
        let is_over = part.is_none();
        let (part, ended) = part.unwrap_or_default();
        let room = MAX_LINE_BYTES.saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        if ended || (is_over && !line.is_empty()) {
            let text = String::from_utf8_lossy(&line).into_owned();
            line.clear();
            tracing::debug!(server = name, line = text, "stderr of an MCP server");
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.push_back(text);
            if lines.len() > STDERR_LINES {
                lines.pop_front();
            }
        }
        if is_over {
            return;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn r8_only_the_beginning_of_a_long_line_and_the_last_lines_are_kept() {
        let stderr = format!("{}\n{}\nlast line", "x".repeat(5_000_000), vec!["line"; 1_000].join("\n"));
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        read_stderr(stderr.as_bytes(), "mail".into(), lines.clone()).await;
        let lines = lines.lock().unwrap().clone();
        assert_eq!((lines.len(), lines.back().map(String::as_str)), (STDERR_LINES, Some("last line")));
        let endless = Arc::new(Mutex::new(VecDeque::new()));
        read_stderr("x".repeat(5_000_000).as_bytes(), "mail".into(), endless.clone()).await;
        assert_eq!(endless.lock().unwrap().iter().map(String::len).collect::<Vec<_>>(), [MAX_LINE_BYTES]);
    }
}
