//! The documents of a run, and the commands that search, check and prune them.

use crate::home::{Home, of_type, user_text};
use crate::planner::{exit, iteration, planned_as, planner_answer};
use engine::ids::RunId;
use engine::workspace::{Document, Edge, Scope};
use runtime::ports::{DocumentFilter, EdgeFilter, HitKind, Library, SearchFilter, Slice};
use serde_json::json;
use simulation::scripted::{Reply, Script};

/// Delegates to the same branch in every iteration but the last, then exits.
fn branching(last: u64) -> Script {
    planned_as(move |request| {
        let iteration = iteration(request);
        if iteration >= last {
            return exit(request);
        }
        let mut answer = planner_answer(&format!("iteration {iteration}"));
        answer["branch_rollup"] = json!("the branch goes well");
        answer["executor_tasks"] = json!([{ "branch_id": "main-branch", "step_id": null, "title": format!("Part {iteration}"), "objective": format!("Write part {iteration}"), "tools": ["create_document"] }]);
        answer
    })
    .answer("homework_executor", |request| {
        let title = request.section("task").map(|task| task["title"].clone()).unwrap_or_default();
        Reply::json(json!({ "thought": "write", "done": true, "summary": format!("wrote {title}"), "result_snippet": "written", "completed_step_ids": [],
            "tool_calls": [{ "tool": "create_document", "arguments": { "title": title, "content": "text of the branch" }, "purpose": "x" }] }))
    })
}

struct Tree {
    documents: Vec<Document>,
    edges: Vec<Edge>,
}

impl Tree {
    fn of(home: &Home, run: &str) -> Tree {
        let id: RunId = run.parse().expect("an id");
        let store = home.store();
        let filter = DocumentFilter { run_id: Some(id), limit: 500, ..DocumentFilter::default() };
        let documents = home.runtime.block_on(store.documents(&Scope::Platform, filter)).expect("documents");
        let edges = home
            .runtime
            .block_on(store.edges(
                &Scope::Platform,
                EdgeFilter { run_id: Some(id), ..EdgeFilter::default() },
                Slice::first(10_000),
            ))
            .expect("edges");
        Tree { documents, edges }
    }

    fn role(&self, role: &str) -> Vec<&Document> {
        self.documents.iter().filter(|document| document.props["doc_role"] == role).collect()
    }

    fn linked(&self, parent: &Document, child: &Document) -> bool {
        self.edges
            .iter()
            .any(|edge| edge.src == parent.id.0 && edge.dst == child.id.0 && edge.rel == "document_has_document")
    }
}

#[test]
fn s1_s3_s4_the_workspace_is_a_tree_of_tagged_documents_and_a_branch_continues() {
    let home = Home::with(branching(4));
    let run = home.run("Grow a tree", &[]).exits(0).run();
    let id = run["id"].as_str().expect("an id");
    let tree = Tree::of(&home, id);
    let one = |role: &str| {
        let found = tree.role(role);
        assert_eq!(found.len(), 1, "one {role}");
        found[0]
    };
    let (workspace, pad, plan, branch) =
        (one("workspace"), one("scratchpad_root"), one("plan"), one("scratchpad_exec"));
    assert_eq!(
        [workspace, pad, plan, branch].map(|document| document.type_key.as_str()),
        [
            "document.homework.workspace",
            "document.homework.scratchpad.root",
            "document.homework.plan",
            "document.homework.scratchpad.exec"
        ]
    );
    assert!(tree.linked(workspace, pad) && tree.linked(workspace, plan) && tree.linked(pad, branch));
    assert!([workspace, pad, plan, branch].iter().all(|document| document.props["homework_run_id"] == id));
    assert_eq!((&branch.props["branch_id"], &branch.props["owner"]), (&json!("main-branch"), &json!("executor")));
    let written: Vec<&Document> =
        tree.documents.iter().filter(|document| document.props["doc_role"].is_null()).collect();
    assert_eq!(written.len(), 3);
    assert!(written.iter().all(|document| tree.linked(branch, document)), "S4: children of the branch");
    let entries = home.runtime.block_on(home.store().entries(&Scope::Platform, branch.id, None, 50)).expect("entries");
    assert_eq!(entries.len(), 3, "S3: three iterations, one pad");
    assert_eq!(run["workspace_document_id"], json!(workspace.id));
}

#[test]
fn s5_the_planner_reads_branch_tails_and_its_rollup_is_in_the_journal() {
    let home = Home::with(branching(3));
    let id = home.run("Roll up", &[]).exits(0).id();
    let second = user_text(&home.asked("homework_planner")[1]);
    assert!(second.contains("## branches\n") && second.contains("main-branch"));
    assert!(second.contains("## scratchpad\n") && second.contains("Iteration 1"));
    let executor = user_text(&home.asked("homework_executor")[1]);
    assert!(
        executor.contains("## branch_scratchpad\n") && executor.contains("Iteration 1: Part 1"),
        "an executor reads its own branch's tail"
    );
    let tree = Tree::of(&home, &id);
    let pad = home
        .runtime
        .block_on(home.store().document(&Scope::Platform, tree.role("scratchpad_root")[0].id))
        .expect("a pad")
        .expect("a pad");
    assert!(pad.content.contains("the branch goes well"));
}

#[test]
fn s6_old_entries_are_summarised_and_lists_page() {
    let home = Home::with(branching(12));
    let id = home.run("Go on for long", &[]).exits(0).id();
    let tree = Tree::of(&home, &id);
    let (summaries, pad) = (tree.role("iteration_summary"), tree.role("scratchpad_root")[0]);
    assert_eq!(summaries.len(), 1);
    assert_eq!(summaries[0].type_key, "document.homework.summary.iteration");
    assert!(tree.linked(pad, summaries[0]));
    let (runtime, store) = (&home.runtime, home.store());
    let first = runtime.block_on(store.entries(&Scope::Platform, pad.id, None, 5)).expect("a page");
    let next = runtime
        .block_on(store.entries(&Scope::Platform, pad.id, first.last().map(|entry| entry.position), 50))
        .expect("a page");
    assert_eq!((first.len(), next.len()), (5, 7));
    let eleventh = user_text(&home.asked("homework_planner")[10]);
    assert!(eleventh.contains("## history\n"));
}

#[test]
fn p4_one_complete_entry_per_iteration() {
    let home = Home::with(branching(3));
    let id = home.run("Journal", &[]).exits(0).id();
    let events = home.events(&id);
    let entries = of_type(&events, "homework.scratchpad_appended");
    assert_eq!(entries.len(), 3);
    let first = entries[0]["payload"]["markdown"].as_str().expect("markdown");
    for part in [
        "## Iteration 1",
        "**Actions**",
        "**Results**",
        "**New and changed**",
        "doc:",
        "**Remaining work**",
        "**Branches**",
        "**Branch rollup**",
        "**Next**",
    ] {
        assert!(first.contains(part), "the entry has {part}: {first}");
    }
}

#[test]
fn h9_the_workspace_can_be_searched_and_the_platforms_own_documents_stay_out_of_it() {
    let home = Home::with(branching(2));
    home.run("Searchable objective", &[]).exits(0);
    let (runtime, store) = (&home.runtime, home.store());
    let search = |query: &str| {
        runtime
            .block_on(store.search(
                &Scope::Platform,
                query,
                SearchFilter { kinds: vec![HitKind::Document], ..SearchFilter::default() },
            ))
            .expect("hits")
            .len()
    };
    assert_eq!(search("TEXT bran"), 1, "lower-cased, the last term a prefix");
    assert_eq!(search("bran text"), 0, "only the last one is a prefix");
    assert_eq!(search("searchable"), 0, "the workspace document is the platform's");
    assert_eq!(search("text' OR 1=1 --"), 0);
}

#[test]
fn t1_rebuilding_gives_identical_rows() {
    let home = Home::with(branching(3));
    let run = home.run("Rebuild", &[]).exits(0).run();
    home.pleach(&["rebuild"]).exits(0);
    assert_eq!(home.show(run["id"].as_str().expect("an id")), run);
    home.pleach(&["doctor"]).exits(0);
}

#[test]
fn e1_doctor_names_a_provider_that_does_not_answer() {
    let home = Home::bare().set("OPENAI_BASE_URL", "http://127.0.0.1:9/v1").set("PLEACH_MODEL", "openai/scripted");
    let said = home.pleach(&["doctor"]).exits(1).out;
    let line = said.lines().find(|line| line.contains("model")).expect("a line");
    assert!(line.starts_with("✗ model") && line.contains("could not be reached"), "{said}");
    assert!(Home::with(branching(1)).pleach(&["doctor"]).exits(0).out.contains("✓ model      openai/scripted"));
}

#[test]
fn e2_sec_s94_doctor_finds_a_log_that_was_tampered_with() {
    let home = Home::with(branching(2));
    home.run("Audit", &[]).exits(0);
    assert!(home.pleach(&["doctor"]).exits(0).out.contains("every chain whole"));
    let forged = std::process::Command::new("python3")
        .args(["-c", "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute(\"UPDATE run_commits SET events = replace(events, 'iteration 1', 'iteration 7')\"); c.commit()"])
        .arg(home.data().join("pleach.db"))
        .status()
        .expect("python3 runs");
    assert!(forged.success());
    assert!(home.pleach(&["doctor"]).exits(1).out.contains("damaged at event"));
    assert!(home.pleach(&["rebuild"]).exits(1).out.contains("damaged at event"), "rows made from it are as wrong");
}

#[test]
fn h2_prune_removes_old_ended_runs_and_keeps_what_they_made() {
    let home = Home::with(branching(3));
    let run = home.run("Old", &[]).exits(0).run();
    let document = run["report"]["what_changed"]["created_documents"][0]["id"].as_str().expect("a document").to_owned();
    home.pleach(&["prune", "--older-than", "90d"]).exits(0);
    assert_eq!(home.pleach(&["ls", "--json"]).exits(0).lines().len(), 1, "it is not old yet");
    home.pleach(&["prune", "--older-than", "0d"]).exits(0);
    assert_eq!(home.pleach(&["ls", "--json"]).exits(0).out.trim(), "");
    assert!(
        home.pleach(&["doc", &document]).exits(0).out.contains("text of the branch"),
        "what it made for people stays"
    );
}

#[test]
fn b5_a_long_run_grows_linearly_in_new_content() {
    let bytes = |iterations: u64| {
        let home = Home::with(branching(iterations));
        home.run("Grow", &["--max-iterations", "100"]).exits(0);
        let path = home.data();
        let size = |name: &str| std::fs::metadata(path.join(name)).map_or(0, |file| file.len());
        size("pleach.db") + size("pleach.db-wal")
    };
    let (ten, forty) = (bytes(10), bytes(40));
    assert!(forty < ten * 6, "four times the iterations, {forty} against {ten} bytes");
}
