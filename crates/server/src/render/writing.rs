//! What the calls in flight are writing, one line each, put together from the deltas of a stream.

use super::style::{Color, Style, fit, fit_end, line, width};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};

/// The characters that are kept of one answer: more than a line.
const MAX_KEPT: usize = 1_000;
/// Calls that ended lately: a late delta of theirs is ignored.
const MAX_ENDED: usize = 64;
/// The columns of the name of whoever writes.
const MAX_NAME: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct Writings {
    calls: BTreeMap<String, Writing>,
    ended: VecDeque<(String, u64)>,
}

#[derive(Debug)]
struct Writing {
    attempt: u64,
    role: String,
    /// The readable characters up to the end of `text`.
    known: u64,
    text: String,
}

/// Who makes a call, as its effect id says; docs/protocol.md lists the ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer<'a> {
    Node(usize),
    Executor(usize),
    /// By its role: planner, repair, report, step, reflection.
    Role(&'a str),
}

impl Writings {
    /// True when something was added.
    pub(crate) fn delta(&mut self, delta: &Value) -> bool {
        let text = |name: &str| delta[name].as_str().unwrap_or_default().to_owned();
        let (effect, attempt) = (text("effect"), delta["attempt"].as_u64().unwrap_or_default());
        if self.ended.contains(&(effect.clone(), attempt)) {
            return false;
        }
        let fresh = || Writing { attempt, role: text("role"), known: 0, text: String::new() };
        let writing = self.calls.entry(effect).or_insert_with(fresh);
        if writing.attempt != attempt {
            *writing = fresh();
        }
        writing.add(&text("shown"), delta["from"].as_u64().unwrap_or_default())
    }

    pub(crate) fn see(&mut self, event: &Value) {
        let payload = &event["payload"];
        if let ("effect.finished", Some(effect)) =
            (event["type"].as_str().unwrap_or_default(), payload["effect"].as_str())
        {
            self.calls.remove(effect);
            self.ended.push_back((effect.to_owned(), payload["attempt"].as_u64().unwrap_or_default()));
            self.ended.drain(..self.ended.len().saturating_sub(MAX_ENDED));
        }
    }

    /// At most `rows` lines of at most `room` columns; `name` says who writes.
    pub(crate) fn lines(
        &self,
        name: impl Fn(Writer<'_>) -> String,
        rows: usize,
        room: usize,
        style: Style,
    ) -> Vec<String> {
        let active: Vec<(&String, &Writing)> =
            self.calls.iter().filter(|(_, writing)| !writing.newest().is_empty()).collect();
        let shown = if active.len() > rows { rows.saturating_sub(1) } else { active.len() };
        let mut lines: Vec<String> = Vec::new();
        for (effect, writing) in &active[..shown] {
            let name = fit(&name(writer(effect, &writing.role)), MAX_NAME);
            let text = fit_end(&writing.newest(), room.saturating_sub(width(&name) + 7));
            lines.push(format!("  {} {name} · {text}", style.paint(Color::Cyan, "✎")));
        }
        if active.len() > shown && rows > 0 {
            lines.push(fit(&format!("  ✎ and {} more", active.len() - shown), room));
        }
        lines
    }
}

impl Writing {
    /// A piece may come twice, and one that got lost leaves a gap.
    fn add(&mut self, shown: &str, from: u64) -> bool {
        let end = from + shown.chars().count() as u64;
        if end <= self.known {
            return false;
        }
        if from > self.known {
            self.text.clear();
        }
        self.text.extend(shown.chars().skip(self.known.saturating_sub(from) as usize));
        self.known = end;
        let over = self.text.chars().count().saturating_sub(MAX_KEPT);
        let start = self.text.char_indices().nth(over).map_or(0, |(at, _)| at);
        self.text.drain(..start);
        true
    }

    /// The last line that is not blank.
    fn newest(&self) -> String {
        self.text.lines().rev().map(line).find(|text| !text.is_empty()).unwrap_or_default()
    }
}

fn writer<'a>(effect: &str, role: &'a str) -> Writer<'a> {
    let number = |part: &str, prefix: char| part.strip_prefix(prefix)?.parse::<usize>().ok();
    let mut parts = effect.split('.').skip(1);
    let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    match (number(first, 'n'), number(first, 'i'), number(second, 'x')) {
        (Some(node), ..) => Writer::Node(node),
        (None, Some(_), Some(executor)) => Writer::Executor(executor),
        _ => Writer::Role(role.rsplit('_').next().unwrap_or(role)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PLAIN: Style = Style { color: false };

    fn delta(effect: &str, shown: &str, from: u64) -> Value {
        json!({"effect": effect, "attempt": 1, "role": "homework_planner", "text": "{", "shown": shown, "from": from})
    }

    fn lines(writings: &Writings, rows: usize, room: usize) -> Vec<String> {
        writings.lines(|writer| format!("{writer:?}"), rows, room, PLAIN)
    }

    #[test]
    fn t4_each_call_in_flight_shows_the_end_of_its_newest_line() {
        let mut writings = Writings::default();
        writings.delta(&delta("f9b525d18a43.n12.g1.x.r1", "# Heat\nPumps move\u{1b}[2J heat", 0));
        writings.delta(&delta("f9b525d18a43.i3.x1.r2", "Reads the prices", 0));
        writings.delta(&delta("f9b525d18a43.i3.plan", "Plans what is left", 0));
        writings.delta(&delta("f9b525d18a43.i3.report", "", 0));
        assert_eq!(
            lines(&writings, 9, 60),
            [
                "  ✎ Role(\"planner\") · Plans what is left",
                "  ✎ Executor(1) · Reads the prices",
                "  ✎ Node(12) · Pumps move\\u{1b}[2J heat"
            ]
        );
        assert_eq!(lines(&writings, 2, 60)[1], "  ✎ and 2 more");
        assert_eq!(lines(&writings, 9, 28)[2], "  ✎ Node(12) · …{1b}[2J heat");
    }

    #[test]
    fn t4_pieces_that_come_twice_or_late_or_not_at_all_break_nothing() {
        let mut writings = Writings::default();
        let effect = "f9b525d18a43.i1.plan";
        assert!(writings.delta(&delta(effect, "one two", 0)));
        assert!(!writings.delta(&delta(effect, "two", 4)), "known already");
        assert!(writings.delta(&delta(effect, "two three", 4)), "the newest part, for one who came late");
        assert!(lines(&writings, 9, 80)[0].ends_with("one two three"));
        assert!(writings.delta(&delta(effect, "six", 40)), "after a gap");
        assert!(lines(&writings, 9, 80)[0].ends_with("· six"));
        // The call ends; a delta that comes after that is not shown
        writings.see(&json!({"type": "effect.finished", "payload": {"effect": effect, "attempt": 1}}));
        assert!(!writings.delta(&delta(effect, "late", 60)) && lines(&writings, 9, 80).is_empty());
    }
}
