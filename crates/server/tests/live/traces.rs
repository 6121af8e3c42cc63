//! Traces are exported to a collector: every span once, through restarts, without any text of the run.

use crate::home::Home;
use crate::live_server::LiveServer;
use crate::receiver::{Receiver, Taken};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use simulation::scripted::scripts;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Every span that was taken, and the service it is of.
fn spans(taken: &[Taken]) -> Vec<Value> {
    let requests = taken.iter().map(Taken::json).collect::<Vec<_>>();
    let resources = requests.iter().flat_map(|request| request["resourceSpans"].as_array().unwrap());
    let scopes = resources.flat_map(|resource| resource["scopeSpans"].as_array().unwrap());
    scopes.flat_map(|scope| scope["spans"].as_array().unwrap().clone()).collect()
}

pub fn attribute<'a>(span: &'a Value, name: &str) -> &'a Value {
    let found = span["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == name);
    found.map_or(&Value::Null, |attribute| attribute["value"].as_object().unwrap().values().next().unwrap())
}

fn workflow<'a>(spans: &'a [Value], run: &str) -> Option<&'a Value> {
    spans.iter().find(|span| {
        attribute(span, "gen_ai.operation.name") == "invoke_workflow"
            && attribute(span, "gen_ai.conversation.id") == run
    })
}

#[test]
fn traces_are_exported_from_the_log_once_each_through_restarts_and_collector_outages() {
    let collector = Receiver::answering(&["503", "200", "429\r\nretry-after: 1"]);
    let home = Home::with(scripts::complete_in(6).latency(Duration::from_millis(250)));
    let endpoint = collector.url.trim_end_matches("/hook").to_owned();
    let mut owner = LiveServer::up(home.set("PLEACH_OTLP_ENDPOINT", &endpoint).set("OTEL_SERVICE_NAME", "orchard"));
    let run = owner.start("homework", "Leave a trace of walnut");
    owner.home.until("some spans", || (!collector.accepted().is_empty()).then_some(()));
    let path = owner.home.data().join("pleach.db");
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the database");
    let written = "SELECT COUNT(*) FROM trace_cursors WHERE run_id <> '' AND seq > 0";
    let written = || database.query_row(written, [], |row| row.get::<_, i64>(0)).expect("a count") > 0;
    owner.home.until("that it was told is written down", || written().then_some(()));
    owner.restart();
    owner.settled(&run);
    let told = owner.home.until("the whole run", || {
        let told = spans(&collector.accepted());
        workflow(&told, &run).is_some().then_some(told)
    });
    let ids: BTreeSet<&str> = told.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), told.len(), "no span was told twice");
    let log = owner.log(&run);
    let finished = |event: &&Value| event["type"] == "effect.finished";
    let chats: Vec<&Value> = told.iter().filter(|span| attribute(span, "gen_ai.operation.name") == "chat").collect();
    assert_eq!(chats.len(), log.iter().filter(finished).count(), "one for each attempt in the log");
    assert!(chats.iter().all(|span| span["kind"] == 3 && span["name"] == "chat scripted"), "{:?}", chats[0]);
    let tokens = |span: &&Value| attribute(span, "gen_ai.usage.input_tokens").as_str().unwrap().parse::<u64>().unwrap();
    let spent = owner.get(&format!("/api/runs/{run}"))["metrics"]["tokens_in"].as_u64().unwrap();
    let presumed = |span: &&&Value| attribute(span, "error.type") == "lost";
    assert!(chats.iter().any(|span| !presumed(&span)) && chats.iter().map(tokens).sum::<u64>() >= spent);
    let by_id: BTreeMap<&str, &Value> = told.iter().map(|span| (span["spanId"].as_str().unwrap(), span)).collect();
    for span in &told {
        assert_eq!(span["traceId"], run.replace('-', "").as_str());
        assert!(span["startTimeUnixNano"].as_str() <= span["endTimeUnixNano"].as_str(), "{span}");
        if let Some(parent) = span["parentSpanId"].as_str() {
            assert!(by_id.contains_key(parent), "a parent that was never told: {span}");
        }
    }
    let text = collector.accepted().iter().map(|taken| taken.body.as_str()).collect::<String>();
    assert!(!text.contains("walnut"), "what was asked is in a trace");
    assert!(text.contains(r#"{"key":"service.name","value":{"stringValue":"orchard"}}"#));
    owner.restart();
    let next = owner.start("homework", "Leave another");
    let all = owner.home.until("the next run", || {
        let all = spans(&collector.accepted());
        workflow(&all, &next).is_some().then_some(all)
    });
    let again = all.iter().filter(|span| span["traceId"] == told[0]["traceId"]).count();
    assert_eq!(again, told.len(), "nothing is told again");
}

#[test]
fn a_tree_is_a_trace_of_nodes_plans_calls_and_tools_and_nothing_is_sent_unless_configured() {
    let collector = Receiver::answering(&[]);
    let endpoint = collector.url.trim_end_matches("/hook").to_owned();
    let owner = LiveServer::up(Home::bare().set("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint));
    let run = owner.start("tree", "Compare two kinds of oak");
    owner.settled(&run);
    let told = owner.home.until("the whole run", || {
        let told = spans(&collector.accepted());
        workflow(&told, &run).is_some().then_some(told)
    });
    let named = |prefix: &str| told.iter().filter(|span| span["name"].as_str().unwrap().starts_with(prefix)).count();
    let nodes = owner.get(&format!("/api/runs/{run}/nodes"))["items"].as_array().unwrap().len();
    assert_eq!(named("invoke_agent "), nodes);
    assert_eq!(named("invoke_workflow tree"), 1);
    assert!(named("plan planner") >= 1 && named("chat ") > nodes / 2, "{told:#?}");
    let quiet = LiveServer::up(Home::bare());
    let before = collector.accepted().len();
    let run = quiet.start("homework", "Tell nobody");
    quiet.settled(&run);
    assert_eq!(collector.accepted().len(), before);
}
