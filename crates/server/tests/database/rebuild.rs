//! `pleach rebuild` while runs continue.

use crate::home::Home;
use crate::live_server::LiveServer;
use crate::server_database::Database;
use simulation::scripted::scripts;
use std::time::Duration;

#[test]
fn r10_rebuild_on_postgres_under_load_gives_the_same_rows() {
    let database = Database::create();
    let script = scripts::complete_in(18).latency(Duration::from_millis(5));
    let owner = LiveServer::up(Home::with(script).set("PLEACH_DATABASE_URL", &database.url()));
    let runs: Vec<String> = (0..8).map(|number| owner.start("homework", &format!("Load {number}"))).collect();
    owner.home.until("they work", || (owner.home.model().ledger().len() > 8).then_some(()));

    for _ in 0..4 {
        let rebuilt = owner.home.pleach(&["rebuild"]).exits(0);
        assert!(rebuilt.out.contains("8 runs"), "{rebuilt:?}");
    }

    for run in &runs {
        assert_eq!(owner.settled(run)["status"], "completed");
    }
    owner.home.pleach(&["doctor"]).exits(0);
}
