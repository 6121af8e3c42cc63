//! `demo`: a whole tree run on rehearsal in a directory of its own, as a person would live it: it grows, one branch
//! asks, one fails and is tried again, the question is answered, the run ends. Nothing here is special: every part is a command people use.

use super::print;
use crate::failure::Failure;
use engine::batch::RunRow;
use mcp::process_isolation::inherited_env;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

const OBJECTIVE: &str = "Move a small bakery into a bigger shop without closing for more than two days";
/// How long an answer takes at speed 1.
const PACE_MS: u32 = 1_500;
/// How long a person thinks about a question at speed 1.
const THINKING: Duration = Duration::from_secs(6);
const LOOK_EVERY: Duration = Duration::from_millis(300);
/// Events in the log when the worker is killed: some branches have ended by then, others are at work.
const CRASH_AFTER: u64 = 60;
/// How a command ends whose run waits for a person.
const WAITING: u8 = 3;

#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// How many times faster than a person would like to watch
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    speed: u32,
    /// Kill the worker in the middle, and go on
    #[arg(long)]
    crash: bool,
}

pub fn play(args: &DemoArgs) -> Result<u8, Failure> {
    let stage = DemoDir::build(args.speed)?;
    let mut worker = stage.start(&["run", OBJECTIVE, "--kind", "tree"])?;
    let (mut crash, mut retried) = (args.crash, false);
    let ended = loop {
        let over = worker.try_wait().map_err(|error| broken(&error))?;
        if over.is_none() {
            std::thread::sleep(LOOK_EVERY);
        }
        let Some(run) = stage.look() else { if let Some(status) = over { break status } else { continue } };
        if let Some(status) = over {
            if code(status) != WAITING {
                break status;
            }
            // Nothing but a person can move it now: whoever does drives the run on.
            std::thread::sleep(THINKING / args.speed);
            let id = run.id.to_string();
            let failed = stage.failed_node(&id).filter(|_| !retried);
            worker = match (failed, stage.reply_to(&run)) {
                (Some(node), _) => stage.start(&["retry", &id, "--node", &node])?,
                (None, Some(text)) => stage.start(&["answer", &id, &text])?,
                (None, None) => break status,
            };
            retried = true;
            continue;
        }
        if crash && run.last_seq >= CRASH_AFTER {
            crash = false;
            worker = stage.kill_and_go_on(worker, &run)?;
        }
    };
    print(
        "That was rehearsal: no model was asked and nothing was paid. Your own: pleach run \"…\" --kind tree, or pleach up for the page.",
    );
    Ok(code(ended))
}

/// A directory that is gone afterwards, and commands that see nothing of the real one.
struct DemoDir {
    directory: PathBuf,
    program: PathBuf,
    pace_ms: u32,
}

impl DemoDir {
    fn build(speed: u32) -> Result<DemoDir, Failure> {
        let program = std::env::current_exe().map_err(|error| broken(&error))?;
        let directory =
            std::env::temp_dir().join(format!("pleach-demo-{}-{:08x}", std::process::id(), rand::random::<u32>()));
        std::fs::create_dir(&directory).map_err(|error| {
            Failure::failed(format!("{} cannot be made: {error}\nTMPDIR chooses another place.", directory.display()))
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

    /// The run as it is now, once there is one.
    fn look(&self) -> Option<RunRow> {
        let seen = self.command(&["ls", "--json"]).stderr(Stdio::null()).output().ok()?;
        serde_json::from_str(String::from_utf8_lossy(&seen.stdout).lines().next()?).ok()
    }

    fn kill_and_go_on(&self, mut worker: Child, run: &RunRow) -> Result<Child, Failure> {
        worker.kill().and_then(|()| worker.wait()).map_err(|error| broken(&error))?;
        print(&format!("\n-- the worker was killed after event {}; what was stored is stored --", run.last_seq));
        std::thread::sleep(Duration::from_secs(1));
        self.start(&["watch", &run.id.to_string()])
    }

    /// A node that failed, which a person would try again.
    fn failed_node(&self, run: &str) -> Option<String> {
        let log = self.command(&["log", run, "--json"]).stderr(Stdio::null()).output().ok()?;
        let log = String::from_utf8_lossy(&log.stdout).into_owned();
        let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut failed = events.filter(|event| event["type"] == "tree.node_failed");
        failed.find_map(|event| event["nodeId"].as_str().map(str::to_owned))
    }

    /// What a person would say to the open question, if there is one.
    fn reply_to(&self, run: &RunRow) -> Option<String> {
        let open = run.questions.as_array()?.iter().find(|question| question["answer"].is_null())?;
        let choice = open["options"].get(0).unwrap_or(&open["default"]);
        Some(choice.as_str().unwrap_or("Whatever is simplest").to_owned())
    }
}

impl Drop for DemoDir {
    fn drop(&mut self) {
        // Nothing in it is anybody's.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn code(ended: ExitStatus) -> u8 {
    ended.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn broken(error: &std::io::Error) -> Failure {
    Failure::failed(format!("the demonstration cannot go on: {error}"))
}
