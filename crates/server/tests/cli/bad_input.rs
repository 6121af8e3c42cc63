//! Every mistake gets an error that names the value, what was kept and what to type next.

use crate::home::Home;
use simulation::scripted::{Script, scripts};

#[track_caller]
fn says(err: &str, words: &[&str]) {
    for word in words {
        assert!(err.contains(word), "the error names {word}: {err}");
    }
    assert!(!err.contains("panicked"), "{err}");
}

#[test]
fn h2_an_empty_or_too_long_objective_is_refused() {
    let home = Home::bare();
    says(&home.run("", &[]).exits(2).err, &["objective", "empty"]);
    says(&home.run("   \n ", &[]).exits(2).err, &["objective", "empty"]);
    let file = home.folder.path().join("objective.txt");
    std::fs::write(&file, "x".repeat(1 << 20)).expect("a file");
    let long = "x".repeat(100_000);
    says(&home.run(&long, &[]).exits(2).err, &["100000", "32768"]);
    assert_eq!(home.pleach(&["ls", "--json"]).exits(0).out.trim(), "", "nothing was recorded");
}

#[test]
fn b2_a_budget_too_small_to_start_names_the_least_that_works() {
    let home = Home::with(scripts::complete_in(1));
    let refused = home.run("Cheap", &["--max-tokens", "1000"]).exits(2);
    says(&refused.err, &["1000", "least"]);
    let least = refused
        .err
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse::<u64>().ok())
        .max()
        .expect("a number");
    home.run("Cheap", &["--max-tokens", &least.to_string()]).exits(0);
    says(&home.run("Cheap", &["--max-iterations", "0"]).exits(2).err, &["max_iterations"]);
}

#[test]
fn e3_a_provider_without_its_key_or_model_says_what_to_set() {
    let home = Home::bare().set("PLEACH_MODEL", "anthropic/claude-sonnet-4-5");
    says(&home.run("No key", &[]).exits(2).err, &["ANTHROPIC_API_KEY"]);
    let home = Home::bare().set("PLEACH_MODEL", "nobody/model");
    says(&home.run("No provider", &[]).exits(2).err, &["nobody"]);
    let home = Home::with(Script::default().models(&["a", "b", "c", "d"]));
    let home = home.set("PLEACH_MODEL", "openai");
    says(&home.run("No model", &[]).exits(2).err, &["PLEACH_MODEL", "openai/a"]);
}

#[test]
fn h2_bad_settings_name_the_value_and_where_it_came_from() {
    let home = Home::bare().set("PLEACH_WORKERS", "many");
    says(&home.pleach(&["ls"]).exits(2).err, &["PLEACH_WORKERS", "many"]);
    let home = Home::bare();
    std::fs::write(home.folder.path().join("pleach.toml"), "modle = \"x\"\n").expect("a file");
    says(&home.pleach(&["ls"]).exits(2).err, &["pleach.toml", "modle"]);
    let home = Home::bare();
    let shown = home.pleach(&["config", "show"]).exits(0).out;
    says(&shown, &["PLEACH_DATA_DIR", "default"]);
    let toml =
        "[providers.mine]\nkind = \"openai\"\nschema_mode = \"text\"\n[providers.mine.timeouts]\nidle_seconds = 9\n";
    std::fs::write(home.folder.path().join("pleach.toml"), toml).expect("a file");
    let shown = home.pleach(&["config", "show", "--json"]).exits(0).out;
    says(
        &shown,
        &[r#""key":"server","origin":"default","value":null"#, "mine.schema_mode", "mine.timeouts.idle_seconds"],
    );
}

#[test]
fn h2_a_data_directory_that_is_a_file_is_named() {
    let home = Home::bare();
    let file = home.folder.path().join("plain");
    std::fs::write(&file, "x").expect("a file");
    let path = file.display().to_string();
    for command in [&["ls", "--data-dir", &path][..], &["run", "x", "--data-dir", &path]] {
        says(&home.pleach(command).exits(2).err, &[&path, "--data-dir"]);
    }
    assert_eq!(std::fs::read_to_string(&file).expect("still there"), "x");
}

#[test]
fn h2_an_address_of_another_kind_of_server_is_refused() {
    let home = Home::with(scripts::complete_in(1));
    let elsewhere = home.model().url();
    says(&home.pleach(&["ls", "--server", &elsewhere]).exits(7).err, &[&elsewhere, "is not a pleach server"]);
}

#[test]
fn h2_a_run_that_no_process_drives_shows_how_to_continue() {
    let home = Home::with(scripts::complete_in(1));
    let queued = home.pleach(&["run", "Later", "--kind", "homework", "--detach", "--json"]).exits(0).run();
    let run = queued["id"].as_str().expect("an id").to_owned();
    says(&home.pleach(&["ls"]).exits(0).err, &["no process drives", "pleach up"]);
    says(&home.pleach(&["show", &run]).exits(0).err, &[&format!("pleach watch {run}")]);
    home.pleach(&["cancel", &run]).exits(0);
    assert_eq!(home.pleach(&["ls"]).exits(0).err, "");
}

#[test]
fn h2_an_unknown_run_suggests_the_list() {
    let home = Home::with(scripts::complete_in(1));
    home.run("One", &[]).exits(0);
    says(
        &home.pleach(&["show", "019a0000-0000-7000-8000-000000000000"]).exits(2).err,
        &["019a0000-0000-7000-8000-000000000000", "pleach ls"],
    );
    says(&home.pleach(&["show", "rubbish"]).exits(2).err, &["rubbish", "pleach ls"]);
    says(&home.pleach(&["run", "x", "--kind", "forest"]).exits(2).err, &["forest", "homework", "tree"]);
}

#[test]
fn h2_reading_without_a_database_prints_nothing_and_creates_nothing() {
    let home = Home::bare();
    for command in [&["ls"][..], &["ls", "--json"]] {
        assert_eq!(home.pleach(command).exits(0).out, "");
    }
    assert!(!home.data().join("pleach.db").exists());
}

#[test]
fn e2_a_corrupt_or_newer_database_is_refused_and_left_alone() {
    let home = Home::with(scripts::complete_in(1));
    home.run("One", &[]).exits(0);
    let path = home.data().join("pleach.db");
    let good = std::fs::read(&path).expect("a database");
    std::fs::write(&path, b"this is not a database at all, not even close to one").expect("written");
    let refused = home.run("Two", &[]);
    assert_ne!(refused.code, 0);
    says(&refused.err, &["pleach.db"]);
    std::fs::write(&path, good).expect("restored");
    home.run("Three", &[]).exits(0);
}

#[test]
fn e2_postgres_down_at_start_says_so() {
    let home = Home::with(scripts::complete_in(1)).set("PLEACH_DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
    let refused = home.run("No database", &[]);
    assert_ne!(refused.code, 0);
    says(&refused.err, &["127.0.0.1:1"]);
}

#[test]
fn h3_sec_s54_the_binary_never_prints_control_characters_a_model_wrote() {
    use crate::planner::{planned_as, planner_answer};
    let home = Home::with(planned_as(|_| {
        let mut answer = planner_answer("\u{1b}[31mred\u{1b}]0;title\u{7}");
        answer["plan"]["steps"] =
            serde_json::json!([{ "id": "s", "title": "\u{1b}[2Jclear", "status": "doing", "owner": "planner" }]);
        answer
    }));
    let said = home.pleach(&["run", "Escape", "--kind", "homework", "--wait"]);
    assert_eq!(said.code, 5);
    assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'));
    let id = home.pleach(&["ls", "--json"]).lines()[0]["id"].as_str().expect("an id").to_owned();
    assert!(!home.pleach(&["show", &id]).exits(0).out.contains('\u{1b}'));
}
