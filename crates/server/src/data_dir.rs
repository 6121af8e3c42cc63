//! The data directory: its lock, which is the right to hold the database, and its socket, on which the holder answers. A lock
//! ends with its process; a socket file may outlive it, and then nobody answers on it.

use crate::config::{Config, Database};
use crate::failure::Failure;
use crate::file_lock::FileLock;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tokio::net::{UnixListener, UnixStream};

/// The longest path of a Unix socket, with a margin.
const SOCKET_PATH_LIMIT: usize = 100;

#[derive(Clone, Debug)]
pub(crate) struct DataDir {
    path: PathBuf,
    lock: PathBuf,
    /// The SQLite file, which is locked too.
    database: Option<PathBuf>,
}

/// The lock of the holder, until it is dropped.
#[derive(Debug)]
pub(crate) struct HolderLock {
    file: File,
    path: PathBuf,
    database: Option<PathBuf>,
    announced: Option<HolderRecord>,
    /// The lock on the database itself, which removing the lock file does not release.
    _database_lock: Option<FileLock>,
}

/// What the holder writes into the lock file, for processes that find it locked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HolderRecord {
    pub pid: u32,
    pub socket: PathBuf,
    /// Whether committed data may be in the write-ahead log only, and is lost if that file is removed.
    #[serde(default)]
    pub log_needed: bool,
}

impl DataDir {
    /// With SQLite the lock is beside the database, so that two data directories cannot share it.
    pub(crate) fn of(config: &Config) -> DataDir {
        let path = config.data_dir.value.clone();
        let (lock, database) = match &config.database.value {
            Database::Sqlite(file) => (file.with_extension("lock"), Some(file.clone())),
            Database::Postgres(_) => (path.join("pleach.lock"), None),
        };
        DataDir { path, lock, database }
    }

    /// The directory of any SQLite file, whatever is configured.
    pub(crate) fn beside(database: &Path) -> DataDir {
        let path = database.parent().unwrap_or(Path::new(".")).to_owned();
        DataDir { path, lock: database.with_extension("lock"), database: Some(database.to_owned()) }
    }

    /// Refuses a path that exists and is not a directory.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match fs::metadata(&self.path) {
            Ok(found) if !found.is_dir() => {
                Err(self.unusable(&std::io::Error::from(std::io::ErrorKind::NotADirectory)))
            }
            _ => Ok(()),
        }
    }

    fn unusable(&self, error: &std::io::Error) -> Failure {
        Failure::usage(format!(
            "the data directory {} cannot be used: {error}\nChoose another with --data-dir or PLEACH_DATA_DIR.",
            self.path.display()
        ))
    }

    /// Creates it, private to its owner. The permissions of a directory with other files in it stay as they are.
    pub(crate) fn create(&self) -> Result<(), Failure> {
        let failed = |error| self.unusable(&error);
        let parent = self.lock.parent().unwrap_or(&self.path);
        for directory in [&self.path, parent] {
            DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        }
        let ours = self.path.join("pleach.lock").exists() || fs::read_dir(&self.path).map_err(failed)?.next().is_none();
        match ours {
            true => fs::set_permissions(&self.path, Permissions::from_mode(0o700)).map_err(failed),
            false => Ok(()),
        }
    }

    /// `None` when another process holds it.
    pub(crate) fn try_hold(&self) -> Result<Option<HolderLock>, Failure> {
        let failed =
            |error: std::io::Error| Failure::failed(format!("{} cannot be locked: {error}", self.lock.display()));
        // First, so that the lock file of the present holder is not touched.
        let database_lock = match &self.database {
            None => None,
            Some(file) => match FileLock::try_take(file).map_err(failed)? {
                Some(lock) => Some(lock),
                None => return Ok(None),
            },
        };
        let file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&self.lock).map_err(failed)?;
        file.set_permissions(Permissions::from_mode(0o600)).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(HolderLock {
                file,
                path: self.lock.clone(),
                database: self.database.clone(),
                announced: None,
                _database_lock: database_lock,
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// The record of the last holder, which may have ended.
    pub(crate) fn last_holder(&self) -> Option<HolderRecord> {
        let mut text = String::new();
        File::open(&self.lock).ok()?.take(4096).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The default socket, which the holder uses unless the holder of another database does.
    pub(crate) fn usual_socket(&self) -> PathBuf {
        self.path.join("pleach.sock")
    }

    /// Listens on the default socket, or on one named by the pid when the holder of another database uses the default, and
    /// writes the path into the lock file.
    pub(crate) async fn listen(&self, hold: &mut HolderLock) -> std::io::Result<(UnixListener, SocketFile)> {
        let mut path = self.usual_socket();
        if answers(&path).await {
            path = self.path.join(format!("pleach-{}.sock", std::process::id()));
        }
        let short = ShortPath::new(&path)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(short.path())?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        hold.announce(HolderRecord {
            pid: std::process::id(),
            socket: path.clone(),
            log_needed: self.database.is_some(),
        })?;
        Ok((listener, SocketFile { path }))
    }
}

impl HolderLock {
    fn announce(&mut self, holder: HolderRecord) -> std::io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(serde_json::to_string(&holder)?.as_bytes())?;
        self.announced = Some(holder);
        Ok(())
    }

    /// The lock file and its content, to be written again if somebody removes the file.
    pub(crate) fn announcement(&self) -> Option<(PathBuf, String)> {
        let holder = self.announced.as_ref().filter(|_| self.database.is_some())?;
        Some((self.path.clone(), serde_json::to_string(holder).ok()?))
    }
}

/// Lock files and databases that this process held.
static HELD: Mutex<Vec<(PathBuf, PathBuf)>> = Mutex::new(Vec::new());

impl Drop for HolderLock {
    fn drop(&mut self) {
        let Some(database) = self.database.take() else { return };
        HELD.lock().unwrap_or_else(PoisonError::into_inner).push((std::mem::take(&mut self.path), database));
    }
}

/// Called when everything is closed: notes whether a write-ahead log is left, so that a later process can tell whether one is
/// missing.
pub(crate) fn note_logs() {
    for (lock, database) in HELD.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let Ok(mut file) = OpenOptions::new().read(true).write(true).open(&lock) else { continue };
        // A new holder writes its own record.
        if file.try_lock().is_err() {
            continue;
        }
        let mut text = String::new();
        let read = file.read_to_string(&mut text).is_ok();
        if let Some(holder) = serde_json::from_str::<HolderRecord>(&text).ok().filter(|_| read) {
            let holder = HolderRecord { log_needed: log_of(&database).exists(), ..holder };
            // If this fails, a missing log is reported although none is needed, which is the safer error.
            let _ = file.set_len(0).and_then(|()| file.rewind());
            let _ = file.write_all(serde_json::to_string(&holder).unwrap_or_default().as_bytes());
        }
    }
}

/// The write-ahead log of a SQLite database.
pub(crate) fn log_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// Writes the lock file again whenever it was removed, until this future is dropped.
pub(crate) async fn keep_announced((path, text): (PathBuf, String)) {
    loop {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path);
        if let Ok(mut file) = file {
            let _ = file.write_all(text.as_bytes());
        }
    }
}

/// The socket file, removed when its holder stops.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a process accepts connections on this socket.
async fn answers(socket: &Path) -> bool {
    match ShortPath::new(socket) {
        Ok(short) => UnixStream::connect(short.path()).await.is_ok(),
        Err(_) => false,
    }
}

/// Socket addresses hold about a hundred bytes, so a deep directory is reached through its open descriptor instead.
#[derive(Debug)]
pub(crate) struct ShortPath {
    path: PathBuf,
    _directory: Option<File>,
}

impl ShortPath {
    pub(crate) fn new(path: &Path) -> std::io::Result<ShortPath> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(ShortPath { path: path.to_path_buf(), _directory: None });
        };
        if path.as_os_str().len() < SOCKET_PATH_LIMIT {
            return Ok(ShortPath { path: path.to_path_buf(), _directory: None });
        }
        let directory = File::open(directory)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())).join(name);
        Ok(ShortPath { path, _directory: Some(directory) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data_dir(root: &Path) -> DataDir {
        let database = Some(root.join("data/pleach.db"));
        DataDir { path: root.join("data"), lock: root.join("data/pleach.lock"), database }
    }

    #[tokio::test]
    async fn one_process_holds_and_a_stale_socket_is_no_holder() {
        let root = tempfile::tempdir().unwrap();
        let dir = data_dir(root.path());
        dir.create().unwrap();
        assert_eq!(fs::metadata(root.path().join("data")).unwrap().permissions().mode() & 0o777, 0o700);
        let mut hold = dir.try_hold().unwrap().unwrap();
        assert!(dir.try_hold().unwrap().is_none());
        let (listener, file) = dir.listen(&mut hold).await.unwrap();
        let socket = dir.last_holder().unwrap().socket;
        assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(answers(&socket).await);
        drop(listener);
        assert!(socket.exists() && !answers(&socket).await);
        drop(file);
        drop(hold);
        assert!(dir.try_hold().unwrap().is_some());
    }

    #[tokio::test]
    async fn a_deep_directory_still_has_a_socket() {
        let root = tempfile::tempdir().unwrap();
        let dir = data_dir(&root.path().join("d".repeat(120)));
        dir.create().unwrap();
        let mut hold = dir.try_hold().unwrap().unwrap();
        let (_listener, _file) = dir.listen(&mut hold).await.unwrap();
        assert!(answers(&dir.last_holder().unwrap().socket).await);
    }
}
