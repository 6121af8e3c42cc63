//! What the planner does at each stage: the steps it shows, the tools it calls, the tasks it gives away,
//! the evidence it cites.

use super::planner::{Stage, View};
use super::prose;
use super::said;
use serde_json::{Value, json};

const OWN_STEPS: [&str; 4] = ["s1", "s2", "s3", "s4"];
const READS: [&str; 5] = ["list_documents", "list_projects", "list_tasks", "search_documents", "search"];
const READS_WHEN_HINTED: [&str; 3] = ["search", "list_tasks", "list_projects"];
const EXECUTOR_TOOLS: [&str; 4] = ["search_documents", "get_document", "list_documents", "create_document"];

/// The step that a note, by its place, serves.
pub fn note_step(place: usize) -> &'static str {
    OWN_STEPS[1 + place % 2]
}

pub fn steps(view: &View<'_>, stage: &Stage) -> Vec<Value> {
    if !view.may_write() {
        let status = if matches!(stage, Stage::Finish) { "done" } else { "doing" };
        let title = format!("Read what is there on {}", view.theme.topic);
        return vec![json!({"id": "s1", "title": title, "status": status, "owner": "planner"})];
    }
    let statuses = match stage {
        Stage::Ask | Stage::Read => ["pending"; 4],
        Stage::Outline => ["doing", "pending", "pending", "pending"],
        Stage::Delegate(missing) | Stage::WriteUp(missing) => {
            let note = |place| if missing.contains(&place) { "doing" } else { "done" };
            ["done", note(0), note(1), "pending"]
        }
        Stage::Synthesise => ["done", "done", "done", "doing"],
        Stage::Amend(_) | Stage::Answer | Stage::Finish => ["done"; 4],
    };
    let titles = step_titles(view).into_iter().zip(statuses);
    let own = OWN_STEPS.iter().zip(titles).map(|(id, (title, status))| {
        let owner = if matches!(*id, "s2" | "s3") { "executor" } else { "planner" };
        json!({"id": id, "title": title, "status": status, "owner": owner})
    });
    own.chain(inherited(view, stage)).collect()
}

fn step_titles(view: &View<'_>) -> [String; 4] {
    let theme = &view.theme;
    let opening = theme.pick(
        "opening step",
        &["Outline {a} and {b}", "Map out {a} and {b}", "Lay out the ground for {a}", "Frame the work on {a}"],
    );
    let closing = theme.pick(
        "closing step",
        &[
            "Bring together what was found on {a}",
            "Write the synthesis on {a} and {b}",
            "Join the notes on {a} and {b}",
            "Draw the conclusion on {a}",
        ],
    );
    let [first, second] = prose::angles(theme);
    [(opening, 0), (&first.step, 0), (&second.step, 1), (closing, 0)]
        .map(|(step, offset)| prose::fill(theme, step, offset))
}

/// Steps another planner left behind: kept as they are, and closed with the rest.
fn inherited(view: &View<'_>, stage: &Stage) -> Vec<Value> {
    let foreign = view.planned().iter().filter(|step| step["id"].as_str().is_some_and(|id| !OWN_STEPS.contains(&id)));
    let kept = foreign.map(|step| {
        let status = if matches!(stage, Stage::Finish) { &json!("done") } else { &step["status"] };
        json!({"id": step["id"], "title": step["title"], "status": status, "owner": step["owner"]})
    });
    kept.collect()
}

pub fn tool_calls(view: &View<'_>, stage: &Stage) -> Vec<Value> {
    let (theme, sections) = (&view.theme, view.sections);
    match stage {
        Stage::Ask | Stage::Delegate(_) | Stage::Finish => Vec::new(),
        Stage::Read => {
            READS.into_iter().filter(|tool| sections.offers(tool)).take(3).map(|tool| read(view, tool)).collect()
        }
        Stage::Outline => {
            let look = if sections.items("hints").is_empty() { &READS[..] } else { &READS_WHEN_HINTED[..] };
            let outline = page(prose::outline_title(theme), prose::outline(theme, &view.context));
            sections.first_offered(look).map(|tool| read(view, tool)).into_iter().chain([outline]).collect()
        }
        Stage::WriteUp(missing) => missing.iter().map(|place| note(view, *place)).collect(),
        Stage::Synthesise => {
            vec![page(prose::synthesis_title(theme), prose::synthesis(theme, &notes(view), &view.context))]
        }
        Stage::Amend(synthesis) => {
            let arguments = json!({"document_id": synthesis, "append": prose::amendment(theme, &view.unread())});
            vec![json!({"tool": "update_document", "arguments": arguments, "purpose": "Take up what was said."})]
        }
        Stage::Answer => {
            let reasons = sections.texts("exit_refused");
            vec![page(prose::addendum_title(theme), prose::addendum(theme, &reasons, &view.context))]
        }
    }
}

fn read(view: &View<'_>, tool: &str) -> Value {
    let arguments = if tool.starts_with("search") { json!({"query": view.theme.query()}) } else { json!({}) };
    json!({"tool": tool, "arguments": arguments, "purpose": "See what is there already."})
}

fn note(view: &View<'_>, place: usize) -> Value {
    let angle = prose::angles(&view.theme)[place % 2];
    page(view.note_titles[place % 2].clone(), prose::note(&view.theme, angle, &view.context))
}

/// The notes with what each came to, by its executor's word where there is one.
fn notes(view: &View<'_>) -> Vec<(String, String)> {
    let results = view.sections.items("executor_results");
    let reported = |title: &str| {
        let result = results.iter().find(|result| result["title"] == title)?;
        result["result_snippet"].as_str().filter(|snippet| !snippet.is_empty()).map(said)
    };
    let angles = prose::angles(&view.theme);
    let titles = view.note_titles.iter().zip(angles);
    titles
        .map(|(title, angle)| {
            let came_to = reported(title).unwrap_or_else(|| format!("follows the question “{}”", angle.question));
            (title.clone(), came_to)
        })
        .collect()
}

pub fn executor_tasks(view: &View<'_>, stage: &Stage) -> Vec<Value> {
    let Stage::Delegate(missing) = stage else { return Vec::new() };
    let outline = view.artifact(&prose::outline_title(&view.theme)).unwrap_or_default().trim_start_matches("doc:");
    let tools: Vec<&str> = EXECUTOR_TOOLS.into_iter().filter(|tool| view.sections.offers(tool)).collect();
    let given: String = view.context.directions.iter().map(|said| format!(" Take as given: \"{said}\".")).collect();
    let task = |place: &usize| {
        let question = prose::angles(&view.theme)[place % 2].question;
        json!({
            "branch_id": format!("note-{}", place + 1),
            "step_id": note_step(*place),
            "title": view.note_titles[place % 2],
            "objective": format!("{question} Start from the outline, document {outline}, and write one note of its \
                                  own.{given}"),
            "tools": tools,
        })
    };
    let mut tasks: Vec<Value> = missing.iter().map(task).collect();
    if let (Some(first), Some(agent)) = (tasks.first_mut(), view.sections.items("agents").first()) {
        first["agent"] = agent["handle"].clone();
    }
    tasks
}

/// One claim per criterion, each with pages (or readings) behind it.
pub fn evidence(view: &View<'_>) -> Vec<Value> {
    let own = [prose::addendum_title(&view.theme), prose::synthesis_title(&view.theme)];
    let mut refs: Vec<&str> = own.iter().chain(&view.note_titles).filter_map(|title| view.artifact(title)).collect();
    if refs.is_empty() {
        refs = view.read_events();
    }
    let criteria = view.sections.items("success_criteria");
    if criteria.is_empty() {
        let claim = format!("The work on {} is written up.", view.theme.topic);
        return vec![json!({"criterion": null, "claim": claim, "refs": refs})];
    }
    let claim = |criterion: &&Value| {
        let text = criterion["text"].as_str().unwrap_or_default();
        json!({"criterion": criterion["id"], "claim": format!("Met: {}", said(text)), "refs": refs})
    };
    criteria.iter().map(claim).collect()
}

fn page(title: String, content: String) -> Value {
    json!({"tool": "create_document", "arguments": {"title": title, "content": content}, "purpose": "Write the page."})
}
