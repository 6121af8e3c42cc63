//! The live view: one picture of the run, redrawn in place. Plain escape codes, never more lines than
//! the terminal has.

use super::scene::{Branch, Scene};
use super::style::{Ink, Style, fit, line};
use super::{Question, limits, status_ink, steps};
use engine::batch::RunRow;
use std::io::Write;
use std::process::{Command, Stdio};

/// Rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub rows: usize,
    pub columns: usize,
}

impl Size {
    /// What the shell says, else what the terminal says, else the usual.
    pub fn of_terminal() -> Size {
        let variable = |name: &str| std::env::var(name).ok()?.parse().ok();
        if let (Some(rows), Some(columns)) = (variable("LINES"), variable("COLUMNS")) {
            return Size { rows, columns };
        }
        Size::from_stty().unwrap_or(Size { rows: 24, columns: 80 })
    }

    fn from_stty() -> Option<Size> {
        let terminal = std::fs::File::open("/dev/tty").ok()?;
        let output = Command::new("stty").arg("size").stdin(terminal).stderr(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let (rows, columns) = text.trim().split_once(' ')?;
        Some(Size { rows: rows.parse().ok()?, columns: columns.parse().ok()? }).filter(|size| size.rows > 3 && size.columns > 19)
    }
}

/// The lines of one picture, at most as many as fit.
pub fn frame(run: &RunRow, scene: &Scene, size: Size, style: Style) -> Vec<String> {
    let room = size.columns.saturating_sub(1);
    let mut lines = head(run, room, style);
    let questions = questions(run, room, style);
    let branches: Vec<String> = scene.branches.iter().map(|branch| branch_line(branch, room, style)).collect();
    let free = size.rows.saturating_sub(2 + lines.len() + questions.len() + branches.len());
    let plan = windowed(steps(run).iter().map(|step| step.painted(room, style)).collect(), (free * 2 / 3).max(2));
    let recent = free.saturating_sub(plan.len() + 1);
    lines.extend(plan);
    lines.extend(branches);
    if recent > 0 && !scene.recent.is_empty() {
        lines.push(style.paint(Ink::Dim, &fit("── last ──", room)));
        lines.extend(scene.recent.iter().rev().take(recent).rev().map(|text| format!("  {}", fit(text, room.saturating_sub(2)))));
    }
    lines.extend(questions);
    lines.truncate(size.rows.saturating_sub(1));
    lines
}

fn head(run: &RunRow, room: usize, style: Style) -> Vec<String> {
    let status = style.paint(status_ink(run.status), run.status.name());
    let activity = fit(&line(&run.activity), room.saturating_sub(run.status.name().len() + 24));
    let max = run.budgets["max_iterations"].as_u64().unwrap_or_default();
    let rehearsal = if run.model.starts_with("rehearsal/") { " · rehearsal" } else { "" };
    vec![
        style.paint(Ink::Bold, &fit(&line(&run.objective), room)),
        format!("{status} · {activity} · iteration {}/{max}{rehearsal}", run.iteration),
        fit(&limits(run).iter().map(|limit| limit.to_string()).collect::<Vec<_>>().join("  "), room),
    ]
}

fn branch_line(branch: &Branch, room: usize, style: Style) -> String {
    let (ink, mark) = match branch.ok {
        None => (Ink::Cyan, "▶"),
        Some(true) => (Ink::Green, "✓"),
        Some(false) => (Ink::Red, "✗"),
    };
    let text = format!("{} · {} · round {} · {}", branch.id, branch.title, branch.round, branch.last);
    format!("  {} {}", style.paint(ink, mark), fit(&text, room.saturating_sub(4)))
}

fn questions(run: &RunRow, room: usize, style: Style) -> Vec<String> {
    let open = Question::open(run);
    let shown = open.iter().flat_map(|question| {
        let ask = style.paint(Ink::Yellow, &fit(&format!("? {}", question.text), room));
        [ask, fit(&format!("  {}", question.command(run, open.len())), room)]
    });
    shown.collect()
}

/// At most `limit` lines, saying how many are not shown.
fn windowed(mut lines: Vec<String>, limit: usize) -> Vec<String> {
    if lines.len() > limit {
        let hidden = lines.len() - (limit - 1);
        lines.drain(..hidden);
        lines.insert(0, format!("  … {hidden} earlier steps"));
    }
    lines
}

/// Draws pictures over one another.
#[derive(Debug, Default)]
pub struct Screen {
    drawn: usize,
}

impl Screen {
    pub fn draw(&mut self, lines: &[String]) {
        let mut out = self.home();
        for line in lines {
            out.push_str(line);
            out.push_str("\x1b[K\n");
        }
        out.push_str("\x1b[J");
        self.drawn = lines.len();
        write(&out);
    }

    /// Take the picture away.
    pub fn clear(&mut self) {
        if self.drawn > 0 {
            write(&format!("{}\x1b[J", self.home()));
            self.drawn = 0;
        }
    }

    fn home(&self) -> String {
        if self.drawn > 0 { format!("\x1b[{}A\r", self.drawn) } else { String::new() }
    }
}

/// A terminal that went away is no reason to stop the work.
fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
