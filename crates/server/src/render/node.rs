//! `pleach show RUN --node N`: one node with its step, plan, result, artifacts and events.

use super::event_lines::EventLines;
use super::section;
use super::style::{Color, Style, duration, field, line, plain, with_moments};
use super::{Question, tree_view};
use crate::api::NodeView;
use engine::batch::ArtifactRow;
use serde_json::Value;

pub(crate) fn lines(view: &NodeView, style: Style) -> Vec<String> {
    let mut lines = head(view, style);
    let criteria = view.node.success_criteria.iter().map(|criterion| format!("  · {}", line(criterion)));
    section(&mut lines, "Criteria", criteria, style);
    section(&mut lines, "Plan", view.plans.last().into_iter().flat_map(|plan| bands(&plan.plan_json)), style);
    section(&mut lines, "Result", result(&view.node.result), style);
    section(&mut lines, "Artifacts", view.artifacts.iter().map(artifact), style);
    section(&mut lines, "Read", view.reads.iter().map(artifact), style);
    section(&mut lines, "Questions", view.questions.iter().flat_map(|asked| question(view, asked)), style);
    let entries = view.scratchpad.iter().flat_map(|entry| indented(&entry.markdown));
    section(&mut lines, "Scratchpad, last entries", entries, style);
    section(&mut lines, "Events", timeline(view), style);
    lines
}

fn head(view: &NodeView, style: Style) -> Vec<String> {
    let node = &view.node;
    let (color, mark) = tree_view::mark(node);
    let mut lines = vec![
        style.paint(Color::Bold, &format!("n{} {}", node.ordinal, line(&node.title))),
        format!("node       {}", node.id),
        format!("run        {}", node.run_id),
        format!("status     {} {}", style.paint(color, mark), status(view)),
    ];
    let again = format!("pleach retry {} --node n{}", node.run_id, node.ordinal);
    let retry = if node.retryable { format!("  ({again})") } else { String::new() };
    lines.extend(node.error.iter().map(|error| format!("error      {}{retry}", line(error))));
    lines.extend(node.shortfall.iter().map(|why| format!("partial    {}", line(why))));
    if node.stale && node.current {
        lines.push(format!("stale      a result it was shown has been replaced  ({again})"));
    }
    lines.extend((!node.current).then(|| "replaced   another node works on its step".to_owned()));
    lines.extend(text(&node.reason).map(|reason| format!("reason     {reason}")));
    let (band, step, depth) = (node.band_index + 1, node.step_index + 1, node.depth);
    let place = |parent| format!("place      band {band}, step {step}, depth {depth}, below {parent}");
    lines.extend(node.parent_node_id.map(place));
    let goal = text(view.step["band"]["goal"].as_str().unwrap_or_default());
    lines.extend(goal.map(|goal| format!("band goal  {goal}")));
    let agent = node.agent.as_deref().map(line);
    lines.extend(agent.map(|agent| format!("given to   {agent}  (pleach agents show {agent})")));
    lines.extend(node.retry_of.map(|earlier| format!("retry of   {earlier}")));
    let took = node.started_at.map(|start| duration(node.ended_at.unwrap_or(node.updated_at).since(start)));
    lines.push(format!(
        "spent      {} and {} tokens in {} calls, all nodes below included{}",
        engine::report::price(node.metrics.cost_usd, node.metrics.cost_known),
        node.metrics.tokens(),
        node.metrics.llm_calls,
        took.map(|took| format!("; {took}")).unwrap_or_default()
    ));
    lines.push(format!("scratchpad pleach doc {}", node.scratchpad_doc_id));
    lines
}

/// In one line, unless it is blank.
fn text(text: &str) -> Option<String> {
    Some(line(text)).filter(|text| !text.is_empty())
}

fn status(view: &NodeView) -> String {
    let node = &view.node;
    let mut words = vec![node.status.name().to_owned(), node.role_state.name().to_owned()];
    words.extend((node.paused && !node.status.is_terminal()).then(|| "paused".to_owned()));
    words.extend(node.outcome.map(|outcome| outcome.name().to_owned()));
    words.extend(node.message.as_deref().map(message));
    words.extend((node.generation > 1).then(|| format!("generation {}", node.generation)));
    words.join(" · ")
}

/// What a node said with its status, without the punctuation of the log.
fn message(message: &str) -> String {
    match message.split_once(':') {
        Some(("leaf_decision", "criteria_testable")) => "does it itself: its criteria can be tested".into(),
        Some(("leaf_decision", _)) => "does it itself: small enough".into(),
        Some(("guard", limit)) => format!("does it itself: limit {}", line(limit)),
        _ => line(message),
    }
}

fn bands(plan: &Value) -> Vec<String> {
    let bands = plan["bands"].as_array().into_iter().flatten();
    let lines = bands.flat_map(|band| {
        let title = format!("  band {}  {}", band["index"].as_u64().unwrap_or_default() + 1, field(band, "goal"));
        let steps = band["steps"].as_array().into_iter().flatten();
        [title].into_iter().chain(steps.map(|step| format!("    {}  {}", field(step, "id"), field(step, "title"))))
    });
    lines.collect()
}

fn result(result: &Value) -> Vec<String> {
    let Some(summary) = result["summary"].as_str() else { return Vec::new() };
    let mut lines = indented(summary);
    if let Some(met) = result["successAssessment"]["met"].as_bool() {
        let notes = field(&result["successAssessment"], "notes");
        lines.push(format!("  criteria {} {notes}", if met { "met" } else { "not met" }));
    }
    if !result["jsonPayload"].is_null() {
        lines.push(format!("  {}", line(&result["jsonPayload"].to_string())));
    }
    lines
}

fn artifact(made: &ArtifactRow) -> String {
    let primary = match (made.current, made.stale, made.is_primary) {
        (false, ..) => " (replaced)",
        (true, true, _) => " (stale)",
        (true, false, true) => " (primary)",
        (true, false, false) => "",
    };
    let title = made.title.as_deref().map(|title| format!(" “{}”", line(title))).unwrap_or_default();
    let read = made.document_id.map(|id| format!("  pleach doc {id}")).unwrap_or_default();
    format!("  {} {}{title}{primary}{read}", made.artifact_type.name(), line(&made.label))
}

fn question(view: &NodeView, asked: &Value) -> Vec<String> {
    let question = Question::read(asked);
    let mut lines = question.marked("  ? ");
    match &question.answer {
        Some(answer) => lines.push(format!("    answered: {answer}")),
        None => lines.push(format!("    pleach answer {} \"…\" --question {}", view.node.run_id, question.id)),
    }
    lines
}

fn indented(text: &str) -> Vec<String> {
    plain(text.trim_end()).lines().map(|text| format!("  {text}")).collect()
}

fn timeline(view: &NodeView) -> Vec<String> {
    let node = &view.node;
    let mut event_lines = EventLines::default();
    event_lines.learn(std::iter::once((node.id.to_string(), node.ordinal.index(), node.title.clone())));
    let lines = view.timeline.iter().filter_map(|event| {
        let text = event_lines.line(event)?;
        Some(format!("  {:>5}  {}  {text}", event["seq"].to_string(), with_moments(&field(event, "timestamp"))))
    });
    lines.collect()
}
