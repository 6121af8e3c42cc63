//! Text for terminals, made from the run object and its events. It must not know the store.

mod criteria;
pub(crate) mod event_lines;
pub(crate) mod live;
pub(crate) mod live_state;
pub(crate) mod node;
pub(crate) mod report;
pub(crate) mod show;
pub(crate) mod style;
pub(crate) mod summary;
pub(crate) mod tree;
pub(crate) mod tree_view;
pub(crate) mod writing;

pub(crate) use criteria::{criteria, outcome_words};

use engine::batch::RunRow;
use engine::metrics::Metrics;
use engine::money::Usd;
use engine::run::{Kind, Status};
use serde_json::Value;
use style::{Color, Style, bar, duration, field, fit, line, thousands, with_moments};

pub(crate) fn status_color(status: Status) -> Color {
    match status {
        Status::Completed => Color::Green,
        Status::Failed => Color::Red,
        Status::Stopped | Status::WaitingOnUser | Status::Paused => Color::Yellow,
        Status::Canceled => Color::Dim,
        Status::Queued | Status::Running => Color::Cyan,
    }
}

/// The status as people say it; JSON has its name.
pub(crate) fn status_words(status: Status) -> &'static str {
    match status {
        Status::WaitingOnUser => "waiting for you",
        status => status.name(),
    }
}

/// What the run does, with times as people read them.
pub(crate) fn activity(run: &RunRow) -> String {
    with_moments(&line(&run.activity))
}

/// A section with a title; left out when it has no content.
pub(crate) fn section(lines: &mut Vec<String>, title: &str, content: impl IntoIterator<Item = String>, style: Style) {
    let content: Vec<String> = content.into_iter().collect();
    if !content.is_empty() {
        lines.push(String::new());
        lines.push(style.paint(Color::Bold, title));
        lines.extend(content);
    }
}

/// A step of the plan.
#[derive(Debug)]
pub(crate) struct StepLine {
    pub status: String,
    pub text: String,
}

/// The steps of a plan; those of a tree are its nodes, which are shown as such.
pub(crate) fn steps(run: &RunRow) -> Vec<StepLine> {
    let steps = run.plan["steps"].as_array().filter(|_| run.kind != Kind::Tree).map(Vec::as_slice).unwrap_or_default();
    let text = |step: &Value| format!("{} {}", field(step, "id"), field(step, "title"));
    steps.iter().map(|step| StepLine { status: field(step, "status"), text: text(step) }).collect()
}

impl StepLine {
    pub(crate) fn painted(&self, room: usize, style: Style) -> String {
        let (color, mark) = match self.status.as_str() {
            "done" => (Color::Green, "✓"),
            "doing" => (Color::Cyan, "▶"),
            "blocked" => (Color::Red, "✗"),
            _ => (Color::Dim, "·"),
        };
        format!("  {} {}", style.paint(color, mark), fit(&self.text, room.saturating_sub(4)))
    }
}

/// An amount used, with its limit if there is one.
pub(crate) struct Limit {
    name: &'static str,
    used: String,
    of: Option<(String, f64, f64)>,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.of {
            Some((limit, used, most)) => write!(f, "{} {} {} of {limit}", self.name, bar(*used, *most), self.used),
            None => write!(f, "{} {}", self.name, self.used),
        }
    }
}

/// What was spent, in the few columns a list has; nobody is told that an unknown price is nothing.
pub(crate) fn cost(used: &Metrics) -> String {
    match (used.cost_known, used.cost_usd) {
        (true, cost) => cost.to_string(),
        (false, Usd(0)) => "unknown".into(),
        (false, cost) => format!("≥ {cost}"),
    }
}

/// Cost, tokens and time with the budgets of the run. While calls are in flight the cost is an estimate, and says so.
pub(crate) fn limits(run: &RunRow) -> Vec<Limit> {
    let used = &run.metrics;
    let tokens = used.tokens() as f64;
    let estimated = run.running.as_ref().map(|running| running.estimated_cost_usd).filter(|cost| *cost > used.cost_usd);
    let (known, running) = (used.cost_known, used.running_ms as f64);
    let cost = estimated.unwrap_or(used.cost_usd).dollars();
    let of = |name: &str, used: f64, shown: &dyn Fn(f64) -> String| {
        run.budgets[name].as_f64().map(|most| (shown(most), used, most))
    };
    let money = |dollars: f64| Usd::from_dollars(dollars).to_string();
    let time = |ms: f64| duration(ms as i64);
    let whole = |count: f64| thousands(count as u64);
    vec![
        Limit {
            name: "cost",
            used: match (known, estimated) {
                // With as many digits as it takes to see it move.
                (true, Some(_)) if cost < 1.0 => format!("about ${cost:.4}"),
                (true, Some(_)) => format!("about {}", money(cost)),
                (_, _) => self::cost(used),
            },
            of: if known { of("max_cost_usd", cost, &money) } else { None },
        },
        Limit { name: "tokens", used: whole(tokens), of: of("max_tokens", tokens, &whole) },
        Limit { name: "time", used: time(running), of: of("max_wall_ms", running, &time) },
    ]
}

/// A question of a run.
#[derive(Debug)]
pub(crate) struct Question {
    pub id: String,
    pub text: String,
    /// The text as it was written, line by line.
    pub lines: Vec<String>,
    pub options: Vec<String>,
    pub answer: Option<String>,
    /// The default answer and when it applies.
    pub fallback: Option<String>,
    pub open: bool,
}

impl Question {
    pub(crate) fn all(run: &RunRow) -> Vec<Question> {
        let asked = run.questions.as_array().map(Vec::as_slice).unwrap_or_default();
        asked.iter().map(Question::read).collect()
    }

    pub(crate) fn open(run: &RunRow) -> Vec<Question> {
        if run.status.is_terminal() {
            return Vec::new();
        }
        Question::all(run).into_iter().filter(|question| question.open).collect()
    }

    pub(crate) fn read(asked: &Value) -> Question {
        let id = asked["id"].as_str().or(asked["question_id"].as_str()).unwrap_or_default();
        let options = asked["options"].as_array().into_iter().flatten().filter_map(Value::as_str).map(line).collect();
        let answer = asked["answer"].as_str().map(line);
        let fallback = asked["default"].as_str().zip(asked["deadline_at"].as_str());
        let expired = asked["expired"] == Value::Bool(true);
        Question {
            id: id.into(),
            text: field(asked, "text"),
            lines: asked["text"].as_str().unwrap_or_default().lines().map(line).collect(),
            options,
            fallback: fallback.map(|(default, at)| {
                format!("“{}” counts as the answer at {}", line(default), with_moments(&line(at)))
            }),
            open: answer.is_none() && !expired,
            answer,
        }
    }

    /// The lines of the question, the first with a mark, the others indented below it.
    pub(crate) fn marked(&self, mark: &str) -> Vec<String> {
        let indent = " ".repeat(mark.chars().count());
        let lines = self.lines.iter().enumerate();
        lines.map(|(at, line)| format!("{}{line}", if at == 0 { mark } else { &indent })).collect()
    }

    /// The command that answers it; the question is named only when several are open.
    pub(crate) fn command(&self, run: &RunRow, open: usize) -> String {
        let which = if open > 1 { format!(" --question {}", self.id) } else { String::new() };
        format!("pleach answer {} \"…\"{which}", run.id)
    }
}
