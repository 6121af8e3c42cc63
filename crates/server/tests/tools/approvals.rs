//! Calls that a person must approve: the question shows the whole call, whatever the server claims about it.

use crate::home::Home;
use crate::server::Server;
use crate::tool_home::{ToolHome, call, results, using};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn x12_a_question_about_a_call_shows_the_whole_call_everywhere() {
    // Given a call whose address stands behind ten thousand characters
    let hidden = format!("{}mallory@example.net", "a".repeat(10_000));
    let calls = json!([call("post__send_letter", json!({"to": hidden, "slow": false}))]);
    let tool_home = ToolHome::with(Home::with(using(calls)), "approve = \"always\"");
    // When it is asked about
    let run = tool_home.home.run("Write", &[]).exits(3).run();
    let text = run["questions"][0]["text"].as_str().expect("a question").to_owned();
    // Then the question has all of it, in the order it is sent, and says where it goes
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("May the run call post__send_letter"), "{text}");
    assert!(lines[1].contains("Goes to: the tool server post, the program python3"), "{}", lines[1]);
    assert_eq!(lines[3], "- \"slow\" = false");
    assert_eq!(lines[4], format!("- \"to\" = \"{hidden}\""));
    let id = run["id"].as_str().expect("an id");
    // And so have the command line and the API
    let shown = tool_home.home.pleach(&["show", id]).exits(0).out;
    assert!(shown.contains(&format!("- \"to\" = \"{hidden}\"")) && shown.contains("- \"slow\" = false"), "{shown}");
    assert!(tool_home.letters().is_empty(), "nothing left before the answer");
    let server = Server::start(tool_home.home);
    let owner = server.owner();
    let asked = server.get(&owner, "/api/questions?open=1").is(200).text;
    assert!(asked.contains("aaamallory@example.net"), "{asked}");
}

#[test]
fn x12_whether_a_tool_only_reads_is_decided_by_the_operator_not_by_its_server() {
    // Given a tool whose server says that it only reads
    let calls = || json!([call("post__count_letters", json!({}))]);
    let hinted = ToolHome::with(Home::with(using(calls())), "approve = \"always\"");
    // When calls are asked about, then so is this one
    let run = hinted.home.run("Count", &[]).exits(3).run();
    let text = run["questions"][0]["text"].as_str().unwrap_or_default().to_owned();
    assert!(
        text.contains("post__count_letters") && text.contains("nobody checked") && text.contains("read_only"),
        "{text}"
    );
    // And one that the operator vouches for is not
    let vouched = ToolHome::with(Home::with(using(calls())), "approve = \"always\"\nread_only = [\"count_letters\"]");
    let run = vouched.home.run("Count", &[]).exits(0).run();
    assert_eq!(results(&vouched.home.events(run["id"].as_str().expect("an id")))[0]["summary"], "0 letters");
    // And what is asked about is not repeated by itself: a person allowed one call
    let class = |tool_home: &ToolHome| {
        let listed = tool_home.home.pleach(&["tools", "--json"]).exits(0).lines();
        listed.iter().find(|tool| tool["name"] == "post__count_letters").expect("it is there")["class"].clone()
    };
    assert_eq!((class(&hinted), class(&vouched)), (json!("once"), json!("read-only")));
}

/// A site that counts who asks.
fn site() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4_096]);
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\nconnection: close\r\n\r\noaks"
            );
        }
    });
    (format!("http://{address}"), asked)
}

#[test]
fn x12_reading_a_page_can_be_put_under_approval_and_bound_to_hosts() {
    let (site, asked) = site();
    let url = format!("{site}/?stolen={}", "d".repeat(1_500));
    let home = || {
        let home = Home::with(using(json!([call("fetch_url", json!({"url": url}))])));
        home.set("PLEACH_FETCH_URL", "true").set("PLEACH_FETCH_PRIVATE", "true")
    };
    // Given that people are asked first, the question shows the host and the whole address, and nothing left
    let strict = home().set("PLEACH_FETCH_APPROVE", "always");
    let run = strict.run("Read", &[]).exits(3).run();
    let text = run["questions"][0]["text"].as_str().unwrap_or_default().to_owned();
    assert!(text.contains("Goes to: the web, 127.0.0.1") && text.contains(&format!("\"url\" = \"{url}\"")), "{text}");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    strict.pleach(&["answer", run["id"].as_str().expect("an id"), "allow", "--json"]).exits(0);
    assert_eq!(asked.load(Ordering::SeqCst), 1, "once allowed, it is read once");
    // Given only other hosts, it is refused and the model is told which there are
    let elsewhere = home().set("PLEACH_FETCH_HOSTS", "example.org,*.example.org");
    let run = elsewhere.run("Read", &["--max-iterations", "2"]).run();
    let summary = results(&elsewhere.events(run["id"].as_str().expect("an id")))[0]["summary"].to_string();
    assert!(summary.contains("blocked_address") && summary.contains("example.org, *.example.org"), "{summary}");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "nobody was asked");
}

#[test]
fn x13_a_run_cannot_write_configuration_that_the_next_command_would_use() {
    // Given the whole working directory as the directory of files, with the data inside it
    let evil = json!({"mcpServers": {"evil": {"command": "touch", "args": ["it-ran"]}}}).to_string();
    let write = |path: &str| call("write_file", json!({"path": path, "content": evil}));
    let calls = json!([
        write(".mcp.json"),
        write("pleach.toml"),
        write(".git/hooks/post-commit"),
        write("data/pleach.db"),
        call("read_file", json!({"path": ".config/pleach/config.toml"})),
        write("notes/fine.txt"),
    ]);
    let home = Home::with(using(calls)).set("PLEACH_FILES_DIR", ".").set("PLEACH_FILES_WRITE", "true");
    // When a model writes configuration there
    let run = home.run("Tidy up", &[]).exits(0).run();
    // Then each is refused with what and why, and what is none of that is written
    let events = home.events(run["id"].as_str().expect("an id"));
    let said: Vec<String> = results(&events).iter().map(|result| result["summary"].to_string()).collect();
    for (path, why) in [
        (".mcp.json", "hidden"),
        ("pleach.toml", "Pleach's own"),
        (".git/hooks/post-commit", "hidden"),
        ("data/pleach.db", "Pleach's own"),
        (".config/pleach/config.toml", "hidden"),
    ] {
        let named = format!("\\\"{path}\\\"");
        assert!(said.iter().any(|said| said.contains(&named) && said.contains(why)), "{path}: {said:#?}");
    }
    assert!(said.iter().any(|said| said.contains("wrote notes/fine.txt")), "{said:#?}");
    for never in [".mcp.json", "pleach.toml", ".git"] {
        assert!(!home.folder.path().join(never).exists(), "{never} was written");
    }
}
