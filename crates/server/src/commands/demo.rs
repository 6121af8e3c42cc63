//! `demo`: a whole tree run on the rehearsal model in a temporary directory. One branch asks a question, which is answered, and one
//! fails and is retried. Every step is a command that people use; nothing is simulated.

use super::print;
use crate::failure::Failure;
use engine::batch::RunRow;
use mcp::process_isolation::inherited_env;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

const OBJECTIVE: &str = "Move a small bakery into a bigger shop without closing for more than two days";
/// Duration of a model call at speed 1.
const PACE_MS: u32 = 1_500;
/// Pause before a question is answered, at speed 1.
const THINKING: Duration = Duration::from_secs(6);
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// Events in the log when the worker is killed: some branches have ended by then, others are running.
const CRASH_AFTER: u64 = 60;
/// Exit code of a command whose run waits for a person.
const WAITING: u8 = 3;

#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// How many times faster than a comfortable pace
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    speed: u32,
    /// Kill the worker in the middle, then continue the run
    #[arg(long)]
    crash: bool,
}

pub(crate) fn play(args: &DemoArgs) -> Result<u8, Failure> {
    let demo = DemoDir::create(args.speed)?;
    let mut worker = demo.start(&["run", OBJECTIVE, "--kind", "tree"])?;
    let (mut crash, mut retried) = (args.crash, false);
    let ended = loop {
        let over = worker.try_wait().map_err(|error| broken(&error))?;
        if over.is_none() {
            std::thread::sleep(POLL_INTERVAL);
        }
        let Some(run) = demo.run() else { if let Some(status) = over { break status } else { continue } };
        if let Some(status) = over {
            if code(status) != WAITING {
                break status;
            }
            // Only a person can continue it now; the command that does so drives the run.
            std::thread::sleep(THINKING / args.speed);
            let id = run.id.to_string();
            let failed = demo.failed_node(&id).filter(|_| !retried);
            worker = match (failed, demo.reply_to(&run)) {
                (Some(node), _) => demo.start(&["retry", &id, "--node", &node])?,
                (None, Some(text)) => demo.start(&["answer", &id, &text])?,
                (None, None) => break status,
            };
            retried = true;
            continue;
        }
        if crash && run.last_seq >= CRASH_AFTER {
            crash = false;
            worker = demo.kill_and_continue(worker, &run)?;
        }
    };
    print(
        "This was the rehearsal model: nothing was sent and nothing was paid. Start your own run with pleach run \"…\" --kind tree, or open the page with pleach up.",
    );
    Ok(code(ended))
}

/// A temporary directory, and commands that see nothing but it.
struct DemoDir {
    directory: PathBuf,
    program: PathBuf,
    pace_ms: u32,
}

impl DemoDir {
    fn create(speed: u32) -> Result<DemoDir, Failure> {
        let program = std::env::current_exe().map_err(|error| broken(&error))?;
        let directory =
            std::env::temp_dir().join(format!("pleach-demo-{}-{:08x}", std::process::id(), rand::random::<u32>()));
        std::fs::create_dir(&directory).map_err(|error| {
            Failure::failed(format!(
                "{} cannot be created: {error}\nSet TMPDIR to another directory.",
                directory.display()
            ))
        })?;
        Ok(DemoDir { directory, program, pace_ms: PACE_MS / speed })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.directory).stdin(Stdio::null());
        command.env_clear().envs(inherited_env());
        for name in ["NO_COLOR", "LINES", "COLUMNS"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.env("XDG_CONFIG_HOME", &self.directory).env("PLEACH_DATA_DIR", self.directory.join("data"));
        command.env("PLEACH_MODEL", "rehearsal/demo").env("PLEACH_REHEARSAL_MS", self.pace_ms.to_string());
        command
    }

    fn start(&self, arguments: &[&str]) -> Result<Child, Failure> {
        self.command(arguments).spawn().map_err(|error| broken(&error))
    }

    /// The run, once it is created.
    fn run(&self) -> Option<RunRow> {
        let seen = self.command(&["ls", "--json"]).stderr(Stdio::null()).output().ok()?;
        serde_json::from_str(String::from_utf8_lossy(&seen.stdout).lines().next()?).ok()
    }

    fn kill_and_continue(&self, mut worker: Child, run: &RunRow) -> Result<Child, Failure> {
        worker.kill().and_then(|()| worker.wait()).map_err(|error| broken(&error))?;
        print(&format!(
            "\n-- the worker was killed after event {}; the log is kept and another worker continues --",
            run.last_seq
        ));
        std::thread::sleep(Duration::from_secs(1));
        self.start(&["watch", &run.id.to_string()])
    }

    /// The first node that failed.
    fn failed_node(&self, run: &str) -> Option<String> {
        let log = self.command(&["log", run, "--json"]).stderr(Stdio::null()).output().ok()?;
        let log = String::from_utf8_lossy(&log.stdout).into_owned();
        let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut failed = events.filter(|event| event["type"] == "tree.node_failed");
        failed.find_map(|event| event["nodeId"].as_str().map(str::to_owned))
    }

    /// An answer to the open question: its first option, else its default.
    fn reply_to(&self, run: &RunRow) -> Option<String> {
        let open = run.questions.as_array()?.iter().find(|question| question["answer"].is_null())?;
        let choice = open["options"].get(0).unwrap_or(&open["default"]);
        Some(choice.as_str().unwrap_or("Whatever is simplest").to_owned())
    }
}

impl Drop for DemoDir {
    fn drop(&mut self) {
        // A leftover in the temporary directory does no harm.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn code(ended: ExitStatus) -> u8 {
    ended.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn broken(error: &std::io::Error) -> Failure {
    Failure::failed(format!("the demo cannot continue: {error}"))
}
