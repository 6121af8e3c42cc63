//! Lessons a subagent leaves while it works in a run. They stay pending until its owner, or the verified success of the
//! run, promotes them to its scratchpad. Knows texts, limits and names; the store has the rows.

use crate::answer::NOT_RUN;
use crate::calls::{self, CallResult, RecordedCall};
use crate::effect::ToolSpec;
use crate::ids::{ActorId, LessonId, RunId};
use crate::prompt::{self, Quote, Sections, YOUR_IDENTITY};
use crate::run::{Facts, Shared};
use crate::task::{MAX_SCRATCHPAD_CHARS, READ_SCRATCHPAD};
use crate::words::words;
use crate::workspace::Mutation;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

pub const ADD_LESSON: &str = "add_lesson";
pub const DESCRIPTION: &str = "Note down something that will help you in other work, with where you know it from. It is pending until your owner, \
     or the success of this run, promotes it to your scratchpad.";
/// The most characters of one lesson.
pub const MAX_LESSON_CHARS: usize = 1_000;
/// The most lessons of one executor, or of one generation of a node.
pub const MAX_LESSONS_PER_CALLER: usize = 5;
/// The most subagents one run may delegate to.
pub const MAX_AGENTS_PER_RUN: usize = 8;
const HEADING: &str = "## Lessons";

words! {
    /// The status of a lesson.
    LessonStatus {
        Pending = "pending",
        Promoted = "promoted",
        Dismissed = "dismissed",
    }
}

/// A lesson that a call of a run added, and the subagent whose lesson it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LessonRef {
    pub lesson_id: LessonId,
    pub agent_id: ActorId,
}

impl LessonRef {
    pub(crate) fn by(mutations: &[Mutation]) -> Option<LessonRef> {
        mutations.iter().find_map(|mutation| match mutation {
            Mutation::AddLesson { id, agent, .. } => Some(LessonRef { lesson_id: *id, agent_id: *agent }),
            _ => None,
        })
    }
}

/// The tool's description for subagents; it is not among the run's own tools.
pub fn spec() -> ToolSpec {
    ToolSpec {
        name: ADD_LESSON.into(),
        arguments: format!("text: 1-{MAX_LESSON_CHARS} characters"),
        description: DESCRIPTION.into(),
        read: false,
        external: None,
    }
}

/// Whether the tool only uses the subagent's own memory, which is neither progress nor evidence of the run.
pub(crate) fn is_memory(tool: &str) -> bool {
    [ADD_LESSON, READ_SCRATCHPAD].contains(&tool)
}

/// How many more lessons an executor or node may leave.
pub(crate) struct LessonQuota(usize);

impl LessonQuota {
    pub(crate) fn after(calls: &[RecordedCall]) -> LessonQuota {
        let failed = |call: &RecordedCall| call.result.as_ref().is_some_and(|result| !result.ok);
        let left = calls.iter().filter(|call| call.tool == ADD_LESSON && !failed(call)).count();
        LessonQuota(MAX_LESSONS_PER_CALLER.saturating_sub(left))
    }

    /// Why the call at this index of a round is not made, if it is not.
    pub(crate) fn refusal(&mut self, tool: &str, index: usize, most: usize) -> Option<String> {
        let over = self.is_over(tool);
        if index >= most {
            return Some(NOT_RUN.into());
        }
        over.then(|| format!("not stored: there are {MAX_LESSONS_PER_CALLER} lessons already, and that is the most"))
    }

    /// Whether this lesson is beyond the limit.
    fn is_over(&mut self, tool: &str) -> bool {
        if tool != ADD_LESSON {
            return false;
        }
        let over = self.0 == 0;
        self.0 = self.0.saturating_sub(1);
        over
    }
}

/// The subagent's scratchpad as it was read when the work began.
fn scratchpad_read(calls: &[RecordedCall]) -> Option<&CallResult> {
    calls.iter().find(|call| call.tool == READ_SCRATCHPAD)?.result.as_ref()
}

/// Whether the scratchpad was read, or reading it failed.
pub(crate) fn has_read_scratchpad(calls: &[RecordedCall]) -> bool {
    scratchpad_read(calls).is_some()
}

/// Adds the subagent's identity and scratchpad to a request.
pub(crate) fn describe_agent(shared: &Shared, handle: &str, calls: &[RecordedCall], out: &mut Sections) {
    let identity = shared.agent(handle).map(|agent| agent.identity.as_str());
    out.add(YOUR_IDENTITY, json!({ "handle": handle, "identity": identity }));
    if let Some(pad) = scratchpad_read(calls) {
        let field = if pad.ok { "scratchpad" } else { "error" };
        let frame = json!({ "handle": handle });
        out.share(4).quoted(
            "your_scratchpad",
            vec![Quote { frame, field, content: Some(pad.content), limit: pad.content.bytes }],
        );
    }
}

/// Adds the run's subagents to a planner's request.
pub(crate) fn list_agents(shared: &Shared, out: &mut Sections) {
    let agents = shared.brief.agents.iter();
    let lines: Vec<_> = agents.map(|agent| json!({ "handle": agent.handle, "identity": agent.identity })).collect();
    out.share(2).add_some("agents", &lines);
}

/// The tools as a prompt lists them; a subagent has one more.
pub(crate) fn tool_lines<'a>(tools: impl Iterator<Item = &'a ToolSpec>, as_agent: bool) -> Vec<String> {
    let mut lines = prompt::tool_lines(tools);
    if as_agent {
        lines.extend(prompt::tool_lines([spec()].iter()));
    }
    lines
}

/// The results, without the scratchpad reading, which has its own section.
pub(crate) fn results(calls: &[RecordedCall]) -> impl Iterator<Item = (&RecordedCall, &CallResult)> {
    calls::answered(calls).filter(|(call, _)| call.tool != READ_SCRATCHPAD)
}

/// Promotes the lessons of a verified run as far as the scratchpad has room. Commits with the next fact.
pub(crate) fn promote(learned: impl Iterator<Item = LessonRef>, facts: &mut Facts) {
    let mut by_agent: BTreeMap<ActorId, Vec<LessonId>> = BTreeMap::new();
    for LessonRef { lesson_id, agent_id } in learned {
        by_agent.entry(agent_id).or_default().push(lesson_id);
    }
    for (agent, lessons) in by_agent {
        facts.mutate(Mutation::PromoteLessons { agent, lessons });
    }
}

/// The scratchpad with the lesson appended to its lessons; `None` when there is no room.
pub fn with_lesson(pad: &str, lesson: &str, run: Option<RunId>) -> Option<String> {
    let origin = run.map(|run| format!(" (run {run})")).unwrap_or_default();
    let item = format!("- {}{origin}\n", crate::lines::one_line(lesson));
    let mut lines: Vec<&str> = pad.lines().collect();
    let text = match lines.iter().position(|line| line.trim_end() == HEADING) {
        Some(heading) => {
            let is_next = |line: &&str| line.starts_with("# ") || line.starts_with("## ");
            let rest = lines
                .split_off(lines[heading + 1..].iter().position(is_next).map_or(lines.len(), |at| heading + 1 + at));
            let before = lines.join("\n");
            let gap = if before.trim_end().ends_with(HEADING) { "\n\n" } else { "\n" };
            let after = if rest.is_empty() { String::new() } else { format!("\n{}\n", rest.join("\n")) };
            format!("{}{gap}{item}{after}", before.trim_end())
        }
        None if pad.trim().is_empty() => format!("{HEADING}\n\n{item}"),
        None => format!("{}\n\n{HEADING}\n\n{item}", pad.trim_end()),
    };
    (text.chars().count() <= MAX_SCRATCHPAD_CHARS).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b15_a_lesson_is_added_under_its_heading_and_nothing_else_changes() {
        let first = with_lesson("", "Oak is\n## dear", None).expect("room");
        assert_eq!(first, "## Lessons\n\n- Oak is ## dear\n");
        let second = with_lesson(&first, "Pine is not", None).expect("room");
        assert_eq!(second, "## Lessons\n\n- Oak is ## dear\n- Pine is not\n");
        let among = "# Notes\n\nkept\n\n## Lessons\n\n- one\n\n## Later\n\nkept too\n";
        let third = with_lesson(among, "two", None).expect("room");
        assert_eq!(third, "# Notes\n\nkept\n\n## Lessons\n\n- one\n- two\n\n## Later\n\nkept too\n");
        assert_eq!(with_lesson("words", "x", None).expect("room"), "words\n\n## Lessons\n\n- x\n");
    }

    #[test]
    fn b15_a_scratchpad_never_grows_beyond_what_it_holds() {
        let run = RunId(uuid::Uuid::from_u128(7));
        let full = "ä".repeat(MAX_SCRATCHPAD_CHARS - 100);
        assert_eq!(with_lesson(&full, &"x".repeat(50), Some(run)), None);
        let grown = with_lesson(&full, &"x".repeat(20), Some(run)).expect("room");
        assert!(grown.chars().count() <= MAX_SCRATCHPAD_CHARS && grown.ends_with(&format!("(run {run})\n")), "{grown}");
    }
}
