//! Authentication: which credentials are accepted, and what the others are told.

use crate::home::Home;
use crate::server::{Server, Visitor, client};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn e1_up_prints_its_address_in_at_most_eight_lines_and_answers_there() {
    let server = Server::start(Home::bare());
    assert!(server.greeting.len() <= 8, "{:?}", server.greeting);
    assert!(server.url.starts_with("http://127.0.0.1:"), "loopback unless told otherwise: {}", server.url);
    server.anonymous(Method::GET, "/healthz").is(200);
    server.anonymous(Method::GET, "/readyz").is(200);
    server.anonymous(Method::GET, "/nowhere").is(404);
    let wrong = server.anonymous(Method::PUT, "/healthz").is(405);
    assert!(wrong.header("allow").contains("GET"));
}

#[test]
fn sec_s1_every_route_of_the_running_server_refuses_requests_without_a_valid_token() {
    let server = Server::start(Home::bare());
    let revoked = server.home.pleach(&["token", "create", "--json"]).exits(0).run();
    server.home.pleach(&["token", "revoke", revoked["record"]["id"].as_str().unwrap()]).exits(0);
    let expired = server.token(&["--expires", "1s"]);
    let refused = |token: &str| server.get(&Visitor::with_token(token), "/api/runs").status == 401;
    server.home.until("the token expires", || refused(&expired).then_some(()));
    let visitors = [
        ("no token", Visitor::default()),
        ("garbage", Visitor::with_token("garbage")),
        ("expired", Visitor::with_token(&expired)),
        ("revoked", Visitor::with_token(revoked["token"].as_str().unwrap())),
    ];
    // Each from its own address, because wrong credentials are counted by address.
    let clients = [2, 3, 4, 5].map(|host| client(Some(host)));
    let mut refused = 0;
    for (method, path, access) in server.routes() {
        let path = path.replace("{id}", "01a1de11-0000-7000-8000-000000000009");
        for (client, (who, visitor)) in clients.iter().zip(&visitors) {
            let answer = server.ask_by(client, visitor, method.clone(), &path, None);
            if access == "public" || access == "local" {
                assert!(answer.status != 401 || path == "/login", "{who}: {method} {path}");
                continue;
            }
            assert_eq!(answer.status, 401, "{who}: {method} {path}: {}", answer.text);
            assert_eq!(answer.slug(), "unauthorized");
            refused += 1;
        }
    }
    assert!(refused > 80, "only {refused} refusals");
}

#[test]
fn sec_s2_malformed_authorization_headers_are_refused() {
    let server = Server::start(Home::bare());
    let token = server.token(&[]);
    let wrong =
        ["Bearer", "Bearer ", "Basic abc", "Bearer ' OR 1=1 --", "Bearer \"x\"", &token, &format!("Bearer {token}0")];
    for text in wrong {
        let answer = server.get(&Visitor::default().with("authorization", text), "/api/runs").is(401);
        assert_eq!(answer.slug(), "unauthorized", "{text}");
    }
    let twice = Visitor::with_token(&token).with("authorization", &format!("Bearer {token}"));
    server.get(&twice, "/api/runs").is(401);
    let long = server.get(&Visitor::with_token(&"x".repeat(1 << 20)), "/api/runs");
    assert!([400, 401, 431].contains(&long.status), "{}", long.status);
    server.get(&Visitor::with_token(&token), "/api/runs").is(200);
}

#[test]
fn sec_s3_s4_a_token_is_shown_once_and_stored_nowhere() {
    let server = Server::start(Home::bare().set("PLEACH_LOG", "debug"));
    let token = server.token(&["--name", "laptop"]);
    server.get(&Visitor::with_token(&token), "/api/runs").is(200);
    let listed = server.home.pleach(&["token", "ls"]).exits(0).out;
    assert!(listed.contains("laptop") && listed.contains(&token[..15]) && !listed.contains(&token), "{listed}");
    let over_http = server.get(&Visitor::with_token(&token), "/api/tokens").is(200).text;
    assert!(over_http.contains("\"used_at\":\"2") && !over_http.contains(&token), "{over_http}");
    for file in std::fs::read_dir(server.home.data()).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        let found = bytes.windows(token.len()).any(|window| window == token.as_bytes());
        assert!(!found, "{} holds the token", path.display());
    }
}

#[test]
fn sec_s6_a_token_allows_its_scopes_and_no_more() {
    let server = Server::start(Home::bare());
    let reader = Visitor::with_token(&server.token(&["--scope", "read"]));
    let runner = Visitor::with_token(&server.token(&["--scope", "run"]));
    server.get(&reader, "/api/runs").is(200);
    let refused = server.post(&reader, "/api/projects", &json!({"title": "Bees"})).is(403);
    assert_eq!(refused.slug(), "insufficient_scope");
    let project = server.post(&runner, "/api/projects", &json!({"title": "Bees"})).is(201).json();
    server.post(&runner, "/api/tokens", &json!({})).is(403);
    server.post(&runner, "/api/actors", &json!({"handle": "eve"})).is(403);
    let eve = server.person("eve");
    let path = format!("/api/projects/{}/members", project["id"].as_str().unwrap());
    server.post(&eve, &path, &json!({"actor": "eve"})).is(404);
}

#[test]
fn sec_s8_the_printed_link_logs_a_browser_in_once_and_logging_out_ends_it() {
    let server = Server::start(Home::bare());
    let opened = server.get(&Visitor::default(), &server.login_link()).is(303);
    assert_eq!(opened.header("location"), "/");
    let set = opened.header("set-cookie").to_owned();
    let (session, attributes) = set.split_once(';').unwrap();
    assert_eq!(attributes.trim(), "Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000");
    let again = server.get(&Visitor::default(), &server.login_link()).is(303);
    assert_eq!(again.header("set-cookie"), "", "the link works once");

    let browser = Visitor::default().with("cookie", session);
    let who = server.get(&browser, "/api/session").is(200).json();
    assert_eq!((who["actor"]["handle"].as_str(), who["scopes"].as_array().map(Vec::len)), (Some("local"), Some(3)));
    let as_bearer = Visitor::with_token(session.split_once('=').unwrap().1);
    server.get(&as_bearer, "/api/session").is(401);

    let own_page = browser.with("origin", &server.url);
    let cleared = server.ask(&own_page, Method::POST, "/logout", None).is(204);
    let (name, _) = session.split_once('=').unwrap();
    assert_eq!(cleared.header("set-cookie"), format!("{name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"));
    server.get(&browser, "/api/session").is(401);
}

#[test]
fn sec_s20_a_session_changes_things_only_from_the_servers_own_pages() {
    let server = Server::start(Home::bare());
    let token = server.token(&["--scope", "run"]);
    let opened = server.post(&Visitor::default(), "/login", &json!({"token": token})).is(200);
    assert_eq!(opened.json()["scopes"], json!(["read", "run"]));
    let session = opened.header("set-cookie").split(';').next().unwrap().to_owned();
    let browser = Visitor::default().with("cookie", &session);
    let start = json!({"title": "Bees"});
    let refused = [
        browser.clone(),
        browser.with("origin", "http://evil.test"),
        browser.with("origin", "null"),
        browser.with("sec-fetch-site", "cross-site"),
        browser.with("origin", &server.url).with("sec-fetch-site", "same-site"),
    ];
    for visitor in refused {
        assert_eq!(server.post(&visitor, "/api/projects", &start).is(403).slug(), "foreign_origin");
    }
    server.post(&browser.with("origin", &server.url), "/api/projects", &start).is(201);
    server.post(&browser.with("sec-fetch-site", "same-origin"), "/api/projects", &start).is(201);
    let typed = browser.with("origin", &server.url).with("content-type", "text/plain");
    let request = server.client.post(format!("{}/api/projects", server.url)).body("{\"title\":\"x\"}");
    let request = typed.headers.iter().fold(request, |request, (name, value)| request.header(name, value));
    let answer = server.home.runtime.block_on(request.send()).unwrap();
    assert_eq!(answer.status(), 415);
    let bearer = Visitor::with_token("garbage").with("cookie", &session);
    server.get(&bearer, "/api/session").is(401);
}

#[test]
fn sec_s24_a_request_that_names_another_host_is_not_answered() {
    let server = Server::start(Home::bare());
    let owner = server.owner();
    for path in ["/healthz", "/api/runs", "/nowhere", "/login"] {
        assert_eq!(server.get(&owner.with("host", "evil.test"), path).is(421).slug(), "unknown_host", "{path}");
    }
    let port = server.url.rsplit(':').next().unwrap();
    server.get(&owner.with("host", &format!("localhost:{port}")), "/api/runs").is(200);
}

#[test]
fn sec_s21_s22_s23_s27_other_origins_are_refused_and_every_response_has_security_headers() {
    let server = Server::start(Home::bare());
    let owner = server.owner();
    let foreign = owner.with("origin", "http://evil.test");
    let preflight = foreign.with("access-control-request-method", "POST");
    let refused = server.ask(&preflight, Method::OPTIONS, "/api/runs", None);
    assert!(refused.status >= 400 && !refused.headers.contains_key("access-control-allow-origin"));
    server.get(&foreign, "/api/runs").is(403);
    for path in ["/healthz", "/login", "/nowhere", "/api/runs"] {
        let answer = server.get(&owner, path);
        let policy = answer.header("content-security-policy");
        for rule in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert!(!answer.header("x-request-id").is_empty());
    }
    assert_eq!(server.get(&owner, "/api/runs").header("cache-control"), "no-store");
}

#[test]
fn sec_s7_a_revoked_token_ends_its_streams_within_five_seconds() {
    let server = Server::start(Home::bare());
    let made = server.home.pleach(&["token", "create", "--json"]).exits(0).run();
    let visitor = Visitor::with_token(made["token"].as_str().unwrap());
    let run = server.post(&visitor, "/api/runs", &json!({"kind": "homework", "objective": "List bees"})).is(201).json();
    let path = format!("/api/runs/{}/stream", run["id"].as_str().unwrap());
    let id = made["record"]["id"].as_str().unwrap().to_owned();
    let streamed = std::thread::scope(|scope| {
        let stream = scope.spawn(|| server.get(&visitor, &path));
        let open = || server.get(&visitor, "/metrics").text.contains("pleach_streams 1\n");
        server.home.until("the stream is open", || open().then_some(()));
        let started = Instant::now();
        server.home.pleach(&["token", "revoke", &id]).exits(0);
        let answer = stream.join().unwrap();
        (answer, started.elapsed())
    });
    let (answer, took) = streamed;
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert!(answer.is(200).text.trim_end().ends_with("event: revoked\ndata: {}"));
    server.get(&visitor, &path).is(401);
}

#[test]
fn sec_s5_the_time_of_a_refusal_does_not_depend_on_how_much_of_a_token_is_right() {
    let server = Server::start(Home::bare());
    let token = server.token(&[]);
    let nearly = format!("{}{}", &token[..token.len() - 2], if token.ends_with("00") { "11" } else { "00" });
    let wrong = format!("{}{}", &token[..7], token[7..].chars().rev().collect::<String>());
    let mut taken: [Vec<Duration>; 2] = Default::default();
    // Alternating, so that other load on the machine affects both; no address sends enough to be rate-limited.
    for host in 2..10 {
        let client = client(Some(host));
        for _ in 0..50 {
            for (text, taken) in [&nearly, &wrong].into_iter().zip(&mut taken) {
                let began = Instant::now();
                server.ask_by(&client, &Visitor::with_token(text), Method::GET, "/api/session", None).is(401);
                taken.push(began.elapsed());
            }
        }
    }
    let [nearly, wrong] = taken.map(|mut all| {
        all.sort_unstable();
        all[all.len() / 2].as_secs_f64()
    });
    assert!((0.7..1.4).contains(&(nearly / wrong)), "medians {nearly} and {wrong}");
}

#[test]
fn sec_s9_a_subagent_makes_no_tokens_and_sees_only_its_projects() {
    let home = Home::bare();
    home.pleach(&["project", "create", "Owner's"]).exits(0);
    home.pleach(&["agents", "create", "helper"]).exits(0);
    let server = Server::start(home);
    let helper = Visitor::with_token(&server.token(&["helper", "--scope", "admin"]));
    let refused = server.post(&helper, "/api/tokens", &json!({})).is(403);
    assert_eq!(refused.slug(), "agents_act_on_pages");
    let own = server.get(&helper, "/api/tokens").is(200).json()["items"][0]["id"].as_str().unwrap().to_owned();
    let refused = server.ask(&helper, Method::DELETE, &format!("/api/tokens/{own}"), None).is(403);
    assert_eq!(refused.slug(), "agents_act_on_pages");
    assert_eq!(server.get(&helper, "/api/projects").is(200).json()["items"], json!([]));
    let owned =
        server.get(&server.owner(), "/api/projects").is(200).json()["items"][0]["id"].as_str().unwrap().to_owned();
    server.get(&helper, &format!("/api/projects/{owned}")).is(404);
}

#[test]
fn sec_s93_one_command_revokes_all_tokens_and_sessions() {
    let server = Server::start(Home::bare());
    let (owner, ann) = (server.owner(), server.person("ann"));
    let opened = server.get(&Visitor::default(), &server.login_link()).is(303);
    let browser = Visitor::default().with("cookie", opened.header("set-cookie").split(';').next().unwrap());
    for visitor in [&owner, &ann, &browser] {
        server.get(visitor, "/api/session").is(200);
    }
    let said = server.home.pleach(&["token", "revoke", "--all"]).exits(0);
    assert_eq!(said.out.lines().count(), 3, "{}", said.out);
    for visitor in [&owner, &ann, &browser] {
        server.get(visitor, "/api/session").is(401);
    }
    server.get(&server.owner(), "/api/session").is(200);
}

#[test]
fn sec_s76_failed_logins_are_rate_limited() {
    let server = Server::start(Home::bare());
    let tries: Vec<u16> =
        (0..30).map(|_| server.post(&Visitor::default(), "/login", &json!({"token": "pleach_guess"})).status).collect();
    assert_eq!(tries[0], 401);
    assert!(tries[25..].iter().all(|status| *status == 429), "{tries:?}");
    let answer = server.post(&Visitor::default(), "/login", &json!({"code": "x"})).is(429);
    assert!(answer.header("retry-after").parse::<u64>().unwrap() >= 1);
    let token = server.token(&[]);
    server.post(&Visitor::default(), "/login", &json!({"token": token})).is(200);
}

/// A well-formed token that does not exist.
fn invented(number: usize) -> String {
    use sha2::{Digest, Sha256};
    let random = format!("{number:064x}");
    let sum: String = Sha256::digest(random.as_bytes()).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("pleach_{random}{sum}")
}

#[test]
fn x16_wrong_credentials_are_rate_limited_by_address_and_valid_ones_never() {
    let server = Server::start(Home::bare());
    let token = server.token(&[]);
    let opened = server.post(&Visitor::default(), "/login", &json!({ "token": token })).is(200);
    let cookie = opened.header("set-cookie").split_once(';').unwrap().0.to_owned();
    let name = cookie.split_once('=').unwrap().0;
    let slowed = (0..400)
        .map(|number| server.get(&Visitor::with_token(&invented(number)), "/api/session"))
        .find(|answer| answer.status != 401)
        .expect("an end of it");
    assert_eq!((slowed.status, slowed.slug().as_str()), (429, "too_many_requests"));
    assert!(slowed.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds >= 1));
    // Every kind of wrong credential counts.
    let wrong = [
        Visitor::with_token("garbage"),
        Visitor::default().with("authorization", "Basic abc"),
        Visitor::default().with("cookie", &format!("{name}={}", invented(7))),
        Visitor::default().with("cookie", &format!("{name}=x")),
    ];
    for visitor in &wrong {
        let answers: Vec<u16> = (0..5).map(|_| server.get(visitor, "/api/session").status).collect();
        assert!(answers.contains(&429), "{answers:?}");
    }
    // Requests with a valid credential or none are not limited, and neither are other addresses.
    for _ in 0..20 {
        server.get(&Visitor::with_token(&token), "/api/session").is(200);
        server.get(&Visitor::default().with("cookie", &cookie), "/api/session").is(200);
    }
    server.get(&Visitor::default(), "/api/session").is(401);
    server.ask_from(9, &Visitor::with_token(&invented(1)), Method::GET, "/api/session").is(401);
}

#[test]
fn x16_wrong_codes_in_links_are_rate_limited_and_the_valid_one_never() {
    let server = Server::start(Home::bare());
    let wrong = |number: usize| server.get(&Visitor::default(), &format!("/login?code={}", invented(number)));
    let slowed = (0..60).map(wrong).find(|answer| answer.status == 429).expect("an end of it");
    assert_eq!(slowed.slug(), "too_many_requests");
    let opened = server.get(&Visitor::default(), &server.login_link()).is(303);
    assert!(!opened.header("set-cookie").is_empty());
}

#[test]
fn sec_s10_hidden_things_are_answered_like_missing_ones() {
    let server = Server::start(Home::bare());
    let (owner, eve) = (server.owner(), server.person("eve"));
    let new = json!({"kind": "homework", "objective": "List bees"});
    let run = server.post(&owner, "/api/runs", &new).is(201).json()["id"].as_str().unwrap().to_owned();
    let nowhere = "01a1de11-0000-7000-8000-000000000009";
    for path in ["", "/events", "/stream", "/iterations", "/workspace", "/report"] {
        let (theirs, unknown) = (format!("/api/runs/{run}{path}"), format!("/api/runs/{nowhere}{path}"));
        let (theirs, unknown) = (server.get(&eve, &theirs).is(404), server.get(&eve, &unknown).is(404));
        assert_eq!(theirs.text, unknown.text, "{path}");
    }
    let listed: Value = server.get(&eve, "/api/runs").is(200).json();
    assert_eq!(listed["items"], json!([]));
}
