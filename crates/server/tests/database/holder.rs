//! Only one process holds a SQLite database, whatever happens to its lock file, and clients of a stopped one do not hang.

use crate::home::{Home, said};
use crate::live_server::LiveServer;
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn r10_removing_the_lock_file_does_not_release_the_database() {
    let owner = LiveServer::up(Home::bare());
    let lock = owner.home.data().join("pleach.lock");
    std::fs::remove_file(&lock).expect("removed");

    let second = owner.home.pleach(&["up"]).exits(2);
    assert!(second.err.contains("holds the database"), "{second:?}");
    owner.home.pleach(&["rebuild"]).exits(2);
    owner.home.until("the holder says again where it is", || lock.exists().then_some(()));
    assert!(owner.home.pleach(&["doctor"]).out.contains(&format!("held by process {}", owner.pid())));
}

#[test]
fn r10_a_client_of_a_stopped_holder_ends_with_an_error_message() {
    let owner = LiveServer::up(Home::bare());
    let pid = owner.pid().to_string();
    Command::new("kill").args(["-STOP", &pid]).status().expect("kill runs");

    for words in [&["ls"][..], &["run", "In vain", "--detach"]] {
        let began = Instant::now();
        let waited = said(owner.home.command(words).output().expect("it runs"));
        assert_eq!(waited.code, 7, "{waited:?}");
        assert!(waited.err.contains(&pid) && waited.err.contains("does not answer"), "{waited:?}");
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    }

    Command::new("kill").args(["-CONT", &pid]).status().expect("kill runs");
    owner.home.pleach(&["ls"]).exits(0);
}
