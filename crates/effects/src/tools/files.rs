//! A directory whose files runs may read and, where that is allowed, write. No path leads out of it: not by `..`, not by
//! being absolute, not by a link. Somebody who changes the directory while it is used is not guarded against.

use super::outside::{Offer, Offers, Toolbox, output};
use async_trait::async_trait;
use engine::effect::{Class, EffectId, Outcome, ToolCall, ToolOutcome};
use engine::ids::ProjectId;
use serde_json::{Value, json};
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

const SERVER: &str = "files";
const LONGEST_FILE: u64 = 1_000_000;
const LONGEST_PATH: usize = 1_000;
const MOST_LISTED: usize = 500;

pub struct Files {
    root: PathBuf,
    write: bool,
}

impl Files {
    pub fn new(root: PathBuf, write: bool) -> Files {
        Files { root, write }
    }

    fn carry_out(&self, tool: &str, arguments: &Value) -> Result<(Value, String), String> {
        let asked = arguments["path"].as_str().unwrap_or(".");
        let place = self.place(asked)?;
        match tool {
            "list_files" => list(&place, asked),
            "read_file" => read(&place, asked),
            _ => write(&place, asked, arguments["content"].as_str().unwrap_or_default()),
        }
    }

    /// Where a path leads, seen to be inside. Every part that exists is looked at, and none may be a link.
    fn place(&self, asked: &str) -> Result<PathBuf, String> {
        let refused = |why: &str| format!("`path` is {:?}: {why}", asked.chars().take(200).collect::<String>());
        if asked.len() > LONGEST_PATH || asked.contains('\0') {
            return Err(refused("it is no path"));
        }
        let mut place =
            self.root.canonicalize().map_err(|error| format!("the directory of files cannot be used: {error}"))?;
        for part in Path::new(asked).components() {
            match part {
                Component::Normal(name) => place.push(name),
                Component::CurDir => continue,
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(refused("paths are relative to the directory of files and do not lead out of it"));
                }
            }
            match fs::symlink_metadata(&place) {
                Ok(found) if found.file_type().is_symlink() => return Err(refused("links are not followed")),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(refused(&error.to_string())),
            }
        }
        Ok(place)
    }
}

fn list(place: &Path, asked: &str) -> Result<(Value, String), String> {
    let entries = fs::read_dir(place).map_err(|error| format!("{asked} cannot be listed: {error}"))?;
    let mut found: Vec<Value> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let about = fs::symlink_metadata(entry.path()).ok().filter(|about| !about.file_type().is_symlink())?;
            let name = entry.file_name().into_string().ok()?;
            let kind = if about.is_dir() { "directory" } else { "file" };
            Some(json!({"name": name, "kind": kind, "bytes": about.len()}))
        })
        .take(MOST_LISTED + 1)
        .collect();
    found.sort_by_key(|entry| entry["name"].as_str().unwrap_or_default().to_owned());
    let more = found.len() > MOST_LISTED;
    found.truncate(MOST_LISTED);
    let summary = format!("{} entries in {asked}", found.len());
    Ok((json!({"path": asked, "entries": found, "more": more}), summary))
}

fn read(place: &Path, asked: &str) -> Result<(Value, String), String> {
    let failed = |error: std::io::Error| format!("{asked} cannot be read: {error}");
    let about = fs::symlink_metadata(place).map_err(failed)?;
    // A pipe or a device would be read for ever.
    if !about.is_file() {
        return Err(format!("{asked} is not a file; list_files shows what is there"));
    }
    if about.len() > LONGEST_FILE {
        return Err(format!("{asked} has {} bytes; at most {LONGEST_FILE} can be read", about.len()));
    }
    let mut bytes = Vec::new();
    fs::File::open(place).map_err(failed)?.take(LONGEST_FILE).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{asked} is not a text"))?;
    let summary = format!("{asked}, {} bytes", text.len());
    Ok((json!({"path": asked, "text": text}), summary))
}

fn write(place: &Path, asked: &str, content: &str) -> Result<(Value, String), String> {
    let failed = |error: std::io::Error| format!("{asked} cannot be written: {error}");
    if content.len() as u64 > LONGEST_FILE {
        return Err(format!("`content` has {} bytes; at most {LONGEST_FILE} can be written", content.len()));
    }
    if let Some(above) = place.parent() {
        fs::create_dir_all(above).map_err(failed)?;
    }
    if place.is_dir() {
        return Err(format!("{asked} is a directory"));
    }
    // Whole or not at all, whoever reads meanwhile.
    let fresh = place.with_extension(format!("{}.part", std::process::id()));
    fs::write(&fresh, content).and_then(|()| fs::rename(&fresh, place)).map_err(|error| {
        let _ = fs::remove_file(&fresh);
        failed(error)
    })?;
    let summary = format!("wrote {asked}, {} bytes", content.len());
    Ok((json!({"path": asked, "bytes": content.len()}), summary))
}

#[async_trait]
impl Toolbox for Files {
    fn server(&self) -> &str {
        SERVER
    }

    fn projects(&self) -> &[ProjectId] {
        &[]
    }

    async fn offers(&self) -> Result<Offers, String> {
        if !self.root.is_dir() {
            return Err(format!("{} is not a directory", self.root.display()));
        }
        let path = json!({"type": "string", "description": "Relative to the directory of files."});
        let offer = |name: &str, description: &str, class, required: &[&str], fields: Value| Offer {
            name: name.into(),
            description: description.into(),
            class,
            schema: json!({"type": "object", "properties": fields, "required": required, "additionalProperties": false}),
        };
        let mut tools = vec![
            offer("list_files", "List a directory of files.", Class::ReadOnly, &[], json!({"path": path})),
            offer("read_file", "Read a text file.", Class::ReadOnly, &["path"], json!({"path": path})),
        ];
        if self.write {
            let fields = json!({"path": path, "content": {"type": "string"}});
            let about = "Write a text file, whole; directories are made as needed.";
            tools.push(offer("write_file", about, Class::Idempotent, &["path", "content"], fields));
        }
        Ok(Offers { protocol: "built in".into(), tools })
    }

    async fn call(&self, offer: &Offer, call: &ToolCall, _effect: &EffectId) -> Outcome {
        let (files, tool, arguments) =
            (Files::new(self.root.clone(), self.write), offer.name.clone(), call.arguments.clone());
        let done = tokio::task::spawn_blocking(move || files.carry_out(&tool, &arguments)).await;
        Outcome::Tool(match done {
            Ok(Ok((content, summary))) => {
                ToolOutcome { result: Ok(output(SERVER, content, &summary)), mutations: Vec::new() }
            }
            Ok(Err(why)) => ToolOutcome::refused(why),
            Err(error) => ToolOutcome::refused(format!("{} broke off: {error}", offer.name)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn house() -> (tempfile::TempDir, Files) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("sub")).expect("made");
        fs::write(folder.path().join("secret"), "s3cret").expect("written");
        fs::write(root.join("a.txt"), "hello").expect("written");
        symlink(folder.path(), root.join("out")).expect("a link");
        symlink(folder.path().join("secret"), root.join("sub/leak")).expect("a link");
        (folder, Files::new(root, true))
    }

    #[test]
    fn what_is_inside_is_listed_read_and_written() {
        let (_folder, files) = house();
        let (listed, _) = files.carry_out("list_files", &json!({})).expect("listed");
        let names: Vec<&str> =
            listed["entries"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["a.txt", "sub"], "links are not shown");
        assert_eq!(files.carry_out("read_file", &json!({"path": "./a.txt"})).expect("read").0["text"], "hello");
        files.carry_out("write_file", &json!({"path": "new/deep/b.txt", "content": "b"})).expect("written");
        assert_eq!(files.carry_out("read_file", &json!({"path": "new/deep/b.txt"})).expect("read").0["text"], "b");
    }

    #[test]
    fn sec_s52_no_path_leads_out() {
        let (folder, files) = house();
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
    fn what_is_too_large_or_no_text_is_refused() {
        let (folder, files) = house();
        fs::write(folder.path().join("root/big"), vec![b'x'; LONGEST_FILE as usize + 1]).expect("written");
        fs::write(folder.path().join("root/bytes"), [0xff, 0xfe, 0x00]).expect("written");
        let error = |path: &str| files.carry_out("read_file", &json!({"path": path})).unwrap_err();
        assert!(error("big").contains("at most"));
        assert!(error("bytes").contains("not a text"));
        assert!(error("sub").contains("not a file"));
        let long = json!({"path": "c", "content": "y".repeat(LONGEST_FILE as usize + 1)});
        assert!(files.carry_out("write_file", &long).unwrap_err().contains("at most"));
    }
}
