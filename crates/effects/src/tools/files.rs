//! A toolbox for one directory whose files runs may read and, where the configuration allows it, write. No path leads out of the
//! directory, to hidden files (other programs read their configuration from them) or to our own configuration and data. `walk`
//! resolves the paths.

mod walk;

use super::toolbox::{OfferedTool, OfferedTools, Toolbox, answered};
use async_trait::async_trait;
use engine::effect::{EffectId, Outcome, RepeatSafety, ToolCall, ToolOutcome};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode, openat, renameat, statat, unlinkat};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use walk::{Location, Workspace, kind_of};

const SERVER: &str = "files";
const MAX_FILE_BYTES: u64 = 1_000_000;
const MAX_FILES_LISTED: usize = 500;

#[derive(Clone)]
pub struct Files {
    workspace: Workspace,
    write: bool,
}

impl Files {
    /// `own`: files and directories of this program. No run may read or write them, wherever they are.
    pub fn new(root: PathBuf, write: bool, own: Vec<PathBuf>) -> Files {
        Files { workspace: Workspace { root, own }, write }
    }

    fn carry_out(&self, tool: &str, arguments: &Value) -> Result<(Value, String), String> {
        let asked = arguments["path"].as_str().unwrap_or(".");
        match tool {
            "list_files" => self.list(asked),
            "read_file" => read(&self.workspace.find(asked)?, asked),
            _ => self.write(asked, arguments["content"].as_str().unwrap_or_default()),
        }
    }

    fn list(&self, asked: &str) -> Result<(Value, String), String> {
        let failed = |error: rustix::io::Errno| format!("{asked} cannot be listed: {error}");
        let directory = self.workspace.open_directory(asked)?;
        let mut found = Vec::new();
        for entry in Dir::read_from(&directory).map_err(failed)?.flatten() {
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name == "." || name == ".." || self.workspace.check_entry(&directory, name).is_err() {
                continue;
            }
            let Ok(about) = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let kind = match FileType::from_raw_mode(about.st_mode as RawMode) {
                FileType::Directory => "directory",
                FileType::RegularFile => "file",
                _ => continue,
            };
            found.push(json!({"name": name, "kind": kind, "bytes": about.st_size}));
            if found.len() > MAX_FILES_LISTED {
                break;
            }
        }
        found.sort_by_key(|entry| entry["name"].as_str().unwrap_or_default().to_owned());
        let more = found.len() > MAX_FILES_LISTED;
        found.truncate(MAX_FILES_LISTED);
        let summary = format!("{} entries in {asked}", found.len());
        Ok((json!({"path": asked, "entries": found, "more": more}), summary))
    }

    fn write(&self, asked: &str, content: &str) -> Result<(Value, String), String> {
        if content.len() as u64 > MAX_FILE_BYTES {
            return Err(format!("`content` has {} bytes; at most {MAX_FILE_BYTES} can be written", content.len()));
        }
        let location = self.workspace.find_or_create(asked)?;
        let Location { directory, name } = &location;
        if let Ok(about) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            match FileType::from_raw_mode(about.st_mode as RawMode) {
                FileType::RegularFile => {}
                other => return Err(format!("{asked} is {}; only a regular file can be written", kind_of(other))),
            }
        }
        replace(&location, content).map_err(|error| format!("{asked} cannot be written: {error}"))?;
        let summary = format!("wrote {asked}, {} bytes", content.len());
        Ok((json!({"path": asked, "bytes": content.len()}), summary))
    }
}

/// Writes a new file and renames it over the old one, so that a reader never sees half of it. A symbolic link in its place is
/// replaced, never followed.
fn replace(Location { directory, name }: &Location, content: &str) -> std::io::Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let fresh = format!("pleach-{}-{}.part", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed));
    // A crashed process with the same id may have left this file behind.
    let _ = unlinkat(directory, fresh.as_str(), AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(directory, fresh.as_str(), flags, Mode::from_raw_mode(0o666))?);
    let written = file.write_all(content.as_bytes());
    let renamed = written.and_then(|()| Ok(renameat(directory, fresh.as_str(), directory, name.as_str())?));
    if renamed.is_err() {
        let _ = unlinkat(directory, fresh.as_str(), AtFlags::empty());
    }
    renamed
}

fn read(Location { directory, name }: &Location, asked: &str) -> Result<(Value, String), String> {
    let failed = |error: std::io::Error| format!("{asked} cannot be read: {error}");
    // Opening a pipe would block, so the file is opened without blocking and its type is checked afterwards.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(directory, name.as_str(), flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::LOOP) => return Err(walk::refused(asked, walk::A_LINK)),
        Err(error) => return Err(failed(error.into())),
    };
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(format!("{asked} is not a file; list_files shows what is there"));
    }
    if about.len() > MAX_FILE_BYTES {
        return Err(format!("{asked} has {} bytes; at most {MAX_FILE_BYTES} can be read", about.len()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{asked} is not UTF-8 text"))?;
    let summary = format!("{asked}, {} bytes", text.len());
    Ok((json!({"path": asked, "text": text}), summary))
}

#[async_trait]
impl Toolbox for Files {
    fn server(&self) -> &str {
        SERVER
    }

    async fn offers(&self) -> Result<OfferedTools, String> {
        self.workspace.check()?;
        let path = json!({"type": "string", "description": "Relative to the directory of files."});
        let offer = |name: &str, description: &str, class, required: &[&str], fields: Value| OfferedTool {
            name: name.into(),
            description: description.into(),
            class,
            hint: None,
            schema: json!({"type": "object", "properties": fields, "required": required, "additionalProperties": false}),
        };
        let mut tools = vec![
            offer("list_files", "List a directory of files.", RepeatSafety::ReadOnly, &[], json!({"path": path})),
            offer("read_file", "Read a text file.", RepeatSafety::ReadOnly, &["path"], json!({"path": path})),
        ];
        if self.write {
            let fields = json!({"path": path, "content": {"type": "string"}});
            let about = "Write a text file, whole; directories are made as needed.";
            tools.push(offer("write_file", about, RepeatSafety::Idempotent, &["path", "content"], fields));
        }
        Ok(OfferedTools { protocol: "built in".into(), tools })
    }

    async fn call(&self, offer: &OfferedTool, call: &ToolCall, _effect: &EffectId) -> Outcome {
        let (files, tool, arguments) = (self.clone(), offer.name.clone(), call.arguments.clone());
        let result = tokio::task::spawn_blocking(move || files.carry_out(&tool, &arguments)).await;
        Outcome::Tool(match result {
            Ok(Ok((content, summary))) => answered(SERVER, content, &summary),
            Ok(Err(why)) => ToolOutcome::refused(why),
            Err(error) => ToolOutcome::refused(format!("{} failed: {error}; try again", offer.name)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    fn fixture() -> (tempfile::TempDir, Files) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("sub")).expect("made");
        fs::write(folder.path().join("secret"), "s3cret").expect("written");
        fs::write(root.join("a.txt"), "hello").expect("written");
        symlink(folder.path(), root.join("out")).expect("a link");
        symlink(folder.path().join("secret"), root.join("sub/leak")).expect("a link");
        (folder, Files::new(root, true, Vec::new()))
    }

    #[test]
    fn files_in_the_directory_are_listed_read_and_written() {
        let (_folder, files) = fixture();
        let (listed, _) = files.carry_out("list_files", &json!({})).expect("listed");
        let names: Vec<&str> =
            listed["entries"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["a.txt", "sub"], "links are not shown");
        assert_eq!(files.carry_out("read_file", &json!({"path": "./a.txt"})).expect("read").0["text"], "hello");
        files.carry_out("write_file", &json!({"path": "new/deep/b.txt", "content": "b"})).expect("written");
        assert_eq!(files.carry_out("read_file", &json!({"path": "new/deep/b.txt"})).expect("read").0["text"], "b");
    }

    #[test]
    fn sec_s52_no_path_leads_out_of_the_directory() {
        let (folder, files) = fixture();
        for bad in [
            "../secret",
            "sub/../../secret",
            "/etc/passwd",
            "out/secret",
            "sub/leak",
            "out",
            "a.txt/../../secret",
            "a\0b",
            "..",
        ] {
            for tool in ["read_file", "write_file", "list_files"] {
                let refused = files.carry_out(tool, &json!({"path": bad, "content": "x"}));
                assert!(refused.is_err(), "{tool} {bad}: {refused:?}");
            }
        }
        assert_eq!(fs::read_to_string(folder.path().join("secret")).expect("there"), "s3cret");
    }

    #[test]
    fn a_file_that_is_too_large_or_not_text_is_refused() {
        let (folder, files) = fixture();
        fs::write(folder.path().join("root/big"), vec![b'x'; MAX_FILE_BYTES as usize + 1]).expect("written");
        fs::write(folder.path().join("root/bytes"), [0xff, 0xfe, 0x00]).expect("written");
        let error = |path: &str| files.carry_out("read_file", &json!({"path": path})).unwrap_err();
        assert!(error("big").contains("at most"));
        assert!(error("bytes").contains("not UTF-8 text"));
        assert!(error("sub").contains("not a file"));
        let long = json!({"path": "c", "content": "y".repeat(MAX_FILE_BYTES as usize + 1)});
        assert!(files.carry_out("write_file", &long).unwrap_err().contains("at most"));
    }

    #[test]
    fn x13_hidden_files_and_configuration_are_neither_read_nor_written_at_any_level() {
        let (folder, files) = fixture();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("sub/.git")).expect("made");
        fs::write(root.join("sub/.git/config"), "hidden").expect("written");
        fs::write(root.join(".mcp.json"), "{}").expect("written");
        fs::write(root.join("sub/pleach.toml"), "").expect("written");
        for (bad, why) in [
            (".mcp.json", "hidden"),
            (".envrc", "hidden"),
            ("sub/.git/config", "hidden"),
            ("sub/.git/hooks/post-checkout", "hidden"),
            ("pleach.toml", "configuration"),
            ("sub/Pleach.TOML", "configuration"),
            ("new/pleach.toml", "configuration"),
        ] {
            for tool in ["read_file", "write_file"] {
                let error = files.carry_out(tool, &json!({"path": bad, "content": "x"})).expect_err("refused");
                assert!(error.contains(bad) && error.contains(why), "{tool} {bad}: {error}");
            }
        }
        assert_eq!(fs::read_to_string(root.join(".mcp.json")).expect("there"), "{}");
        assert!(!root.join("new").exists(), "nothing is made for a path that is refused");
        for directory in [".", "sub"] {
            let (listed, _) = files.carry_out("list_files", &json!({"path": directory})).expect("listed");
            let listed = listed.to_string();
            assert!(
                !listed.contains(".mcp.json") && !listed.contains(".git") && !listed.contains("pleach.toml"),
                "{listed}"
            );
        }
    }

    #[test]
    fn x13_our_own_data_is_refused_even_inside_the_directory() {
        let (folder, _) = fixture();
        let root = folder.path().join("root");
        fs::create_dir(root.join("data")).expect("made");
        fs::write(root.join("data/pleach.db"), "rows").expect("written");
        fs::write(root.join("other.db"), "rows").expect("written");
        fs::hard_link(root.join("other.db"), root.join("innocent.txt")).expect("a second name");
        let own = vec![root.join("data"), root.join("other.db"), root.join("later")];
        let files = Files::new(root.clone(), true, own.clone());
        for bad in ["data/pleach.db", "data/new.txt", "data", "other.db", "innocent.txt", "later/x", "later"] {
            for tool in ["read_file", "write_file", "list_files"] {
                let error = files.carry_out(tool, &json!({"path": bad, "content": "x"})).expect_err("refused");
                assert!(error.contains("Pleach's own"), "{tool} {bad}: {error}");
            }
        }
        let (listed, _) = files.carry_out("list_files", &json!({})).expect("listed");
        assert!(!listed.to_string().contains("\"data\"") && !listed.to_string().contains("other.db"), "{listed}");
        assert_eq!(fs::read_to_string(root.join("data/pleach.db")).expect("there"), "rows");
        let within = Files::new(root.join("data"), false, own);
        assert!(within.carry_out("list_files", &json!({})).unwrap_err().contains("Pleach's own"));
    }

    #[test]
    fn x13_pipes_and_sockets_are_not_opened_and_links_are_not_followed() {
        let (folder, files) = fixture();
        let root = folder.path().join("root");
        let _listener = UnixListener::bind(root.join("socket")).expect("a socket");
        rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .expect("a pipe");
        symlink(root.join("a.txt"), root.join("inside")).expect("a link");
        for bad in ["socket", "pipe", "inside"] {
            for tool in ["read_file", "write_file"] {
                let refused = files.carry_out(tool, &json!({"path": bad, "content": "x"}));
                assert!(refused.is_err(), "{tool} {bad}: {refused:?}");
            }
        }
        let link = files.carry_out("read_file", &json!({"path": "inside"})).expect_err("refused");
        assert!(link.contains("links are not followed"), "{link}");
        let (listed, _) = files.carry_out("list_files", &json!({})).expect("listed");
        assert!(!listed.to_string().contains("pipe") && !listed.to_string().contains("socket"), "{listed}");
    }

    /// Another thread swaps a directory for a link that leads out while files in it are written and read.
    #[test]
    fn x13_a_directory_swapped_for_a_link_never_leads_out() {
        let (folder, files) = fixture();
        let root = folder.path().join("root");
        let outside = folder.path().join("outside");
        fs::create_dir(&outside).expect("made");
        fs::write(outside.join("in.txt"), "s3cret").expect("written");
        fs::create_dir(root.join("real")).expect("made");
        fs::write(root.join("real/in.txt"), "mine").expect("written");
        symlink(&outside, root.join("lure")).expect("a link");
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (stopped, directory) = (stop.clone(), root.clone());
        let swapping = std::thread::spawn(move || {
            while !stopped.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = rustix::fs::renameat_with(
                    rustix::fs::CWD,
                    directory.join("real"),
                    rustix::fs::CWD,
                    directory.join("lure"),
                    rustix::fs::RenameFlags::EXCHANGE,
                );
            }
        });
        for turn in 0..600 {
            let name = if turn % 2 == 0 { "real" } else { "lure" };
            let _ = files.carry_out("write_file", &json!({"path": format!("{name}/out.txt"), "content": "x"}));
            if let Ok((read, _)) = files.carry_out("read_file", &json!({"path": format!("{name}/in.txt")})) {
                assert_eq!(read["text"], "mine");
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        swapping.join().expect("it ends");
        assert!(!outside.join("out.txt").exists(), "nothing was written outside");
    }
}
