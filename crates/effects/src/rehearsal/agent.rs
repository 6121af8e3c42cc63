//! The subagent: opens its first project, writes a note there if it may and reads a document otherwise, and reflects at the end.

use super::prose::{self, Context};
use super::subject::Subject;
use super::{Sections, one_line};
use engine::task::MAX_SCRATCHPAD_CHARS;
use serde_json::{Value, json};

pub(super) fn step(sections: &Sections) -> Value {
    let steps = sections.items("steps");
    let subject = Subject::of(sections.text("task"));
    let wrote = steps.iter().find(|step| step["action_name"] == "create_document" && step["ok"] == true);
    if let Some(made) = wrote {
        let place = path_in(page(made), "/documents/").unwrap_or_else(|| "the project".into());
        return done(&format!("Wrote “{}” at {place}.", prose::note_title(&subject, prose::perspectives(&subject)[0])));
    }
    let visited = |path: &str| steps.iter().any(|step| step["path"] == path && step["action"] == "navigate");
    let shown = |prefix: &str| steps.iter().rev().find_map(|step| path_in(page(step), prefix));
    let Some(project) = shown("/projects/") else {
        return done("I have no project to work in; nothing was changed.");
    };
    if !visited(&project) {
        return go(&project, "My first project is where this belongs.");
    }
    let refused = steps.iter().any(|step| step["action_name"] == "create_document");
    let may_write = steps.iter().any(|step| page(step).contains("name: \"create_document\""));
    if may_write && !refused {
        return write(&subject, &project);
    }
    match shown("/documents/") {
        Some(document) if !visited(&document) => go(&document, "I may not write here, so I read what there is."),
        Some(document) => done(&format!("Read {document}; I was not granted anything that changes it.")),
        None => done(&format!("Looked at {project}: there is nothing to read, and I may not write there.")),
    }
}

fn write(subject: &Subject, project: &str) -> Value {
    let perspective = prose::perspectives(subject)[0];
    json!({
        "thought": "The project offers create_document: the result belongs into a document.",
        "action": "execute", "path": project, "action_name": "create_document",
        "params": {
            "title": prose::note_title(subject, perspective),
            "content": prose::note(subject, perspective, &Context::default()),
        },
        "message": null,
    })
}

fn go(path: &str, thought: &str) -> Value {
    json!({"thought": thought, "action": "navigate", "path": path, "action_name": null, "params": null, "message": null})
}

fn done(message: &str) -> Value {
    json!({"thought": null, "action": "done", "path": null, "action_name": null, "params": null, "message": message})
}

/// The page that a step saw; empty if the request leaves it out.
fn page(step: &Value) -> &str {
    step["result"].as_str().unwrap_or_default()
}

/// The first path with this prefix and a complete id on a page.
fn path_in(page: &str, prefix: &str) -> Option<String> {
    const UUID_CHARS: usize = 36;
    page.match_indices(prefix).find_map(|(at, _)| {
        let end = at + prefix.len() + UUID_CHARS;
        let id = page.get(at + prefix.len()..end)?;
        uuid::Uuid::parse_str(id).ok().map(|_| page[at..end].to_owned())
    })
}

/// Adds a line to the scratchpad. Removes the oldest lines if it gets too long.
pub(super) fn reflection(sections: &Sections) -> Value {
    let pad = sections.value("scratchpad");
    let old = pad["content"].as_str().unwrap_or_default();
    let line = format!(
        "- {} ({}): {}",
        one_line(sections.text("task")),
        sections.text("outcome"),
        one_line(sections.text("summary"))
    );
    let mut lines: Vec<&str> = old.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.push(&line);
    let long = |lines: &[&str]| lines.iter().map(|line| line.chars().count() + 1).sum::<usize>() > MAX_SCRATCHPAD_CHARS;
    while lines.len() > 1 && long(&lines) {
        lines.remove(0);
    }
    json!({ "scratchpad": lines.join("\n") })
}
