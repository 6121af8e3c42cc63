//! Membership: who may see and steer, and how a person becomes a member of a project.

use crate::home::Home;
use crate::server::{Answer, Server, Visitor};
use reqwest::Method;
use serde_json::{Value, json};
use simulation::scripted::{Reply, Script};

const MCP_VERSION: &str = "2026-07-28";

/// A server with two people, ann and bob.
struct Two {
    server: Server,
    ann: Visitor,
    bob: Visitor,
}

fn id(value: &Value) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("no id in {value}")).to_owned()
}

fn handles(members: &Value) -> Vec<(String, String, bool)> {
    let members = members.as_array().expect("a list").iter();
    let text = |text: &'_ Value| text.as_str().expect("text").to_owned();
    members.map(|member| (text(&member["handle"]), text(&member["role"]), member["invited"] == true)).collect()
}

fn expected(members: &[(&str, &str, bool)]) -> Vec<(String, String, bool)> {
    members.iter().map(|(handle, role, invited)| ((*handle).into(), (*role).into(), *invited)).collect()
}

impl Two {
    fn new(home: Home) -> Two {
        let server = Server::start(home);
        let (ann, bob) = (server.person("ann"), server.person("bob"));
        Two { server, ann, bob }
    }

    fn project(&self, title: &str) -> String {
        id(&self.server.post(&self.ann, "/api/projects", &json!({ "title": title })).is(201).json())
    }

    fn members(&self, project: &str) -> String {
        format!("/api/projects/{project}/members")
    }

    fn invite(&self, project: &str, actor: &str, role: &str) -> Answer {
        self.server.post(&self.ann, &self.members(project), &json!({"actor": actor, "role": role}))
    }

    /// The open invitations of somebody.
    fn invitations(&self, of: &Visitor) -> Vec<Value> {
        self.server.get(of, "/api/invitations").is(200).json()["items"].as_array().expect("a list").clone()
    }

    fn settle(&self, of: &Visitor, invitation: &Value, word: &str) -> Answer {
        self.server.post(of, &format!("/api/invitations/{}/{word}", id(invitation)), &json!({}))
    }
}

/// Every route that steers a run, with a valid body.
fn steering(run: &str) -> Vec<(Method, String, Value)> {
    let node = "01a1de11-0000-7000-8000-000000000009";
    let post = |path: &str, body: Value| (Method::POST, format!("/api/runs/{run}/{path}"), body);
    let mut all = vec![
        post("messages", json!({"text": "Do as bob says"})),
        post("respond", json!({"answers": [{"text": "blue"}]})),
        post("continue", json!({"budgets": {"max_iterations": 99}})),
        post("effects/i1.plan", json!({"decision": "retry"})),
        (Method::PATCH, format!("/api/runs/{run}/budgets"), json!({"max_cost_usd": 100.0})),
        (Method::POST, format!("/runs/{run}/actions/say"), json!({"text": "Do as bob says"})),
    ];
    all.extend(["pause", "resume", "cancel"].map(|word| post(word, json!({}))));
    all.extend(["cancel", "retry", "pause", "resume"].map(|word| post(&format!("nodes/{node}/{word}"), json!({}))));
    all
}

#[test]
fn x1_a_run_over_two_projects_is_hidden_from_members_of_one_and_read_only_for_a_viewer() {
    let two = Two::new(Home::bare().set("PLEACH_REHEARSAL_MS", "20000"));
    let (server, bob) = (&two.server, two.bob.with("accept", "application/json"));
    let (private, shared) = (two.project("Private"), two.project("Shared"));
    let new = json!({"kind": "homework", "objective": "Compare", "project_ids": [private, shared]});
    let run = id(&server.post(&two.ann, "/api/runs", &new).is(201).json());
    let as_bob = |words: &[&str]| server.home.pleach(&[words, &["--actor", "bob"]].concat());
    let listed = || server.get(&bob, "/api/runs").is(200).json()["items"].as_array().unwrap().len();
    let mcp = || {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": MCP_VERSION, "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        });
        let steer = json!({"name": "steer", "arguments": {"run_id": run, "text": "Mind the ash"}, "_meta": meta});
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": steer});
        let bob =
            two.bob.with("accept", "application/json, text/event-stream").with("mcp-protocol-version", MCP_VERSION);
        server.post(&bob.with("mcp-method", "tools/call").with("mcp-name", "steer"), "/mcp", &request).text
    };

    // For a member of one project, the run does not exist
    server.home.join(&shared, "ann", "bob", "owner");
    for (method, path, body) in steering(&run) {
        assert_eq!(server.ask(&bob, method, &path, Some(&body)).status, 404, "{path}");
    }
    server.get(&bob, &format!("/api/runs/{run}")).is(404);
    server.get(&bob, &format!("/api/stream?topics=run:{run}")).is(404);
    assert!(as_bob(&["say", &run, "hello"]).exits(2).err.contains("that you may see"));
    assert!(mcp().contains("that you may see"), "{}", mcp());
    assert_eq!(listed(), 0);

    // A viewer of the other may see the run
    server.home.join(&private, "ann", "bob", "viewer");
    server.get(&bob, &format!("/api/runs/{run}")).is(200);
    assert_eq!(listed(), 1);
    for (method, path, body) in steering(&run) {
        server.ask(&bob, method, &path, Some(&body)).refuses(403, "viewer_only");
    }
    assert!(as_bob(&["say", &run, "hello"]).exits(2).err.contains("editors of all of its projects"));
    assert!(mcp().contains("editors of all of its projects"), "{}", mcp());
    let page = server.get(&two.bob, &format!("/runs/{run}.md")).is(200).text;
    assert!(page.contains("actions: []"), "a page offers what its reader may do: {page}");
    server.ask(&bob, Method::DELETE, &format!("/api/runs/{run}"), None).refuses(403, "owner_only");
    let events = server.get(&two.ann, &format!("/api/runs/{run}/events")).is(200).text;
    assert!(!events.contains("Do as bob says") && !events.contains("Mind the ash"), "{events}");

    // An editor of both may steer it, but not remove it
    two.invite(&private, "bob", "editor").is(200);
    server.post(&bob, &format!("/api/runs/{run}/messages"), &json!({"text": "Mind the oak"})).is(200);
    assert!(mcp().contains(&run), "{}", mcp());
    server.post(&bob, &format!("/api/runs/{run}/cancel"), &json!({})).is(200);
    server.ask(&bob, Method::DELETE, &format!("/api/runs/{run}"), None).refuses(403, "owner_only");
}

#[test]
fn x1_a_token_bound_to_one_of_two_projects_cannot_reach_a_run_over_both() {
    let two = Two::new(Home::bare().set("PLEACH_REHEARSAL_MS", "20000"));
    let server = &two.server;
    let (private, shared) = (two.project("Private"), two.project("Shared"));
    let run = |projects: Value| {
        let new = json!({"kind": "homework", "objective": "Compare", "project_ids": projects});
        id(&server.post(&two.ann, "/api/runs", &new).is(201).json())
    };
    let (both, inside) = (run(json!([private, shared])), run(json!([shared])));
    let bound = Visitor::with_token(&server.token(&["ann", "--project", &shared])).with("accept", "application/json");
    for (method, path, body) in steering(&both) {
        assert_eq!(server.ask(&bound, method, &path, Some(&body)).status, 404, "{path}");
    }
    server.get(&bound, &format!("/api/runs/{both}")).is(404);
    server.post(&bound, &format!("/api/runs/{inside}/messages"), &json!({"text": "Go on"})).is(200);
}

#[test]
fn x1_a_viewer_reads_a_project_and_writes_nothing_in_it() {
    let two = Two::new(Home::bare());
    let (server, bob) = (&two.server, two.bob.with("accept", "application/json").with("if-match", "*"));
    let project = two.project("Shared");
    let made = |path: &str, title: &str| {
        let body = json!({"title": title, "project_id": project, "content": "bees"});
        let body = if path.ends_with("tasks") { json!({"title": title, "project_id": project}) } else { body };
        id(&server.post(&two.ann, path, &body).is(201).json())
    };
    let (document, other, task) =
        (made("/api/documents", "Prices"), made("/api/documents", "Hours"), made("/api/tasks", "Call"));
    server.home.join(&project, "ann", "bob", "viewer");
    let write = json!({"title": "Bob's", "project_id": project});
    let link = json!({"src_id": document, "dst_id": other, "rel": "cites"});
    let writes: Vec<(Method, String, Value)> = vec![
        (Method::POST, "/api/documents".into(), write.clone()),
        (Method::POST, "/api/tasks".into(), write.clone()),
        (Method::PATCH, format!("/api/projects/{project}"), json!({"title": "Bob's"})),
        (Method::PATCH, format!("/api/documents/{document}"), json!({"title": "Bob's"})),
        (Method::PATCH, format!("/api/tasks/{task}"), json!({"title": "Bob's"})),
        (Method::DELETE, format!("/api/documents/{document}"), json!({})),
        (Method::DELETE, format!("/api/tasks/{task}"), json!({})),
        (
            Method::POST,
            format!("/projects/{project}/actions/create_document"),
            json!({"title": "Bob's", "content": ""}),
        ),
        (Method::POST, format!("/documents/{document}/actions/update_document"), json!({"title": "Bob's"})),
        (Method::POST, format!("/tasks/{task}/actions/update_task"), json!({"title": "Bob's"})),
        (
            Method::POST,
            "/api/tools/create_document".into(),
            json!({"title": "Bob's", "content": "", "project_id": project}),
        ),
        (Method::POST, "/api/tools/update_document".into(), json!({"document_id": document, "append": "Bob's"})),
        (Method::POST, "/api/tools/update_task".into(), json!({"task_id": task, "state": "done"})),
        (Method::POST, "/api/tools/update_project".into(), json!({"project_id": project, "title": "Bob's"})),
        (Method::POST, "/api/tools/link_entities".into(), link.clone()),
    ];
    for (method, path, body) in &writes {
        server.ask(&bob, method.clone(), path, Some(body)).refuses(403, "viewer_only");
    }
    let found = server.get(&bob, &format!("/api/documents?project_id={project}")).is(200).json();
    assert_eq!(found["items"].as_array().unwrap().len(), 2, "{found}");
    assert!(!server.get(&bob, "/api/search?q=bob").is(200).text.contains("Bob"));
    assert_eq!(server.get(&bob, &format!("/api/projects/{project}")).is(200).json()["role"], "viewer");
    // An editor may
    two.invite(&project, "bob", "editor").is(200);
    server.post(&bob, "/api/documents", &write).is(201);
    server.post(&bob, "/api/tools/link_entities", &link).is(200);
    server.ask(&bob, Method::DELETE, &format!("/api/projects/{project}"), None).refuses(403, "project_owner_only");
}

#[test]
fn x1_a_viewers_run_reads_the_project_and_may_not_write_there() {
    let two = Two::new(Home::with(Script::default()));
    let server = &two.server;
    let project = two.project("Shared");
    server.home.join(&project, "ann", "bob", "viewer");
    let wanted = project.clone();
    let answer = move |request: &simulation::scripted::Request| {
        let iteration = request.section("iteration").unwrap_or_default();
        let write =
            |project: Value| json!({"title": format!("Note {iteration}"), "content": "x", "project_id": project});
        let call = |tool: &str, arguments: Value| json!({"tool": tool, "arguments": arguments, "purpose": "work"});
        Reply::json(json!({
            "progress_summary": "working", "plan": {"steps": []}, "executor_tasks": [], "remaining_work": ["more"],
            "tool_calls": [
                call("get_project", json!({"project_id": wanted})),
                call("create_document", write(json!(wanted))),
                call("create_document", json!({"title": format!("Own {iteration}"), "content": "x"})),
            ],
            "completion_evidence": [], "exit_signal": false, "needs_user_input": false, "blocking_questions": [],
            "next_action_hint": "execute", "confidence": "medium", "branch_rollup": null,
        }))
    };
    let report = json!({"title": "Done", "summary": "It is done.", "findings": [], "not_done": []});
    server.home.model().play(
        Script::default()
            .answer("homework_planner", answer)
            .on("homework_repair", vec![Reply::json(json!({"corrected_calls": []}))])
            .on("homework_report", vec![Reply::json(report)]),
    );
    let new =
        json!({"kind": "homework", "objective": "Write", "project_ids": [project], "budgets": {"max_iterations": 1}});
    let run = server.post(&two.bob, "/api/runs", &new).is(201).json();
    let path = format!("/api/runs/{}", id(&run));
    let ended = server.home.until("it ends", || {
        Some(server.get(&two.bob, &path).is(200).json()).filter(|run| run["ended_at"].is_string())
    });
    let events = server.get(&two.bob, &format!("{path}/events?limit=1000")).is(200).json();
    let results: Vec<(bool, String)> = events["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["type"] == "homework.tool_call_result")
        .map(|event| (event["payload"]["ok"] == true, event["payload"].to_string()))
        .collect();
    assert_eq!(results.iter().map(|(ok, _)| *ok).collect::<Vec<_>>(), [true, false, true], "{results:?}");
    assert!(results[1].1.contains("viewer_only: ") && results[1].1.contains("make you an editor"), "{}", results[1].1);
    // Nothing of the run's lies in ann's project, the platform's own documents included
    let there = |run: &str| server.get(&two.ann, &format!("/api/documents?project_id={project}{run}")).is(200).json();
    assert_eq!(there("")["items"], json!([]));
    assert_eq!(there(&format!("&run_id={}", id(&run)))["items"], json!([]));
    assert_ne!(ended["workspace_project_id"], project.as_str());
}

#[test]
fn x2_a_person_becomes_a_member_when_they_accept_and_not_before() {
    let two = Two::new(Home::bare());
    let (server, ann, bob) = (&two.server, &two.ann, &two.bob);
    let project = two.project("Bees");
    let path = format!("/api/projects/{project}");
    let added = server.post(ann, &two.members(&project), &json!({"actor": "bob"})).is(200).json();
    assert_eq!((&added["handle"], &added["role"], &added["invited"]), (&json!("bob"), &json!("viewer"), &json!(true)));
    server.get(bob, &path).is(404);
    let listed = server.get(ann, &two.members(&project)).is(200).json();
    assert_eq!(handles(&listed), expected(&[("ann", "owner", false), ("bob", "viewer", true)]));

    // Bob is notified, and nobody else can settle it
    let open = two.invitations(bob);
    let [invitation] = &open[..] else { panic!("{open:?}") };
    assert_eq!((&invitation["project_title"], &invitation["invited_by"]), (&json!("Bees"), &json!("ann")));
    assert_eq!((&invitation["project_id"], &invitation["role"]), (&json!(project), &json!("viewer")));
    let told = server.get(bob, "/api/notifications?unread=true").is(200).json();
    let notice = &told["items"][0];
    assert_eq!((&notice["kind"], &notice["invitation_id"]), (&json!("invitation"), &invitation["id"]));
    assert!(notice["run_id"].is_null() && notice["title"].as_str().unwrap().contains("Bees"), "{notice}");
    let said = server.home.pleach(&["inbox", "--actor", "bob"]).exits(0).out;
    assert!(said.contains("ann invites you to the project Bees"), "{said}");
    two.settle(ann, invitation, "accept").refuses(404, "invitation_not_found");

    // Another role before he answers, and then he does
    two.invite(&project, "bob", "editor").is(200);
    two.settle(bob, invitation, "accept").is(200);
    two.settle(bob, invitation, "accept").refuses(404, "invitation_not_found");
    server.get(bob, &path).is(200);
    let listed = server.get(bob, &two.members(&project)).is(200).json();
    assert_eq!(handles(&listed), expected(&[("ann", "owner", false), ("bob", "editor", false)]));
    assert_eq!(server.get(bob, "/api/notifications").is(200).json()["items"], json!([]));
    server
        .post(bob, &two.members(&project), &json!({"actor": "bob", "role": "owner"}))
        .refuses(403, "project_owner_only");
    // Asked again without a role, a member keeps theirs
    let kept = server.post(ann, &two.members(&project), &json!({"actor": "bob"})).is(200).json();
    assert_eq!((&kept["role"], &kept["invited"]), (&json!("editor"), &json!(false)));

    // Declined and withdrawn ones make no member
    let other = two.project("Oak");
    two.invite(&other, "bob", "viewer").is(200);
    two.settle(bob, &two.invitations(bob)[0], "decline").is(200);
    two.invite(&other, "bob", "viewer").is(200);
    let withdrawn = two.invitations(bob).remove(0);
    server.ask(ann, Method::DELETE, &format!("{}/bob", two.members(&other)), None).is(200);
    two.settle(bob, &withdrawn, "accept").refuses(404, "invitation_not_found");
    server.get(bob, &format!("/api/projects/{other}")).is(404);
}

#[test]
fn x2_invitations_are_made_and_answered_on_the_command_line() {
    let home = Home::bare();
    home.pleach(&["actor", "create", "bob"]).exits(0);
    let project = id(&home.pleach(&["project", "create", "Bees", "--json"]).exits(0).run());
    let said = home.pleach(&["project", "grant", &project, "bob", "--role", "editor"]).exits(0).out;
    assert!(said.contains("bob is invited") && said.contains("as editor"), "{said}");
    let said = home.pleach(&["project", "members", &project]).exits(0).out;
    assert!(said.lines().any(|line| line.contains("bob") && line.ends_with("editor  invited")), "{said}");
    let open = home.pleach(&["invitations", "--actor", "bob"]).exits(0).out;
    assert!(open.contains("editor") && open.contains("local") && open.contains("Bees"), "{open}");
    let invitation = open.split_whitespace().next().expect("its id").to_owned();
    home.pleach(&["invitations", "accept", &invitation]).exits(2);
    let said = home.pleach(&["invitations", "accept", &invitation, "--actor", "bob"]).exits(0).out;
    assert!(said.contains(&format!("you are editor in project {project}")), "{said}");
    assert!(home.pleach(&["project", "ls", "--actor", "bob"]).exits(0).out.contains("Bees"));
    let said = home.pleach(&["project", "revoke", &project, "local", "--actor", "bob"]).exits(2).err;
    assert!(said.contains("only owners of a project"), "{said}");
    home.pleach(&["project", "revoke", &project, "bob"]).exits(0);
    assert_eq!(home.pleach(&["project", "ls", "--actor", "bob"]).exits(0).out, "");
    let said = home.pleach(&["project", "revoke", &project, "local"]).exits(2).err;
    assert!(said.contains("last owner") && said.contains("--role owner"), "{said}");
}

#[test]
fn x2_nobody_adds_anothers_subagent_and_an_unknown_handle_gets_the_same_answer() {
    let two = Two::new(Home::bare());
    let (server, ann, bob) = (&two.server, &two.ann, &two.bob);
    let project = two.project("Trap");
    server.post(bob, "/api/agents", &json!({"handle": "helper"})).is(201);
    let strangers = server.post(ann, &two.members(&project), &json!({"actor": "helper"})).is(404);
    let unknown = server.post(ann, &two.members(&project), &json!({"actor": "nobody"})).is(404);
    assert_eq!(strangers.text.replace("helper", "nobody"), unknown.text, "byte for byte");

    // Its owner adds it at once to their own projects, with at most their own role
    server.post(bob, &two.members(&project), &json!({"actor": "helper"})).refuses(404, "project_not_found");
    server.home.join(&project, "ann", "bob", "editor");
    let brought = server.post(bob, &two.members(&project), &json!({"actor": "helper", "role": "owner"})).is(200).json();
    assert_eq!((&brought["role"], &brought["invited"]), (&json!("editor"), &json!(false)));
    let helper = Visitor::with_token(&server.token(&["helper"]));
    server.get(&helper, &format!("/api/projects/{project}")).is(200);
    two.invite(&project, "bob", "viewer").is(200);
    let listed = server.get(ann, &two.members(&project)).is(200).json();
    assert_eq!(
        handles(&listed),
        expected(&[("ann", "owner", false), ("bob", "viewer", false), ("helper", "viewer", false)])
    );

    // Bob leaves, and his subagent with him
    server.ask(bob, Method::DELETE, &format!("{}/bob", two.members(&project)), None).is(200);
    server.get(&helper, &format!("/api/projects/{project}")).is(404);
    let listed = server.get(ann, &two.members(&project)).is(200).json();
    assert_eq!(handles(&listed), expected(&[("ann", "owner", false)]));
}

#[test]
fn x2_nobody_else_removes_the_creator_and_the_last_owner_cannot_leave() {
    let two = Two::new(Home::bare());
    let (server, ann, bob) = (&two.server, &two.ann, &two.bob);
    let project = two.project("Bees");
    let remove =
        |who: &Visitor, whom: &str| server.ask(who, Method::DELETE, &format!("{}/{whom}", two.members(&project)), None);
    remove(ann, "ann").refuses(409, "last_owner");
    two.invite(&project, "ann", "viewer").refuses(409, "last_owner");
    server.home.join(&project, "ann", "bob", "owner");
    remove(bob, "ann").refuses(409, "creator_stays");
    let demoted = server.post(bob, &two.members(&project), &json!({"actor": "ann", "role": "viewer"}));
    demoted.refuses(409, "creator_stays");
    let carl = server.person("carl");
    server.home.join(&project, "bob", "carl", "editor");
    remove(&carl, "bob").refuses(403, "project_owner_only");
    remove(&carl, "carl").is(200);
    remove(bob, "carl").refuses(404, "member_not_found");
    assert_eq!(
        remove(bob, "carl").text.replace("carl", "nobody"),
        remove(bob, "nobody").text,
        "who exists is not told"
    );
    // The creator may leave once there is another owner, who then has to stay
    remove(ann, "ann").is(200);
    remove(bob, "bob").refuses(409, "last_owner");
    server.get(ann, &format!("/api/projects/{project}")).is(404);
}

#[test]
fn x3_a_bound_token_controls_no_subagent() {
    let two = Two::new(Home::bare());
    let (server, ann) = (&two.server, &two.ann);
    let project = two.project("Orchard");
    let secret = json!({"handle": "scout", "identity": "The cellar key is under the mat", "projects": [project]});
    server.post(ann, "/api/agents", &secret).is(201);
    let bound = Visitor::with_token(&server.token(&["ann", "--project", &project])).with("if-match", "*");
    let mut asked = 0;
    for (method, path, _) in server.routes().into_iter().filter(|(_, path, _)| path.starts_with("/api/agents")) {
        let path = path.replace("{handle}", "scout").replace("{lesson}", "01a1de11-0000-7000-8000-000000000009");
        let body =
            (method != Method::GET).then(|| json!({"actions": ["create_project"], "version": 1, "action": "promote"}));
        server.ask(&bound, method, &path, body.as_ref()).refuses(403, "bound_token");
        asked += 1;
    }
    assert!(asked >= 10, "only {asked} routes");
    server.get(&bound, "/api/runs?agent=scout").refuses(403, "bound_token");
    for new in [
        json!({"kind": "homework", "objective": "Read it out", "agents": ["scout"]}),
        json!({"kind": "task", "objective": "Read it out", "agent": "scout"}),
    ] {
        server.post(&bound, "/api/runs", &new).refuses(403, "bound_token");
    }
    for path in ["/api/invitations", "/api/actors"] {
        server.get(&bound, path).refuses(403, "bound_token");
    }
    let invite = server.post(&bound, &two.members(&project), &json!({"actor": "bob"}));
    invite.refuses(403, "bound_token");
}

#[test]
fn x20_people_see_only_whom_they_share_a_project_with_and_trying_handles_is_rate_limited() {
    let two = Two::new(Home::bare());
    let (server, ann, bob) = (&two.server, &two.ann, &two.bob);
    let known = |who: &Visitor| {
        let listed = server.get(who, "/api/actors").is(200).json();
        let mut handles: Vec<String> = listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|actor| actor["handle"].as_str().unwrap().to_owned())
            .collect();
        handles.sort();
        handles
    };
    let project = two.project("Bees");
    server.post(bob, "/api/agents", &json!({"handle": "helper"})).is(201);
    assert_eq!((known(ann), known(bob)), (vec!["ann".to_owned()], vec!["bob".to_owned(), "helper".to_owned()]));
    two.invite(&project, "bob", "viewer").is(200);
    assert_eq!(known(ann), ["ann", "bob"]);
    assert_eq!(known(bob), ["ann", "bob", "helper"]);
    // Finding out whether a handle exists is rate-limited
    let tried: Vec<u16> =
        (0..40).map(|number| two.invite(&project, &format!("guess-{number}"), "viewer").status).collect();
    assert_eq!(tried[0], 404);
    assert!(tried[35..].iter().all(|status| *status == 429), "{tried:?}");
    let slowed = two.invite(&project, "guess", "viewer");
    assert!(slowed.header("retry-after").parse::<u64>().unwrap() >= 1);
    server.post(ann, "/api/agents", &json!({"handle": "bob"})).refuses(429, "too_many_requests");
    // That limits nobody else, and no change of a present member
    two.invite(&project, "bob", "editor").is(200);
    let other = id(&server.post(bob, "/api/projects", &json!({"title": "Oak"})).is(201).json());
    server.post(bob, &two.members(&other), &json!({"actor": "ann"})).is(200);
}
