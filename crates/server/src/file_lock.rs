//! A lock on a file that SQLite has open too. SQLite's own locks belong to the process and are lost when any handle of
//! the process on that file is closed, so the handles used here are kept until the process ends.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static HANDLES: Mutex<Option<HashMap<PathBuf, Vec<File>>>> = Mutex::new(None);

/// Locked until dropped.
#[derive(Debug)]
pub struct FileLock {
    path: PathBuf,
    inode: u64,
}

impl FileLock {
    /// `None` when another process has it, or another lock of this one. The file is made if it is not there.
    pub fn try_take(path: &Path) -> io::Result<Option<FileLock>> {
        let mut handles = handles();
        let known = handles.get_or_insert_default().entry(path.to_owned()).or_default();
        let inode = match path.metadata() {
            Ok(found) => found.ino(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => create(path)?,
            Err(error) => return Err(error),
        };
        let kept = |file: &File| file.metadata().is_ok_and(|found| found.ino() == inode);
        if !known.iter().any(kept) {
            known.push(OpenOptions::new().read(true).write(true).open(path)?);
        }
        let Some(file) = known.iter().find(|file| kept(file)) else { return Ok(None) };
        match file.try_lock() {
            Ok(()) => Ok(Some(FileLock { path: path.to_owned(), inode })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        let handles = handles();
        let known = handles.as_ref().and_then(|handles| handles.get(&self.path));
        for file in known.into_iter().flatten() {
            if file.metadata().is_ok_and(|found| found.ino() == self.inode) {
                // What cannot be unlocked now is when the process ends.
                let _ = file.unlock();
            }
        }
    }
}

fn handles() -> MutexGuard<'static, Option<HashMap<PathBuf, Vec<File>>>> {
    HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nobody has it open yet, so this handle may be closed.
fn create(path: &Path) -> io::Result<u64> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    Ok(file.metadata()?.ino())
}
