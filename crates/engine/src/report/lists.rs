//! The lists of a report as markdown: criteria with their quotes, what was made, what failed and was dropped, what was asked and
//! said. Titles and texts come from models and people; each stays within its own item.

use super::words;
use crate::criteria::CriterionRecord;
use crate::facts::evidence::{CitedEvidence, CriterionState};
use crate::lines::{lines, one_line};
use crate::run::unshown;
use serde::Deserialize;
use serde_json::Value;

/// The most titles that one reason is told for.
const MAX_TITLES: usize = 8;

/// A thing and why it is not done, on one line.
pub(super) fn told(title: &str, why: &str) -> String {
    match (one_line(title), one_line(why)) {
        (title, why) if why.is_empty() => title,
        (title, why) => format!("{title}: {why}"),
    }
}

pub(super) fn items<'a>(report: &'a Value, key: &str) -> &'a [Value] {
    report[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// A text within a line of markdown that it cannot break out of.
fn inline(text: &str) -> String {
    one_line(text).replace('[', "\\[").replace(']', "\\]")
}

/// What a reference names, as a link where there is a page for it.
pub(super) fn link(reference: &str, title: &str) -> String {
    let (kind, id) = reference.split_once(':').unwrap_or(("", reference));
    let called = |otherwise: &str| if title.trim().is_empty() { otherwise.to_owned() } else { inline(title) };
    match kind {
        "doc" => format!("[{}](/documents/{id})", called("a document without a title")),
        "task" => format!("[{}](/tasks/{id})", called("a task without a title")),
        "event" => format!("the result of a tool (event {id})"),
        _ => called(reference),
    }
}

fn title_of<'a>(report: &'a Value, reference: &str) -> &'a str {
    items(report, "made")
        .iter()
        .find(|made| made["ref"] == reference)
        .map(|made| text(made, "title"))
        .unwrap_or_default()
}

pub(super) fn criteria(report: &Value) -> Vec<String> {
    let records = items(report, "criteria").iter().filter_map(|record| CriterionRecord::deserialize(record).ok());
    records.map(|record| criterion(report, &record)).collect()
}

fn criterion(report: &Value, record: &CriterionRecord) -> String {
    let old_refs = refs_of_earlier_version(report, record);
    let state = match record.state {
        CriterionState::Open if !old_refs.is_empty() => "Claimed, not verified",
        CriterionState::Open => "Open, nothing was cited for it",
        CriterionState::Claimed => "Claimed, not verified",
        CriterionState::Verified => "Verified",
        CriterionState::Refuted => "Not met",
        CriterionState::Accepted => "Accepted by a person",
        CriterionState::Rejected => "Rejected by a person",
    };
    let stale = if record.stale { ", and what was checked has changed since" } else { "" };
    let mut out = format!("**{state}{stale}**: {}", inline(&record.text));
    let why = record.reason.as_deref().filter(|_| record.state != CriterionState::Verified);
    let why = why.map(|why| if record.state == CriterionState::Claimed { words::reason(why) } else { one_line(why) });
    out.extend(why.filter(|why| !why.is_empty()).map(|why| format!("\n\n  Why: {why}")));
    let (quoted, cited): (Vec<_>, Vec<_>) = record.evidence.iter().partition(|cited| !cited.quotes.is_empty());
    quoted.into_iter().for_each(|cited| out.push_str(&quotes(report, cited)));
    let cited = cited.into_iter().map(|cited| cited.reference.as_str()).chain(old_refs.iter().copied());
    // Where quotes show it, the rest of what was cited says nothing more.
    let cited: Vec<String> = cited.map(|reference| link(reference, title_of(report, reference))).collect();
    if !cited.is_empty() && !out.contains("\n  > ") {
        out.push_str(&format!("\n\n  Cited: {}", cited.join(", ")));
    }
    out
}

/// Versions that knew no states kept what was cited in the report alone.
fn refs_of_earlier_version<'a>(report: &'a Value, record: &CriterionRecord) -> Vec<&'a str> {
    let of = items(report, "evidence").iter().find(|item| item["criterion"] == record.id.as_str());
    let refs = of.and_then(|item| item["verified"]["refs"].as_array()).filter(|_| record.evidence.is_empty());
    refs.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn quotes(report: &Value, cited: &CitedEvidence) -> String {
    let mut out = String::new();
    for quote in &cited.quotes {
        out.push('\n');
        lines(quote.trim()).for_each(|line| out.push_str(&format!("\n  > {line}")));
    }
    let version = cited.version.map(|version| format!(", version {version}")).unwrap_or_default();
    format!("{out}\n\n  From {}{version}", link(&cited.reference, title_of(report, &cited.reference)))
}

pub(super) fn made(report: &Value) -> Vec<String> {
    // Reports of earlier versions have only references and titles.
    let key = if report["made"].is_null() { "artifacts" } else { "made" };
    let mut out: Vec<String> = items(report, key).iter().map(made_item).collect();
    match report["left_out"].as_u64() {
        Some(more) if more > 0 && key == "made" => out.push(format!("and {} more", words::thousands(more))),
        _ => {}
    }
    out
}

fn made_item(made: &Value) -> String {
    let mut notes: Vec<String> = Vec::new();
    match text(made, "kind") {
        "task" => notes.push("task".into()),
        "json" => notes.push("data".into()),
        _ => {}
    }
    if made["changed"] == true {
        notes.push("changed".into());
    }
    if let Some(node) = made["node"].as_str() {
        notes.push(format!("by “{}”", inline(node)));
    }
    if made["replaced"] == true {
        notes.push("replaced by a later try".into());
    }
    let link = link(text(made, "ref"), text(made, "title"));
    if notes.is_empty() { link } else { format!("{link} ({})", notes.join(", ")) }
}

/// Each reason once, with everything that failed for it. Why the run ended is told elsewhere.
pub(super) fn failed(report: &Value) -> Vec<String> {
    let ended = format!(": {}", words::reason(text(report, "stop_detail")));
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for failed in items(report, "failed") {
        let at = failed["iteration"].as_u64().map(|iteration| format!(" (iteration {iteration})")).unwrap_or_default();
        let kind = if failed["kind"] == "tool" { "Tool " } else { "" };
        let title = format!("{kind}**{}**{at}", inline(text(failed, "title")));
        let why = match text(failed, "state") {
            "partial" => format!("done only in part: {}", text(failed, "why")),
            _ => text(failed, "why").trim_end_matches(&ended).to_owned(),
        };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, titles)) => titles.push(title),
            None => reasons.push((why, vec![title])),
        }
    }
    reasons.iter().map(|(why, titles)| told(&enumerated(titles), why)).collect()
}

pub(super) fn dropped(report: &Value) -> Vec<String> {
    let dropped = items(report, "dropped").iter();
    dropped.map(|step| told(&format!("**{}**", inline(text(step, "title"))), text(step, "why"))).collect()
}

/// `a, b and c`, or the first of many and how many more.
fn enumerated(titles: &[String]) -> String {
    match titles {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] if titles.len() <= MAX_TITLES => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", titles[..MAX_TITLES].join(", "), titles.len() - MAX_TITLES),
    }
}

/// Questions with their answers, then what people said unasked.
pub(super) fn asked_and_said(report: &Value) -> Vec<String> {
    let asked = items(report, "questions").iter().map(|question| {
        let answer = match (question["answer"].as_str(), text(question, "closed")) {
            (None, _) => "_not answered_".into(),
            (Some(default), "default") => {
                format!("{} (nobody answered in time: this was the default)", one_line(default))
            }
            (Some(_), "unanswered") => "_nobody answered in time_".into(),
            (Some(_), "withdrawn") => "_no longer needed_".into(),
            (Some(answer), _) => one_line(answer),
        };
        format!("**{}** {answer}", inline(text(question, "text")))
    });
    let shown = items(report, "messages").iter().filter(|message| message["shown"] == true);
    let shown = shown.map(|message| format!("Said: “{}”", one_line(text(message, "text"))));
    let unshown = items(report, unshown::REPORT_KEY).iter().filter_map(Value::as_str);
    let unshown = unshown.map(|text| words::capital(&unshown::sentence(text)));
    let older = report["older_messages"].as_u64().filter(|older| *older > 0);
    let older = older.map(|older| format!("and {} before", words::count(older, "message")));
    asked.chain(shown).chain(older).chain(unshown).collect()
}

/// When the plan was given up for another one.
pub(super) fn replans(report: &Value) -> Vec<String> {
    let line = |replan: &Value| match (replan["iteration"].as_u64(), text(replan, "title")) {
        (Some(iteration), _) => format!("It was made to plan anew in iteration {iteration}."),
        (None, title) => {
            let times = replan["times"].as_u64().unwrap_or(1);
            format!(
                "“{}” was planned anew, {}.",
                inline(title),
                if times == 1 { "once".into() } else { words::count(times, "time") }
            )
        }
    };
    items(report, "replans").iter().map(line).collect()
}
