//! Published clients against the real binary: the realtime client, EventSource, webhook verifiers, OpenTelemetry, promtool.

use crate::home::Home;
use crate::live_server::LiveServer;
use crate::receiver::Receiver;
use serde_json::{Value, json};
use simulation::scripted::scripts;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

pub fn directory() -> PathBuf {
    let set = std::env::var_os("PLEACH_PEERS_DIR");
    PathBuf::from(set.expect(
        "PLEACH_PEERS_DIR is not set: run ./test peers, or `export PLEACH_PEERS_DIR=\"$(scripts/peers)\"` first",
    ))
}

fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/live/peers").join(name)
}

fn node(name: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(script(name)).env("NODE_PATH", directory().join("live/node_modules"));
    command
}

/// A program that prints lines of JSON.
struct Talker {
    child: Child,
    stdin: ChildStdin,
    lines: mpsc::Receiver<Value>,
}

impl Talker {
    fn start(mut command: Command) -> Talker {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let (said, lines) = mpsc::channel();
        let out = BufReader::new(child.stdout.take().expect("its output"));
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = said.send(serde_json::from_str(&line).unwrap_or(Value::String(line)));
            }
        });
        Talker { stdin: child.stdin.take().expect("its input"), child, lines }
    }

    #[track_caller]
    fn next(&self) -> Value {
        self.lines.recv_timeout(Duration::from_secs(30)).expect("a line")
    }

    fn nothing_for(&self, time: Duration) -> bool {
        self.lines.recv_timeout(time).is_err()
    }
}

impl Drop for Talker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn join(owner: &LiveServer, apikey: &str, access_token: &str, vsn: &str, topics: &[&str]) -> Talker {
    let mut command = node("realtime.cjs");
    let url = owner.url().replace("http://", "ws://");
    command.args([&format!("{url}/realtime/v1"), apikey, access_token, vsn]).args(topics);
    Talker::start(command)
}

#[test]
fn peers_t13_the_published_client_joins_private_topics_and_receives_the_stored_events() {
    let owner = LiveServer::up(Home::bare().set("PLEACH_REHEARSAL_MS", "1000"));
    let token = owner.token("local", "read");
    for vsn in ["1.0.0", "2.0.0"] {
        let run = owner.start("tree", "Compare three ways to keep bees");
        let (topic, docs) = (format!("tree-agent:run:{run}"), format!("tree-agent:docs:{run}"));
        let talker = join(&owner, &token, "", vsn, &[&topic, &docs]);
        let (mut events, mut documents, mut joined) = (Vec::<Value>::new(), Vec::<Value>::new(), 0);
        while events.last().is_none_or(|event| event["type"] != "run.completed") {
            let line = talker.next();
            match line["status"].as_str() {
                Some("SUBSCRIBED") => joined += 1,
                Some(other) => panic!("{other}: {line}"),
                None if line["topic"] == topic.as_str() => events.push(line["payload"].clone()),
                None => documents.push(line["payload"].clone()),
            }
        }
        assert_eq!(joined, 2, "{vsn}");
        let log = owner.log(&run);
        let first = events[0]["seq"].as_u64().expect("a seq") as usize;
        // By their hashes, which cover everything in them: JavaScript writes some numbers in another way.
        let hashes = |events: &[Value]| events.iter().map(|event| event["hash"].clone()).collect::<Vec<_>>();
        assert_eq!(hashes(&events), hashes(&log[first - 1..]), "{vsn}: every event from the join on, as it is stored");
        assert!(!documents.is_empty() && hashes(&documents).iter().all(|hash| hashes(&log).contains(hash)));
        let kinds: BTreeSet<&str> = documents.iter().filter_map(|event| event["type"].as_str()).collect();
        let about =
            |kind: &&str| kind.contains("scratchpad") || kind.contains("artifact") || *kind == "tree.parent_hint";
        assert!(kinds.iter().all(about) && kinds.contains("tree.parent_hint"), "{kinds:?}");
    }
}

#[test]
fn peers_t13_a_node_has_a_topic_of_its_own_and_homework_has_one() {
    let owner = LiveServer::up(Home::bare().set("PLEACH_REHEARSAL_MS", "1000"));
    let token = owner.token("local", "read");
    let run = owner.start("tree", "Compare three ways to keep bees");
    let root = owner
        .home
        .until("a root", || owner.get(&format!("/api/runs/{run}"))["root_node_id"].as_str().map(str::to_owned));
    let homework = owner.start("homework", "List three kinds of bees");
    let (node, other) = (format!("tree-agent:node:{root}"), format!("homework:run:{homework}"));
    let talker = join(&owner, "public", &token, "2.0.0", &[&node, &other]);
    let (mut of_node, mut of_homework) = (Vec::<Value>::new(), Vec::<Value>::new());
    let over = |events: &[Value], kind: &str| events.last().is_some_and(|event| event["type"] == kind);
    while !over(&of_node, "tree.node_completed") || !over(&of_homework, "run.completed") {
        let line = talker.next();
        match line["topic"].as_str() {
            _ if line["status"].is_string() => assert_eq!(line["status"], "SUBSCRIBED", "{line}"),
            Some(topic) if topic == node => of_node.push(line["payload"].clone()),
            _ => of_homework.push(line["payload"].clone()),
        }
    }
    assert!(of_node.iter().all(|event| event["nodeId"] == root.as_str()));
    assert!(of_homework.iter().all(|event| event["runId"] == homework.as_str()));
}

#[test]
fn peers_t13_a_join_out_of_scope_or_without_a_token_is_refused() {
    let owner = LiveServer::up(Home::bare().set("PLEACH_REHEARSAL_MS", "1000"));
    owner.home.pleach(&["actor", "create", "eve"]).exits(0);
    let (mine, hers) = (owner.token("local", "read"), owner.token("eve", "read"));
    let run = owner.start("tree", "Compare three ways to keep bees");
    let topic = format!("tree-agent:run:{run}");
    let unknown = "tree-agent:run:01a1de11-0000-7000-8000-000000000009";
    for (apikey, access_token) in [(hers.as_str(), ""), ("nonsense", ""), (mine.as_str(), hers.as_str())] {
        let talker = join(&owner, apikey, access_token, "2.0.0", &[&topic]);
        let refused = talker.next();
        assert_eq!(refused["status"], "CHANNEL_ERROR", "{refused}");
        assert!(talker.nothing_for(Duration::from_millis(1_500)) || !talker.next()["payload"].is_object());
    }
    let mut talker = join(&owner, &mine, "", "2.0.0", &[&topic]);
    assert_eq!(talker.next()["status"], "SUBSCRIBED");
    writeln!(talker.stdin, "auth {hers}").expect("told");
    while talker.next()["status"] != "CLOSED" {}
    assert!(talker.nothing_for(Duration::from_millis(1_500)), "a token that may not see the run ends the topic");
    for other in [unknown, "homework:run:not-an-id", &format!("homework:run:{run}"), "anything"] {
        assert_eq!(join(&owner, &mine, "", "2.0.0", &[other]).next()["status"], "CHANNEL_ERROR", "{other}");
    }
}

#[test]
fn peers_t14_eventsource_receives_the_whole_log_through_server_restarts() {
    let home = Home::with(scripts::complete_in(5).latency(Duration::from_millis(300)));
    let mut owner = LiveServer::on_fixed_port(home);
    let token = owner.token("local", "read");
    let run = owner.start("homework", "Stay whole");
    let mut command = node("eventsource.cjs");
    command.args([&format!("{}/api/runs/{run}/stream", owner.url()), &token]);
    let talker = Talker::start(command);
    let mut received: Vec<Value> = Vec::new();
    let summary = loop {
        let line = talker.next();
        if line["connections"].is_u64() {
            break line;
        }
        received.push(line);
        if [10, 25, 40].contains(&received.len()) {
            owner.restart();
        }
    };
    assert!(summary["connections"].as_u64() >= Some(3), "{summary}");
    assert_eq!(received, owner.log(&run), "the union of what was received is the log");
}

fn verified(mut command: Command, delivery: &Value) -> Option<Value> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    child.stdin.take().expect("its input").write_all(delivery.to_string().as_bytes()).expect("given");
    let output = child.wait_with_output().expect("its answer");
    output.status.success().then(|| serde_json::from_slice(&output.stdout).expect("JSON"))
}

#[test]
fn peers_h7_deliveries_are_verified_by_the_published_packages() {
    let owner = LiveServer::up(Home::bare().set("PLEACH_WEBHOOKS_PRIVATE", "true"));
    let receiver = Receiver::answering(&[]);
    let made = owner.post("/api/webhooks", json!({"url": receiver.url}));
    let run = owner.start("homework", "List three kinds of bees");
    owner.settled(&run);
    let taken = owner.home.until("a delivery", || receiver.taken().into_iter().next());
    let python = || {
        let mut command = Command::new(directory().join("webhooks/bin/python"));
        command.arg(script("verify.py"));
        command
    };
    let given = json!({"secret": made["secret"], "headers": taken.headers, "body": taken.body});
    let mut tampered = given.clone();
    tampered["body"] = Value::from(taken.body.replace("completed", "complcted"));
    for command in [|| node("verify.cjs"), python] {
        assert_eq!(verified(command(), &given), Some(taken.json()));
        assert_eq!(verified(command(), &tampered), None, "a changed body is no longer what was signed");
    }
}

#[test]
fn peers_otlp_traces_are_what_opentelemetrys_own_types_understand() {
    let mut command = Command::new(directory().join("otlp/bin/python"));
    command.arg(script("otlp.py"));
    let collector = Talker::start(command);
    let url = collector.next()["url"].as_str().expect("an address").to_owned();
    let home = Home::with(scripts::complete_in(2)).set("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
    let owner = LiveServer::up(home);
    let run = owner.start("homework", "Leave a trace");
    owner.settled(&run);
    let mut spans: Vec<Value> = Vec::new();
    while spans.last().is_none_or(|span| span["name"] != "invoke_workflow homework") {
        spans.push(collector.next());
    }
    let whole = spans.last().expect("the run").clone();
    assert_eq!((&whole["service"], &whole["kind"]), (&json!("pleach"), &json!("SPAN_KIND_INTERNAL")));
    assert_eq!((whole["trace"].as_str(), whole["parent"].as_str()), (Some(run.replace('-', "").as_str()), Some("")));
    assert_eq!(whole["attributes"]["gen_ai.conversation.id"], run.as_str());
    assert!(whole["ns"].as_i64() > Some(0) && whole["status"] == "STATUS_CODE_UNSET", "{whole}");
    let of = |name: &str| spans.iter().filter(|span| span["name"] == name).cloned().collect::<Vec<_>>();
    let (chats, plans) = (of("chat scripted"), of("plan homework"));
    assert!(!chats.is_empty() && !plans.is_empty(), "{spans:?}");
    for chat in &chats {
        let said = &chat["attributes"];
        assert_eq!((&chat["kind"], &said["gen_ai.operation.name"]), (&json!("SPAN_KIND_CLIENT"), &json!("chat")));
        assert_eq!(
            (&said["gen_ai.provider.name"], &said["gen_ai.request.model"]),
            (&json!("openai"), &json!("scripted"))
        );
        assert!(said["gen_ai.usage.input_tokens"].as_u64() > Some(0), "{chat}");
    }
    assert!(plans.iter().all(|plan| plan["parent"] == whole["span"]));
    assert!(plans.iter().all(|plan| chats.iter().any(|chat| chat["parent"] == plan["span"])));
    assert!(spans.iter().any(|span| span["name"] == "execute_tool create_document"), "{spans:?}");
}

#[test]
fn peers_promtool_finds_nothing_wrong_with_the_metrics() {
    let owner = LiveServer::up(Home::bare());
    let run = owner.start("homework", "List three kinds of bees");
    owner.settled(&run);
    let (status, text) = owner.ask(reqwest::Method::GET, "/metrics", None);
    let text = text.as_str().expect("text").to_owned();
    assert_eq!(status, 200);
    assert!(text.contains("pleach_runs{kind=\"homework\",status=\"completed\"} 1\n"), "{text}");
    assert!(!text.contains(&run), "nothing of a run can be told from it");
    let mut check = Command::new(directory().join("prometheus/usr/bin/promtool"));
    let mut check =
        check.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("promtool");
    check.stdin.take().expect("its input").write_all(text.as_bytes()).expect("given");
    let said = check.wait_with_output().expect("its answer");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}
