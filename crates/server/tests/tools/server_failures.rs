//! MCP servers that fail, and the processes they leave behind.

use crate::home::{Home, of_type};
use crate::tool_home::{ToolHome, call, results};
use serde_json::json;
use std::process::Stdio;

#[test]
fn b4_errors_of_an_mcp_server_are_shown_where_people_look() {
    let tool_home = ToolHome::with(Home::bare(), "");
    tool_home.configure(
        "[mcp.gone]\ncommand = \"/nowhere/at/all\"\n[mcp.mute]\ncommand = \"false\"\n[mcp.both]\ncommand = \"x\"\nurl = \"http://h/\"\n\
         [mcp.far]\nurl = \"http://127.0.0.1:1/mcp\"",
    );
    let doctor = tool_home.home.pleach(&["doctor"]).exits(1).out;
    for (server, says) in [
        ("gone", "/nowhere/at/all cannot be started"),
        ("mute", "exited: exit status: 1"),
        ("both", "give either command or url, not both"),
        ("far", "it does not answer"),
    ] {
        let line = doctor.lines().find(|line| line.contains(&format!("tools.{server}"))).expect("a line");
        assert!(line.starts_with('✗') && line.contains(says), "{line}");
    }
    let run = tool_home.home.run("Without them", &[]).exits(0).run();
    let warnings = run["warnings"].to_string();
    assert!(warnings.contains("the tools of gone are not available"), "{warnings}");
    let named = tool_home.home.run("With one", &["--tool", "gone__x"]).exits(2).err;
    assert!(named.contains("gone__x does not exist") && named.contains("cannot be started"), "{named}");
}

#[test]
fn b4_servers_that_fail_at_the_newer_protocol_are_used_with_the_older() {
    let tool_home = ToolHome::calling(json!([call("agreeable__count", json!({})), call("touchy__count", json!({}))]));
    let section = |manner: &str| {
        let script = crate::tool_home::fixture("simple_office.py");
        format!("[mcp.{manner}]\ncommand = \"python3\"\nargs = [{script:?}, {manner:?}]\n")
    };
    tool_home.configure(&["agreeable", "touchy"].map(section).concat());
    let doctor = tool_home.home.pleach(&["doctor"]).exits(0).out;
    for manner in ["agreeable", "touchy"] {
        let line = doctor.lines().find(|line| line.contains(&format!("tools.{manner}"))).expect("a line");
        assert!(line.starts_with('✓') && line.contains("1 tools, 2025-11-25"), "{line}");
    }
    let run = tool_home.home.run("Count", &[]).exits(0).run();
    let events = tool_home.home.events(run["id"].as_str().expect("an id"));
    let said: Vec<_> = results(&events).iter().map(|result| result["summary"].clone()).collect();
    assert_eq!(said, ["three", "three"]);
    // Where neither way works, what the first came to is said
    tool_home.configure(&section("hopeless"));
    let doctor = tool_home.home.pleach(&["doctor"]).exits(1).out;
    let line = doctor.lines().find(|line| line.contains("tools.hopeless")).expect("a line");
    assert!(line.contains("no patience for server/discover") && !line.contains("initialize"), "{line}");
}

#[test]
fn b4_mcp_servers_from_other_programs_configuration_files_are_used_too() {
    let tool_home = ToolHome::calling(json!([call("letters__count_letters", json!({}))]));
    tool_home.configure("");
    let file = json!({"mcpServers": {"letters": {
        "type": "stdio", "command": "python3", "args": [crate::tool_home::fixture("post_office.py")], "env": {"POST_FILE": tool_home.file()}, "disabled": false,
    }}});
    std::fs::write(tool_home.home.folder.path().join(".mcp.json"), file.to_string()).expect("written");
    tool_home.home.trust();
    let shown = tool_home.home.pleach(&["config", "show"]).exits(0).out;
    assert!(
        shown
            .lines()
            .any(|line| line.contains("mcp.letters") && line.contains("python3") && line.contains(".mcp.json")),
        "{shown}"
    );
    let run = tool_home.home.run("Count", &["--tool", "letters"]).exits(0).run();
    let events = tool_home.home.events(run["id"].as_str().expect("an id"));
    assert_eq!(results(&events)[0]["summary"], "0 letters");
}

/// The call was made and its answer was lost: it stays unknown and is not repeated.
#[test]
fn kill_b4_between_a_once_only_call_and_its_answer_leaves_it_unknown_and_unrepeated() {
    for kind in ["homework", "tree"] {
        for decision in ["happened", "did_not"] {
            let tool_home = ToolHome::calling(json!([call("post__send_letter", json!({"to": "ann", "slow": true}))]));
            tool_home.configure(&tool_home.section().replace("timeout_s = 5", "timeout_s = 600"));
            let run = ["run", "Write to Ann", "--kind", kind, "--wait", "--json"];
            let mut child = tool_home.home.command(&run).stdout(Stdio::null()).spawn().expect("it starts");
            tool_home.home.until("the letter is sent", || (tool_home.letters() == ["ann"]).then_some(()));
            child.kill().expect("killed");
            child.wait().expect("reaped");
            tool_home.all_gone();
            let id = tool_home.home.pleach(&["ls", "--json"]).exits(0).run()["id"].as_str().expect("an id").to_owned();
            tool_home.home.pleach(&["watch", &id, "--json"]).exits(3);
            let events = tool_home.home.events(&id);
            let unknown = of_type(&events, "effect.unknown");
            assert_eq!(unknown.len(), 1, "{kind}");
            let effect = unknown[0]["payload"]["effect"].as_str().expect("an effect");
            let waiting = tool_home.home.show(&id);
            assert_eq!(waiting["status"], "waiting_on_user", "{kind}");
            assert!(waiting["questions"][0]["text"].as_str().is_some_and(|text| text.contains("post__send_letter")));
            // However often somebody looks, nothing is sent.
            tool_home.home.pleach(&["watch", &id, "--json"]).exits(3);
            assert_eq!(tool_home.letters(), ["ann"], "{kind}: sent once");
            tool_home.home.pleach(&["resolve", &id, effect, decision]).exits(0);
            tool_home.home.pleach(&["watch", &id, "--json"]);
            let events = tool_home.home.events(&id);
            let said = results(&events)[0]["summary"].as_str().unwrap_or_default().to_owned();
            let expected = if decision == "happened" { "it happened" } else { "it did not happen" };
            assert!(said.contains(expected), "{kind} {decision}: {said}");
            assert_eq!(tool_home.letters(), ["ann"], "{kind} {decision}: sent once");
        }
    }
}
