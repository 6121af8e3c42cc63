//! Secrets appear in no response, log, prompt, trace, file or outgoing request.

use crate::home::Home;
use crate::receiver::Receiver;
use crate::server::{Server, Visitor};
use reqwest::Method;
use serde_json::json;
use simulation::scripted::{Reply, Script, scripts};

const KEY: &str = "sk-canary-0123456789abcdef0123456789abcdef";
const COLLECTOR_KEY: &str = "canary-of-the-collector";
const BYSTANDER: &str = "canary-in-the-environment";

/// Everything that can be asked for over HTTP and at the terminal.
fn everything(server: &Server, owner: &Visitor, runs: &[&str]) -> String {
    let mut seen = String::new();
    for run in runs {
        for path in ["", "/events?limit=1000", "/report", "/workspace", "/iterations", "/snapshot"] {
            seen.push_str(&server.get(owner, &format!("/api/runs/{run}{path}")).text);
        }
    }
    for path in [
        "/api/holder",
        "/api/models",
        "/api/notifications",
        "/api/tokens",
        "/api/webhooks",
        "/api/session",
        "/api/documents",
        "/metrics",
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/nowhere",
        "/api/runs?cursor=x",
    ] {
        seen.push_str(&server.get(owner, path).text);
    }
    for words in [&["config", "show"][..], &["doctor"], &["ls"], &["token", "ls"], &["webhooks", "ls"]] {
        let said = server.home.pleach(words);
        seen.push_str(&said.out);
        seen.push_str(&said.err);
    }
    seen
}

fn finished(server: &Server, owner: &Visitor, objective: &str) -> String {
    let new = json!({"kind": "homework", "objective": objective});
    let run = server.post(owner, "/api/runs", &new).is(201).json()["id"].as_str().unwrap().to_owned();
    server.home.until("it ends", || {
        let row = server.get(owner, &format!("/api/runs/{run}")).json();
        row["ended_at"].is_string().then_some(())
    });
    run
}

#[test]
fn e4_sec_s60_s62_s63_no_secret_reaches_events_prompts_responses_errors_logs_traces_or_webhooks() {
    let (hook, collector) = (Receiver::answering(&["500"]), Receiver::answering(&["503", "200"]));
    let echo = format!("Incorrect API key provided: {KEY}");
    let home = Home::with(scripts::complete_in(2))
        .set("OPENAI_API_KEY", KEY)
        .set("SOME_PASSWORD", BYSTANDER)
        .set("PLEACH_LOG", "trace")
        .set("PLEACH_LOG_FORMAT", "json")
        .set("PLEACH_WEBHOOKS_PRIVATE", "true")
        .set("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.trim_end_matches("/hook"))
        .set("OTEL_EXPORTER_OTLP_HEADERS", &format!("x-key={COLLECTOR_KEY}"));
    let server = Server::start(home);
    let (owner, token) = (server.owner(), server.token(&["--name", "canary"]));
    let code = server.login_link().split_once("code=").unwrap().1.to_owned();
    let opened = server.post(&Visitor::default(), "/login", &json!({ "token": token })).is(200);
    let cookie = opened.header("set-cookie").split(';').next().unwrap().to_owned();
    let session = cookie.split_once('=').unwrap().1.to_owned();
    server.get(&Visitor::default().with("cookie", &cookie), "/api/session").is(200);
    server.get(&Visitor::default(), &server.login_link()).is(303);
    let made = server.post(&owner, "/api/webhooks", &json!({ "url": hook.url })).is(201).json();
    let secret = made["secret"].as_str().unwrap().to_owned();
    let completed = finished(&server, &owner, "Work with a key");
    server.home.model().play(Script::default().on(
        "homework_planner",
        vec![Reply::status(401, json!({"error": {"message": echo, "code": "invalid_api_key"}}).to_string())],
    ));
    let refused = finished(&server, &owner, "Work with a key that is refused");
    server
        .home
        .until("deliveries and traces", || (hook.taken().len() > 1 && collector.taken().len() > 2).then_some(()));

    let prompts = format!("{:?}", server.home.model().ledger());
    let sent: String = hook.taken().into_iter().chain(collector.taken()).map(|taken| taken.body).collect();
    let sinks = [
        ("an answer", everything(&server, &owner, &[&completed, &refused])),
        ("the log", server.log()),
        ("a prompt", prompts),
        ("a webhook or a trace", sent),
    ];
    assert!(sinks[1].1.contains("\"level\":\"TRACE\"") && sinks[1].1.contains("/api/webhooks"), "the log is a log");
    let secrets = [
        ("the provider's key", KEY),
        ("a token", token.as_str()),
        ("a session", &session),
        ("a login code", &code),
        ("a webhook's secret", &secret),
        ("the collector's key", COLLECTOR_KEY),
        ("another variable", BYSTANDER),
    ];
    for (what, secret) in secrets {
        for (place, text) in &sinks {
            let shown = text.find(secret).map(|at| &text[at.saturating_sub(200)..(at + 20).min(text.len())]);
            assert!(shown.is_none(), "{what} is in {place}: {shown:?}");
        }
        // The one secret that is needed to sign with is kept, in the database only.
        if what == "a webhook's secret" {
            continue;
        }
        for file in std::fs::read_dir(server.home.data()).unwrap().map(|file| file.unwrap().path()) {
            let bytes = std::fs::read(&file).unwrap_or_default();
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{what} is in {}", file.display());
        }
    }
}

#[test]
fn sec_s61_metrics_need_a_token_unless_read_on_this_machine() {
    let server = Server::start(Home::bare());
    let text = server.anonymous(Method::GET, "/metrics").is(200).text;
    assert!(text.contains("pleach_build_info"), "{text}");
    let passed_on = Visitor::default().with("x-forwarded-for", "203.0.113.9");
    assert_eq!(server.get(&passed_on, "/metrics").is(401).slug(), "unauthorized");
    let reader = Visitor::with_token(&server.token(&["--scope", "read"])).with("x-forwarded-for", "203.0.113.9");
    server.get(&reader, "/metrics").is(200);
    for path in ["/healthz", "/readyz"] {
        let answer = server.get(&passed_on, path).is(200);
        assert!(answer.text.len() < 10, "{}", answer.text);
    }
}

#[test]
fn sec_s54_text_of_people_and_models_cannot_forge_log_lines() {
    let server = Server::start(Home::bare().set("PLEACH_LOG", "trace"));
    let owner = server.owner();
    let forged = "Trees\r\n2026-01-01T00:00:00Z ERROR forged\u{1b}[2J\u{1b}]0;owned\u{7}";
    finished(&server, &owner, forged);
    server.post(&owner, "/api/projects", &json!({ "title": forged }));
    server.get(&owner, "/api/search?q=x%0d%0aforged%1b%5b2J");
    server.get(&owner, "/%0d%0aforged%1b%5b2J");
    let log = server.log();
    assert!(!log.lines().any(|line| line.starts_with("2026-01-01T00:00:00Z")), "a line was forged");
    let control = |c: char| c.is_control() && c != '\n' && c != '\t';
    let wrong = log.lines().find(|line| line.replace("\u{1b}[", "").contains(control) || line.contains("\u{1b}[2J"));
    assert!(wrong.is_none(), "{wrong:?}");
}
