//! What the homework planner does at each stage: its plan, tool calls, executor tasks and evidence.

use super::one_line;
use super::planner::{PlannerState, Stage};
use super::prose;
use serde_json::{Value, json};

const OWN_STEPS: [&str; 4] = ["s1", "s2", "s3", "s4"];
const READS: [&str; 5] = ["list_documents", "list_projects", "list_tasks", "search_documents", "search"];
const READS_WHEN_HINTED: [&str; 3] = ["search", "list_tasks", "list_projects"];
const EXECUTOR_TOOLS: [&str; 4] = ["search_documents", "get_document", "list_documents", "create_document"];

/// The step of a note, by its index.
pub(super) fn note_step(place: usize) -> &'static str {
    OWN_STEPS[1 + place % 2]
}

pub(super) fn steps(state: &PlannerState<'_>, stage: &Stage) -> Vec<Value> {
    if !state.may_write() {
        let status = if matches!(stage, Stage::Finish) { "done" } else { "doing" };
        let title = format!("Read what is there on {}", state.subject.topic);
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
    let titles = step_titles(state).into_iter().zip(statuses);
    let own = OWN_STEPS.iter().zip(titles).map(|(id, (title, status))| {
        let owner = if matches!(*id, "s2" | "s3") { "executor" } else { "planner" };
        json!({"id": id, "title": title, "status": status, "owner": owner})
    });
    own.chain(inherited(state, stage)).collect()
}

fn step_titles(state: &PlannerState<'_>) -> [String; 4] {
    let subject = &state.subject;
    let opening = subject.pick(
        "opening step",
        &["Outline {a} and {b}", "Map out {a} and {b}", "Lay out the ground for {a}", "Frame the work on {a}"],
    );
    let closing = subject.pick(
        "closing step",
        &[
            "Bring together what was found on {a}",
            "Write the synthesis on {a} and {b}",
            "Join the notes on {a} and {b}",
            "Draw the conclusion on {a}",
        ],
    );
    let [first, second] = prose::perspectives(subject);
    [(opening, 0), (&first.step, 0), (&second.step, 1), (closing, 0)]
        .map(|(step, offset)| prose::fill(subject, step, offset))
}

/// Steps of another planner stay, and are closed with the rest.
fn inherited(state: &PlannerState<'_>, stage: &Stage) -> Vec<Value> {
    let foreign = state.planned().iter().filter(|step| step["id"].as_str().is_some_and(|id| !OWN_STEPS.contains(&id)));
    let foreign_steps = foreign.map(|step| {
        let status = if matches!(stage, Stage::Finish) { &json!("done") } else { &step["status"] };
        json!({"id": step["id"], "title": step["title"], "status": status, "owner": step["owner"]})
    });
    foreign_steps.collect()
}

pub(super) fn tool_calls(state: &PlannerState<'_>, stage: &Stage) -> Vec<Value> {
    let (subject, sections) = (&state.subject, state.sections);
    match stage {
        Stage::Ask | Stage::Delegate(_) | Stage::Finish => Vec::new(),
        Stage::Read => {
            READS.into_iter().filter(|tool| sections.offers(tool)).take(3).map(|tool| read(state, tool)).collect()
        }
        Stage::Outline => {
            let look = if sections.items("hints").is_empty() { &READS[..] } else { &READS_WHEN_HINTED[..] };
            let outline = page(prose::outline_title(subject), prose::outline(subject, &state.context));
            sections.first_offered(look).map(|tool| read(state, tool)).into_iter().chain([outline]).collect()
        }
        Stage::WriteUp(missing) => missing.iter().map(|place| note(state, *place)).collect(),
        Stage::Synthesise => {
            vec![page(prose::synthesis_title(subject), prose::synthesis(subject, &notes(state), &state.context))]
        }
        Stage::Amend(synthesis) => {
            let arguments = json!({"document_id": synthesis, "append": prose::amendment(subject, &state.unread())});
            vec![json!({"tool": "update_document", "arguments": arguments, "purpose": "Take up what was said."})]
        }
        Stage::Answer => {
            let reasons = sections.texts("exit_refused");
            vec![page(prose::addendum_title(subject), prose::addendum(subject, &reasons, &state.context))]
        }
    }
}

fn read(state: &PlannerState<'_>, tool: &str) -> Value {
    let arguments = if tool.starts_with("search") { json!({"query": state.subject.query()}) } else { json!({}) };
    json!({"tool": tool, "arguments": arguments, "purpose": "See what is there already."})
}

fn note(state: &PlannerState<'_>, place: usize) -> Value {
    let perspective = prose::perspectives(&state.subject)[place % 2];
    page(state.note_titles[place % 2].clone(), prose::note(&state.subject, perspective, &state.context))
}

/// The notes with their results, as the executors reported them.
fn notes(state: &PlannerState<'_>) -> Vec<(String, String)> {
    let results = state.sections.items("executor_results");
    let reported = |title: &str| {
        let result = results.iter().find(|result| result["title"] == title)?;
        result["result_snippet"].as_str().filter(|snippet| !snippet.is_empty()).map(one_line)
    };
    let perspectives = prose::perspectives(&state.subject);
    let titles = state.note_titles.iter().zip(perspectives);
    titles
        .map(|(title, perspective)| {
            let came_to = reported(title).unwrap_or_else(|| format!("follows the question “{}”", perspective.question));
            (title.clone(), came_to)
        })
        .collect()
}

pub(super) fn executor_tasks(state: &PlannerState<'_>, stage: &Stage) -> Vec<Value> {
    let Stage::Delegate(missing) = stage else { return Vec::new() };
    let outline = state.artifact(&prose::outline_title(&state.subject)).unwrap_or_default().trim_start_matches("doc:");
    let tools: Vec<&str> = EXECUTOR_TOOLS.into_iter().filter(|tool| state.sections.offers(tool)).collect();
    let given: String = state.context.directions.iter().map(|said| format!(" Take as given: \"{said}\".")).collect();
    let task = |place: &usize| {
        let question = prose::perspectives(&state.subject)[place % 2].question;
        json!({
            "branch_id": format!("note-{}", place + 1),
            "step_id": note_step(*place),
            "title": state.note_titles[place % 2],
            "objective": format!("{question} Start from the outline, document {outline}, and write one note of its \
                                  own.{given}"),
            "tools": tools,
        })
    };
    let mut tasks: Vec<Value> = missing.iter().map(task).collect();
    if let (Some(first), Some(agent)) = (tasks.first_mut(), state.sections.items("agents").first()) {
        first["agent"] = agent["handle"].clone();
    }
    tasks
}

/// One claim per criterion, with pages or tool results as references.
pub(super) fn evidence(state: &PlannerState<'_>) -> Vec<Value> {
    let own = [prose::addendum_title(&state.subject), prose::synthesis_title(&state.subject)];
    let mut refs: Vec<&str> = own.iter().chain(&state.note_titles).filter_map(|title| state.artifact(title)).collect();
    if refs.is_empty() {
        refs = state.read_events();
    }
    let criteria = state.sections.items("success_criteria");
    if criteria.is_empty() {
        let claim = format!("The work on {} is written up.", state.subject.topic);
        return vec![json!({"criterion": null, "claim": claim, "refs": refs})];
    }
    let claim = |criterion: &&Value| {
        let text = criterion["text"].as_str().unwrap_or_default();
        json!({"criterion": criterion["id"], "claim": format!("Met: {}", one_line(text)), "refs": refs})
    };
    criteria.iter().map(claim).collect()
}

fn page(title: String, content: String) -> Value {
    json!({"tool": "create_document", "arguments": {"title": title, "content": content}, "purpose": "Write the page."})
}
