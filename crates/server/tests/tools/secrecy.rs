//! Child processes of tools learn no secrets from the environment or from the process that started them.

use crate::home::{Home, user_text};
use crate::tool_home::{call, fixture, using};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

const NOBODY: u32 = 65_534;

fn given_to(path: &Path, owner: u32) {
    chown(path, Some(owner), Some(owner)).expect("given away");
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        given_to(&entry.path(), owner);
    }
}

/// The command of this home, as somebody who is not root: root may look everywhere. Its binary may lie where others cannot go.
fn unprivileged(home: &Home, arguments: &[&str]) -> Command {
    let plain = home.command(arguments);
    let mut command = Command::new(plain.get_program());
    if std::fs::metadata("/proc/self").expect("it is Linux").uid() == 0 {
        let copy = home.folder.path().join("pleach");
        if !copy.exists() {
            std::fs::copy(plain.get_program(), &copy).expect("copied");
            std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).expect("runnable");
        }
        given_to(home.folder.path(), NOBODY);
        command = Command::new(copy);
        command.uid(NOBODY).gid(NOBODY);
    }
    command.args(arguments).current_dir(home.folder.path()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn x17_a_tool_process_finds_no_keys_in_its_environment_or_its_parents() {
    // Given keys in the environment, and a program that looks for them
    let home = Home::with(using(json!([call("spy__look", json!({}))])));
    let home = home.set("OPENAI_API_KEY", "sk-x17-openai").set("PLEACH_TOKEN", "plt-x17").set("MY_SECRET", "x17-mine");
    let home = home.set("GIVEN", "x17-given").set("LC_TIME", "C.UTF-8").set("LANG", "C.UTF-8");
    let script = home.folder.path().join("curious.py");
    std::fs::copy(fixture("curious.py"), &script).expect("copied");
    let toml = format!("[mcp.spy]\ncommand = \"python3\"\nargs = [{script:?}]\nenv = {{ OWN = \"${{GIVEN}}\" }}\n");
    std::fs::write(home.folder.path().join("pleach.toml"), toml).expect("written");
    let trusted = unprivileged(&home, &["trust", "--yes"]).output().expect("it runs");
    assert!(trusted.status.success(), "{}", String::from_utf8_lossy(&trusted.stderr));
    // When a run uses it
    let said = unprivileged(&home, &["run", "Look", "--wait", "--json"]).output().expect("it runs");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let seen = user_text(&home.asked("homework_planner")[1]);
    // Then it got what was given to it, and saw none of the rest
    assert!(seen.contains("OWN=x17-given") && seen.contains("LC_TIME=C.UTF-8") && seen.contains("PATH="), "{seen}");
    for secret in ["sk-x17-openai", "plt-x17", "x17-mine"] {
        assert!(!seen.contains(secret), "{secret} was found: {seen}");
    }
    assert!(seen.contains("pleach: (Permission denied)"), "it looked, and the kernel refused: {seen}");
}

#[test]
fn x17_a_process_that_is_not_dumpable_still_has_metrics_and_a_socket_in_a_deep_directory() {
    // Given a data directory so deep that its socket is reached through /proc/self
    let home = Home::bare();
    let deep = home.folder.path().join("d".repeat(120));
    let home = home.set("PLEACH_DATA_DIR", deep.to_str().expect("text"));
    // When somebody who is not root serves it
    let mut child = unprivileged(&home, &["up"]).spawn().expect("it starts");
    let mut greeting = BufReader::new(child.stdout.take().expect("its output")).lines().map_while(Result::ok);
    let first = greeting.next().expect("a greeting");
    let address = first.split("http://").nth(1).and_then(|rest| rest.split(',').next()).expect("an address").to_owned();
    let socket = greeting.find(|line| line.starts_with("socket")).expect("a socket");
    // Then it has its socket, and what Prometheus reads of itself
    assert!(socket.contains(&deep.display().to_string()), "{socket}");
    let mut stream = TcpStream::connect(&address).expect("it answers");
    write!(stream, "GET /metrics HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").expect("asked");
    let mut metrics = String::new();
    stream.read_to_string(&mut metrics).expect("an answer");
    child.kill().and_then(|()| child.wait()).expect("it ends");
    for name in ["process_open_fds ", "process_resident_memory_bytes ", "process_cpu_seconds_total "] {
        assert!(metrics.lines().any(|line| line.starts_with(name)), "{name}: {metrics}");
    }
}
