//! Configuration files of the working directory: `pleach.toml` and `.mcp.json`. They may come from anybody, for example with a
//! cloned repository, so only harmless keys apply until the person trusts a file.

use super::file::{self, ConfigFile, FileError};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Keys that start nothing, send nothing and open nothing. Every other key needs trust, so a key that is added later does too.
const HARMLESS: [&str; 4] = ["workers", "lease_ms", "rehearsal_ms", "project_items"];

/// A file as it was read. It is read only once, so that what is trusted is what is used.
#[derive(Clone, Debug)]
pub(crate) struct LocalFile {
    pub path: PathBuf,
    /// SHA-256 of its bytes.
    pub hash: String,
    pub harmless: ConfigFile,
    /// The keys that need trust.
    pub risky: ConfigFile,
}

/// The files of a directory, in order of precedence.
pub(crate) fn files(directory: &Path) -> Result<Vec<LocalFile>, FileError> {
    // The canonical directory, but not the target of a linked file: a link to a file that was trusted elsewhere would start other
    // programs, because paths are relative to this directory.
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf());
    type Parse = fn(&Path, &str) -> Result<ConfigFile, FileError>;
    let known: [(&str, Parse); 2] = [("pleach.toml", file::parse), (".mcp.json", file::parse_servers)];
    let mut found = Vec::new();
    for (name, parse) in known {
        let path = directory.join(name);
        if let Some(text) = file::text(&path)? {
            found.push(LocalFile::split(parse(&path, &text)?, path, &text));
        }
    }
    Ok(found)
}

impl LocalFile {
    fn split(mut risky: ConfigFile, path: PathBuf, text: &str) -> LocalFile {
        let hash = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let mut harmless = ConfigFile::default();
        for key in HARMLESS {
            harmless.settings.extend(risky.settings.remove_entry(key));
        }
        LocalFile { path, hash, harmless, risky }
    }

    pub(crate) fn needs_trust(&self) -> bool {
        !self.risky.keys().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::KEYS;

    #[test]
    fn x5_every_key_but_the_harmless_ones_needs_trust() {
        let directory = tempfile::tempdir().expect("a directory");
        let value = |key: &str| if key == "fetch_hosts" { "[\"a.org\"]" } else { "\"1\"" };
        let text: String = KEYS.iter().map(|key| format!("{key} = {}\n", value(key))).collect();
        std::fs::write(directory.path().join("pleach.toml"), text + "[mcp.a]\ncommand = \"x\"\n[providers.b]\n")
            .expect("written");
        let files = files(directory.path()).expect("read");
        let harmless = files[0].harmless.keys();
        assert_eq!(harmless, ["lease_ms", "project_items", "rehearsal_ms", "workers"]);
        let risky = files[0].risky.keys();
        assert_eq!(risky.len(), KEYS.len() - HARMLESS.len() + 2, "{risky:?}");
        let named = "server otlp_endpoint files_dir fetch_url database data_dir listen public_url webhooks_private model \
                     mcp.a providers.b";
        for named in named.split_whitespace() {
            assert!(risky.iter().any(|key| key == named), "{named} needs trust");
        }
    }

    #[test]
    fn x5_trust_in_a_file_does_not_extend_to_links_to_it() {
        let (trusted, cloned) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        std::fs::write(trusted.path().join(".mcp.json"), r#"{"mcpServers": {"a": {"command": "./run"}}}"#)
            .expect("written");
        std::os::unix::fs::symlink(trusted.path().join(".mcp.json"), cloned.path().join(".mcp.json")).expect("a link");
        let [first, second] = [&trusted, &cloned].map(|directory| files(directory.path()).expect("read").remove(0));
        assert_eq!(first.hash, second.hash);
        assert_ne!(first.path, second.path);
    }
}
