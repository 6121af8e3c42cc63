//! A lock on a file that SQLite has open too. SQLite's own locks belong to the process and are lost when the process closes any
//! handle of that file, so the handles used here stay open until the process ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

static HANDLES: Mutex<Vec<Handle>> = Mutex::new(Vec::new());

struct Handle {
    file: File,
    inode: (u64, u64),
    locked: bool,
}

/// Locked until dropped.
#[derive(Debug)]
pub(crate) struct FileLock {
    inode: (u64, u64),
}

impl FileLock {
    /// `None` when another process, or another lock of this process, has it. A missing file is created.
    pub(crate) fn try_take(path: &Path) -> io::Result<Option<FileLock>> {
        let mut handles = handles();
        let inode = match path.metadata() {
            Ok(found) => (found.dev(), found.ino()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => create(path)?,
            Err(error) => return Err(error),
        };
        if !handles.iter().any(|handle| handle.inode == inode) {
            let file = OpenOptions::new().read(true).write(true).open(path)?;
            handles.push(Handle { file, inode, locked: false });
        }
        let Some(handle) = handles.iter_mut().find(|handle| handle.inode == inode && !handle.locked) else {
            return Ok(None);
        };
        match handle.file.try_lock() {
            Ok(()) => {
                handle.locked = true;
                Ok(Some(FileLock { inode }))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        for handle in handles().iter_mut().filter(|handle| handle.inode == self.inode) {
            // An error leaves the lock to be released when the process ends.
            let _ = handle.file.unlock();
            handle.locked = false;
        }
    }
}

fn handles() -> MutexGuard<'static, Vec<Handle>> {
    HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A new file is not open in SQLite yet, so closing this handle loses no lock.
fn create(path: &Path) -> io::Result<(u64, u64)> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    let found = file.metadata()?;
    Ok((found.dev(), found.ino()))
}
