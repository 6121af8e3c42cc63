//! `pleach database copy` from SQLite to PostgreSQL.

use crate::home::Home;
use crate::server_database::{Database, psql};
use simulation::scripted::scripts;

#[test]
fn r10_a_whole_sqlite_database_moves_to_postgres_and_goes_on_there() {
    let database = Database::create();
    let home = Home::with(scripts::complete_in(3));
    let done = home.run("Move me", &["--success", "It exists"]).exits(0).run();
    let queued = home.pleach(&["run", "Still to do", "--kind", "homework", "--detach", "--json"]).exits(0).run();
    home.pleach(&["project", "create", "Kept"]).exits(0);
    let token = home.pleach(&["token", "create"]).exits(0).out;
    let source = std::fs::read(home.data().join("pleach.db")).expect("the file");

    let from = format!("sqlite://{}", home.data().join("pleach.db").display());
    let copied = home.pleach(&["database", "copy", "--from", &from, "--to", &database.url()]).exits(0);
    let url = database.url();
    let secret = url.split(['@', ':']).nth(2).expect("a password");
    assert!(copied.out.contains("2 runs") && !copied.out.contains(secret), "{copied:?}");
    assert_eq!(std::fs::read(home.data().join("pleach.db")).expect("the file"), source, "the source is as it was");

    // What was there is there, and what was to be done is done.
    let there = ["--database", &database.url()];
    let ask = |words: &[&str]| home.pleach(&[words, &there[..]].concat());
    let id = done["id"].as_str().expect("an id");
    assert_eq!(ask(&["show", id, "--json"]).exits(0).run(), done);
    assert_eq!(ask(&["log", id, "--json"]).exits(0).out, home.pleach(&["log", id, "--json"]).exits(0).out);
    assert_eq!(ask(&["project", "ls"]).exits(0).out, home.pleach(&["project", "ls"]).exits(0).out);
    assert!(token.trim().len() > 20 && ask(&["token", "ls"]).exits(0).out.contains(&token[..8]), "{token}");
    ask(&["doctor"]).exits(0);
    let queued = queued["id"].as_str().expect("an id");
    assert_eq!(ask(&["watch", queued]).exits(0).code, 0);

    // A second copy would mix two databases.
    let again = home.pleach(&["database", "copy", "--from", &from, "--to", &database.url()]).exits(1);
    assert!(again.err.contains("not empty"), "{again:?}");
}

#[test]
fn r10_a_copy_that_was_cut_off_is_refused_until_it_is_made_again() {
    let database = Database::create();
    let home = Home::with(scripts::complete_in(1));
    home.run("Once", &[]).exits(0);
    let words = ["database", "copy", "--to", &database.url()];
    home.pleach(&words).exits(0);
    // As a process leaves it that is killed in the middle.
    psql(&database.url(), "DELETE FROM run_commits; INSERT INTO database_notes VALUES ('copying', 'from SQLite')");

    let refused = home.pleach(&["ls", "--database", &database.url()]).exits(2);
    assert!(refused.err.contains("did not finish"), "{refused:?}");
    home.pleach(&words).exits(0);
    assert_eq!(home.pleach(&["ls", "--json", "--database", &database.url()]).exits(0).lines().len(), 1);
}
