//! One machine of a test: a data directory, a scripted model server and the binary.

use serde_json::Value;
use simulation::scripted::{Script, Scripted};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::SqlStore;

pub struct Home {
    pub folder: tempfile::TempDir,
    pub model: Option<Scripted>,
    pub environment: Vec<(String, String)>,
    pub runtime: tokio::runtime::Runtime,
}

/// The output and exit code of a command.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn lines(&self) -> Vec<Value> {
        let lines = self.out.lines().filter(|line| !line.trim().is_empty());
        lines
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("not JSON ({error}): {line}\n{}", self.err))
            })
            .collect()
    }

    /// The last line: the run object.
    pub fn run(&self) -> Value {
        self.lines().pop().unwrap_or_else(|| panic!("nothing printed: {self:?}"))
    }

    /// The id in the last line.
    pub fn id(&self) -> String {
        self.run()["id"].as_str().expect("an id").to_owned()
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Said {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }
}

impl Home {
    /// Without a model server: the rehearsal model.
    pub fn bare() -> Home {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        Home { folder: tempfile::tempdir().expect("a folder"), model: None, environment: Vec::new(), runtime }
    }

    /// With an OpenAI-compatible server that plays `script`.
    pub fn with(script: Script) -> Home {
        let mut home = Home::bare();
        let model = home.runtime.block_on(Scripted::start());
        model.play(script);
        home.environment.push(("OPENAI_BASE_URL".into(), model.url()));
        home.environment.push(("PLEACH_MODEL".into(), "openai/scripted".into()));
        home.model = Some(model);
        home
    }

    pub fn set(mut self, name: &str, value: &str) -> Home {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Trusts the configuration files of this directory.
    pub fn trust(&self) {
        self.pleach(&["trust", "--yes"]).exits(0);
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn model(&self) -> &Scripted {
        self.model.as_ref().expect("a model server")
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pleach"));
        command.args(arguments).current_dir(self.folder.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.folder.path()).env("PLEACH_DATA_DIR", self.data()).env("NO_COLOR", "1");
        command.env("PLEACH_LISTEN", "127.0.0.1:0");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn pleach(&self, arguments: &[&str]) -> Said {
        said(self.command(arguments).output().expect("the binary runs"))
    }

    /// Makes a person a member of a project: an owner invites, the person accepts.
    #[track_caller]
    pub fn join(&self, project: &str, by: &str, handle: &str, role: &str) {
        self.pleach(&["project", "grant", project, handle, "--role", role, "--actor", by]).exits(0);
        let open = self.pleach(&["invitations", "--actor", handle, "--json"]).exits(0).lines();
        let invitation = open.iter().find(|invitation| invitation["project_id"] == project).expect("an invitation");
        let id = invitation["id"].as_str().expect("its id");
        self.pleach(&["invitations", "accept", id, "--actor", handle]).exits(0);
    }

    /// `pleach run OBJECTIVE --wait --json …`
    pub fn run(&self, objective: &str, more: &[&str]) -> Said {
        self.pleach(&waited("homework", objective, more))
    }

    pub fn tree(&self, objective: &str, more: &[&str]) -> Said {
        self.pleach(&waited("tree", objective, more))
    }

    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().expect("the binary starts")
    }

    /// Starts a process that drives a run, and waits for the id of the run.
    pub fn start_run(&self, objective: &str, more: &[&str]) -> (Child, String) {
        self.start_kind("homework", objective, more)
    }

    pub fn start_tree(&self, objective: &str, more: &[&str]) -> (Child, String) {
        self.start_kind("tree", objective, more)
    }

    fn start_kind(&self, kind: &str, objective: &str, more: &[&str]) -> (Child, String) {
        let child = self.start(&waited(kind, objective, more));
        let owner = more.iter().position(|word| *word == "--actor").map_or(&[][..], |at| &more[at..at + 2]);
        let list = [&["ls", "--json"], owner].concat();
        let id = self.until("a run appears", || {
            let listed = self.pleach(&list);
            listed
                .out
                .lines()
                .next()
                .and_then(|line| serde_json::from_str::<Value>(line).ok())
                .and_then(|run| run["id"].as_str().map(str::to_owned))
        });
        (child, id)
    }

    pub fn show(&self, run: &str) -> Value {
        self.pleach(&["show", run, "--json"]).exits(0).run()
    }

    pub fn events(&self, run: &str) -> Vec<Value> {
        self.pleach(&["log", run, "--json"]).exits(0).lines()
    }

    /// The model requests of one role, in order.
    pub fn asked(&self, role: &str) -> Vec<simulation::scripted::Entry> {
        self.model().ledger().into_iter().filter(|entry| entry.role == role).collect()
    }

    #[track_caller]
    pub fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            if let Some(found) = look() {
                return found;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("did not happen within a minute: {what}");
    }

    /// The database, opened to read.
    pub fn store(&self) -> Arc<SqlStore> {
        let path = self.data().join("pleach.db");
        self.runtime.block_on(store::open_read_only(&path)).expect("readable").expect("a database")
    }
}

fn waited<'a>(kind: &'a str, objective: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", objective, "--kind", kind, "--wait", "--json"], more].concat()
}

pub fn said(output: Output) -> Said {
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// The text of a recorded request's last user message.
pub fn user_text(entry: &simulation::scripted::Entry) -> String {
    let messages = entry.body["messages"].as_array().cloned().unwrap_or_default();
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    messages.iter().filter(|message| message["role"] == "user").map(text).collect::<Vec<_>>().join("\n")
}
