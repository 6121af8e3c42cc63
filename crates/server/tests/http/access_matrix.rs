//! Every route with every kind of caller, on both databases. Routes come from the document of the running server, so a new one
//! is tested at once, and one with an unknown parameter fails. The expected answer follows from two small tables: what a route
//! needs (`Needs::of`), and what a caller is (`Fixture::callers`).

use crate::database::Database;
use crate::home::Home;
use crate::server::{Answer, Server, Visitor};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const MISSING_ID: &str = "01a1de11-0000-7000-8000-000000000009";

/// The role of a caller in a project or for a run. Each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Nobody,
    Viewer,
    Editor,
    Owner,
}
use Role::{Editor, Nobody, Owner, Viewer};

/// The scope of a token; `None` is no valid token.
type Scope = Option<&'static str>;

/// A caller, and everything from which the expected answers follow.
struct Caller {
    name: &'static str,
    visitor: Visitor,
    scope: Scope,
    /// In the first project.
    first: Role,
    /// In the second project.
    second: Role,
    /// For the run that works in both.
    run: Role,
    /// The token is bound to projects.
    bound: bool,
    is_agent: bool,
    /// The agents, tokens and webhooks are theirs.
    owns: bool,
    /// The invitation is theirs.
    is_invited: bool,
}

/// What a route asks of a caller beyond the scope of their token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// Whatever is shown is the caller's own.
    Nothing,
    /// An agent, a token or a webhook of theirs.
    Own,
    /// An invitation of theirs.
    Invited,
    See,
    Steer,
    OwnRun,
    Read,
    Write,
    OwnProject,
}

impl Needs {
    fn of(method: &Method, template: &str) -> Needs {
        let reads = *method == Method::GET;
        let names_action = template.ends_with("/actions/{name}");
        let either = |is: bool, yes: Needs, no: Needs| if is { yes } else { no };
        let starts = |prefix: &str| template.starts_with(prefix);
        match template {
            _ if OF_EVERYBODY.iter().any(|page| starts(page)) => Needs::Nothing,
            "/api/runs/{id}" if *method == Method::DELETE => Needs::OwnRun,
            // Asking this process to drive a run changes nothing in it, so seeing it is enough.
            "/api/runs/{id}/drive" => Needs::See,
            _ if starts("/api/runs/{id}") => either(reads, Needs::See, Needs::Steer),
            _ if starts("/runs/{id}") => either(names_action, Needs::Steer, Needs::See),
            "/api/projects/{id}" if *method == Method::DELETE => Needs::OwnProject,
            _ if starts("/api/projects/{id}/members") && !reads => Needs::OwnProject,
            "/api/documents" | "/api/tasks" if !reads => Needs::Write,
            _ if ["/api/projects/{", "/api/documents/{", "/api/tasks/{"].iter().any(|prefix| starts(prefix)) => {
                either(reads, Needs::Read, Needs::Write)
            }
            _ if ["/projects/{", "/documents/{", "/tasks/{"].iter().any(|prefix| starts(prefix)) => {
                either(names_action, Needs::Write, Needs::Read)
            }
            _ if ["/api/agents/{", "/api/tokens/{", "/api/webhooks/{"].iter().any(|prefix| starts(prefix)) => {
                Needs::Own
            }
            _ if starts("/api/invitations/{") => Needs::Invited,
            _ if template.contains('{') => panic!("{method} {template}: this table does not know what it needs"),
            _ => Needs::Nothing,
        }
    }
}

/// Paths that show every caller their own things.
const OF_EVERYBODY: [&str; 3] = ["/whoami", "/projects/actions", "/api/tools/"];

/// The expected answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// Neither refused nor 404.
    Allowed,
    /// The same answer as for an id that does not exist.
    Hidden,
    Refused(u16, &'static str),
}
use Expected::{Allowed, Hidden, Refused};

fn expected(route: &Route, caller: &Caller) -> Expected {
    let order = [None, Some("read"), Some("run"), Some("admin")];
    let rank = |scope: Scope| order.iter().position(|known| *known == scope).expect("a scope");
    let needed = rank(order.iter().copied().flatten().find(|known| *known == route.access));
    let owner_of = |role: Role, slug: &'static str| match role {
        Owner => Allowed,
        Viewer | Editor => Refused(403, slug),
        Nobody => Hidden,
    };
    let editor_of = |role: Role| match role {
        Owner | Editor => Allowed,
        Viewer => Refused(403, "viewer_only"),
        Nobody => Hidden,
    };
    let if_so = |so: bool| if so { Allowed } else { Hidden };
    match route.needs {
        _ if caller.scope.is_none() => Refused(401, "unauthorized"),
        _ if rank(caller.scope) < needed => Refused(403, "insufficient_scope"),
        _ if caller.bound && route.personal => Refused(403, "bound_token"),
        _ if caller.is_agent && !route.method.is_safe() && !route.for_agents => Refused(403, "agents_act_on_pages"),
        Needs::Nothing => Allowed,
        Needs::Own => if_so(caller.owns),
        Needs::Invited => if_so(caller.is_invited),
        Needs::See => if_so(caller.run >= Viewer),
        Needs::Steer => editor_of(caller.run),
        Needs::OwnRun => owner_of(caller.run, "owner_only"),
        Needs::Read => if_so(caller.first >= Viewer),
        Needs::Write => editor_of(caller.first),
        Needs::OwnProject => owner_of(caller.first, "project_owner_only"),
    }
}

struct Route {
    method: Method,
    template: String,
    access: String,
    personal: bool,
    for_agents: bool,
    needs: Needs,
    /// The example body that the server publishes.
    example: Option<Value>,
}

/// One of everything: two projects of the owner, a run that works in both, and entities in the first.
struct Fixture {
    server: Server,
    owner: Visitor,
    ids: BTreeMap<&'static str, String>,
    /// A run that has not ended, so that nobody can remove it.
    paused: String,
    /// The third project, which the invitation is to.
    third: String,
}

impl Fixture {
    fn new(home: Home) -> Fixture {
        // Slow enough that a run can be paused before it ends.
        let server = Server::start(home.set("PLEACH_REHEARSAL_MS", "100"));
        let owner = server.owner();
        let made = |path: &str, body: Value| {
            let answer = server.post(&owner, path, &body).is(201).json();
            let record = ["record", "webhook"].iter().map(|name| &answer[*name]).find(|record| record.is_object());
            let id = record.unwrap_or(&answer)["id"].as_str();
            id.unwrap_or_else(|| panic!("no id in {answer}")).to_owned()
        };
        let project = |title: &str| made("/api/projects", json!({ "title": title }));
        let (first, second, third) = (project("First"), project("Second"), project("Third"));
        let run = |kind: &str| {
            made(
                "/api/runs",
                json!({"kind": kind, "objective": "Compare two kinds of oak", "project_ids": [first, second]}),
            )
        };
        let paused = run("homework");
        server.post(&owner, &format!("/api/runs/{paused}/pause"), &json!({})).is(200);
        let ended = run("tree");
        let row = server.home.until("the run ends", || {
            let row = server.get(&owner, &format!("/api/runs/{ended}")).json();
            row["ended_at"].is_string().then_some(row)
        });
        let ids = BTreeMap::from([
            ("documents", made("/api/documents", json!({"title": "Deed", "project_id": first}))),
            ("tasks", made("/api/tasks", json!({"title": "Prune", "project_id": first}))),
            ("tokens", made("/api/tokens", json!({"name": "spare"}))),
            ("webhooks", made("/api/webhooks", json!({"url": "https://example.org/hook"}))),
            ("nodes", row["root_node_id"].as_str().expect("a root").to_owned()),
            ("agents", made("/api/agents", json!({"handle": "gardener", "projects": [first]}))),
            ("invitations", MISSING_ID.to_owned()),
            ("effects", "n1.p1".to_owned()),
            ("members", "colleague".to_owned()),
            ("steps", "0".to_owned()),
            ("tools", "list_projects".to_owned()),
            ("lessons", MISSING_ID.to_owned()),
            ("criteria", "1".to_owned()),
            ("projects", first),
            ("second", second),
            ("runs", ended),
        ]);
        Fixture { server, owner, ids, paused, third }
    }

    /// Every kind of caller. The expected answers follow from these lines.
    fn callers(&self) -> Vec<Caller> {
        let (first, second) = (self.ids["projects"].clone(), self.ids["second"].clone());
        let (server, home) = (&self.server, &self.server.home);
        let person = |handle: &str, roles: [Option<&str>; 2]| {
            let visitor = server.person(handle);
            for (project, role) in [&first, &second].into_iter().zip(roles) {
                role.iter().for_each(|role| home.join(project, "local", handle, role));
            }
            visitor
        };
        let bound = |projects: &[&str]| {
            let named: Vec<&str> = projects.iter().flat_map(|project| ["--project", project]).collect();
            Visitor::with_token(&server.token(&[&["--scope", "run"], &named[..]].concat()))
        };
        let gone = home.pleach(&["token", "create", "--json"]).exits(0).run();
        home.pleach(&["token", "revoke", gone["record"]["id"].as_str().expect("an id")]).exits(0);
        let (one_of_two, viewer) = (person("one", [Some("editor"), None]), person("viewer", [Some("viewer"); 2]));
        let editor = person("editor", [Some("editor"); 2]);
        let removed = person("removed", [Some("editor"); 2]);
        for project in [&first, &second] {
            home.pleach(&["project", "revoke", project, "removed"]).exits(0);
        }
        let invited = person("invited", [None; 2]);
        for project in [&first, &second, &self.third] {
            home.pleach(&["project", "grant", project, "invited", "--role", "editor"]).exits(0);
        }
        // Somebody else whom the owner may invite and remove.
        person("colleague", [None; 2]);
        home.pleach(&["project", "grant", &first, "colleague"]).exits(0);
        home.pleach(&["agents", "create", "spy", "--actor", "editor"]).exits(0);
        let spy = Visitor::with_token(&server.token(&["spy", "--scope", "run"]));
        let unrelated = server.person("unrelated");
        let caller = |name, visitor: &Visitor, scope, [first, second, run]: [Role; 3]| Caller {
            name,
            visitor: visitor.with("accept", "application/json").with("if-match", "*"),
            scope,
            first,
            second,
            run,
            bound: false,
            is_agent: false,
            owns: false,
            is_invited: false,
        };
        let of_owner = |caller: Caller| Caller { owns: true, ..caller };
        let reader = Visitor::with_token(&server.token(&["--scope", "read"]));
        let run = Some("run");
        let revoked = Visitor::with_token(gone["token"].as_str().expect("a token"));
        vec![
            caller("nobody", &Visitor::default(), None, [Nobody; 3]),
            caller("revoked token", &revoked, None, [Nobody; 3]),
            of_owner(caller("owner with a read-only token", &reader, Some("read"), [Owner; 3])),
            caller("unrelated person", &unrelated, run, [Nobody; 3]),
            caller("editor of one of two projects", &one_of_two, run, [Editor, Nobody, Nobody]),
            caller("viewer of both", &viewer, run, [Viewer; 3]),
            caller("editor of both", &editor, run, [Editor; 3]),
            Caller {
                bound: true,
                ..caller("owner's token bound to one of two", &bound(&[&first]), run, [Owner, Nobody, Nobody])
            },
            Caller {
                bound: true,
                ..caller("owner's token bound to both", &bound(&[&first, &second]), run, [Owner; 3])
            },
            Caller { is_invited: true, ..caller("invited, not accepted", &invited, run, [Nobody; 3]) },
            caller("removed", &removed, run, [Nobody; 3]),
            Caller { is_agent: true, ..caller("subagent of another", &spy, run, [Nobody; 3]) },
            // Last, because the owner removes things.
            of_owner(caller("owner", &self.owner, Some("admin"), [Owner; 3])),
        ]
    }

    fn routes(&self) -> Vec<Route> {
        let document = self.server.anonymous(Method::GET, "/openapi.json").json();
        let mut routes = Vec::new();
        for (path, methods) in document["paths"].as_object().expect("paths") {
            for (method, operation) in methods.as_object().expect("methods") {
                let access = operation["x-access"].as_str().expect("an access").to_owned();
                if access == "public" || access == "local" {
                    continue;
                }
                let method: Method = method.to_uppercase().parse().expect("a method");
                let example = &operation["requestBody"]["content"]["application/json"]["example"];
                routes.push(Route {
                    needs: Needs::of(&method, path),
                    personal: operation["x-personal"] == true,
                    for_agents: operation["x-for-agents"] == true,
                    example: (!operation["requestBody"].is_null()).then(|| example.clone()),
                    template: path.clone(),
                    method,
                    access,
                });
            }
        }
        // Routes that remove things come last.
        routes.sort_by_key(|route| route.method == Method::DELETE);
        routes
    }

    /// The path with ids of the fixture, or with ids that do not exist.
    fn path(&self, route: &Route, owned: bool) -> String {
        let mut parts: Vec<String> = route.template.split('/').map(str::to_owned).collect();
        for at in 1..parts.len() {
            if !parts[at].starts_with('{') {
                continue;
            }
            let kind = parts[at - 1].clone();
            if kind == "actions" {
                parts[at] = valid_action(&parts[1], at == 3).to_owned();
                continue;
            }
            let known = self.ids.get(kind.as_str());
            let id = known.unwrap_or_else(|| panic!("{}: this table knows no {kind}", route.template));
            let id = if route.needs == Needs::OwnRun { &self.paused } else { id };
            parts[at] = if owned { id.clone() } else { MISSING_ID.to_owned() };
        }
        let path = parts.join("/");
        // A stream of a run that has ended ends too.
        if path.ends_with("/stream") && path != "/api/stream" { format!("{path}?until=ended") } else { path }
    }

    fn body(&self, route: &Route, owned: bool) -> Option<Value> {
        let project = if owned { self.ids["projects"].as_str() } else { MISSING_ID };
        let own = match route.template.as_str() {
            "/api/documents" | "/api/tasks" => json!({"title": "New", "project_id": project}),
            "/api/projects/{id}/members" => json!({"actor": "colleague"}),
            // Parsed and then refused for its content, so nothing is made.
            "/api/runs" => json!({"kind": "forest", "objective": "Grow"}),
            "/api/agents" => json!({"handle": "Not A Handle"}),
            "/api/webhooks" => json!({"url": "nowhere"}),
            "/api/tokens" => json!({"name": "Another"}),
            "/runs/{id}/actions/{name}" => json!({"text": "Go on"}),
            "/projects/{id}/actions/{name}" => json!({"title": "New", "content": ""}),
            template if template.ends_with("/actions/{name}") && route.needs == Needs::Write => json!({"title": "New"}),
            _ => route.example.clone()?,
        };
        route.example.is_some().then_some(own)
    }

    /// Makes again what a request uses up: a document or task to remove, an invitation to settle.
    fn prepare(&mut self, route: &Route, caller: &Caller) {
        let made = |path: &str, body: Value| {
            self.server.post(&self.owner, path, &body).is(201).json()["id"].as_str().expect("an id").to_owned()
        };
        let first = self.ids["projects"].clone();
        match (route.template.as_str(), &route.method) {
            ("/api/documents/{id}", &Method::DELETE) => {
                let id = made("/api/documents", json!({"title": "Spare", "project_id": first}));
                self.ids.insert("documents", id);
            }
            ("/api/tasks/{id}", &Method::DELETE) => {
                let id = made("/api/tasks", json!({"title": "Spare", "project_id": first}));
                self.ids.insert("tasks", id);
            }
            (template, _) if template.starts_with("/api/invitations/{") && caller.is_invited => {
                let home = &self.server.home;
                home.pleach(&["project", "revoke", &self.third, "invited"]);
                home.pleach(&["project", "grant", &self.third, "invited"]).exits(0);
                let open = home.pleach(&["invitations", "--actor", "invited", "--json"]).exits(0).lines();
                let theirs = open.iter().find(|open| open["project_id"] == self.third.as_str()).expect("an invitation");
                self.ids.insert("invitations", theirs["id"].as_str().expect("an id").to_owned());
            }
            _ => {}
        }
    }

    fn ask(&self, route: &Route, caller: &Caller, owned: bool) -> Answer {
        let body = self.body(route, owned);
        self.server.ask(&caller.visitor, route.method.clone(), &self.path(route, owned), body.as_ref())
    }

    /// Something in the answer that the caller may not see.
    fn leaked(&self, route: &Route, caller: &Caller, answer: &Answer) -> Option<&str> {
        // An invited person sees the title of the project.
        let is_told = caller.is_invited && route.template == "/api/invitations";
        let hidden = |kind: &str| match kind {
            "projects" | "second" if is_told => false,
            "projects" | "documents" | "tasks" => caller.first < Viewer,
            "second" => caller.second < Viewer,
            "runs" | "nodes" => caller.run < Viewer,
            "agents" | "tokens" | "webhooks" => !caller.owns,
            _ => false,
        };
        let mut ids = self.ids.iter().filter(|(kind, id)| hidden(kind) && answer.text.contains(id.as_str()));
        ids.next().map(|(kind, _)| *kind)
    }

    fn check(&self, route: &Route, caller: &Caller) {
        let answer = self.ask(route, caller, true);
        let what = format!("{}: {} {}: {} {}", caller.name, route.method, route.template, answer.status, answer.text);
        match expected(route, caller) {
            Refused(status, slug) => assert_eq!((answer.status, answer.slug().as_str()), (status, slug), "{what}"),
            Hidden => {
                let unknown = self.ask(route, caller, false);
                assert_eq!(answer.status, 404, "{what}");
                assert_eq!(answer.text, unknown.text, "{what}");
            }
            Allowed if missing(route).is_some() => assert_eq!(Some(answer.slug().as_str()), missing(route), "{what}"),
            Allowed => assert!(answer.status < 500 && ![401, 403, 404].contains(&answer.status), "{what}"),
        }
        if let Some(kind) = self.leaked(route, caller, &answer) {
            // The answer may repeat the path and the ids of the request.
            assert!(expected(route, caller) == Allowed && route.needs != Needs::Nothing, "shows {kind}: {what}");
        }
    }
}

/// Kinds of which the fixture has none: an allowed caller gets their 404, not that of the run or agent.
fn missing(route: &Route) -> Option<&'static str> {
    let known = [
        ("/steps/{step}/page", "step_not_found"),
        ("/effects/{effect}", "effect_not_found"),
        ("/criteria/{criterion}", "criterion_not_found"),
        ("/lessons/{lesson}", "lesson_not_found"),
        ("/scratchpad/restore", "version_not_found"),
    ];
    known.into_iter().find(|(end, _)| route.template.ends_with(end)).map(|(_, slug)| slug)
}

/// An action of this kind of page.
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

fn check_every_route(home: Home) {
    let mut fixture = Fixture::new(home);
    let (callers, routes) = (fixture.callers(), fixture.routes());
    for route in &routes {
        for caller in &callers {
            fixture.prepare(route, caller);
            fixture.check(route, caller);
        }
    }
    assert!(routes.len() > 100, "only {} routes were checked", routes.len());
}

#[test]
fn x1_x2_x3_sec_s1_s6_s10_every_route_answers_everybody_as_it_should() {
    check_every_route(Home::bare());
}

#[test]
fn x1_x2_x3_sec_s1_s6_s10_every_route_answers_everybody_as_it_should_on_postgres() {
    let database = Database::create();
    check_every_route(Home::bare().set("PLEACH_DATABASE_URL", &database.url()));
}
