//! PostgreSQL behind PgBouncer in transaction mode. LISTEN does not work there, so commits of other processes are polled for.

use crate::database::Database;
use crate::home::Home;
use crate::live_server::{Frames, LiveServer};
use crate::peers::directory;
use serde_json::{Value, json};
use simulation::scripted::scripts;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, chown};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Fewer than one of our processes would open by itself.
const SERVER_CONNECTIONS: usize = 4;

struct PgBouncer {
    child: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl PgBouncer {
    fn before(database: &Database) -> PgBouncer {
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let (user, password, host, server_port) = parts(&database.server);
        let folder = tempfile::tempdir().expect("a folder");
        let settings = format!(
            "[databases]\n* = host={host} port={server_port} user={user} password={password}\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\npool_mode = transaction\n\
             default_pool_size = {SERVER_CONNECTIONS}\nmax_client_conn = 200\nunix_socket_dir =\n"
        );
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, settings).expect("written");
        let unpacked = directory().join("pgbouncer");
        // Like the database server, it refuses to be root, and is to be gone when the test is.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "INT"]);
        if std::fs::metadata("/proc/self").expect("it is Linux").uid() == 0 {
            let nobody = 65534;
            for path in [folder.path(), &file] {
                chown(path, Some(nobody), Some(nobody)).expect("given away");
            }
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        }
        command.arg(unpacked.join("usr/sbin/pgbouncer")).arg("--quiet").arg(&file);
        command.env("LD_LIBRARY_PATH", unpacked.join("usr/lib/x86_64-linux-gnu"));
        let child = command.stdout(Stdio::null()).spawn().expect("setpriv runs");
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(10), "PgBouncer does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        PgBouncer { child, folder, port }
    }

    fn url(&self, database: &Database) -> String {
        format!("postgres://anybody@127.0.0.1:{}/{}", self.port, database.name)
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(self.folder.path());
    }
}

/// User, password, host and port of `postgres://user:password@host:port/database`.
fn parts(url: &str) -> (String, String, String, String) {
    let rest = url.strip_prefix("postgres://").expect("a PostgreSQL URL");
    let (who, place) = rest.split_once('@').expect("a user");
    let (user, password) = who.split_once(':').expect("a password");
    let (host, port) = place.split('/').next().expect("a host").split_once(':').expect("a port");
    (user.into(), password.into(), host.into(), port.into())
}

fn backends(database: &Database) -> usize {
    let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{}'", database.name);
    let said = Command::new("psql").args([&database.server, "-Atc", &sql]).output().expect("psql runs");
    String::from_utf8_lossy(&said.stdout).trim().parse().expect("a number")
}

fn received(owner: &LiveServer, frames: &mut Frames) -> Vec<Value> {
    let mut events: Vec<Value> = Vec::new();
    while events.last().is_none_or(|event| event["type"] != "run.completed") {
        let frame = owner.next(frames, Duration::from_secs(30)).expect("a frame");
        if frame.event != "delta" {
            events.push(serde_json::from_str(&frame.data).expect("an event"));
        }
    }
    events
}

#[test]
fn peers_e2_t14_behind_pgbouncer_runs_complete_and_are_streamed_by_whoever_is_asked() {
    let database = Database::create();
    let pooler = PgBouncer::before(&database);
    // Two servers on one database, each as another machine would be.
    let servers = [(); 2].map(|()| {
        let script = scripts::complete_in(6).latency(Duration::from_millis(60));
        LiveServer::up(Home::with(script).set("PLEACH_DATABASE_URL", &pooler.url(&database)))
    });
    let runs: Vec<String> = (0..4).map(|number| servers[number % 2].start("homework", "Behind a pooler")).collect();
    for run in &runs {
        let path = format!("/api/runs/{run}/stream");
        let mut both: Vec<Frames> = servers.iter().map(|server| server.stream(&path, None)).collect();
        let heard: Vec<_> = servers.iter().zip(&mut both).map(|(server, frames)| received(server, frames)).collect();
        assert_eq!(heard[0], servers[0].log(run), "whoever drove it, the first server streamed the log");
        assert_eq!(heard[0], heard[1], "and so did the second");
    }
    let used = backends(&database);
    assert!(used <= SERVER_CONNECTIONS, "{used} connections: the pooler was passed by");
}

/// Milliseconds from before a message is sent to one server until it is read from the other.
fn delays([writer, reader]: &[LiveServer; 2]) -> Vec<u128> {
    let run = writer.post("/api/runs", json!({"kind": "homework", "objective": "Listen"}));
    let run = run["id"].as_str().expect("an id");
    let mut frames = reader.stream(&format!("/api/runs/{run}/stream"), None);
    let mut taken: Vec<u128> = (0..100)
        .map(|number| {
            let (sent, text) = (Instant::now(), format!("number {number}."));
            writer.post(&format!("/api/runs/{run}/messages"), json!({"text": text}));
            let named = |data: &str| data.contains("run.message_queued") && data.contains(&text);
            while !named(&reader.next(&mut frames, Duration::from_secs(10)).expect("a frame").data) {}
            sent.elapsed().as_millis()
        })
        .collect();
    taken.sort_unstable();
    taken
}

#[test]
fn peers_e2_t14_behind_pgbouncer_what_one_server_commits_another_one_streams_within_a_quarter_second() {
    let database = Database::create();
    let pooler = PgBouncer::before(&database);
    for (how, direct) in [("looked for", None), ("hinted at", Some(database.url()))] {
        let servers = [(); 2].map(|()| {
            let home = Home::bare().set("PLEACH_REHEARSAL_MS", "60000");
            let home = home.set("PLEACH_DATABASE_URL", &pooler.url(&database));
            LiveServer::up(direct.iter().fold(home, |home, url| home.set("PLEACH_DATABASE_DIRECT_URL", url)))
        });
        let taken = delays(&servers);
        let (half, most) = (taken[taken.len() / 2], taken[taken.len() * 99 / 100 - 1]);
        println!("{how}: p50 {half} ms, p99 {most} ms from request to reader");
        assert!(most <= 250, "{how}: {taken:?}");
    }
}
