//! The web page is served from the binary, complete and with its security headers.

use crate::home::Home;
use crate::server::{Answer, Server, Visitor};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sha2::{Digest, Sha256, Sha384};
use std::collections::{BTreeMap, BTreeSet};

/// The files a page names, as paths.
fn named(html: &str) -> Vec<String> {
    let quoted = |mark: &str| {
        let parts = html.split(mark).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned);
        parts.collect::<Vec<_>>()
    };
    [quoted("src=\""), quoted("href=\"")].concat().into_iter().filter(|path| path.starts_with('/')).collect()
}

#[test]
fn e1_the_binary_serves_its_page_and_every_file_the_page_names() {
    let server = Server::start(Home::bare());
    let stranger = Visitor::default();
    let page = server.get(&stranger, "/").is(200);
    assert!(page.header("content-type").starts_with("text/html"), "{page:?}");
    assert_eq!(page.header("cache-control"), "no-store");
    let files = named(&page.text);
    assert!(
        files.iter().any(|file| file.ends_with(".js")) && files.iter().any(|file| file.ends_with(".css")),
        "{files:?}"
    );
    for file in files {
        let answer = server.get(&stranger, &file).is(200);
        assert!(answer.header("cache-control").contains("immutable"), "{file}: {:?}", answer.headers);
        assert!(!answer.text.is_empty() && !answer.header("content-type").starts_with("text/html"), "{file}");
    }

    let deep = server.get(&stranger.with("accept", "text/html"), "/runs/01a1de11-0000-7000-8000-000000000000").is(200);
    assert_eq!(deep.text, page.text, "places inside the page get the page");
    server.get(&stranger.with("accept", "text/html"), "/assets/gone.js").is(404);
}

#[test]
fn e1_the_page_is_compressed_for_clients_that_accept_it_and_304_for_those_that_have_it() {
    let server = Server::start(Home::bare());
    let stranger = Visitor::default();
    let page = server.get(&stranger, "/").is(200);
    let script = named(&page.text).into_iter().find(|file| file.ends_with(".js")).expect("a script");
    let plain = server.get(&stranger, &script).is(200);
    let packed = server.get(&stranger.with("accept-encoding", "gzip, br"), &script).is(200);
    let length = |answer: &Answer| answer.header("content-length").parse::<usize>().expect("a length");
    assert_eq!((plain.header("content-encoding"), packed.header("content-encoding")), ("", "gzip"));
    assert!(length(&packed) * 2 < length(&plain), "{} of {}", length(&packed), length(&plain));
    for answer in [&plain, &packed] {
        assert_eq!(
            (answer.header("vary"), answer.header("content-type")),
            ("accept-encoding", "text/javascript; charset=utf-8")
        );
    }
    assert_ne!(plain.header("etag"), packed.header("etag"), "what differs has its own name");
    let known = stranger.with("accept-encoding", "gzip").with("if-none-match", packed.header("etag"));
    assert_eq!(server.get(&known, &script).is(304).text, "");
}

#[test]
fn sec_s91_e4_the_page_may_run_only_scripts_from_the_binary() {
    let server = Server::start(Home::bare());
    let page = server.get(&Visitor::default(), "/").is(200);
    let policy = page.header("content-security-policy");
    for rule in
        ["default-src 'none'", "script-src 'self'", "style-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"]
    {
        assert!(policy.contains(rule), "{rule} is not in {policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    assert!(!page.text.contains("<script>"), "no script stands in the page itself");
}

#[test]
fn x18_browsers_cache_only_files_named_by_their_content() {
    let server = Server::start(Home::bare());
    let owner = server.owner();
    let run = server.post(&owner, "/api/runs", &json!({"kind": "homework", "objective": "List bees"})).is(201).json();
    let run = run["id"].as_str().expect("an id").to_owned();
    let page = Visitor::default().with("accept", "text/html");
    let places = ["/", "/runs", "/login?problem=used", "/login", "/healthz", "/readyz", "/openapi.json", "/nowhere"];
    let own = ["/whoami", "/whoami.md", "/whoami/actions", "/projects.md", "/runs.md", "/metrics", "/api/session"];
    let of_run = [format!("/runs/{run}"), format!("/api/runs/{run}"), format!("/api/runs/{run}/snapshot")];
    let places = places.map(|path| (&page, path.to_owned()));
    let own = own.map(|path| (&owner, path.to_owned())).into_iter().chain(of_run.map(|path| (&owner, path)));
    for (visitor, path) in places.into_iter().chain(own) {
        let answer = server.get(visitor, &path);
        assert_eq!(answer.header("cache-control"), "no-store", "{path}: {answer:?}");
    }
    for file in named(&server.get(&page, "/").text).into_iter().filter(|file| file.starts_with("/assets/")) {
        assert!(server.get(&page, &file).header("cache-control").contains("immutable"), "{file}");
    }
}

/// The files a page names, each with the seal beside it.
fn sealed(html: &str) -> BTreeMap<String, String> {
    let tags = html.split(" integrity=\"").skip(1).filter_map(|rest| {
        let (seal, rest) = rest.split_once('"')?;
        Some((rest.split('"').nth(1)?.to_owned(), seal.to_owned()))
    });
    tags.collect()
}

#[test]
fn sec_s91_every_file_of_the_page_has_an_integrity_hash() {
    let server = Server::start(Home::bare());
    let page = server.get(&Visitor::default(), "/").is(200);
    let (in_page, rest) = (sealed(&page.text), page.text.split_once("<script type=\"importmap\">").expect("a map").1);
    assert_eq!(in_page.keys().cloned().collect::<BTreeSet<_>>(), named(&page.text).into_iter().collect());

    let (text, _) = rest.split_once("</script>").expect("its end");
    let map: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let later: BTreeMap<String, String> = serde_json::from_value(map["integrity"].clone()).expect("files and seals");
    assert!(later.len() > in_page.len(), "{later:?}");
    for (file, seal) in in_page.iter().chain(&later) {
        let content = server.get(&Visitor::default(), file).is(200).text;
        assert_eq!(*seal, format!("sha384-{}", STANDARD.encode(Sha384::digest(content))), "{file}");
    }
    let policy = page.header("content-security-policy");
    let allowed = format!("script-src 'self' 'sha256-{}';", STANDARD.encode(Sha256::digest(text)));
    assert!(policy.contains(&allowed), "{allowed} is not in {policy}");
}
