//! The homework planner: outline, two notes in parallel, synthesis, end. The next stage follows from the pages that exist, so it can
//! continue after a question, a refusal or a restart.

use super::planner_actions;
use super::prose::{self, Context};
use super::subject::Subject;
use super::{Sections, one_line};
use serde_json::{Value, json};

/// The stage of the work, by what exists.
pub(super) enum Stage {
    Ask,
    /// Nothing may be written, so only read.
    Read,
    Outline,
    /// Give these notes (by index) to executors.
    Delegate(Vec<usize>),
    /// Write these notes, which the executors did not deliver.
    WriteUp(Vec<usize>),
    Synthesise,
    /// Add to the synthesis (this document) what a person said after it was written.
    Amend(String),
    /// Answer the reasons for which the exit was refused.
    Answer,
    Finish,
}

pub(super) fn answer(sections: &Sections) -> Value {
    let state = PlannerState::of(sections);
    let stage = state.stage();
    let (doing, remaining) = state.status_texts(&stage);
    let evidence = if matches!(stage, Stage::Finish) { planner_actions::evidence(&state) } else { Vec::new() };
    let questions = if matches!(stage, Stage::Ask) { vec![state.question()] } else { Vec::new() };
    let (hint, confidence) = match stage {
        Stage::Ask => ("ask_user", "low"),
        Stage::Read | Stage::Outline => ("execute", "low"),
        Stage::Finish => ("stop", "high"),
        _ => ("execute", "medium"),
    };
    json!({
        "progress_summary": state.summary(doing),
        "plan": {"steps": planner_actions::steps(&state, &stage)},
        "tool_calls": planner_actions::tool_calls(&state, &stage),
        "executor_tasks": planner_actions::executor_tasks(&state, &stage),
        "remaining_work": remaining,
        "completion_evidence": evidence,
        "exit_signal": matches!(stage, Stage::Finish),
        "needs_user_input": matches!(stage, Stage::Ask),
        "blocking_questions": questions,
        "next_action_hint": hint,
        "confidence": confidence,
        "branch_rollup": state.rollup(),
    })
}

/// A request as the planner understands it.
pub(super) struct PlannerState<'a> {
    pub sections: &'a Sections,
    pub subject: Subject,
    pub context: Context,
    pub note_titles: [String; 2],
}

impl<'a> PlannerState<'a> {
    fn of(sections: &'a Sections) -> PlannerState<'a> {
        let subject = Subject::of(sections.text("objective"));
        let answers = sections.items("questions").into_iter().filter_map(|question| question["answer"].as_str());
        let messages = sections.items("messages").into_iter().filter_map(|message| message["text"].as_str());
        let criteria =
            sections.items("success_criteria").into_iter().filter_map(|criterion| criterion["text"].as_str());
        let context = Context {
            directions: answers.chain(messages).map(one_line).collect(),
            criteria: criteria.map(one_line).collect(),
            readings: Vec::new(),
        };
        let note_titles = prose::perspectives(&subject).map(|perspective| prose::note_title(&subject, perspective));
        PlannerState { sections, subject, context, note_titles }
    }

    fn stage(&self) -> Stage {
        if wants_to_be_asked(self.sections.text("objective")) && self.sections.items("questions").is_empty() {
            return Stage::Ask;
        }
        if !self.may_write() {
            return if self.read_events().is_empty() { Stage::Read } else { Stage::Finish };
        }
        if self.artifact(&prose::outline_title(&self.subject)).is_none() {
            return Stage::Outline;
        }
        let missing: Vec<usize> = (0..2).filter(|place| self.artifact(&self.note_titles[*place]).is_none()).collect();
        if !missing.is_empty() {
            let tried = |place: &usize| {
                self.step_status(planner_actions::note_step(*place)).is_some_and(|status| status != "pending")
            };
            return if missing.iter().any(tried) { Stage::WriteUp(missing) } else { Stage::Delegate(missing) };
        }
        let Some(synthesis) = self.artifact(&prose::synthesis_title(&self.subject)) else { return Stage::Synthesise };
        if !self.unread().is_empty() && self.sections.offers("update_document") {
            return Stage::Amend(synthesis.trim_start_matches("doc:").to_owned());
        }
        let refused = !self.sections.items("exit_refused").is_empty();
        match refused && self.artifact(&prose::addendum_title(&self.subject)).is_none() {
            true => Stage::Answer,
            false => Stage::Finish,
        }
    }

    pub(super) fn may_write(&self) -> bool {
        self.sections.offers("create_document")
    }

    /// The reference of a page that this run created.
    pub(super) fn artifact(&self, title: &str) -> Option<&'a str> {
        let named = self.sections.items("artifacts").into_iter().find(|artifact| artifact["title"] == title);
        named.and_then(|artifact| artifact["ref"].as_str())
    }

    /// Successful tool results, as references.
    pub(super) fn read_events(&self) -> Vec<&'a str> {
        let ok = self.sections.items("tool_results").into_iter().filter(|result| result["ok"] == true);
        ok.filter_map(|result| result["event"].as_str()).collect()
    }

    pub(super) fn unread(&self) -> Vec<String> {
        let unread = self.sections.items("messages").into_iter().filter(|message| message["unread"] == true);
        unread.filter_map(|message| message["text"].as_str()).map(one_line).collect()
    }

    /// The steps of the current plan.
    pub(super) fn planned(&self) -> &'a [Value] {
        self.sections.value("plan")["steps"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    fn step_status(&self, id: &str) -> Option<&'a str> {
        self.planned().iter().find(|step| step["id"] == id)?["status"].as_str()
    }

    /// What is being done, and what remains.
    fn status_texts(&self, stage: &Stage) -> (String, Vec<String>) {
        let topic = &self.subject.topic;
        let [first, second] = &self.note_titles;
        let write = |title: &String| format!("Write \"{title}\"");
        let join = format!("Join the notes on {topic} into a synthesis");
        match stage {
            Stage::Ask => (
                "One answer is needed before the work begins.".into(),
                vec![format!("Outline {topic}"), write(first), write(second), join],
            ),
            Stage::Read => (
                "Looking at what the workspace holds; nothing may be written here.".into(),
                vec![format!("Say what was read about {topic}")],
            ),
            Stage::Outline => {
                (format!("Looking at what is there and outlining {topic}."), vec![write(first), write(second), join])
            }
            Stage::Delegate(missing) => {
                let notes = missing.iter().map(|place| format!("Read back \"{}\"", self.note_titles[*place]));
                ("The outline stands; the notes are given to executors.".into(), notes.chain([join]).collect())
            }
            Stage::WriteUp(_) => ("What did not come back from the executors is written here.".into(), vec![join]),
            Stage::Synthesise => (
                format!("The notes are in; writing the synthesis of {topic}."),
                vec!["Read the synthesis against the objective".into()],
            ),
            Stage::Amend(_) => (
                "Taking the new direction into the synthesis.".into(),
                vec!["Confirm that the synthesis follows the new direction".into()],
            ),
            Stage::Answer => (
                "The end was refused; answering the objections in an addendum.".into(),
                vec!["Show the addendum as evidence".into()],
            ),
            Stage::Finish => (format!("Everything asked for about {topic} exists and is cited."), Vec::new()),
        }
    }

    fn summary(&self, doing: String) -> String {
        let mut parts = vec![format!("Iteration {}: {doing}", self.sections.number("iteration").max(1))];
        let heard = |text| format!("Heard: \"{text}\"; it is taken as given from here on.");
        parts.extend(self.unread().into_iter().map(heard));
        let refused = self.sections.texts("exit_refused").join("; ");
        if !refused.is_empty() {
            parts.push(format!("The exit was refused: {}.", one_line(&refused)));
        }
        if !self.sections.items("hints").is_empty() {
            parts.push("The hint is followed: a different action is chosen this time.".into());
        }
        parts.join(" ")
    }

    fn question(&self) -> String {
        let words = "You asked to be consulted on “{t}”. What matters most to you about {a}, and is there anything \
                     to leave out?";
        prose::fill(&self.subject, words, 0)
    }

    fn rollup(&self) -> Option<String> {
        let line = |result: &Value| {
            let (branch, snippet) = (result["branch_id"].as_str()?, result["result_snippet"].as_str()?);
            Some(format!("{branch}: {}", one_line(snippet)))
        };
        let lines: Vec<String> = self.sections.items("executor_results").into_iter().filter_map(line).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

fn wants_to_be_asked(objective: &str) -> bool {
    let objective = objective.to_lowercase();
    ["ask me", "ask us", "ask the user", "check with me"].iter().any(|phrase| objective.contains(phrase))
}
