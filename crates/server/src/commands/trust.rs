//! `trust`: what the files of the working directory would do, and whether they may. Works without any configuration, since
//! that is what it decides about.

use super::{note, print};
use crate::args::{TrustArgs, TrustCommand};
use crate::config::Environment;
use crate::config::local::{self, LocalFile};
use crate::config::trust::{Decision, Distrust, TrustRecord, TrustRecords};
use crate::config::trust_preview::TrustPreview;
use crate::drive::SystemClock;
use crate::failure::Failure;
use crate::render::style::{json_line, line};
use runtime::ports::Clock;
use serde_json::json;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

pub fn trust(environment: &Environment, args: TrustArgs, json: bool) -> Result<u8, Failure> {
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
        match json {
            true => say(&json!({"path": path, "hash": hash, "at": at, "decision": decision, "variables": variables})),
            false => {
                let declined = if *decision == Decision::Declined { "  (declined)" } else { "" };
                print(&format!("{}  sha256:{}  {at}{declined}", line(&path), line(hash)));
            }
        }
    }
    0
}

fn revoke(environment: &Environment, mut records: TrustRecords, path: &Path) -> Result<u8, Failure> {
    let path = settled(&environment.directory.join(path));
    let forgotten = records.revoke(&path);
    if forgotten == 0 {
        return Err(Failure::usage(format!(
            "nothing is trusted at {}; nothing was changed.\n`pleach trust ls` shows what is.",
            path.display()
        )));
    }
    records.save()?;
    print(&format!("{} is trusted no longer ({forgotten} revoked)", line(&path.display().to_string())));
    Ok(0)
}

/// As it was recorded: the directory in its true place, and the name as it is. What is gone by now is named as it was.
fn settled(path: &Path) -> PathBuf {
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
        note("nothing in this directory waits for your trust");
        return Ok(0);
    }
    for (file, why) in &files {
        if json { say(&described(file, why)) } else { shown(file, why).iter().for_each(|line| print(line)) }
    }
    if !yes && !std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            "nothing was trusted: there is no terminal to ask on.\nIf this is what you want to happen: pleach trust --yes",
        ));
    }
    let decision = if yes || asked(files.len()) { Decision::Trusted } else { Decision::Declined };
    record(&mut records, &files, decision)?;
    match decision {
        Decision::Trusted => {
            note("trusted, as long as they stay as they are; `pleach trust revoke PATH` takes it back")
        }
        Decision::Declined => note("nothing was trusted"),
    }
    Ok(u8::from(decision == Decision::Declined))
}

/// Before a command that would use them: on a terminal, and not about what was declined already.
pub fn offer(environment: &Environment) -> Result<(), Failure> {
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
        shown(file, why).iter().for_each(|line| note(line));
    }
    let decision = if asked(files.len()) { Decision::Trusted } else { Decision::Declined };
    record(&mut records, &files, decision)
}

fn record(records: &mut TrustRecords, files: &[(LocalFile, Distrust)], decision: Decision) -> Result<(), Failure> {
    let now = SystemClock.now();
    files.iter().for_each(|(file, _)| records.decide(file, decision, now));
    records.save()
}

fn shown(file: &LocalFile, why: &Distrust) -> Vec<String> {
    let changed = if *why == Distrust::Changed { " has changed since you trusted it, and" } else { "" };
    let mut lines = vec![format!("{}{changed} would:", line(&file.path.display().to_string()))];
    let TrustPreview { acts, variables } = TrustPreview::of(file);
    for act in &acts {
        let mut first = Some(act.key.as_str());
        for does in &act.does {
            lines.push(format!("  {:<20} {}", line(first.take().unwrap_or_default()), line(does)));
        }
    }
    if !variables.is_empty() {
        let names: Vec<&str> = variables.iter().map(String::as_str).collect();
        lines.push(format!("  of your environment it reads {}, and nothing else", line(&names.join(", "))));
    }
    if file.risky.mcp.values().any(|server| server.value.get("command").is_some()) {
        lines.push("  programs that it runs can do whatever you can, and may change without this file changing".into());
    }
    lines
}

fn described(file: &LocalFile, why: &Distrust) -> serde_json::Value {
    let TrustPreview { acts, variables } = TrustPreview::of(file);
    let acts: Vec<_> = acts.iter().map(|act| json!({"key": act.key, "does": act.does})).collect();
    let changed = *why == Distrust::Changed;
    json!({"path": file.path.display().to_string(), "hash": file.hash, "changed": changed, "would": acts, "variables": variables})
}

fn asked(files: usize) -> bool {
    let them = if files == 1 { "this file as it is" } else { "these files as they are" };
    let mut out = std::io::stderr().lock();
    let _ = write!(out, "Trust {them} now? [y/N] ").and_then(|()| out.flush());
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

fn say(value: &serde_json::Value) {
    print(&json_line(&value.to_string()));
}
