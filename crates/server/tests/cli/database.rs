//! A PostgreSQL database that is dropped at the end of its test.

use std::process::Command;

/// A new database on the server of `PLEACH_TEST_POSTGRES`.
pub struct Database {
    pub name: String,
    pub server: String,
}

impl Database {
    pub fn create() -> Database {
        let server = std::env::var("PLEACH_TEST_POSTGRES").expect("PLEACH_TEST_POSTGRES: run the tests through ./test");
        let name = format!(
            "cli_{}_{}",
            std::process::id(),
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_nanos()
        );
        psql(&server, &format!("CREATE DATABASE {name}"));
        Database { name, server }
    }

    pub fn url(&self) -> String {
        let (base, _) = self.server.rsplit_once('/').expect("a database in the URL");
        format!("{base}/{}", self.name)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = Command::new("psql")
            .args([&self.server, "-qc", &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name)])
            .status();
    }
}

pub fn psql(server: &str, sql: &str) {
    assert!(Command::new("psql").args([server, "-qc", sql]).status().expect("psql runs").success());
}
