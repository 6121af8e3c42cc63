//! The report as a person reads it. It says everything once: what stands in one section is left out of the others.

use super::lists::{self, items, text, told};
use super::{cost, words};
use crate::lines::{lines, one_line};
use serde_json::Value;

pub fn markdown(report: &Value) -> String {
    let mut out = format!("# {}\n", one_line(text(report, "title")));
    push_paragraph(&mut out, &headline(report));
    let main = text(&report["synthesis"]["document"], "text");
    let summary = text(report, "summary").trim();
    if !says(main, summary) {
        push_paragraph(&mut out, summary);
    }
    main_document(&mut out, report);
    let findings = strings(report, "findings").filter(|finding| !says(main, finding));
    section(&mut out, "Findings", findings.map(one_line).collect());
    section(&mut out, "Criteria", lists::criteria(report));
    section(&mut out, "Made", lists::made(report));
    let failed = lists::failed(report).into_iter();
    let dropped = lists::dropped(report).into_iter().map(|step| format!("Dropped: {step}"));
    section(&mut out, "Failed and dropped", failed.chain(dropped).collect());
    section(&mut out, "Not done", not_done(report, main));
    section(&mut out, "Questions and answers", lists::asked_and_said(report));
    section(&mut out, "What it cost", cost::lines(report));
    let ended = Some(text(report, "how_it_ended").to_owned()).filter(|words| !words.is_empty());
    // What was never filled in is a report of an earlier version.
    let ended = ended.unwrap_or_else(|| words::reason(text(report, "stop_detail")));
    section(&mut out, "How it ended", std::iter::once(ended).chain(lists::replans(report)).collect());
    out
}

/// Status and outcome in a few words.
fn headline(report: &Value) -> String {
    let (status, outcome) = (text(report, "status"), text(report, "outcome"));
    let words = match (status, outcome) {
        ("completed", "verified") => "Completed, verified",
        ("completed", "claimed") if items(report, "criteria").is_empty() => "Completed, claimed: it had no criteria",
        ("completed", "claimed") => "Completed, claimed: not every criterion was verified",
        ("completed", "partial" | "none") => "Completed, partial",
        ("completed", _) => "Completed",
        ("stopped", "none") => "Stopped, with nothing made",
        ("stopped", _) => "Stopped, partial",
        ("canceled", "none") => "Canceled, with nothing made",
        ("canceled", _) => "Canceled, partial",
        (_, "none") => "Failed, with nothing made",
        _ => "Failed, partial",
    };
    format!("**{words}**")
}

/// The text itself where the report has it, else a link to it.
fn main_document(out: &mut String, report: &Value) {
    let document = &report["synthesis"]["document"];
    let (title, body) = (one_line(text(document, "title")), text(document, "text").trim());
    if body.is_empty() {
        let link = document["ref"].as_str().map(|reference| lists::link(reference, &title));
        return push_paragraph(out, &link.map(|link| format!("The whole result: {link}")).unwrap_or_default());
    }
    out.push_str(&format!("\n## {title}\n"));
    push_paragraph(out, nested(body).trim());
}

/// A document below a heading of the second level: without a title of its own, its headings from the third level on. Fenced code
/// stays as it is.
fn nested(body: &str) -> String {
    let mut fenced = false;
    let mut all: Vec<(usize, &str)> = Vec::new();
    for line in lines(body) {
        fenced ^= line.trim_start().starts_with("```");
        let level = line.chars().take_while(|c| *c == '#').count();
        let is_heading = (1..=6).contains(&level) && line[level..].starts_with(' ') && !fenced;
        all.push((if is_heading { level } else { 0 }, line));
    }
    if all.first().is_some_and(|(level, _)| *level == 1) {
        all.remove(0);
    }
    let highest = all.iter().map(|(level, _)| *level).filter(|level| *level > 0).min().unwrap_or(3);
    let deeper = 3usize.saturating_sub(highest);
    let lines = all.iter().map(|(level, line)| match level {
        0 => (*line).to_owned(),
        level => format!("{}{}", "#".repeat((level + deeper).min(6)), &line[*level..]),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a text has these words already, white space apart.
fn says(text: &str, words: &str) -> bool {
    let words = one_line(words);
    !words.is_empty() && one_line(text).contains(&words)
}

/// What is open and not told elsewhere.
fn not_done(report: &Value, main: &str) -> Vec<String> {
    let parts = items(report, "failed").iter().chain(items(report, "dropped"));
    let mut known: Vec<String> = parts.map(|part| told(text(part, "title"), text(part, "why"))).collect();
    let detail = text(report, "stop_detail");
    known.extend([one_line(text(report, "summary")), one_line(detail), words::reason(detail)]);
    let open = strings(report, "not_done").map(one_line).filter(|line| !known.contains(line) && !says(main, line));
    open.collect()
}

fn strings<'a>(report: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    items(report, key).iter().filter_map(Value::as_str)
}

fn push_paragraph(out: &mut String, text: &str) {
    if !text.is_empty() {
        out.push_str(&format!("\n{text}\n"));
    }
}

/// A list; items of several paragraphs are set apart. Left out when it is empty.
fn section(out: &mut String, title: &str, items: Vec<String>) {
    if items.is_empty() {
        return;
    }
    out.push_str(&format!("\n## {title}\n"));
    let loose = items.iter().any(|item| item.contains("\n\n"));
    let gap = if loose { "\n" } else { "" };
    if !loose {
        out.push('\n');
    }
    for item in items {
        out.push_str(&format!("{gap}- {item}\n"));
    }
}
