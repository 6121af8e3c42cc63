//! Links that log a browser in, and the sessions they become.

use crate::home::Home;
use crate::server::{Answer, Server, Visitor};
use reqwest::Method;
use serde_json::{Value, json};

/// A login link for an actor, made on the command line.
fn link(server: &Server, words: &[&str]) -> String {
    let said = server.home.pleach(&[&["token", "link"], words].concat()).exits(0);
    said.out.trim().to_owned()
}

/// A browser with the cookie that this response set.
fn browser(answer: &Answer) -> Visitor {
    let cookie = answer.header("set-cookie").split(';').next().filter(|cookie| !cookie.is_empty());
    Visitor::default().with("cookie", cookie.unwrap_or_else(|| panic!("no cookie in {answer:?}")))
}

fn opened(server: &Server, link: &str) -> Visitor {
    let answer = server.get(&Visitor::default(), link).is(303);
    assert_eq!(answer.header("location"), "/");
    browser(&answer)
}

fn session(server: &Server, visitor: &Visitor) -> Value {
    server.get(visitor, "/api/session").is(200).json()
}

fn handle(server: &Server, visitor: &Visitor) -> String {
    session(server, visitor)["actor"]["handle"].as_str().expect("a handle").to_owned()
}

fn confirm(server: &Server, visitor: &Visitor, link: &str) -> Answer {
    let code = link.split_once("code=").expect("a code").1;
    server.ask(visitor, Method::POST, &format!("/login/confirm?code={code}"), None)
}

#[test]
fn x7_a_link_carries_the_least_scope_and_admin_only_when_asked_for() {
    let server = Server::start(Home::bare());
    let all = json!(["read", "run", "admin"]);
    assert_eq!(session(&server, &opened(&server, &server.login_link()))["scopes"], all, "up's own");
    let scopes = |words: &[&str]| session(&server, &opened(&server, &link(&server, words)))["scopes"].clone();
    assert_eq!(scopes(&[]), json!(["read", "run"]));
    assert_eq!(scopes(&["--scope", "read"]), json!(["read"]));
    assert_eq!(scopes(&["--scope", "admin"]), all);
    server.home.pleach(&["token", "link", "--scope", "king"]).exits(2);

    let owner = server.owner();
    let made = server.post(&owner, "/api/login-codes", &json!({})).is(201).json();
    assert_eq!(made["scopes"], json!(["read", "run"]));
    assert_eq!(server.post(&owner, "/api/login-codes", &json!({"scope": "king"})).is(422).slug(), "unknown_scope");
    let guest = opened(&server, &link(&server, &[])).with("origin", &server.url);
    let refused = server.post(&guest, "/api/tokens", &json!({})).is(403);
    assert_eq!(refused.slug(), "insufficient_scope", "the page of such a link makes no tokens");
    server.post(&guest, "/api/projects", &json!({"title": "Bees"})).is(201);
}

#[test]
fn x8_a_link_takes_codes_only() {
    let server = Server::start(Home::bare());
    let token = server.token(&["--scope", "admin"]);
    let session = server.post(&Visitor::default(), "/login", &json!({ "token": token })).is(200);
    let session = session.header("set-cookie").split(['=', ';']).nth(1).unwrap().to_owned();
    for credential in [token.as_str(), &session, "garbage", ""] {
        let answer = server.get(&Visitor::default(), &format!("/login?code={credential}")).is(303);
        assert_eq!((answer.header("location"), answer.header("set-cookie")), ("/login?problem=unknown", ""));
    }
    assert_eq!(server.post(&Visitor::default(), "/login", &json!({ "code": token })).is(401).slug(), "login_failed");
}

#[test]
fn x8_a_link_replaces_another_persons_session_only_after_confirmation() {
    let server = Server::start(Home::bare());
    let before = opened(&server, &server.login_link());
    server.home.pleach(&["actor", "create", "ann"]).exits(0);
    let ann = link(&server, &["--actor", "ann"]);
    for _ in 0..2 {
        let asked = server.get(&before, &ann).is(200);
        assert_eq!(asked.header("set-cookie"), "", "nothing changes by looking");
        assert!(asked.text.contains("logged in as <b>local</b>") && asked.text.contains("Log in as ann"), "{asked:?}");
        assert!(
            asked.text.contains("method=\"post\" action=\"/login/confirm?code=") && !asked.text.contains("<script")
        );
        let policy = asked.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("form-action 'self'"), "{policy}");
        assert_eq!(asked.header("cache-control"), "no-store");
    }
    assert_eq!(handle(&server, &before), "local");
    // Only the confirmation page can confirm: not another site, and not a client without an origin.
    let foreign = [
        before.clone(),
        before.with("origin", "http://evil.test"),
        before.with("origin", "null"),
        before.with("sec-fetch-site", "cross-site"),
    ];
    for visitor in foreign {
        assert_eq!(confirm(&server, &visitor, &ann).is(403).slug(), "foreign_origin");
    }
    assert_eq!(handle(&server, &before), "local");
    let changed = confirm(&server, &before.with("origin", "null").with("sec-fetch-site", "same-origin"), &ann).is(303);
    assert_eq!(changed.header("location"), "/");
    assert_eq!(handle(&server, &browser(&changed)), "ann");
    server.get(&before, "/api/session").is(401);
    let again = confirm(&server, &before.with("origin", &server.url), &ann).is(303);
    assert_eq!((again.header("location"), again.header("set-cookie")), ("/login?problem=used", ""));
}

#[test]
fn x8_a_link_on_another_site_needs_confirmation_because_the_cookie_is_withheld() {
    let server = Server::start(Home::bare());
    let link = link(&server, &[]);
    for site in ["cross-site", "same-site"] {
        let led = Visitor::default().with("sec-fetch-site", site).with("sec-fetch-mode", "navigate");
        let asked = server.get(&led, &link).is(200);
        assert!(asked.text.contains("Log in as local") && asked.header("set-cookie").is_empty(), "{asked:?}");
    }
    // Typed or opened from a terminal; HEAD does not use it up.
    server.ask(&Visitor::default(), Method::HEAD, &link, None).is(303);
    let typed = Visitor::default().with("sec-fetch-site", "none");
    assert_eq!(handle(&server, &browser(&server.get(&typed, &link).is(303))), "local");
}

#[test]
fn x8_the_same_person_stays_logged_in_and_gains_the_scope_of_the_link() {
    let server = Server::start(Home::bare());
    let guest = opened(&server, &link(&server, &[]));
    let less = link(&server, &["--scope", "read"]);
    let kept = server.get(&guest, &less).is(303);
    assert_eq!((kept.header("location"), kept.header("set-cookie")), ("/", ""), "nothing is taken away");
    let used = server.get(&Visitor::default(), &less).is(303);
    assert_eq!(used.header("location"), "/login?problem=used", "and the link works once all the same");
    let gained = server.get(&guest, &server.login_link()).is(303);
    assert_eq!(session(&server, &browser(&gained))["scopes"], json!(["read", "run", "admin"]));
    server.get(&guest, "/api/session").is(401);
    let again = server.get(&browser(&gained), &server.login_link()).is(303);
    assert_eq!(again.header("location"), "/", "whoever is in already is not bothered with a used link");
}

#[test]
fn u16_an_invalid_link_leads_to_a_page_that_says_why() {
    let server = Server::start(Home::bare());
    opened(&server, &server.login_link());
    let used = server.get(&Visitor::default(), &server.login_link()).is(303);
    assert_eq!((used.header("location"), used.header("set-cookie")), ("/login?problem=used", ""));
    let page = server.get(&Visitor::default(), used.header("location")).is(200);
    assert_eq!(page.text, server.get(&Visitor::default(), "/").is(200).text, "the page itself tells it");
    assert!(page.header("content-type").starts_with("text/html"));
    let unknown = server.get(&Visitor::default(), "/login?code=x").is(303);
    assert_eq!(unknown.header("location"), "/login?problem=unknown");
    let told = server.post(&Visitor::default(), "/login", &json!({"code": "x"})).is(401);
    assert!(told.text.contains("pleach token link"), "{}", told.text);
}

#[test]
fn u2_two_servers_on_one_host_do_not_log_each_other_out() {
    let (one, two) = (Server::start(Home::bare()), Server::start(Home::bare()));
    let cookie = |server: &Server| opened(server, &server.login_link()).headers[0].1.clone();
    let (first, second) = (cookie(&one), cookie(&two));
    let name = |cookie: &str| cookie.split_once('=').expect("a name").0.to_owned();
    assert_ne!(name(&first), name(&second));
    assert!(name(&first).starts_with("pleach_session_"), "{first}");
    // A browser sends both cookies to both servers: cookies ignore the port.
    let both = Visitor::default().with("cookie", &format!("{first}; {second}"));
    for server in [&one, &two] {
        assert_eq!(handle(server, &both), "local");
    }
    let left = one.ask(&both.with("origin", &one.url), Method::POST, "/logout", None).is(204);
    assert_eq!(name(left.header("set-cookie")), name(&first));
    one.get(&both, "/api/session").is(401);
    assert_eq!(handle(&two, &both), "local");
    let document = two.get(&Visitor::default(), "/openapi.json").is(200).json();
    assert_eq!(document["components"]["securitySchemes"]["session"]["name"], json!(name(&second)));
}
