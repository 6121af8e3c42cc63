//! Limits of connections: many idle sockets, and clients that send too much before they authenticate.

use crate::home::Home;
use crate::raw::{Socket, connected, until_closed};
use crate::server::{Server, Visitor};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use simulation::scripted::{Reply, Script};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const HEARTBEAT: &str = r#"[null,"5","phoenix","heartbeat",{}]"#;
const TOPIC: &str = "homework:run:01a1de11-0000-7000-8000-000000000009";

fn is_alive(socket: &mut Socket) -> bool {
    socket.try_send(HEARTBEAT).is_ok() && socket.receive().is_some_and(|text| text.contains("\"ok\""))
}

#[test]
fn x6_a_frame_or_a_message_over_64_kib_closes_the_socket_before_and_after_the_login() {
    let server = Server::start(Home::bare());
    let token = server.token(&[]);
    for query in [String::new(), format!("&apikey={token}")] {
        let mut fits = Socket::open(&server, &query);
        fits.send(&format!(r#"[null,"5","phoenix","heartbeat",{{"x":"{}"}}]"#, "x".repeat(60_000)));
        assert!(fits.receive().is_some_and(|text| text.contains("\"ok\"")));
        for length in [(64 << 10) + 1, 16 << 20, u64::MAX >> 1] {
            let mut socket = Socket::open(&server, &query);
            socket.announce(0x81, length).expect("sent");
            let began = Instant::now();
            assert_eq!(socket.receive(), None, "{length}");
            assert!(began.elapsed() < Duration::from_secs(5), "it is not waited for: {:?}", began.elapsed());
        }
        // In frames, each of which is within the limit.
        let mut socket = Socket::open(&server, &query);
        for part in 0..2 {
            let first = if part == 0 { 0x01 } else { 0x00 };
            let _ = socket.announce(first, 40_000).and_then(|()| socket.stream.write_all(&[b'x'; 40_000]));
        }
        assert_eq!(socket.receive(), None);
    }
}

#[test]
fn x6_a_socket_without_a_valid_token_is_closed_after_ten_seconds_and_one_with_it_is_not() {
    let server = Server::start(Home::bare());
    let token = server.token(&[]);
    let began = Instant::now();
    let mut silent = Socket::open(&server, "");
    let mut talking = Socket::open(&server, "&apikey=anon");
    let mut keyed = Socket::open(&server, &format!("&apikey={token}"));
    let mut joined = Socket::open(&server, "");
    let refused = joined.join(TOPIC, &token).expect("a reply");
    assert!(refused.contains("Unauthorized"), "that run is nobody's: {refused}");
    assert!(is_alive(&mut talking));
    assert_eq!(silent.receive(), None);
    let took = began.elapsed();
    assert!((8..15).contains(&took.as_secs()), "{took:?}");
    assert_eq!(talking.receive(), None, "a heartbeat is no login");
    assert!(is_alive(&mut keyed) && is_alive(&mut joined), "who showed a valid token stays");
}

#[test]
fn x6_one_address_has_a_limit_of_unauthenticated_sockets_and_the_oldest_are_closed() {
    let server = Server::start(Home::bare());
    let token = server.token(&[]);
    let mut known = Socket::open(&server, &format!("&apikey={token}"));
    assert!(is_alive(&mut known));
    let mut sockets: Vec<Socket> = (0..40).map(|_| Socket::open(&server, "")).collect();
    assert!(is_alive(sockets.last_mut().expect("some")));
    let (old, new) = sockets.split_at_mut(8);
    assert!(old.iter_mut().all(|socket| socket.receive().is_none()), "32 may wait");
    assert!(new.iter_mut().all(is_alive));
    assert!(is_alive(&mut known));
}

#[test]
fn x16_wrong_tokens_on_a_socket_are_rate_limited_and_a_valid_one_passes() {
    let server = Server::start(Home::bare());
    let token = server.token(&[]);
    let mut socket = Socket::open(&server, "");
    let last = (0..400).find_map(|_| {
        let reply = socket.join(TOPIC, "pleach_wrong")?;
        (!reply.contains("Unauthorized")).then_some(reply)
    });
    assert!(last.is_some_and(|reply| reply.contains("too many")), "it goes on for ever");
    assert_eq!(socket.receive(), None, "and then it is closed");
    let mut right = Socket::open(&server, "");
    let reply = right.join(TOPIC, &token).expect("a reply");
    assert!(reply.contains("Unauthorized") && is_alive(&mut right), "{reply}");
}

/// A site whose only page is expensive to parse, and how often it was fetched.
fn site(page: String) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/page", listener.local_addr().expect("an address"));
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, page) = (asked.clone(), Arc::new(page));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let (count, page) = (count.clone(), page.clone());
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 2_048]);
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close";
                let sent = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{page}", page.len());
                count.fetch_add(usize::from(sent.is_ok()), Ordering::Relaxed);
            });
        }
    });
    (url, asked)
}

/// A planner that fetches this page and then ends the run.
fn fetching(url: String) -> Script {
    Script::default().answer("homework_planner", move |request| {
        let first = request.section("iteration").and_then(|value| value.as_u64()).unwrap_or(1) == 1;
        let fetch = json!([{"tool": "fetch_url", "arguments": {"url": url}, "purpose": "read it"}]);
        Reply::json(json!({
            "progress_summary": "reading", "plan": {"steps": []}, "tool_calls": if first { fetch } else { json!([]) },
            "executor_tasks": [], "remaining_work": if first { json!(["leave"]) } else { json!([]) },
            "completion_evidence": [], "exit_signal": !first, "needs_user_input": false, "blocking_questions": [],
            "next_action_hint": "stop", "confidence": "high", "branch_rollup": null,
        }))
    })
}

/// `up` in a process with the usual limit of 1,024 open files.
fn started_with_few_descriptors(home: Home) -> Server {
    let plain = home.command(&["up"]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 1024 && exec \"$0\" \"$@\""]).arg(plain.get_program()).args(plain.get_args());
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| value.map(|value| (name, value))));
    command.current_dir(home.folder.path()).stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
    Server::start_with(home, command)
}

/// This process opens all connections, so it needs many descriptors.
fn many_descriptors_for_this_test() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(8_192, |most| most.min(8_192));
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).expect("more files");
}

fn resident_kib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

/// Sends frames of 16 MiB, as far as the server reads them.
fn hostile(server: &Server) -> Socket {
    let mut socket = Socket::open(server, "");
    let _ = socket.announce(0x81, 16 << 20);
    socket.stream.set_write_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    for _ in 0..16 {
        if socket.stream.write_all(&vec![b'x'; 1 << 20]).is_err() {
            break;
        }
    }
    socket
}

/// The slowest of several health checks, each on a connection of its own.
fn slowest_health_check(server: &Server, checks: usize) -> Duration {
    let check = || {
        let began = Instant::now();
        let mut stream = connected(server);
        write!(stream, "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").expect("sent");
        let (text, _) = until_closed(stream);
        assert!(text.starts_with("HTTP/1.1 200") && text.ends_with("ok\n"), "{text}");
        began.elapsed()
    };
    (0..checks).map(|_| check()).max().expect("some")
}

struct Overload {
    server: Server,
    owner: Visitor,
    _idle: Vec<TcpStream>,
    _hostile: Vec<Socket>,
}

/// A thousand idle sockets and sixty that send too much, against a server with 1,024 descriptors.
fn overloaded(home: Home) -> Overload {
    many_descriptors_for_this_test();
    let server = started_with_few_descriptors(home);
    let owner = server.owner();
    let before = resident_kib(&server);
    let hostile: Vec<Socket> = (0..60).map(|_| hostile(&server)).collect();
    let idle: Vec<TcpStream> = (0..1_000).map(|_| connected(&server)).collect();
    let grown = resident_kib(&server).saturating_sub(before);
    assert!(grown < 64 << 10, "they cost {grown} KiB");
    Overload { server, owner, _idle: idle, _hostile: hostile }
}

#[test]
fn x6_the_health_check_answers_among_a_thousand_idle_sockets_and_sixty_hostile_ones() {
    let overload = overloaded(Home::bare());
    let slowest = slowest_health_check(&overload.server, 20);
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    overload.server.get(&overload.owner, "/readyz").is(200);
    overload.server.post(&overload.owner, "/api/projects", &json!({"title": "Still here"})).is(201);
    assert!(!overload.server.log().contains("could not be accepted"), "{}", overload.server.log());
}

#[test]
fn x4_x6_the_health_check_answers_among_idle_sockets_hostile_ones_and_four_hostile_pages() {
    let (url, asked) = site("<svg></svg>".repeat(180_000));
    let home = Home::with(fetching(url)).set("PLEACH_FETCH_URL", "true").set("PLEACH_FETCH_PRIVATE", "true");
    let Overload { server, owner, _idle, _hostile } = &overloaded(home);
    let brief = json!({"kind": "homework", "objective": "Read the page", "budgets": {"max_iterations": 2}});
    let runs: Vec<Value> = (0..4).map(|_| server.post(owner, "/api/runs", &brief).is(201).json()).collect();
    let mut slowest = Duration::ZERO;
    let until = Instant::now() + Duration::from_secs(60);
    let is_over = |run: &Value| {
        let run = server.get(owner, &format!("/api/runs/{}", run["id"].as_str().expect("an id"))).is(200).json();
        run["ended_at"].is_string()
    };
    while !runs.iter().all(is_over) && Instant::now() < until {
        slowest = slowest.max(slowest_health_check(server, 3));
        assert!(slowest < Duration::from_secs(1), "{slowest:?} after {} pages", asked.load(Ordering::Relaxed));
    }
    assert_eq!(asked.load(Ordering::Relaxed), 4, "every run read its page");
}
