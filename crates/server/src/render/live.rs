//! The live view: one picture of the run, redrawn in place with plain escape codes. It never has more lines than the terminal.

use super::live_state::{ActiveBranch, LiveState};
use super::style::{Color, Style, fit, line};
use super::tree_view::TreeView;
use super::{Question, activity, limits, outcome_words, steps};
use engine::batch::RunRow;
use engine::run::Kind;
use mcp::process_isolation::inherited_env;
use std::io::Write;
use std::process::{Command, Stdio};

/// The size of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub rows: usize,
    pub columns: usize,
}

impl Size {
    /// From `LINES` and `COLUMNS`, else from the terminal, else 24 by 80.
    pub(crate) fn of_terminal() -> Size {
        let variable = |name: &str| std::env::var(name).ok()?.parse().ok();
        if let (Some(rows), Some(columns)) = (variable("LINES"), variable("COLUMNS")) {
            return Size { rows, columns };
        }
        Size::from_stty().unwrap_or(Size { rows: 24, columns: 80 })
    }

    fn from_stty() -> Option<Size> {
        let terminal = std::fs::File::open("/dev/tty").ok()?;
        let mut stty = Command::new("stty");
        stty.arg("size").env_clear().envs(inherited_env()).stdin(terminal).stderr(Stdio::null());
        let output = stty.output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let (rows, columns) = text.trim().split_once(' ')?;
        Some(Size { rows: rows.parse().ok()?, columns: columns.parse().ok()? })
            .filter(|size| size.rows > 3 && size.columns > 19)
    }
}

/// The lines of one picture: at most as many as fit.
pub(crate) fn frame(
    run: &RunRow,
    live_state: &LiveState,
    tree_view: &mut TreeView,
    size: Size,
    style: Style,
) -> Vec<String> {
    let room = size.columns.saturating_sub(1);
    let mut lines = head(run, room, style);
    let questions = questions(run, room, style);
    let writing = live_state.writings.lines(|writer| live_state.name(writer), size.rows / 4, room, style);
    let free = size.rows.saturating_sub(2 + lines.len() + questions.len() + writing.len());
    lines.extend(match run.kind {
        Kind::Homework => homework(run, live_state, free, room, style),
        Kind::Tree => tree(live_state, tree_view, free, room, style),
        Kind::Task => latest(live_state, free, room, style),
    });
    lines.extend(writing);
    lines.extend(questions);
    lines.truncate(size.rows.saturating_sub(1));
    lines
}

fn homework(run: &RunRow, live_state: &LiveState, free: usize, room: usize, style: Style) -> Vec<String> {
    let branches: Vec<String> = live_state.branches.iter().map(|branch| branch_line(branch, room, style)).collect();
    let free = free.saturating_sub(branches.len());
    let mut lines = windowed(steps(run).iter().map(|step| step.painted(room, style)).collect(), (free * 2 / 3).max(2));
    let left = free.saturating_sub(lines.len());
    lines.extend(branches);
    lines.extend(latest(live_state, left, room, style));
    lines
}

/// The tree comes first; the latest events get the remaining lines, at most four.
fn tree(live_state: &LiveState, tree_view: &mut TreeView, free: usize, room: usize, style: Style) -> Vec<String> {
    const LATEST: usize = 4;
    let kept_for_latest = if free > 3 * LATEST { LATEST + 1 } else { 0 };
    let mut lines = tree_view.lines(free - kept_for_latest, room, style);
    let left = free.saturating_sub(lines.len()).min(LATEST + 1);
    lines.extend(latest(live_state, left, room, style));
    lines
}

/// The latest events: at most `rows` lines with the title.
fn latest(live_state: &LiveState, rows: usize, room: usize, style: Style) -> Vec<String> {
    if rows < 2 || live_state.recent.is_empty() {
        return Vec::new();
    }
    let recent = live_state.recent.iter().rev().take(rows - 1).rev();
    let title = style.paint(Color::Dim, &fit("── last ──", room));
    [title].into_iter().chain(recent.map(|text| format!("  {}", fit(text, room.saturating_sub(2))))).collect()
}

fn head(run: &RunRow, room: usize, style: Style) -> Vec<String> {
    let (color, status) = outcome_words(run);
    let extent = match run.kind {
        Kind::Homework => format!(" · iteration {}/{}", run.iteration, run.budgets["max_iterations"]),
        Kind::Tree => String::new(),
        Kind::Task => format!(" · step {}/{}", run.iteration, run.max_steps.unwrap_or_default()),
    };
    let rehearsal = if run.model.starts_with("rehearsal/") { " · rehearsal" } else { "" };
    let doing = format!(" · {}{extent}{rehearsal}", activity(run));
    let spent = limits(run).iter().map(ToString::to_string).collect::<Vec<_>>().join("  ");
    vec![
        style.paint(Color::Bold, &fit(&line(&run.objective), room)),
        format!("{}{}", style.paint(color, &status), fit(&doing, room.saturating_sub(status.len()))),
        fit(&spent, room),
    ]
}

fn branch_line(branch: &ActiveBranch, room: usize, style: Style) -> String {
    let (color, mark) = match branch.ok {
        None => (Color::Cyan, "▶"),
        Some(true) => (Color::Green, "✓"),
        Some(false) => (Color::Red, "✗"),
    };
    let text = format!("{} · {} · round {} · {}", branch.id, branch.title, branch.round, branch.last);
    format!("  {} {}", style.paint(color, mark), fit(&text, room.saturating_sub(4)))
}

fn questions(run: &RunRow, room: usize, style: Style) -> Vec<String> {
    let open = Question::open(run);
    let shown = open.iter().flat_map(|question| {
        let ask = style.paint(Color::Yellow, &fit(&format!("? {}", question.text), room));
        let all = (question.lines.len() > 1).then(|| fit(&format!("  full text: pleach show {}", run.id), room));
        [Some(ask), all, Some(fit(&format!("  {}", question.command(run, open.len())), room))].into_iter().flatten()
    });
    shown.collect()
}

/// At most `limit` lines, the first of which counts the hidden ones.
fn windowed(mut lines: Vec<String>, limit: usize) -> Vec<String> {
    if lines.len() > limit {
        let hidden = lines.len() - (limit - 1);
        lines.drain(..hidden);
        lines.insert(0, format!("  … {hidden} earlier steps"));
    }
    lines
}

/// Draws each picture over the one before.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    drawn: usize,
}

impl Screen {
    pub(crate) fn draw(&mut self, lines: &[String]) {
        let mut out = self.home();
        for line in lines {
            out.push_str(line);
            out.push_str("\x1b[K\n");
        }
        out.push_str("\x1b[J");
        self.drawn = lines.len();
        write(&out);
    }

    /// Removes the picture.
    pub(crate) fn clear(&mut self) {
        if self.drawn > 0 {
            write(&format!("{}\x1b[J", self.home()));
            self.drawn = 0;
        }
    }

    fn home(&self) -> String {
        if self.drawn > 0 { format!("\x1b[{}A\r", self.drawn) } else { String::new() }
    }
}

/// Errors are ignored: a closed terminal must not stop the run.
fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(steps: usize) -> RunRow {
        let steps: Vec<_> = (0..steps)
            .map(|n| json!({"id": format!("s{n}"), "title": "Step", "status": if n == 0 { "done" } else { "pending" }}))
            .collect();
        let id = "01a1de11-0000-7000-8000-000000000000";
        serde_json::from_value(json!({
            "id": id, "kind": "homework", "objective": "Count \u{1b}[31m bees", "scope": "global", "project_ids": [], "status": "waiting_on_user",
            "activity": "waiting for an answer", "stop_reason": "user_input", "stop_detail": null, "iteration": 2,
            "budgets": {"max_iterations": 20, "max_cost_usd": 5.0, "max_tokens": null, "max_wall_ms": 60000},
            "metrics": {"tokens_in": 1000, "tokens_out": 234, "cost_usd": 2.5, "cost_known": true, "running_ms": 30000},
            "plan": {"version": 1, "steps": steps}, "success_criteria": [],
            "questions": [{"id": "01a1de11-0000-7000-8000-000000000001", "text": "Which bees?", "options": [], "answer": null}],
            "workspace_document_id": null, "workspace_project_id": id, "report": null, "model": "rehearsal/default", "warnings": [],
            "owner": id, "created_at": "2026-01-01T00:00:00.000Z", "started_at": null, "updated_at": "2026-01-01T00:00:00.000Z",
            "ended_at": null, "last_seq": 9, "head": "00000000000000000000000000000000"
        }))
        .unwrap()
    }

    fn live_state() -> LiveState {
        let mut live_state = LiveState::default();
        for n in 0..30 {
            live_state.see(&json!({"type": "homework.tool_call_result", "payload": {"tool": "search", "ok": true, "summary": format!("hit {n}")}}));
        }
        live_state.see(&json!({"type": "homework.executor_started", "payload": {"branchId": "b1", "title": "Look"}}));
        live_state
    }

    fn picture(steps: usize, size: Size) -> Vec<String> {
        frame(&run(steps), &live_state(), &mut TreeView::default(), size, Style { color: false })
    }

    #[test]
    fn the_picture_shows_status_limits_steps_and_how_to_answer() {
        let text = picture(3, Size { rows: 30, columns: 120 }).join("\n");
        for expected in [
            "Count \\u{1b}[31m bees",
            "waiting for you · waiting for an answer · iteration 2/20 · rehearsal",
            "cost █████░░░░░ $2.50 of $5.00",
            "time █████░░░░░ 30s of 1m 00s",
            "tokens 1,234",
            "✓ s0 Step",
            "▶ b1 · Look",
            "? Which bees?",
            "pleach answer 01a1de11-0000-7000-8000-000000000000 \"…\"",
        ] {
            assert!(text.contains(expected), "{expected} is not in\n{text}");
        }
    }

    #[test]
    fn the_picture_fits_the_terminal() {
        for (rows, columns) in [(8, 40), (24, 80), (50, 200)] {
            let lines = picture(60, Size { rows, columns });
            assert!(lines.len() < rows, "{} lines in {rows} rows", lines.len());
            for line in &lines {
                assert!(super::super::style::width(line) <= columns, "too wide: {line}");
            }
        }
    }
}
