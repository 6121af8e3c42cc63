//! Resolves a path to an open directory and a name in it. It goes from file descriptor to file descriptor and follows no symbolic
//! link, so that what was checked is what is used, even if another process changes the directory meanwhile.

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawMode, Stat, fstat, mkdirat, open, openat, stat, statat};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

const MAX_PATH_BYTES: usize = 1_000;
/// A project's configuration, in any directory: the next command that runs there reads it.
const CONFIGURATION: &str = "pleach.toml";

pub(super) const A_LINK: &str = "it is a link, and links are not followed";
const LEADS_OUT: &str = "paths are relative to the files directory and must not lead out of it";
const HIDDEN: &str = "names that begin with a dot are hidden: other programs read their configuration from such files";
const OURS: &str = "it is Pleach's own configuration or data";

#[derive(Clone)]
pub(super) struct Workspace {
    pub root: PathBuf,
    /// Files and directories of this program, which no path may reach.
    pub own: Vec<PathBuf>,
}

/// Where a file is or would be.
pub(super) struct Location {
    pub directory: OwnedFd,
    pub name: String,
}

/// What happens to a directory on the way that does not exist.
enum Missing {
    Refused,
    Created,
}

pub(super) fn refused(asked: &str, why: &str) -> String {
    format!("`path` is {:?}: {why}", asked.chars().take(200).collect::<String>())
}

impl Workspace {
    /// Whether the directory exists and is none of our own.
    pub(super) fn check(&self) -> Result<(), String> {
        self.open_root().map(drop)
    }

    fn open_root(&self) -> Result<OwnedFd, String> {
        let unusable = |why: String| format!("the files directory {} cannot be used: {why}", self.root.display());
        let root = self.root.canonicalize().map_err(|error| unusable(error.to_string()))?;
        let is_inside = |own: &PathBuf| own.canonicalize().is_ok_and(|own| root.starts_with(own));
        if self.own.iter().any(is_inside) {
            return Err(unusable(OURS.into()));
        }
        open(&root, directory_flags(), Mode::empty()).map_err(|error| unusable(error.to_string()))
    }

    pub(super) fn open_directory(&self, asked: &str) -> Result<OwnedFd, String> {
        self.walk(asked, &names(asked)?, Missing::Refused)
    }

    pub(super) fn find(&self, asked: &str) -> Result<Location, String> {
        self.locate(asked, Missing::Refused)
    }

    /// Creates missing directories on the way.
    pub(super) fn find_or_create(&self, asked: &str) -> Result<Location, String> {
        self.locate(asked, Missing::Created)
    }

    fn locate(&self, asked: &str, missing: Missing) -> Result<Location, String> {
        let names = names(asked)?;
        let Some((name, above)) = names.split_last() else {
            return Err(refused(asked, "it is a directory, not a file"));
        };
        // Checked before a directory is created for a name that is refused anyway.
        check_name(name).map_err(|why| refused(asked, why))?;
        let directory = self.walk(asked, above, missing)?;
        self.check_entry(&directory, name).map_err(|why| refused(asked, why))?;
        Ok(Location { directory, name: (*name).to_owned() })
    }

    fn walk(&self, asked: &str, names: &[&str], missing: Missing) -> Result<OwnedFd, String> {
        let mut at = self.open_root()?;
        for name in names {
            self.check_entry(&at, name).map_err(|why| refused(asked, why))?;
            let mut next = openat(&at, *name, directory_flags(), Mode::empty());
            if matches!((&next, &missing), (Err(Errno::NOENT), Missing::Created)) {
                match mkdirat(&at, *name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => next = openat(&at, *name, directory_flags(), Mode::empty()),
                    Err(error) => next = Err(error),
                }
            }
            at = next.map_err(|error| refused(asked, &why_not_entered(&at, name, error)))?;
        }
        Ok(at)
    }

    /// Whether a name in an open directory may be used.
    pub(super) fn check_entry(&self, directory: &OwnedFd, name: &str) -> Result<(), &'static str> {
        check_name(name)?;
        let here = fstat(directory).map_err(|_| LEADS_OUT)?;
        let found = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let is_own = |own: &PathBuf| {
            // By inode, since a hard link is the same file; and by directory and name, since it may not exist yet.
            let same = stat(own).is_ok_and(|own| found.as_ref().is_some_and(|found| is_same(&own, found)));
            let above = own.parent().and_then(|parent| stat(parent).ok());
            let is_here = above.is_some_and(|above| is_same(&above, &here));
            same || (is_here && own.file_name().is_some_and(|own| own == name))
        };
        if self.own.iter().any(is_own) { Err(OURS) } else { Ok(()) }
    }
}

fn check_name(name: &str) -> Result<(), &'static str> {
    match name {
        _ if name.starts_with('.') => Err(HIDDEN),
        _ if name.eq_ignore_ascii_case(CONFIGURATION) => Err(OURS),
        _ => Ok(()),
    }
}

fn is_same(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// The components of a path, none of which leads up or away.
fn names(asked: &str) -> Result<Vec<&str>, String> {
    if asked.len() > MAX_PATH_BYTES || asked.contains('\0') {
        return Err(refused(asked, "it is not a valid path"));
    }
    let mut names = Vec::new();
    for part in Path::new(asked).components() {
        match part {
            Component::Normal(name) => {
                names.push(name.to_str().ok_or_else(|| refused(asked, "it is not a valid path"))?)
            }
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(refused(asked, LEADS_OUT)),
        }
    }
    Ok(names)
}

fn why_not_entered(at: &OwnedFd, name: &str, error: Errno) -> String {
    let kind =
        statat(at, name, AtFlags::SYMLINK_NOFOLLOW).map(|about| FileType::from_raw_mode(about.st_mode as RawMode));
    match kind {
        Ok(FileType::Symlink) => A_LINK.into(),
        Ok(FileType::Directory) | Err(_) => error.to_string(),
        Ok(other) => format!("{name} is {}, not a directory", kind_of(other)),
    }
}

pub(super) fn kind_of(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a link, and links are not followed",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    }
}
