//! What the root's plan looks like for an objective: the same for planner, executor and aggregator, so that each
//! knows a step again by its title.

use super::super::angles::{ANGLES, Angle};
use super::super::prose;
use super::super::theme::Theme;

pub struct Study {
    pub title: String,
    pub angle: &'static Angle,
}

/// Two or three sides of the objective, none of them twice: with the register they fill one band.
pub fn studies(theme: &Theme) -> Vec<Study> {
    let first = theme.choose("first study", ANGLES.len());
    // Coprime with the number of angles, so that going round meets each of them once.
    let stride = [1, 3, 5, 7][theme.choose("stride", 4)];
    let count = 2 + theme.choose("studies", 2);
    (0..count)
        .map(|nth| {
            let angle = &ANGLES[(first + nth * stride) % ANGLES.len()];
            Study { title: prose::fill(theme, angle.step, nth), angle }
        })
        .collect()
}

/// The halves of a study that is divided.
pub fn halves(title: &str) -> [String; 2] {
    [format!("{title}: what is known"), format!("{title}: what is missing")]
}

/// The study this title belongs to, whole or half.
pub fn study_of(theme: &Theme, title: &str) -> Option<Study> {
    studies(theme).into_iter().find(|study| title.starts_with(&study.title))
}

/// Facts in a form a program can read.
pub fn register_title(theme: &Theme) -> String {
    let words = theme.pick(
        "register",
        &[
            "List the open points of {a}",
            "Make a register of what {a} depends on",
            "Collect what can be counted about {a}",
            "Name the parts of {a}",
        ],
    );
    prose::fill(theme, words, 0)
}

pub fn weighing_title(theme: &Theme) -> String {
    let words = theme.pick(
        "weighing",
        &[
            "Weigh the studies of {a}",
            "Set the findings on {a} against each other",
            "Judge {a} by what was found",
            "Find what the studies of {a} agree on",
        ],
    );
    prose::fill(theme, words, 0)
}

/// Some objectives call for a proposal of their own after the weighing.
pub fn proposal_title(theme: &Theme) -> Option<String> {
    let words = theme.pick(
        "proposal",
        &["Propose the next steps for {a}", "Draft a decision on {a}", "Write a first version for {b}", ""],
    );
    (!words.is_empty()).then(|| prose::fill(theme, words, 0))
}

/// In the demonstration: the study whose executor asks, and the one that fails at first.
pub fn asking_title(theme: &Theme) -> String {
    studies(theme).swap_remove(0).title
}

pub fn failing_title(theme: &Theme) -> String {
    studies(theme).swap_remove(1).title
}

/// What takes the place of the study that failed.
pub fn instead_title(theme: &Theme) -> String {
    prose::fill(theme, "Look at {b} more closely, in smaller steps", 0)
}
