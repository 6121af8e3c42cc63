//! The root's plan for an objective. Planner, executor and aggregator derive the same plan, so that each recognises a step by its
//! title.

use super::super::perspectives::{PERSPECTIVES, Perspective};
use super::super::prose;
use super::super::subject::Subject;

pub(super) struct Study {
    pub title: String,
    pub perspective: &'static Perspective,
}

/// Two or three different perspectives. Together with the register they fill one band.
pub(super) fn studies(subject: &Subject) -> Vec<Study> {
    let first = subject.choose("first study", PERSPECTIVES.len());
    // Coprime with the number of perspectives, so that none is chosen twice.
    let stride = [1, 3, 5, 7][subject.choose("stride", 4)];
    let count = 2 + subject.choose("studies", 2);
    (0..count)
        .map(|nth| {
            let perspective = &PERSPECTIVES[(first + nth * stride) % PERSPECTIVES.len()];
            Study { title: prose::fill(subject, perspective.step, nth), perspective }
        })
        .collect()
}

/// The halves of a study that is divided.
pub(super) fn halves(title: &str) -> [String; 2] {
    [format!("{title}: what is known"), format!("{title}: what is missing")]
}

/// The study of a title, also of one of its halves.
pub(super) fn study_of(subject: &Subject, title: &str) -> Option<Study> {
    studies(subject).into_iter().find(|study| title.starts_with(&study.title))
}

/// The step whose result is JSON.
pub(super) fn register_title(subject: &Subject) -> String {
    let words = subject.pick(
        "register",
        &[
            "List the open points of {a}",
            "Make a register of what {a} depends on",
            "Collect what can be counted about {a}",
            "Name the parts of {a}",
        ],
    );
    prose::fill(subject, words, 0)
}

pub(super) fn weighing_title(subject: &Subject) -> String {
    let words = subject.pick(
        "weighing",
        &[
            "Weigh the studies of {a}",
            "Set the findings on {a} against each other",
            "Judge {a} by what was found",
            "Find what the studies of {a} agree on",
        ],
    );
    prose::fill(subject, words, 0)
}

/// Some objectives have a proposal after the comparison.
pub(super) fn proposal_title(subject: &Subject) -> Option<String> {
    let words = subject.pick(
        "proposal",
        &["Propose the next steps for {a}", "Draft a decision on {a}", "Write a first version for {b}", ""],
    );
    (!words.is_empty()).then(|| prose::fill(subject, words, 0))
}

/// In the demo: the study whose executor asks a question.
pub(super) fn asking_title(subject: &Subject) -> String {
    studies(subject).swap_remove(0).title
}

/// In the demo: the study that fails.
pub(super) fn failing_title(subject: &Subject) -> String {
    studies(subject).swap_remove(1).title
}

/// Replaces the study that failed.
pub(super) fn instead_title(subject: &Subject) -> String {
    prose::fill(subject, "Look at {b} more closely, in smaller steps", 0)
}
