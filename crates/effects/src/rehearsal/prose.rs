//! The texts of pages: outline, note, synthesis and addendum. Every page has at least 150 words, uses phrases of the objective, and
//! names the rehearsal model as its author.

use super::perspectives::{PERSPECTIVES, Perspective};
use super::subject::Subject;
use std::fmt::Write;

pub(super) const SIGNATURE: &str =
    "*Written by the built-in rehearsal model: a stand-in that plays its part without knowing any facts.*";

/// What a page refers to besides the objective.
#[derive(Default)]
pub(super) struct Context {
    /// Answers and messages of people, verbatim.
    pub directions: Vec<String>,
    /// Titles of what was read before writing.
    pub readings: Vec<String>,
    pub criteria: Vec<String>,
}

/// The two perspectives on this objective.
pub(super) fn perspectives(subject: &Subject) -> [&'static Perspective; 2] {
    let first = subject.choose("first angle", PERSPECTIVES.len());
    let step = 1 + subject.choose("second angle", PERSPECTIVES.len() - 1);
    [&PERSPECTIVES[first], &PERSPECTIVES[(first + step) % PERSPECTIVES.len()]]
}

/// The perspective that a title names, or one chosen by the title.
pub(super) fn perspective_of(subject: &Subject, title: &str) -> &'static Perspective {
    let own = PERSPECTIVES.iter().find(|perspective| title.starts_with(perspective.title));
    own.unwrap_or_else(|| &PERSPECTIVES[subject.choose(title, PERSPECTIVES.len())])
}

pub(super) fn outline_title(subject: &Subject) -> String {
    format!("Outline: {}", subject.topic)
}

pub(super) fn note_title(subject: &Subject, perspective: &Perspective) -> String {
    format!("{}: {}", perspective.title, subject.topic)
}

pub(super) fn synthesis_title(subject: &Subject) -> String {
    format!("Synthesis: {}", subject.topic)
}

pub(super) fn addendum_title(subject: &Subject) -> String {
    format!("Addendum: {}", subject.topic)
}

/// Fills a template with phrases, starting from the `offset`th. Inserted text is not expanded again.
pub(super) fn fill(subject: &Subject, template: &str, offset: usize) -> String {
    let mut out = String::with_capacity(template.len() + 80);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let (slot, after) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(match slot {
            "t" => &subject.topic,
            "b" => subject.phrase(offset + 1),
            "c" => subject.phrase(offset + 2),
            "d" => subject.phrase(offset + 3),
            _ => subject.phrase(offset),
        });
        rest = after;
    }
    out.push_str(rest);
    out
}

pub(super) fn outline(subject: &Subject, context: &Context) -> String {
    let opening = subject.pick(
        "outline",
        &[
            "The objective is “{t}”. This page sets out how the work is divided, what each part has to answer, and how \
         to tell that it is done. It is meant to be read first and to be corrected early.",
            "Before anything is written about “{t}”, this page fixes the ground: the words that matter, the sides to \
         look from, and the point at which the work ends. A reader should be able to object to it in five minutes.",
            "This page is the map for “{t}”. It names the parts, gives each of them one question, and keeps the whole \
         small enough to finish. Whoever joins later can start here.",
            "What follows is a plan on one page for “{t}”. It says what is looked at, from which sides, and in which \
         order, so that the parts can be worked on apart and still fit together.",
        ],
    );
    let say = |template: &str| fill(subject, template, 0);
    let mut page = say(opening) + "\n\n## What it is about\n\n";
    for (nth, phrase) in subject.phrases.iter().enumerate() {
        let duty = [
            "what is meant by it here, in one sentence",
            "what is known already and where it is written",
            "what would change if it were left out",
            "who can say whether it came out right",
        ];
        let _ = writeln!(page, "- {phrase}: {}.", duty[nth % duty.len()]);
    }
    page.push_str("\n## From which sides\n");
    for perspective in perspectives(subject) {
        let _ = write!(page, "\n**{}.** {} ", perspective.title, perspective.question);
        let bounds = "This part stays close to {a} and {b}, and leaves the rest to its neighbour.\n";
        page += &fill(subject, bounds, perspective.title.len());
    }
    page += &say("\n## How the parts are worked on\n\n\
         Each part is read against this page before it is written and after. What it finds out about {a} that \
         belongs to the other part is handed over in a sentence, not worked out twice. A question about {b} that \
         nobody here can answer is written down as a question.\n\
         \n## When it is done\n\n\
         The parts are joined into one page that can be read without the others. It must \
         say something definite about {a}, be open about what it leaves out, and point to \
         the notes it rests on.\n");
    finish(page, context)
}

pub(super) fn note(subject: &Subject, perspective: &Perspective, context: &Context) -> String {
    let opening = subject.pick(
        perspective.title,
        &[
            "This note looks at “{t}” from one side. It asks a single question:",
            "Of the sides from which “{t}” can be seen, this note takes one. The question it follows is this:",
            "This is one of two notes on “{t}”. It keeps to one question and leaves the others to its neighbour:",
            "A reader who wants to know about “{t}” will sooner or later ask what this note tries to answer:",
        ],
    );
    let mut page = format!("{} {}\n", fill(subject, opening, 0), perspective.question);
    let offset = subject.choose(perspective.step, subject.phrases.len());
    for (nth, (heading, paragraph)) in perspective.paragraphs.iter().enumerate() {
        let _ = write!(page, "\n## {heading}\n\n{}\n", fill(subject, paragraph, offset + nth));
    }
    if !context.readings.is_empty() {
        let titles: Vec<String> = context.readings.iter().take(3).map(|title| format!("“{title}”")).collect();
        let _ = write!(
            page,
            "\n## What was read first\n\n{}. The note builds on it and does not repeat it.\n",
            titles.join(", ")
        );
    }
    finish(page, context)
}

/// `notes` are the pages it is based on, with their results.
pub(super) fn synthesis(subject: &Subject, notes: &[(String, String)], context: &Context) -> String {
    let opening = subject.pick(
        "synthesis",
        &[
            "This page brings together what the notes on “{t}” came to. It can be read alone; the notes below hold the \
         longer argument.",
            "Two notes looked at “{t}” from different sides. Here is what they say together, and what follows from it.",
            "What began as an outline of “{t}” is brought to a close here: first the result, then what it rests on, \
         then what stays open.",
            "This is the page to hand on. It says what the work on “{t}” amounts to and where each part of it can be \
         found.",
        ],
    );
    let say = |template: &str| fill(subject, template, 0);
    let mut page = say(opening);
    page += &say("\n\n## In short\n\n\
         Begin with {a}, because the rest leans on it. Treat {b} as a question with an \
         owner and not as a given. Keep {c} in view while choosing, and let {d} be the \
         test: a reader should be able to look at it and say whether the objective was \
         met.\n\
         \n## What it rests on\n\n");
    for (title, came_to) in notes {
        let _ = writeln!(page, "- **{title}**: {came_to}");
    }
    page += &say("\nRead side by side, the parts agree on the order: first make {a} visible, then \
         decide, then widen. Where they differ, it is about how much has to be known about \
         {b} before the first step; the smaller step is the safer answer, since it can be \
         taken back.\n\
         \n## What follows\n\n\
         1. Settle what is meant by {a}, in one sentence that two people would write alike.\n\
         2. Take the smallest step that shows something about {b}, and look at it together.\n\
         3. Come back to {c} with what was learned, and only then plan further.\n");
    page += &against_criteria(subject, context);
    finish(page, context)
}

/// A part of its own for each criterion, in the form the criterion asks for.
fn against_criteria(subject: &Subject, context: &Context) -> String {
    let mut part = String::new();
    for (nth, criterion) in context.criteria.iter().enumerate() {
        let _ = write!(part, "\n## {}\n\n", criterion.trim_end_matches('.'));
        part += &match criterion.to_lowercase().contains("table") {
            true => fill(
                subject,
                "| what | what was found | how sure |\n|---|---|---|\n| {a} | comes first, since the rest leans on it | fairly |\n\
                 | {b} | has an owner and an open question | half |\n| {c} | is the test of the whole | to be seen |\n",
                nth,
            ),
            false => fill(
                subject,
                "This was asked for, and this is what the notes give for it: {a} is settled first, {b} follows from it, and \
                 {c} shows whether it came out right.\n",
                nth,
            ),
        };
    }
    part
}

pub(super) fn addendum(subject: &Subject, reasons: &[&str], context: &Context) -> String {
    let mut page = fill(
        subject,
        "The work on “{t}” was held to be finished and was not accepted as such. This page answers the objections \
         one by one, so that the next reading starts from them and not from the beginning.\n\n## What was \
         objected\n\n",
        0,
    );
    for reason in reasons {
        let _ = writeln!(page, "- {reason}");
    }
    page.push_str("\n## What is said to it\n");
    let [perspective, _] = perspectives(subject);
    for (nth, (heading, paragraph)) in perspective.paragraphs.iter().enumerate() {
        let _ = write!(page, "\n**{heading}.** {}\n", fill(subject, paragraph, nth));
    }
    page += &against_criteria(subject, context);
    finish(page, context)
}

/// Added to a page when people say something after it was written.
pub(super) fn amendment(subject: &Subject, directions: &[String]) -> String {
    let mut text = String::from("\n## Taken up afterwards\n\n");
    for direction in directions {
        let _ = writeln!(text, "- “{direction}”");
    }
    let change = "\nWith this in mind, the order above changes in one point: {a} is looked at in its light first, and \
                  what it says about {b} goes before what the notes say.\n";
    format!("{text}{}\n{SIGNATURE}\n", fill(subject, change, 0))
}

fn finish(mut page: String, context: &Context) -> String {
    if !context.directions.is_empty() {
        page.push_str("\n## What people said\n\n");
        for direction in &context.directions {
            let _ = writeln!(page, "- “{direction}”: taken as given in what is written here.");
        }
    }
    let _ = write!(page, "\n{SIGNATURE}\n");
    page
}
