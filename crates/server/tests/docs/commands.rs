//! Every `pleach …` line of a shell block is run, page by page, in a data directory of its own with the rehearsal model.

use super::{blocks, documents, read};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Lines that need the world outside, and why.
const SKIPPED: [(&str, &str); 4] = [
    ("pleach worker", "needs a shared PostgreSQL and works until it is ended"),
    ("pleach database copy --to postgres:", "needs a PostgreSQL of that name"),
    ("pleach run \"…\" --model openai/", "needs a key or a model server"),
    ("pleach webhooks test", "sends a request to example.com"),
];

/// Lines that a rehearsed run leaves no occasion for: the command is understood, and says what is missing.
const REFUSED: [(&str, &str); 4] = [
    ("pleach answer", "question"),
    ("pleach resolve", "whose outcome is unknown"),
    ("pleach agents scratchpad scout restore", "has no version"),
    ("pleach agents lessons scout --promote", "lesson"),
];

struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pleach"));
        command.args(words).current_dir(self.folder.path()).env_clear();
        command.env("HOME", self.folder.path()).env("PLEACH_DATA_DIR", self.folder.path().join("data"));
        command.env("PLEACH_LISTEN", "127.0.0.1:0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn json(&self, line: &str) -> Value {
        let words = words(&format!("{line} --json"));
        let said = self.command(&words).output().expect("the binary runs");
        let out = String::from_utf8_lossy(&said.stdout).into_owned();
        let last = out.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|_| panic!("{line}: {}", String::from_utf8_lossy(&said.stderr)))
    }

    fn id(&self, line: &str) -> String {
        self.json(line)["id"].as_str().expect("an id").to_owned()
    }

    /// What stands for a placeholder of this line.
    fn meant(&self, line: &str, placeholder: &str) -> Option<String> {
        let is = |beginning: &str| line.starts_with(&format!("pleach {beginning}"));
        Some(match placeholder {
            // `extend` drives: a run that is only queued might complete before it is asked, a paused one stays.
            "RUN" if is("extend") => {
                let run = self.id("run Wait --detach");
                self.command(&["pause".into(), run.clone()]).output().expect("the binary runs");
                run
            }
            "RUN" if ["say", "pause", "answer"].iter().any(|verb| is(verb)) => self.id("run Wait --detach"),
            "RUN" => self.id("run Compare --wait"),
            "PROJECT" => self.json("project ls")["id"].as_str()?.to_owned(),
            "EFFECT" => "i1.plan".into(),
            "ID" if is("token revoke") => self.id("token ls"),
            "ID" if is("token create") || is("agents create") => self.id("project create Shop"),
            "ID" if is("invitations") => self.id("invitations --actor ann"),
            "ID" if is("doc") => self.json("run Compare --wait")["workspace_document_id"].as_str()?.to_owned(),
            "ID" if is("webhooks") => self.id("webhooks add https://example.com/hook"),
            "ID" => "01a1e41b-8153-7de5-89ef-a7bbf8746f59".into(),
            _ => return None,
        })
    }

    fn check(&self, line: &str) {
        let filled: Vec<String> =
            words(line).into_iter().skip(1).map(|word| self.meant(line, &word).unwrap_or(word)).collect();
        let said = self.command(&filled).output().expect("the binary runs");
        let err = String::from_utf8_lossy(&said.stderr);
        match REFUSED.iter().find(|(beginning, _)| line.starts_with(beginning)) {
            Some((_, why)) => assert!(err.contains(why) && !err.contains("Usage:"), "{line}: {err}"),
            // Still paused: that is 3.
            None if line.starts_with("pleach extend") => {
                assert!(matches!(said.status.code(), Some(3)), "{line}: {err}")
            }
            None => assert!(said.status.success(), "{line} ended with {:?}: {err}", said.status.code()),
        }
    }

    /// `pleach up` works until it is ended; that it is there is said by its link.
    fn serve(&self) {
        let mut server = self.command(&["up".into()]).spawn().expect("the binary starts");
        let mut lines = BufReader::new(server.stdout.take().expect("its output")).lines().map_while(Result::ok);
        let linked = lines.any(|line| line.contains("/login?code="));
        server.kill().expect("it can be ended");
        server.wait().expect("it ends");
        assert!(linked, "no login link");
    }
}

/// As a shell splits them, as far as the documents need it.
fn words(line: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => found.push(String::new()),
            c => found.last_mut().expect("a word").push(c),
        }
    }
    found.retain(|word| !word.is_empty());
    found
}

/// The commands of a page, without comments; a line that ends with a backslash goes on.
fn commands(text: &str) -> Vec<String> {
    let joined = blocks(text, "sh").join("\n").replace("\\\n", " ");
    let lines = joined.lines().map(|line| line.split(" #").next().unwrap_or_default().trim().to_owned());
    lines.filter(|line| line.starts_with("pleach ")).collect()
}

#[test]
fn commands_in_the_documents_run() {
    let mut ran = 0;
    for document in documents() {
        let machine = Machine { folder: tempfile::tempdir().expect("a folder") };
        let (people, others): (Vec<_>, Vec<_>) =
            commands(&read(&document)).into_iter().partition(|line| line.starts_with("pleach actor create"));
        // People are made first: earlier sections of a page may name them.
        for line in people.iter().chain(&others) {
            match line.as_str() {
                line if SKIPPED.iter().any(|(beginning, _)| line.starts_with(beginning)) => continue,
                "pleach up" => machine.serve(),
                line => machine.check(line),
            }
            ran += 1;
        }
    }
    assert!(ran > 40, "only {ran} commands were found");
}
