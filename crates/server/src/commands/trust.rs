//! `trust`: shows what the configuration files of the working directory would do and records whether they may. It runs before the
//! configuration is loaded, because its decision changes what is loaded.

use super::{note, print};
use crate::args::{TrustArgs, TrustCommand};
use crate::config::Environment;
use crate::config::local::{self, LocalFile};
use crate::config::trust::{Decision, Distrust, TrustRecord, TrustRecords};
use crate::config::trust_preview::{self, TrustPreview};
use crate::drive::SystemClock;
use crate::failure::Failure;
use crate::render::style::{json_line, line};
use runtime::ports::Clock;
use serde_json::json;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

pub(crate) fn trust(environment: &Environment, args: TrustArgs, json: bool) -> Result<u8, Failure> {
    let records = TrustRecords::read(environment)?;
    match args.command {
        Some(TrustCommand::Ls) => Ok(list(&records, json)),
        Some(TrustCommand::Revoke { path }) => revoke(environment, records, &path),
        None => decide(environment, records, args.yes, json),
    }
}

fn list(records: &TrustRecords, json: bool) -> u8 {
    for TrustRecord { path, hash, at, decision, variables } in &records.all {
        let path = path.display().to_string();
        let declined = if *decision == Decision::Declined { "  (declined)" } else { "" };
        match json {
            true => {
                print_json(&json!({"path": path, "hash": hash, "at": at, "decision": decision, "variables": variables}))
            }
            false => print(&format!("{}  sha256:{}  {at}{declined}", line(&path), line(hash))),
        }
    }
    0
}

fn revoke(environment: &Environment, mut records: TrustRecords, path: &Path) -> Result<u8, Failure> {
    let path = recorded_path(&environment.directory.join(path));
    let revoked = records.revoke(&path);
    if revoked == 0 {
        return Err(Failure::usage(format!(
            "no trusted file is at {}; nothing was changed.\n`pleach trust ls` lists your decisions.",
            path.display()
        )));
    }
    records.save()?;
    print(&format!("{} is no longer trusted ({revoked} revoked)", line(&path.display().to_string())));
    Ok(0)
}

/// The path as the records have it: the directory canonical, the file name as typed. A missing file may still be revoked.
fn recorded_path(path: &Path) -> PathBuf {
    if path.is_dir() {
        return path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    }
    match (path.parent().and_then(|above| above.canonicalize().ok()), path.file_name()) {
        (Some(above), Some(name)) => above.join(name),
        _ => path.to_path_buf(),
    }
}

/// The files that need trust and do not have it.
fn untrusted(environment: &Environment, records: &TrustRecords) -> Result<Vec<(LocalFile, Distrust)>, Failure> {
    let files = local::files(&environment.directory).map_err(|error| Failure::usage(error.to_string()))?;
    let needing = files.into_iter().filter(LocalFile::needs_trust);
    Ok(needing.filter_map(|file| records.judge(&file).err().map(|why| (file, why))).collect())
}

fn decide(environment: &Environment, mut records: TrustRecords, yes: bool, json: bool) -> Result<u8, Failure> {
    let files = untrusted(environment, &records)?;
    if files.is_empty() {
        note("no file of this directory needs your trust");
        return Ok(0);
    }
    for (file, why) in &files {
        if json {
            print_json(&preview_json(file, why))
        } else {
            preview_lines(file, why).iter().for_each(|line| print(line))
        }
    }
    if !yes && !std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            "nothing was trusted: there is no terminal to ask on.\nTo trust these files without a question: pleach trust --yes",
        ));
    }
    let decision = if yes || confirm(files.len()) { Decision::Trusted } else { Decision::Declined };
    record(&mut records, &files, decision)?;
    match decision {
        Decision::Trusted => note("trusted until the content changes; `pleach trust revoke PATH` revokes it"),
        Decision::Declined => note("nothing was trusted"),
    }
    Ok(u8::from(decision == Decision::Declined))
}

/// Asks before a command that would use the files: only on a terminal, and not again about a declined file.
pub(crate) fn offer(environment: &Environment) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(());
    }
    let mut records = TrustRecords::read(environment)?;
    let mut files = untrusted(environment, &records)?;
    files.retain(|(_, why)| *why != Distrust::Declined);
    if files.is_empty() {
        return Ok(());
    }
    for (file, why) in &files {
        preview_lines(file, why).iter().for_each(|line| note(line));
    }
    let decision = if confirm(files.len()) { Decision::Trusted } else { Decision::Declined };
    record(&mut records, &files, decision)
}

fn record(records: &mut TrustRecords, files: &[(LocalFile, Distrust)], decision: Decision) -> Result<(), Failure> {
    let now = SystemClock.now();
    files.iter().for_each(|(file, _)| records.decide(file, decision, now));
    records.save()
}

fn preview_lines(file: &LocalFile, why: &Distrust) -> Vec<String> {
    let changed = if *why == Distrust::Changed { " has changed since you trusted it and" } else { "" };
    let mut lines = vec![format!("{}{changed} would:", line(&file.path.display().to_string()))];
    let TrustPreview { acts, variables } = TrustPreview::of(file);
    for act in &acts {
        let mut first = Some(act.key.as_str());
        for does in &act.does {
            lines.push(format!("  {:<20} {}", line(first.take().unwrap_or_default()), line(does)));
        }
    }
    if !variables.is_empty() {
        lines.push(format!("  reads from your environment only {}", line(&trust_preview::list(&variables))));
    }
    if file.risky.mcp.values().any(|server| server.value.get("command").is_some()) {
        lines
            .push("  programs it starts can do whatever you can, and may change while this file stays the same".into());
    }
    lines
}

fn preview_json(file: &LocalFile, why: &Distrust) -> serde_json::Value {
    let TrustPreview { acts, variables } = TrustPreview::of(file);
    let acts: Vec<_> = acts.iter().map(|act| json!({"key": act.key, "does": act.does})).collect();
    let changed = *why == Distrust::Changed;
    json!({"path": file.path.display().to_string(), "hash": file.hash, "changed": changed, "would": acts, "variables": variables})
}

fn confirm(files: usize) -> bool {
    let which = if files == 1 { "this file" } else { "these files" };
    let mut out = std::io::stderr().lock();
    let _ = write!(out, "Trust {which} with this content? [y/N] ").and_then(|()| out.flush());
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

fn print_json(value: &serde_json::Value) {
    print(&json_line(&value.to_string()));
}
