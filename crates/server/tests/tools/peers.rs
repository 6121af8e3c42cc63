//! Published MCP programs: the reference servers and a Python SDK server as tools of a run; the Inspector and the official
//! conformance suite as clients of our server.

use crate::home::{Home, of_type};
use crate::server::Server;
use crate::tool_home::{call, fixture, results, using};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

fn directory() -> PathBuf {
    let set = std::env::var_os("PLEACH_PEERS_DIR");
    PathBuf::from(set.expect(
        "PLEACH_PEERS_DIR is not set: run ./test peers, or `export PLEACH_PEERS_DIR=\"$(scripts/peers)\"` first",
    ))
}

fn program(name: &str) -> PathBuf {
    directory().join("mcp/node_modules/.bin").join(name)
}

fn summaries(home: &Home, run: &Value) -> Vec<(bool, String)> {
    let events = home.events(run["id"].as_str().expect("an id"));
    let said = |result: &&Value| (result["ok"] == true, result["summary"].as_str().unwrap_or_default().to_owned());
    results(&events).iter().map(said).collect()
}

#[test]
fn peers_b4_the_reference_servers_are_tools_of_a_run() {
    let calls = json!([
        call("everything__echo", json!({"message": "oak"})),
        call("everything__get-sum", json!({"a": 2, "b": 40})),
        call("everything__get-tiny-image", json!({})),
        call("everything__trigger-long-running-operation", json!({"duration": 2, "steps": 4})),
        call("shelf__read_text_file", json!({"path": "SHELF/oak.txt"})),
        call("shelf__read_text_file", json!({"path": "/etc/passwd"})),
        call(
            "memory__create_entities",
            json!({"entities": [{"name": "Oak", "entityType": "tree", "observations": ["slow"]}]})
        ),
        call("memory__read_graph", json!({})),
    ]);
    let home = Home::with(using(json!([])));
    let shelf = home.folder.path().join("shelf");
    std::fs::create_dir(&shelf).expect("made");
    std::fs::write(shelf.join("oak.txt"), "Oaks grow slowly.").expect("written");
    let calls = calls.to_string().replace("SHELF", &shelf.display().to_string());
    home.model().play(using(serde_json::from_str(&calls).expect("JSON")));
    let section = |name: &str, program_name: &str, argument: &str| {
        format!("[mcp.{name}]\ncommand = {:?}\nargs = [{argument:?}]\n", program(program_name))
    };
    let memory = home.folder.path().join("memory.jsonl");
    let config = [
        section("everything", "mcp-server-everything", "stdio"),
        section("shelf", "mcp-server-filesystem", &shelf.display().to_string()),
        format!(
            "[mcp.memory]\ncommand = {:?}\nenv = {{ MEMORY_FILE_PATH = {memory:?} }}\n",
            program("mcp-server-memory")
        ),
    ];
    std::fs::write(home.folder.path().join("pleach.toml"), config.concat()).expect("written");
    home.trust();
    let run = home.run("Ask everybody", &[]).exits(0).run();
    let said = summaries(&home, &run);
    let has = |ok: bool, words: &str| {
        assert!(said.iter().any(|(was, text)| *was == ok && text.contains(words)), "{words}: {said:#?}")
    };
    has(true, "Echo: oak");
    has(true, "42");
    has(true, "[an image, image/png, ");
    has(true, "Long running operation completed");
    has(true, "Oaks grow slowly.");
    has(false, "outside allowed directories");
    has(true, "Oak");
    assert!(std::fs::read_to_string(memory).expect("remembered").contains("slow"));
    let events = home.events(run["id"].as_str().expect("an id"));
    let lists = of_type(&events, "run.queued")[0]["payload"]["toolLists"].clone();
    assert_eq!(lists.as_array().map(Vec::len), Some(3), "{lists}");
    assert!(lists.as_array().into_iter().flatten().all(|list| list["protocol"] == "2025-11-25"), "{lists}");
}

/// A server made with the Python SDK, which speaks the newer protocol.
struct Python {
    child: Child,
    url: String,
}

impl Python {
    fn start() -> Python {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
        let mut command = Command::new(directory().join("mcp-python/bin/python"));
        command.arg(fixture("sdk_server.py")).arg(port.to_string()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("it starts");
        Python { child, url: format!("http://127.0.0.1:{port}/mcp") }
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn peers_b4_b9_the_python_sdks_server_speaks_the_newer_protocol_and_its_question_survives_a_restart() {
    let python = Python::start();
    let home = Home::with(using(json!([
        call("py__add", json!({"a": 2, "b": 40})),
        call("py__order", json!({"what": "oak"}))
    ])));
    std::fs::write(home.folder.path().join("pleach.toml"), format!("[mcp.py]\nurl = {:?}\n", python.url))
        .expect("written");
    home.trust();
    home.until("it is up", || {
        let doctor = home.pleach(&["doctor"]).out;
        doctor.lines().any(|line| line.contains("tools.py") && line.contains("2026-07-28")).then_some(())
    });
    // Every command is a process of its own: nothing is kept but the log.
    let run = home.run("Order an oak", &[]).exits(3).run();
    let id = run["id"].as_str().expect("an id");
    let question = home.show(id)["questions"][0]["text"].as_str().unwrap_or_default().to_owned();
    assert!(question.contains("py asks: Really order oak?"), "{question}");
    home.pleach(&["answer", id, "yes"]).exits(0);
    let said = summaries(&home, &run);
    assert!(said.iter().any(|(ok, text)| *ok && text.contains("42")), "{said:?}");
    assert!(said.iter().any(|(ok, text)| *ok && text.contains("ordered oak")), "{said:?}");
}

fn inspect(server: &Server, token: &str, era: &str, more: &[&str]) -> Value {
    let mut command = Command::new(directory().join("mcp/node"));
    command.arg(program("mcp-inspector")).args([
        "--cli",
        "--server-url",
        &format!("{}/mcp", server.url),
        "--transport",
        "http",
    ]);
    command.args([
        "--header",
        &format!("Authorization: Bearer {token}"),
        "--protocol-era",
        era,
        "--format",
        "json",
        "-q",
    ]);
    command.args(more).env("HOME", server.home.folder.path()).stdin(Stdio::null());
    let said = command.output().expect("the Inspector runs");
    let out = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success(), "{era} {more:?}: {out}\n{}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

#[test]
fn peers_b4_the_inspector_lists_starts_and_reads_in_both_eras() {
    let server = Server::start(Home::bare());
    let token = server.token(&["--scope", "run"]);
    for era in ["legacy", "modern"] {
        let tools = inspect(&server, &token, era, &["--method", "tools/list", "--strict"]).to_string();
        assert!(tools.contains("start_run") && tools.contains("answer_question"), "{era}: {tools}");
        let arguments = json!({"objective": format!("Inspect {era}")}).to_string();
        let call = ["--method", "tools/call", "--tool-name", "start_run", "--tool-args-json", &arguments];
        let started = inspect(&server, &token, era, &call).to_string();
        assert!(
            started.contains("queued") || started.contains("running") || started.contains("completed"),
            "{era}: {started}"
        );
    }
    server.home.until("both end", || {
        let listed = server.home.pleach(&["ls", "--json"]).lines();
        (listed.len() == 2 && listed.iter().all(|run| run["status"] == "completed")).then_some(())
    });
    let resources = inspect(&server, &token, "modern", &["--method", "resources/list"]).to_string();
    assert!(resources.contains("/report"), "{resources}");
}

/// The suite cannot send a token; this puts one into everything that passes.
fn with_token(server: &Server, token: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let upstream = server.url.trim_start_matches("http://").to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (upstream, token) = (upstream.clone(), token.clone());
            std::thread::spawn(move || pass_on(stream, &upstream, &token, &address.to_string()));
        }
    });
    format!("http://{address}/mcp")
}

fn pass_on(stream: TcpStream, upstream: &str, token: &str, own: &str) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line.trim().is_empty() {
            break;
        }
        let lower = line.to_lowercase();
        if let Some(size) = lower.strip_prefix("content-length:") {
            length = size.trim().parse().ok()?;
        }
        if !lower.starts_with("connection:") {
            head.push_str(&line.replace(own, upstream));
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut to = TcpStream::connect(upstream).ok()?;
    write!(to, "{head}authorization: Bearer {token}\r\nconnection: close\r\n\r\n").ok()?;
    to.write_all(&body).ok()?;
    let mut answer = Vec::new();
    to.read_to_end(&mut answer).ok()?;
    (&stream).write_all(&answer).ok()
}

/// The requirements that concern a server as such. The others call tools of fixed names that only a fixture has.
const SCENARIOS: [(&str, &str); 10] = [
    ("2025-11-25", "server-initialize"),
    ("2025-11-25", "ping"),
    ("2025-11-25", "tools-list"),
    ("2025-11-25", "resources-list"),
    ("2026-07-28", "server-stateless"),
    ("2026-07-28", "tools-list"),
    ("2026-07-28", "resources-list"),
    ("2026-07-28", "sep-2164-resource-not-found"),
    ("2026-07-28", "dns-rebinding-protection"),
    ("2026-07-28", "caching"),
];

/// These call tools that only a fixture has, or want prompts, inside scenarios whose other checks are for every server.
const OF_FIXTURES: [&str; 5] = [
    "sep-2549-prompts-list-caching-hints",
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
];

#[test]
fn peers_b4_the_official_conformance_suite_passes() {
    let server = Server::start(Home::bare());
    let url = with_token(&server, server.token(&["--scope", "run"]));
    let mut wrong = Vec::new();
    for (version, scenario) in SCENARIOS {
        let mut command = Command::new(directory().join("mcp/node"));
        command.arg(program("conformance")).args(["server", "--url", &url]);
        command.args(["--scenario", scenario, "--spec-version", version]);
        let said = command.current_dir(server.home.folder.path()).output().expect("the suite runs");
        let out = String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
        let failures: Vec<&str> = out.lines().filter(|line| line.contains("FAILURE")).collect();
        let is_ours = |line: &&&str| !OF_FIXTURES.iter().any(|check| line.contains(check));
        // One that fails without a failed check did not run at all.
        let broken = !said.status.success() && failures.is_empty();
        if broken || failures.iter().any(|line| is_ours(&line)) {
            wrong.push(format!("{version} {scenario}: {out}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
