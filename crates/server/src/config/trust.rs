//! The person's decisions about configuration files of working directories, by path and content. The records are in the XDG state
//! directory, which no untrusted file can change.

use super::Environment;
use super::local::LocalFile;
use super::trust_preview::TrustPreview;
use crate::failure::Failure;
use engine::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How many contents of one file are remembered: each branch of a repository may have its own.
const MAX_VERSIONS_PER_FILE: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Decision {
    Trusted,
    /// The person is not asked again.
    Declined,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TrustRecord {
    pub path: PathBuf,
    pub hash: String,
    pub at: Timestamp,
    pub decision: Decision,
    /// The environment variables that the person was shown. The file may read no others.
    pub variables: BTreeSet<String>,
}

/// Why a file is not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Distrust {
    New,
    Declined,
    /// Another content of the file was trusted.
    Changed,
    /// This content was trusted, but it now reads variables that were not shown.
    ReadsMore(BTreeSet<String>),
}

#[derive(Debug)]
pub(crate) struct TrustRecords {
    path: PathBuf,
    pub all: Vec<TrustRecord>,
}

impl TrustRecords {
    pub(crate) fn read(environment: &Environment) -> Result<TrustRecords, Failure> {
        let path = environment.state_dir().join("trust.json");
        let unusable = |error: &dyn std::fmt::Display| {
            Failure::usage(format!(
                "{} cannot be read: {error}\nIt records which files you trust. Nothing was started. Correct or remove it, then run the command again.",
                path.display()
            ))
        };
        let all = match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| unusable(&error))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(unusable(&error)),
        };
        Ok(TrustRecords { path, all })
    }

    /// The variables that the file may read, if its present content is trusted.
    pub(crate) fn judge(&self, file: &LocalFile) -> Result<BTreeSet<String>, Distrust> {
        let known = || self.all.iter().filter(|record| record.path == file.path);
        let trusted = |record: &&TrustRecord| record.decision == Decision::Trusted;
        match known().find(|record| record.hash == file.hash) {
            Some(record) if record.decision == Decision::Declined => Err(Distrust::Declined),
            Some(record) => {
                let more: BTreeSet<String> = &TrustPreview::of(file).variables - &record.variables;
                if more.is_empty() { Ok(record.variables.clone()) } else { Err(Distrust::ReadsMore(more)) }
            }
            None if known().any(|record| trusted(&record)) => Err(Distrust::Changed),
            None => Err(Distrust::New),
        }
    }

    pub(crate) fn decide(&mut self, file: &LocalFile, decision: Decision, at: Timestamp) {
        let (path, hash) = (file.path.clone(), file.hash.clone());
        self.all.retain(|record| (&record.path, &record.hash) != (&path, &hash));
        let mut older: Vec<usize> =
            self.all.iter().enumerate().filter(|(_, record)| record.path == path).map(|(at, _)| at).collect();
        while older.len() >= MAX_VERSIONS_PER_FILE {
            self.all.remove(older.remove(0));
            older.iter_mut().for_each(|at| *at -= 1);
        }
        self.all.push(TrustRecord { path, hash, at, decision, variables: TrustPreview::of(file).variables });
    }

    /// Removes the records of a file, or of every file of a directory, and returns how many.
    pub(crate) fn revoke(&mut self, path: &Path) -> usize {
        let before = self.all.len();
        self.all.retain(|record| record.path != path && record.path.parent() != Some(path));
        before - self.all.len()
    }

    /// Atomically; only the owner may read and write the file.
    pub(crate) fn save(&self) -> Result<(), Failure> {
        self.write().map_err(|error| Failure::failed(format!("{} cannot be written: {error}", self.path.display())))
    }

    fn write(&self) -> std::io::Result<()> {
        if let Some(directory) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let fresh = self.path.with_extension(format!("{}.part", std::process::id()));
        let _ = std::fs::remove_file(&fresh);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(serde_json::to_string_pretty(&self.all)?.as_bytes())?;
        std::fs::rename(&fresh, &self.path)
    }
}
