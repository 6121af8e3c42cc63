//! Notifications in the inbox and by webhook.

use crate::home::Home;
use crate::live_server::LiveServer;
use crate::receiver::Receiver;
use outbound::webhooks::{Secret, sign};
use reqwest::Method;
use serde_json::{Value, json};
use simulation::scripted::{Reply, Script, scripts};

/// A planner that asks a question first and accepts any answer.
fn asking() -> Script {
    scripts::complete_in(2).answer("homework_planner", |request| {
        let answered = request.lines("questions").iter().any(|question| question["answer"].is_string())
            || request.section("questions").is_some_and(|all| all.to_string().contains("\"answer\":\"blue\""));
        let mut answer = json!({
            "progress_summary": "", "plan": {"steps": []}, "tool_calls": [], "executor_tasks": [], "remaining_work": ["all of it"],
            "completion_evidence": [], "exit_signal": false, "needs_user_input": !answered,
            "blocking_questions": if answered { json!([]) } else { json!(["Which colour?"]) },
            "next_action_hint": "ask_user", "confidence": "low", "branch_rollup": null,
        });
        if answered {
            answer["tool_calls"] = json!([{"tool": "create_document", "purpose": "", "arguments": {"title": "Blue", "content": "It is blue."}}]);
        }
        Reply::json(answer)
    })
}

fn kinds(notices: &Value) -> Vec<String> {
    let items = notices["items"].as_array().expect("a list");
    items.iter().map(|one| one["kind"].as_str().expect("a kind").to_owned()).collect()
}

#[test]
fn h7_every_question_and_every_end_is_unread_in_the_inbox_until_it_is_read() {
    let owner = LiveServer::up(Home::with(asking()));
    let run = owner.start("homework", "Choose a colour");
    assert_eq!(owner.settled(&run)["status"], "waiting_on_user");
    let inbox = owner.get("/api/notifications");
    assert_eq!(kinds(&inbox), ["waiting", "question"], "newest first");
    assert_eq!(inbox["items"][1]["body"], "Which colour?");
    owner.post(&format!("/api/runs/{run}/cancel"), json!({}));
    let inbox = owner.get("/api/notifications?unread=true");
    assert_eq!(kinds(&inbox), ["canceled", "waiting", "question"]);
    assert!(inbox["items"][0]["read_at"].is_null());

    let first = owner.get("/api/notifications?limit=2");
    let cursor = first["next_cursor"].as_str().expect("more");
    assert_eq!(kinds(&owner.get(&format!("/api/notifications?limit=2&cursor={cursor}"))), ["question"]);

    let newest = inbox["items"][0]["id"].clone();
    assert_eq!(owner.post("/api/notifications/read", json!({"ids": [newest, "nonsense"]}))["unread"], 2);
    assert_eq!(kinds(&owner.get("/api/notifications?unread=true")), ["waiting", "question"]);
    assert_eq!(owner.post("/api/notifications/read", json!({}))["unread"], 0);
    assert!(owner.get("/api/notifications")["items"][2]["read_at"].is_string(), "read is not gone");
}

#[test]
fn h7_a_webhook_gets_each_kind_it_asked_for_with_a_valid_signature() {
    let owner = LiveServer::up(Home::with(asking()).set("PLEACH_WEBHOOKS_PRIVATE", "true"));
    let receiver = Receiver::answering(&[]);
    let made = owner.post("/api/webhooks", json!({"url": receiver.url, "kinds": ["question", "canceled"]}));
    let secret = Secret::parse(made["secret"].as_str().expect("shown once")).expect("whsec_…");
    assert!(owner.get("/api/webhooks")[0].get("secret").is_none(), "and never again");
    let run = owner.start("homework", "Choose a colour");
    owner.settled(&run);
    owner.post(&format!("/api/runs/{run}/cancel"), json!({}));
    let taken = owner.home.until("two deliveries", || Some(receiver.taken()).filter(|taken| taken.len() >= 2));
    let types: Vec<Value> = taken.iter().map(|one| one.json()["type"].clone()).collect();
    assert_eq!(types, ["run.question", "run.canceled"], "waiting was not asked for");
    for one in &taken {
        let header = |name: &str| one.headers[name].as_str();
        let timestamp = header("webhook-timestamp").parse().expect("seconds");
        assert_eq!(header("webhook-signature"), sign(&secret, header("webhook-id"), timestamp, &one.body));
        assert_eq!((header("content-type"), &one.json()["data"]["run_id"]), ("application/json", &json!(run)));
    }
    let webhook = made["id"].as_str().expect("an id");
    let shown = owner.get(&format!("/api/webhooks/{webhook}"));
    let deliveries = shown["deliveries"].as_array().expect("a list");
    assert!(deliveries.len() == 2 && deliveries.iter().all(|one| one["state"] == "delivered"), "{shown}");
    let (status, _) = owner.ask(Method::DELETE, &format!("/api/webhooks/{webhook}"), None);
    assert_eq!((status, owner.get("/api/webhooks")), (204, json!([])));
    assert_eq!(owner.ask(Method::GET, &format!("/api/webhooks/{webhook}"), None).0, 404);
}

#[test]
fn h7_a_failed_delivery_is_retried_with_the_same_id_also_after_a_restart() {
    let mut owner = LiveServer::up(Home::with(scripts::complete_in(1)).set("PLEACH_WEBHOOKS_PRIVATE", "true"));
    let receiver = Receiver::answering(&["500"]);
    let made = owner.post("/api/webhooks", json!({"url": receiver.url}));
    let run = owner.start("homework", "Fail once");
    owner.settled(&run);
    owner.home.until("the first attempt", || (!receiver.taken().is_empty()).then_some(()));
    let path = format!("/api/webhooks/{}", made["id"].as_str().expect("an id"));
    let first = owner.home.until("what came of it", || {
        Some(owner.get(&path)["deliveries"][0].clone()).filter(|one| one["last_status"] == 500)
    });
    assert_eq!((&first["state"], &first["attempts"]), (&json!("due"), &json!(1)));
    owner.restart();
    let taken = owner.home.until("the second attempt", || Some(receiver.taken()).filter(|taken| taken.len() >= 2));
    assert_eq!(taken[0].headers["webhook-id"], taken[1].headers["webhook-id"]);
    assert_eq!(taken[0].body, taken[1].body);
    let delivered = owner.home.until("delivered", || {
        Some(owner.get(&path)["deliveries"][0].clone()).filter(|one| one["state"] == "delivered")
    });
    assert_eq!(delivered["attempts"], 2);
}

#[test]
fn h7_a_webhook_test_returns_its_outcome_and_410_disables_the_webhook() {
    let owner = LiveServer::up(Home::bare().set("PLEACH_WEBHOOKS_PRIVATE", "true"));
    let receiver = Receiver::answering(&["200", "429\r\nretry-after: 40", "410"]);
    let made = owner.post("/api/webhooks", json!({"url": receiver.url, "template": "slack"}));
    let path = format!("/api/webhooks/{}/test", made["id"].as_str().expect("an id"));
    let test = || owner.post(&path, json!({}));
    let first = test();
    assert_eq!((&first["state"], &first["last_status"]), (&json!("delivered"), &json!(200)));
    assert!(receiver.taken()[0].json()["text"].as_str().is_some_and(|text| text.contains("A test")));
    let second = test();
    assert_eq!((&second["state"], &second["last_status"]), (&json!("due"), &json!(429)));
    assert_eq!(test()["state"], "failed");
    assert!(owner.get("/api/webhooks")[0]["disabled_reason"].as_str().is_some_and(|why| why.contains("410")));
}

#[test]
fn h7_sec_s30_s34_s35_private_addresses_are_refused_unless_configured() {
    let owner = LiveServer::up(Home::bare());
    for url in
        ["http://127.0.0.1:1/", "http://localhost/", "http://169.254.169.254/latest/meta-data", "ftp://example.com/"]
    {
        let (status, problem) = owner.ask(Method::POST, "/api/webhooks", Some(json!({ "url": url })));
        assert_eq!((status, &problem["type"]), (422, &json!("bad_url")), "{url}");
    }
    for (body, slug) in [
        (json!({"url": "https://example.com/", "kinds": ["everything"]}), "unknown_kind"),
        (json!({"url": "https://example.com/", "template": "telex"}), "unknown_template"),
    ] {
        let (status, problem) = owner.ask(Method::POST, "/api/webhooks", Some(body));
        assert_eq!((status, &problem["type"]), (422, &json!(slug)));
    }
    assert_eq!(owner.get("/api/webhooks"), json!([]));
}

#[test]
fn h7_sec_s33_s36_s37_redirects_of_a_receiver_are_not_followed_and_its_response_is_not_stored() {
    let owner = LiveServer::up(Home::bare().set("PLEACH_WEBHOOKS_PRIVATE", "true"));
    let elsewhere = Receiver::answering(&[]);
    let moved = format!("302\r\nlocation: {}\r\nx-large: {}", elsewhere.url, "canary".repeat(10_000));
    let receiver = Receiver::answering(&[&moved]);
    let webhook = owner.post("/api/webhooks", json!({"url": receiver.url}));
    let id = webhook["id"].as_str().expect("an id");
    let delivery = owner.post(&format!("/api/webhooks/{id}/test"), json!({}));
    assert_eq!((&delivery["state"], &delivery["attempts"]), (&json!("due"), &json!(1)), "{delivery}");
    assert!(elsewhere.taken().is_empty(), "it was followed");
    let shown = owner.get(&format!("/api/webhooks/{id}")).to_string();
    assert!(shown.len() < 2_000 && !shown.contains("canary"), "{shown}");
}
