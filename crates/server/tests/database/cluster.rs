//! A PostgreSQL server for one test, for what must not be done to the shared one.

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub const PASSWORD: &str = "kept-out-of-sight";

pub struct Cluster {
    folder: tempfile::TempDir,
    server: Child,
    pub port: u16,
}

/// The user that runs the server, which refuses to run as root.
fn server_user() -> Option<u32> {
    let root = std::fs::metadata("/proc/self").expect("it is Linux").uid() == 0;
    root.then_some(65534)
}

fn program(name: &str) -> PathBuf {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin").join(name)))
        .filter(|path| path.exists())
        .collect();
    found.sort();
    found.pop().unwrap_or_else(|| PathBuf::from(name))
}

fn command_as_server_user(name: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "INT"]);
    if let Some(id) = server_user() {
        command.args(["--reuid", &id.to_string(), "--regid", &id.to_string(), "--clear-groups"]);
    }
    command.arg(program(name));
    command
}

impl Cluster {
    /// With these lines in `pg_hba.conf`, these settings, and these files beside its data.
    pub fn start(access: &str, settings: &[&str], files: &[(&str, &str)]) -> Cluster {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("password"), PASSWORD).expect("written");
        chown_to_server_user(folder.path());
        chown_to_server_user(&folder.path().join("password"));
        let data = folder.path().join("data");
        let made = command_as_server_user("initdb")
            .args(["--no-sync", "--username=pleach", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8"])
            .arg(format!("--pgdata={}", data.display()))
            .arg(format!("--pwfile={}", folder.path().join("password").display()))
            .current_dir(folder.path())
            .output()
            .expect("initdb runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        for (name, text) in files.iter().chain(&[("pg_hba.conf", access)]) {
            let path = data.join(name);
            std::fs::write(&path, text).expect("written");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("its mode");
            chown_to_server_user(&path);
        }
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let mut command = command_as_server_user("postgres");
        command.arg("-D").arg(&data).args(["-p", &port.to_string(), "-c", "listen_addresses=localhost"]);
        command.arg("-c").arg(format!("unix_socket_directories={}", folder.path().display()));
        settings.iter().for_each(|setting| {
            command.args(["-c", setting]);
        });
        let log = std::fs::File::create(folder.path().join("log")).expect("a log");
        let server =
            command.current_dir(folder.path()).stdout(Stdio::null()).stderr(log).spawn().expect("postgres runs");
        let cluster = Cluster { folder, server, port };
        cluster.wait_until_ready();
        cluster
    }

    fn wait_until_ready(&self) {
        let began = Instant::now();
        let ready = || {
            let mut asked = Command::new(program("pg_isready"));
            asked.arg("-q").arg("-h").arg(self.folder.path()).args(["-p", &self.port.to_string()]);
            asked.status().expect("pg_isready runs").success()
        };
        while !ready() {
            let log = || std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(began.elapsed() < Duration::from_secs(60), "PostgreSQL does not start: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn url(&self, host: &str, more: &str) -> String {
        format!("postgres://pleach@{host}:{}/postgres{more}", self.port)
    }

    /// To the server and everything it started.
    pub fn signal(&self, name: &str) {
        let own = self.server.id();
        let children = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
        let ids = children.split_whitespace().map(str::to_owned).chain([own.to_string()]);
        Command::new("kill").arg(format!("-{name}")).args(ids).status().expect("kill runs");
    }
}

fn chown_to_server_user(path: &Path) {
    if let Some(id) = server_user() {
        chown(path, Some(id), Some(id)).expect("given away");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.signal("CONT");
        // At once, without waiting for clients.
        self.signal("QUIT");
        let _ = self.server.wait();
    }
}
