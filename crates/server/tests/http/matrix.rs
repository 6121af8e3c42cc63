//! Every route against everybody: made from what the running server publishes, so a new route is in it at once, and one
//! that names something this table does not know fails it.

use crate::home::Home;
use crate::server::{Answer, Server, Visitor};
use reqwest::Method;
use serde_json::{Value, json};

const NOBODYS: &str = "01a1de11-0000-7000-8000-000000000009";

/// One of everything, all of it the owner's.
struct Estate {
    server: Server,
    owner: Visitor,
    ids: Vec<(&'static str, String)>,
}

impl Estate {
    fn new() -> Estate {
        let server = Server::start(Home::bare());
        let owner = server.owner();
        let made = |path: &str, body: Value| {
            let answer = server.post(&owner, path, &body).is(201).json();
            let record = if answer["record"].is_object() { &answer["record"] } else { &answer };
            let record = if answer["webhook"].is_object() { &answer["webhook"] } else { record };
            record["id"].as_str().unwrap_or_else(|| panic!("no id in {answer}")).to_owned()
        };
        let project = made("/api/projects", json!({"title": "Estate"}));
        // Somebody else who may be removed from it.
        server.person("colleague");
        server.post(&owner, &format!("/api/projects/{project}/members"), &json!({"actor": "colleague"})).is(200);
        let run = made(
            "/api/runs",
            json!({"kind": "tree", "objective": "Compare two kinds of oak", "project_ids": [project]}),
        );
        let ended = server.home.until("the run ends", || {
            let run = server.get(&owner, &format!("/api/runs/{run}")).json();
            (run["ended_at"].is_string()).then_some(run)
        });
        let ids = vec![
            ("documents", made("/api/documents", json!({"title": "Deed", "project_id": project}))),
            ("tasks", made("/api/tasks", json!({"title": "Prune", "project_id": project}))),
            ("tokens", made("/api/tokens", json!({"name": "spare"}))),
            ("webhooks", made("/api/webhooks", json!({"url": "https://example.org/hook"}))),
            ("nodes", ended["root_node_id"].as_str().expect("a root").to_owned()),
            ("effects", "n1.p1".to_owned()),
            ("members", "colleague".to_owned()),
            ("agents", made("/api/agents", json!({"handle": "gardener", "projects": [project]}))),
            ("steps", "0".to_owned()),
            ("tools", "list_projects".to_owned()),
            // Settling one needs a word about how, which nobody here says.
            ("lessons", "01a1de11-0000-7000-8000-00000000000a".to_owned()),
            ("projects", project),
            ("runs", run),
        ];
        Estate { server, owner, ids }
    }

    /// The path with the owner's things in it, or with things that nobody has.
    fn path(&self, template: &str, owned: bool) -> String {
        let mut parts: Vec<String> = template.split('/').map(str::to_owned).collect();
        for at in 1..parts.len() {
            if !parts[at].starts_with('{') {
                continue;
            }
            let kind = parts[at - 1].clone();
            if kind == "actions" {
                parts[at] = valid_action(&parts[1], at == 3).to_owned();
                continue;
            }
            let known = self.ids.iter().find(|(name, _)| *name == kind);
            let (_, id) =
                known.unwrap_or_else(|| panic!("{template}: this table knows no {kind}; make one in Estate::new"));
            parts[at] = if owned { id.clone() } else { NOBODYS.to_owned() };
        }
        let path = parts.join("/");
        // A stream of a run that has ended ends too.
        if path.ends_with("/stream") && path != "/api/stream" { format!("{path}?until=ended") } else { path }
    }
}

/// Something that can be done at a page of this kind.
fn valid_action(kind: &str, of_all: bool) -> &'static str {
    match kind {
        "projects" if of_all => "list_projects",
        "projects" => "create_document",
        "documents" => "update_document",
        "tasks" => "update_task",
        "runs" => "say",
        _ => "search",
    }
}

/// What everybody may do, to what is theirs.
const OF_EVERYBODY: [&str; 3] = ["/whoami", "/projects/actions", "/api/tools/"];

/// What was said, without the one word that may differ: what was asked for.
fn same(one: &Answer, other: &Answer) -> bool {
    (one.status, &one.text) == (other.status, &other.text)
}

#[test]
fn sec_s1_s6_s10_every_route_answers_everybody_as_it_should() {
    let estate = Estate::new();
    let server = &estate.server;
    let stranger = server.person("stranger");
    let reader = Visitor::bearing(&server.token(&["--scope", "read"]));
    let gone = server.home.pleach(&["token", "create", "--json"]).exits(0).run();
    server.home.pleach(&["token", "revoke", gone["record"]["id"].as_str().unwrap()]).exits(0);
    let revoked = Visitor::bearing(gone["token"].as_str().unwrap());

    let mut routes = server.routes();
    // What removes things comes last.
    routes.sort_by_key(|(method, path, _)| {
        (*method == Method::DELETE, path.starts_with("/api/projects"), std::cmp::Reverse(path.len()))
    });
    let mut checked = 0;
    for (method, template, access) in &routes {
        let owned = estate.path(template, true);
        let what = format!("{method} {template}");
        if access == "public" || access == "local" {
            continue;
        }
        for (who, visitor) in [("nobody", &Visitor::default()), ("revoked", &revoked)] {
            let answer = server.ask(visitor, method.clone(), &owned, None);
            assert_eq!((answer.status, answer.slug().as_str()), (401, "unauthorized"), "{who}: {what}");
        }
        let read = server.ask(&reader, method.clone(), &owned, None);
        match access.as_str() {
            "read" => assert!(![401, 403].contains(&read.status), "read-only: {what}: {}", read.text),
            _ => assert_eq!((read.status, read.slug().as_str()), (403, "insufficient_scope"), "read-only: {what}"),
        }
        let theirs = server.ask(&stranger, method.clone(), &owned, None);
        match (access.as_str(), template.contains('{')) {
            // Everybody has these pages for themselves.
            (_, true) if OF_EVERYBODY.iter().any(|page| template.starts_with(page)) => {}
            // Only a task has steps.
            (_, true) if template.contains("/steps/") => assert_eq!(theirs.status, 404, "stranger: {what}"),
            ("admin", _) => assert_eq!(theirs.status, 403, "stranger: {what}"),
            (_, true) if *method == Method::PATCH => {
                assert!([404, 428].contains(&theirs.status), "stranger: {what}: {}", theirs.text)
            }
            (_, true) if theirs.status == 400 => assert_eq!(*method, Method::POST, "a body is read first: {what}"),
            (_, true) => {
                let unknown = server.ask(&stranger, method.clone(), &estate.path(template, false), None);
                assert_eq!(theirs.status, 404, "stranger: {what}: {}", theirs.text);
                assert!(same(&theirs, &unknown), "stranger: {what}: {} is not {}", theirs.text, unknown.text);
            }
            (_, false) => {
                let leaked = estate.ids.iter().find(|(kind, id)| {
                    !["members", "steps", "tools"].contains(kind) && theirs.text.contains(id.as_str())
                });
                assert!(leaked.is_none(), "stranger: {what} shows {leaked:?}");
            }
        }
        checked += 1;
    }
    for (method, template, access) in &routes {
        let answer = server.ask(&estate.owner, method.clone(), &estate.path(template, true), None);
        let what = format!("owner: {method} {template}: {} {}", answer.status, answer.text);
        assert!(answer.status < 500, "{what}");
        let missing = template.contains("/steps/") && answer.status == 404;
        let open = access == "public" || access == "local";
        assert!(missing || open || ![401, 403, 404].contains(&answer.status), "{what}");
    }
    assert!(checked > 40, "only {checked} routes were checked");
}
