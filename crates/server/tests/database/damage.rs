//! `pleach doctor` names damaged data, and no command hangs on it.

use crate::home::{Home, Said, said};
use crate::server_database::{Database, psql};
use rusqlite::Connection;
use simulation::scripted::scripts;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn worked() -> Home {
    let home = Home::with(scripts::complete_in(2));
    home.run("Sound", &["--success", "It exists"]).exits(0);
    assert!(home.pleach(&["doctor"]).exits(0).out.contains("every chain whole"));
    home
}

fn file(home: &Home) -> PathBuf {
    home.data().join("pleach.db")
}

fn execute(home: &Home, sql: &str) {
    Connection::open(file(home)).expect("the file").execute_batch(sql).expect("changed");
}

#[test]
fn r4_texts_that_are_gone_or_changed_are_named() {
    let home = worked();
    execute(&home, "UPDATE blobs SET body = CAST(x'00' || 'other' AS BLOB) WHERE hash = (SELECT min(hash) FROM blobs)");
    let changed = home.pleach(&["doctor"]).exits(1).out;
    assert!(changed.contains("was changed after it was written") && changed.contains("backup"), "{changed}");
    home.pleach(&["doctor", "--quick"]).exits(0);
    execute(&home, "DELETE FROM blobs");
    let gone = home.pleach(&["doctor"]).exits(1).out;
    assert!(gone.contains("✗ logs") && gone.contains("missing or was changed"), "{gone}");
}

#[test]
fn r4_rows_that_do_not_follow_from_the_log_are_named_and_rebuilt() {
    let home = worked();
    execute(&home, "UPDATE homework_runs SET status = 'failed', objective = 'Other'");
    let found = home.pleach(&["doctor"]).exits(1).out;
    assert!(found.contains("homework_runs") && found.contains("pleach rebuild"), "{found}");
    assert!(!found.contains("restore a backup"), "{found}");
    home.pleach(&["rebuild"]).exits(0);
    home.pleach(&["doctor"]).exits(0);
}

#[test]
fn r4_a_write_ahead_log_that_is_gone_or_damaged_is_named() {
    let home = Home::with(scripts::complete_in(40).latency(Duration::from_millis(20)));
    let (mut child, _) = home.start_run("Cut off", &[]);
    home.until("it works", || (home.model().ledger().len() > 5).then_some(()));
    child.kill().expect("killed");
    child.wait().expect("reaped");
    let log = home.data().join("pleach.db-wal");
    let whole = std::fs::read(&log).expect("a log");
    home.pleach(&["doctor"]).exits(0);

    let mut bytes = whole.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&log, &bytes).expect("written");
    let damaged = home.pleach(&["doctor"]).exits(1).out;
    assert!(damaged.contains("write-ahead log") && damaged.contains("damaged"), "{damaged}");

    std::fs::remove_file(&log).expect("removed");
    let gone = home.pleach(&["doctor"]).exits(1).out;
    assert!(gone.contains("write-ahead log") && gone.contains("is gone"), "{gone}");
}

#[test]
fn r4_a_directory_that_cannot_be_written_is_named() {
    let home = worked();
    std::fs::set_permissions(home.data(), std::fs::Permissions::from_mode(0o555)).expect("its mode");
    std::fs::set_permissions(home.folder.path(), std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let binary = env!("CARGO_BIN_EXE_pleach");
    // Root may write anywhere.
    let root = std::fs::metadata("/proc/self").expect("it is Linux").uid() == 0;
    let mut command = if root { Command::new("setpriv") } else { Command::new(binary) };
    if root {
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", binary]);
    }
    command.arg("doctor").env("HOME", home.folder.path()).env("PLEACH_DATA_DIR", home.data()).env("NO_COLOR", "1");
    let found = said(command.current_dir("/").stdin(Stdio::null()).output().expect("it runs"));
    assert_eq!(found.code, 1, "{found:?}");
    assert!(found.out.contains("✗ data") && found.out.contains("cannot be written"), "{found:?}");
    std::fs::set_permissions(home.data(), std::fs::Permissions::from_mode(0o700)).expect("its mode");
}

#[test]
fn r4_the_same_is_found_on_postgres() {
    let database = Database::create();
    let home = Home::with(scripts::complete_in(2)).set("PLEACH_DATABASE_URL", &database.url());
    home.run("Sound", &[]).exits(0);
    assert!(home.pleach(&["doctor"]).exits(0).out.contains("every chain whole"));
    psql(&database.url(), "UPDATE homework_runs SET activity = 'elsewhere'");
    assert!(home.pleach(&["doctor"]).exits(1).out.contains("pleach rebuild"));
    home.pleach(&["rebuild"]).exits(0);
    psql(&database.url(), "DELETE FROM blobs WHERE hash = (SELECT hash FROM blobs ORDER BY hash LIMIT 1)");
    assert!(home.pleach(&["doctor"]).exits(1).out.contains("missing or was changed"));
}

/// Overwrites a piece of the file, a different one for each number.
fn damaged(whole: &[u8], number: usize) -> Vec<u8> {
    const PAGE: usize = 2_048;
    let pages = whole.len() / PAGE;
    let mut bytes = whole.to_vec();
    let page = 1 + (number * 7_919) % (pages - 1);
    let start = page * PAGE;
    match number % 4 {
        0 => bytes[start..start + PAGE].fill(0),
        1 => (start..start + PAGE).for_each(|at| bytes[at] = (at * 31 + number) as u8),
        2 => bytes[start..start + 12].fill(0xff),
        _ => bytes.truncate(start + PAGE / 2),
    }
    bytes
}

#[test]
fn r5_a_run_on_a_damaged_database_ends_with_an_error_message() {
    let home = worked();
    let whole = std::fs::read(file(&home)).expect("the file");
    let bare = Home::bare();
    for number in 0..24 {
        let folder = bare.folder.path().join(format!("damaged-{number}"));
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(folder.join("pleach.db"), damaged(&whole, number)).expect("written");
        // Into files: nobody reads along, and a pipe that is full would hold it up.
        let [out, err] = ["out", "err"].map(|name| folder.join(name));
        let written = |path: &PathBuf| std::fs::File::create(path).expect("a file");
        let mut command = bare.command(&["run", "Try", "--kind", "homework", "--wait", "--json"]);
        command.env("PLEACH_DATA_DIR", &folder).stdout(written(&out)).stderr(written(&err));
        let mut child = command.spawn().expect("it starts");
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("its state") {
                break status;
            }
            if began.elapsed() > Duration::from_secs(60) {
                child.kill().expect("killed");
                panic!("damage {number}: it hangs");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let read = |path: &PathBuf| std::fs::read_to_string(path).expect("text");
        let ended = Said { code: status.code().unwrap_or(-1), out: read(&out), err: read(&err) };
        assert!(matches!(ended.code, 0..=2), "damage {number}: {ended:?}");
        if ended.code != 0 {
            let failed = || ended.run()["status"] == "failed";
            assert!(ended.err.contains("error: ") || failed(), "damage {number}: {ended:?}");
        }
    }
}
