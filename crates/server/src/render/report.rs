//! `pleach report` on a terminal: the markdown with its marks turned into colours, and its links into commands to type. Elsewhere it
//! is printed as it is.

use super::style::{Color, Style, field, plain};
use serde_json::Value;

pub(crate) fn shown(markdown: &str, style: Style) -> String {
    let markdown = plain(markdown);
    if !style.color {
        return markdown;
    }
    markdown.lines().map(|line| painted(line, style)).collect::<Vec<_>>().join("\n")
}

fn painted(line: &str, style: Style) -> String {
    let text = with_commands(line);
    match text.trim_start() {
        heading if heading.starts_with('#') => style.paint(Color::Bold, heading.trim_start_matches('#').trim_start()),
        quote if quote.starts_with('>') => style.paint(Color::Cyan, &text),
        _ => emphasised(&text, style),
    }
}

/// `[Title](/documents/ID)` becomes `Title (pleach doc ID)`; a task, which has no command, is left with its id.
fn with_commands(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some((before, title, kind, id, after)) = next_link(rest) {
        let command = if kind == "documents" { "pleach doc" } else { "task" };
        let title = title.replace("\\[", "[").replace("\\]", "]");
        out.push_str(&format!("{before}{title} ({command} {id})"));
        rest = after;
    }
    out + rest
}

/// What stands before the next link to a page of ours, its title, kind and id, and what stands after it.
fn next_link(line: &str) -> Option<(&str, &str, &str, &str, &str)> {
    let middle = line.find("](/")?;
    let bytes = line.as_bytes();
    let opens = |at: &usize| bytes[*at] == b'[' && (*at == 0 || bytes[*at - 1] != b'\\');
    let start = (0..middle).rev().find(opens)?;
    let (target, after) = line[middle + 3..].split_once(')')?;
    let (kind, id) = target.split_once('/').filter(|(kind, _)| matches!(*kind, "documents" | "tasks"))?;
    Some((&line[..start], &line[start + 1..middle], kind, id, after))
}

fn emphasised(line: &str, style: Style) -> String {
    let parts = line.split("**").enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { style.paint(Color::Bold, part) } else { part.to_owned() }).collect()
}

/// What did not come off, for `pleach show`.
pub(super) fn failed_and_dropped(report: &Value, style: Style) -> Vec<String> {
    let list = |key: &str| report[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let told = |part: &Value| format!("{}: {}", field(part, "title"), field(part, "why"));
    let failed = list("failed").iter().map(|failed| format!("  {} {}", style.paint(Color::Red, "✗"), told(failed)));
    let dropped =
        list("dropped").iter().map(|step| format!("  {} dropped: {}", style.paint(Color::Yellow, "·"), told(step)));
    failed.chain(dropped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_shows_commands_instead_of_links_and_no_marks() {
        let markdown =
            "## Made\n\n- [Costs \\[draft\\]](/documents/0199) and [Call](/tasks/7)\n- **Verified**: it is\n  > [x](y)";
        assert_eq!(
            shown(markdown, Style { color: true }),
            "\x1b[1mMade\x1b[0m\n\n- Costs [draft] (pleach doc 0199) and Call (task 7)\n- \x1b[1mVerified\x1b[0m: it is\n\x1b[36m  > [x](y)\x1b[0m"
        );
        assert_eq!(shown(markdown, Style { color: false }), markdown);
    }
}
