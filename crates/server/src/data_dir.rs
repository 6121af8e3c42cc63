//! The data directory: its lock, which is the right to hold the database, and its socket, where the
//! holder answers. A lock dies with its process; a socket file may outlive it and then means nobody.

use crate::config::{Config, Database};
use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::net::{UnixListener, UnixStream};

/// What a unix socket's address can hold, with its terminating zero.
const SOCKET_PATH_LIMIT: usize = 100;

#[derive(Clone, Debug)]
pub struct DataDir {
    path: PathBuf,
    lock: PathBuf,
}

/// Held until dropped.
#[derive(Debug)]
pub struct Hold {
    file: File,
}

/// What the holder writes into its lock, for those who find it locked.
#[derive(Debug, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub socket: PathBuf,
}

impl DataDir {
    /// On SQLite the lock lies beside the file it guards, so two data directories cannot share one database.
    pub fn of(config: &Config) -> DataDir {
        let path = config.data_dir.value.clone();
        let lock = match &config.database.value {
            Database::Sqlite(file) => file.with_extension("lock"),
            Database::Postgres(_) => path.join("pleach.lock"),
        };
        DataDir { path, lock }
    }

    /// Nothing there yet is fine; something that is no directory is not.
    pub fn check(&self) -> Result<(), Failure> {
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

    /// Private to its owner. A directory with other people's files in it is left as it is.
    pub fn create(&self) -> Result<(), Failure> {
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
    pub fn try_hold(&self) -> Result<Option<Hold>, Failure> {
        let failed =
            |error: std::io::Error| Failure::failed(format!("{} cannot be locked: {error}", self.lock.display()));
        let file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&self.lock).map_err(failed)?;
        file.set_permissions(Permissions::from_mode(0o600)).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Hold { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Who wrote the lock last; they may be gone.
    pub fn last_holder(&self) -> Option<Holder> {
        let mut text = String::new();
        File::open(&self.lock).ok()?.take(4096).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The directory's own socket, which the holder uses unless another database's holder was first.
    pub fn usual_socket(&self) -> PathBuf {
        self.path.join("pleach.sock")
    }

    /// Listen where others will look, and say so in the lock. Another database's holder may already use the
    /// directory's own socket; then this one gets a name of its own.
    pub async fn listen(&self, hold: &mut Hold) -> std::io::Result<(UnixListener, SocketFile)> {
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
        hold.announce(&Holder { pid: std::process::id(), socket: path.clone() })?;
        Ok((listener, SocketFile { path }))
    }
}

impl Hold {
    fn announce(&mut self, holder: &Holder) -> std::io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(serde_json::to_string(holder)?.as_bytes())
    }
}

/// Removed when its holder ends in an orderly way.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Does someone accept connections here?
async fn answers(socket: &Path) -> bool {
    match ShortPath::new(socket) {
        Ok(short) => UnixStream::connect(short.path()).await.is_ok(),
        Err(_) => false,
    }
}

/// A socket's address holds about a hundred bytes; a deep directory is reached through its open handle instead.
#[derive(Debug)]
pub struct ShortPath {
    path: PathBuf,
    _directory: Option<File>,
}

impl ShortPath {
    pub fn new(path: &Path) -> std::io::Result<ShortPath> {
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

    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data_dir(root: &Path) -> DataDir {
        DataDir { path: root.join("data"), lock: root.join("data/pleach.lock") }
    }

    #[tokio::test]
    async fn one_process_holds_and_a_socket_left_behind_counts_as_nobody() {
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
