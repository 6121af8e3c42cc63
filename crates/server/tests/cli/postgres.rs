//! The same promises on PostgreSQL, with many workers.

use crate::crash::{killed_at_random, kills};
use crate::database::{Database, psql};
use crate::home::{Home, of_type, said, user_text};
use simulation::scripted::scripts;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

fn home(database: &Database, script: simulation::scripted::Script) -> Home {
    Home::with(script).set("PLEACH_DATABASE_URL", &database.url()).set("PLEACH_LEASE_MS", "1500")
}

#[test]
fn e2_h2_a_run_completes_on_postgres_and_is_read_by_the_other_commands() {
    let database = Database::create();
    let home = home(&database, scripts::complete_in(3));
    let run = home.run("On PostgreSQL", &["--success", "It exists"]).exits(0).run();
    let id = run["id"].as_str().expect("an id");
    assert_eq!(home.show(id), run);
    assert_eq!(home.pleach(&["ls", "--json"]).exits(0).lines().len(), 1);
    home.pleach(&["rebuild"]).exits(0);
    assert_eq!(home.show(id), run, "T1: rebuilding gives identical rows");
}

#[test]
fn kill_h1_b13_at_random_and_a_run_ends_as_it_would_have_on_postgres() {
    let database = Database::create();
    let home = home(&database, scripts::complete_in(5).latency(Duration::from_millis(25)));
    killed_at_random(&home, kills());
}

#[test]
fn kill_e2_b13_one_of_three_workers_that_share_a_hundred_runs() {
    let database = Database::create();
    let home = home(&database, scripts::complete_in(3).latency(Duration::from_millis(40)));
    let mut workers: Vec<Child> = Vec::new();
    for number in 0..100 {
        home.pleach(&["run", &format!("Shared {number}"), "--kind", "homework", "--detach", "--json"]).exits(0);
    }
    for number in 0..3 {
        let own = home.folder.path().join(format!("worker-{number}"));
        workers.push(
            home.command(&["worker", "--workers", "12", "--data-dir", &own.display().to_string()])
                .spawn()
                .expect("a worker"),
        );
    }
    home.until("some runs are done", || (done(&home) >= 15).then_some(()));
    let mut victim = workers.remove(0);
    victim.kill().expect("killed");
    victim.wait().expect("reaped");
    let killed_at = Instant::now();
    home.until("all are done", || (done(&home) == 100).then_some(()));
    assert!(killed_at.elapsed() < Duration::from_secs(60));
    for worker in &mut workers {
        Command::new("kill").args(["-TERM", &worker.id().to_string()]).status().expect("kill");
        worker.wait().expect("it ends");
    }
    let runs = home.pleach(&["ls", "--json", "--limit", "200"]).exits(0).lines();
    let mut late = 0;
    for run in &runs {
        let events = home.events(run["id"].as_str().expect("an id"));
        assert_eq!(of_type(&events, "homework.scratchpad_appended").len(), 3);
        late += of_type(&events, "run.recovered").len();
    }
    assert!(late > 0, "the dead worker's runs were taken over");
}

fn done(home: &Home) -> usize {
    home.pleach(&["ls", "--json", "--limit", "200"])
        .exits(0)
        .lines()
        .iter()
        .filter(|run| run["status"] == "completed")
        .count()
}

#[test]
fn e2_h1_a_database_that_drops_every_connection_in_the_middle_loses_nothing() {
    let database = Database::create();
    let home = home(&database, scripts::complete_in(6).latency(Duration::from_millis(60)));
    let (child, id) = home.start_run("Hold on", &[]);
    for _ in 0..8 {
        std::thread::sleep(Duration::from_millis(150));
        let name = &database.name;
        psql(
            &database.server,
            &format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"),
        );
    }
    assert_eq!(said(child.wait_with_output().expect("it ends")).code, 0);
    let events = home.events(&id);
    assert_eq!(of_type(&events, "homework.scratchpad_appended").len(), 6);
    let mut keys: Vec<String> = home.model().ledger().into_iter().map(|entry| entry.key).collect();
    let asked = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), asked, "no answer was paid for twice");
}

#[test]
fn h2_a_command_given_elsewhere_reaches_the_worker_that_drives_the_run() {
    let database = Database::create();
    let home = home(&database, scripts::complete_in(40).latency(Duration::from_millis(100)));
    let own = home.folder.path().join("worker");
    let mut worker = home.command(&["worker", "--data-dir", &own.display().to_string()]).spawn().expect("a worker");
    let id = home.pleach(&["run", "Elsewhere", "--kind", "homework", "--detach", "--json"]).exits(0).id();
    home.until("it works", || (home.model().ledger().len() > 1).then_some(()));
    let asked = Instant::now();
    assert_eq!(home.pleach(&["cancel", &id, "--json"]).exits(0).run()["status"], "canceled");
    assert!(asked.elapsed() < Duration::from_secs(2));
    // The worker goes on with another run, and by then has called for the first one no more than it had decided before.
    home.model().play(scripts::complete_in(1));
    home.pleach(&["run", "Another", "--kind", "homework", "--detach"]).exits(0);
    home.until("the next run completes", || (done(&home) == 1).then_some(()));
    let events = home.events(&id);
    let canceled = events.iter().position(|event| event["type"] == "run.canceled").expect("it was canceled");
    assert!(of_type(&events[canceled..], "effect.started").is_empty(), "no call starts after the cancel");
    let called = home.model().ledger().iter().filter(|entry| user_text(entry).contains("Elsewhere")).count();
    assert!(called <= of_type(&events, "effect.started").len(), "{called} calls, not all of them in the log");
    worker.kill().expect("killed");
    worker.wait().expect("reaped");
}
