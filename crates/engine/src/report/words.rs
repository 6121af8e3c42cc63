//! Words for people: numbers, times and reasons. Reasons are often written for a model, with what it should do next; a person is
//! told what happened, once.

use crate::lines::one_line;
use crate::run::StopReason;

/// In characters.
const MAX_REASON_CHARS: usize = 240;
/// Why a call was refused for want of budget.
pub(crate) const NO_ROOM: &str = "no room for this call within the limit";
/// What follows these words tells a model what to do.
const TO_A_MODEL: [&str; 12] = [
    "valid:",
    "valid arguments",
    "valid are",
    "its artifacts:",
    "answer again",
    "decide with what",
    "do it again",
    "give ",
    "cite ",
    "leave out",
    "null gives",
    "list_files shows",
];

/// A reason without what is meant for a model, without repetitions, on one line.
pub fn reason(text: &str) -> String {
    let text = one_line(text).replace("its answers did not fit the schema", "the model's answers could not be used");
    let mut told: Vec<&str> = Vec::new();
    for clause in text.split("; ").map(without_instruction).filter(|clause| !clause.is_empty()) {
        // The first may have an introduction.
        let ends_with = |known: &&str| known.eq_ignore_ascii_case(clause) || known.ends_with(&format!(": {clause}"));
        if !told.iter().any(ends_with) {
            told.push(clause);
        }
    }
    shortened(&in_words(&told.join("; ")), MAX_REASON_CHARS)
}

fn without_instruction(clause: &str) -> &str {
    let clause = clause.trim();
    if TO_A_MODEL.iter().any(|start| clause.starts_with(start)) {
        return "";
    }
    let end = TO_A_MODEL.iter().filter_map(|start| clause.find(&format!(": {start}"))).min();
    &clause[..end.unwrap_or(clause.len())]
}

/// A limit is told in words, and the name of a stop reason, which is told elsewhere, not at all.
fn in_words(text: &str) -> String {
    let mut text = text.to_owned();
    for reason in StopReason::ALL.map(StopReason::name) {
        if let Some(limit) = limit(reason) {
            text = text.replace(&format!("{reason}: {NO_ROOM}"), &format!("{limit} left no room for it"));
        }
        while let Some(rest) = text.strip_prefix(reason).and_then(|rest| rest.strip_prefix(": ")) {
            text = rest.to_owned();
        }
    }
    text
}

/// A limit in words, by the reason it stops a run with.
pub fn limit(stop_reason: &str) -> Option<&'static str> {
    match stop_reason {
        "budget_cost" => Some("the cost limit"),
        "budget_tokens" => Some("the token limit"),
        "budget_wall_clock" => Some("the time limit"),
        _ => None,
    }
}

/// At most so many characters; a cut is marked and falls between words where it can.
pub fn shortened(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let cut = &text[..end];
    let cut = cut.rfind(' ').filter(|at| *at > end / 2).map_or(cut, |at| &cut[..at]);
    format!("{}…", cut.trim_end_matches([' ', ',', ';', ':']))
}

/// `1 step`, `2 steps`.
pub fn count(number: u64, one: &str) -> String {
    let several = if number == 1 { "" } else { "s" };
    format!("{} {one}{several}", thousands(number))
}

pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// `4m 05s`, `2h 03m`, `0.4s`.
pub fn duration(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match seconds {
        0..=9 => format!("{:.1}s", ms.max(0) as f64 / 1000.0),
        10..=59 => format!("{seconds}s"),
        60..=3599 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            (thousands(1_234_567), thousands(12), duration(245_000), duration(400)),
            ("1,234,567".into(), "12".into(), "4m 05s".into(), "0.4s".into())
        );
        assert_eq!((count(1, "step"), count(2_000, "step")), ("1 step".into(), "2,000 steps".into()));
    }

    #[test]
    fn t18_reasons_lose_what_is_meant_for_a_model_and_what_is_said_twice() {
        let told = [
            (
                "the step asks for a deliverable of type \"json\" and there is none: give it as an artifact of that type",
                "the step asks for a deliverable of type \"json\" and there is none",
            ),
            ("unknown tool fly; valid: search, create_document", "unknown tool fly"),
            (
                "its answers did not fit the schema: \"plan\" is not an artifact of this node; its artifacts: []; \"plan\" is not an artifact of this node; its artifacts: []",
                "the model's answers could not be used: \"plan\" is not an artifact of this node",
            ),
            ("budget_tokens: no room for this call within the limit", "the token limit left no room for it"),
            ("budget_tokens: budget_tokens: the root's result is partial", "the root's result is partial"),
            (
                "not checked: budget_cost: no room for this call within the limit",
                "not checked: the cost limit left no room for it",
            ),
            ("connection refused", "connection refused"),
        ];
        for (given, expected) in told {
            assert_eq!(reason(given), expected);
        }
        assert_eq!(shortened(&"word ".repeat(100), 22), "word word word word…");
    }
}
