//! Anchors outside the database find a log that was rewritten together with its hashes.

use crate::home::Home;
use engine::event::{StoredEvent, genesis};
use engine::ids::RunId;
use rusqlite::Connection;
use simulation::scripted::scripts;

/// Rewrites a log with valid hashes, as an attacker with write access could.
fn rewrite(home: &Home, run: &str) {
    let id: RunId = run.parse().expect("an id");
    let connection = Connection::open(home.data().join("pleach.db")).expect("the file");
    let change = "UPDATE run_commits SET events = replace(events, 'Audit', 'Avoid') WHERE run_id = ?1";
    assert!(connection.execute(change, [run]).expect("changed") > 0);
    let events = home.runtime.block_on(async {
        let store = store::open_read_only(&home.data().join("pleach.db")).await.expect("readable").expect("a database");
        runtime::ports::Log::events(store.as_ref(), id, 0, 10_000).await.expect("events")
    });
    let mut head = genesis(id);
    for event in events.into_iter().map(StoredEvent::decode) {
        head = event.link(head);
        let set = "UPDATE run_commits SET events = replace(events, ?1, ?2) WHERE run_id = ?3";
        connection.execute(set, rusqlite::params![event.hash.to_string(), head.to_string(), run]).expect("changed");
    }
    let set = "UPDATE homework_runs SET head = ?1 WHERE id = ?2";
    connection.execute(set, rusqlite::params![head.0.to_vec(), run]).expect("changed");
}

#[test]
fn x14_a_log_rewritten_with_its_hashes_is_found_by_an_earlier_anchor() {
    let home = Home::with(scripts::complete_in(2));
    let kept = home.run("Kept", &[]).exits(0).run();
    let run = home.run("Audit", &[]).exits(0).run();
    let id = run["id"].as_str().expect("an id");

    // Given what was written down, which has a line for each run and a digest.
    let anchors = home.pleach(&["doctor", "--anchor"]).exits(0).out;
    assert_eq!(anchors.lines().count(), 3, "{anchors}");
    assert!(anchors.contains(&format!("{id} {} ", run["last_seq"])), "{anchors}");
    let file = home.folder.path().join("anchors");
    std::fs::write(&file, &anchors).expect("written");
    let file = file.to_str().expect("text");
    home.pleach(&["doctor", "--against", file]).exits(0);

    // When a log is rewritten, hashes and rows included.
    rewrite(&home, id);
    home.pleach(&["rebuild"]).exits(0);
    home.pleach(&["doctor"]).exits(0);

    // Then the doctor alone cannot know, and what was written down can.
    let found = home.pleach(&["doctor", "--against", file]).exits(1);
    assert!(found.out.contains(id) && !found.out.contains(kept["id"].as_str().expect("an id")), "{found:?}");

    // A file that was changed itself is not believed.
    std::fs::write(file, anchors.replacen(' ', " 1", 1)).expect("written");
    let changed = home.pleach(&["doctor", "--against", file]).exits(2);
    assert!(changed.err.contains("digest"), "{changed:?}");

    // The same in JSON, and a run that is gone is named.
    let lines = home.pleach(&["doctor", "--anchor", "--json"]).exits(0).out;
    std::fs::write(file, lines).expect("written");
    home.pleach(&["doctor", "--against", file]).exits(0);
    home.pleach(&["prune", "--older-than", "0d"]).exits(0);
    let gone = home.pleach(&["doctor", "--against", file]).exits(1);
    assert!(gone.out.contains("is gone"), "{gone:?}");
}
