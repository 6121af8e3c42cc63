//! 13, 19, 20, 36, 37, 43: a run ends once, completes only with evidence, writes one entry per iteration,
//! burns nothing while it waits, and stops where its limits say.

use super::Story;
use super::fold::replay;
use crate::world::Lived;
use engine::event::Event;
use engine::facts::homework::{IterationCompleted, Planned};
use engine::facts::{Effect, Fact, Homework as H, Run as R, run::ResumeReason};
use engine::homework::plan::{Step, StepStatus};
use engine::homework::state::Verdict;
use engine::run::{Status, StopReason};
use std::collections::{BTreeMap, BTreeSet};

pub fn check(lived: &Lived, story: &Story, wrongs: &mut Vec<String>) {
    terminal_is_terminal(story, wrongs);
    entries_once(story, wrongs);
    waiting_burns_nothing(story, wrongs);
    evidence(story, wrongs);
    breaker(story, wrongs);
    working_time(lived, story, wrongs);
    nothing_lost_in_steady_worlds(lived, story, wrongs);
}

fn terminal_is_terminal(story: &Story, wrongs: &mut Vec<String>) {
    let mut ended: Option<&Event> = None;
    for event in &story.events {
        let audit = matches!(event.fact, Fact::Run(R::MessageQueued(_) | R::BudgetChanged(_)));
        let canceled = ended.is_some_and(|end| matches!(end.fact, Fact::Run(R::Canceled(_) | R::Completed(_))));
        match &event.fact {
            Fact::Run(R::Resumed(fact)) if fact.reason == ResumeReason::Continued && !canceled => ended = None,
            _ if ended.is_some() && (!audit || canceled) => {
                wrongs.push(format!("13: run {} went on at {} with {} after it ended", story.id, event.seq, event.kind()));
            }
            Fact::Run(R::Completed(_) | R::Stopped(_) | R::Failed(_) | R::Canceled(_)) => ended = Some(event),
            _ => {}
        }
    }
}

fn entries_once(story: &Story, wrongs: &mut Vec<String>) {
    let (mut written, mut completed) = (BTreeMap::new(), Vec::new());
    let mut keys = BTreeSet::new();
    for event in &story.events {
        match &event.fact {
            Fact::Homework(H::ScratchpadAppended(fact)) => {
                *written.entry(fact.iteration).or_insert(0) += 1;
                if !keys.insert((fact.scratchpad_document_id, fact.entry_key.clone())) {
                    wrongs.push(format!("20: run {} has two entries {}", story.id, fact.entry_key));
                }
            }
            Fact::Homework(H::ExecutorFinished(fact)) => {
                if let Some(entry) = &fact.entry
                    && !keys.insert((entry.scratchpad_document_id, entry.entry_key.clone()))
                {
                    wrongs.push(format!("20: run {} has two entries {} on branch {}", story.id, entry.entry_key, fact.branch_id));
                }
            }
            Fact::Homework(H::IterationCompleted(fact)) => completed.push(fact.iteration),
            _ => {}
        }
    }
    let expected: Vec<u32> = (1..=completed.len() as u32).collect();
    if completed != expected {
        wrongs.push(format!("20: run {} completed iterations {completed:?}", story.id));
    }
    if written != completed.into_iter().map(|iteration| (iteration, 1)).collect() {
        wrongs.push(format!("20: run {} has entries per iteration {written:?}", story.id));
    }
}

fn waiting_burns_nothing(story: &Story, wrongs: &mut Vec<String>) {
    let mut before: Option<(Status, i64)> = None;
    replay(&story.events, |run, event| {
        let (status, running_ms) = (run.shared.status(), run.shared.metrics.running_ms);
        if let Some((was, ran)) = before
            && was != Status::Running
        {
            if running_ms != ran {
                wrongs.push(format!("36: run {} worked {} ms while {} (event {})", story.id, running_ms - ran, was.name(), event.seq));
            }
            if matches!(event.fact, Fact::Effect(Effect::Started(_))) {
                wrongs.push(format!("36: run {} started a call while {} (event {})", story.id, was.name(), event.seq));
            }
        }
        before = Some((status, running_ms));
    });
}

/// Judged from the log alone: what the planner last said, what the tools really did.
#[derive(Default)]
struct Proof {
    planned: Option<Planned>,
    steps: Vec<Step>,
    touched: BTreeSet<String>,
    good: BTreeSet<String>,
    proven: BTreeSet<String>,
    anything: bool,
}

impl Proof {
    fn learn(&mut self, event: &Event) {
        match &event.fact {
            Fact::Homework(H::Planned(fact)) => self.planned = Some(fact.clone()),
            Fact::Homework(H::PlanUpdated(fact)) => self.steps = fact.steps.clone(),
            Fact::Homework(H::ToolCallResult(fact)) if fact.ok => {
                self.good.insert(format!("event:{}", event.seq));
                let made = &fact.artifacts;
                let documents = made.created_documents.iter().chain(&made.updated_documents).map(|named| format!("doc:{}", named.id));
                let tasks = made.created_tasks.iter().chain(&made.updated_tasks).map(|named| format!("task:{}", named.id));
                self.touched.extend(documents.chain(tasks));
                self.anything |= !made.is_empty();
            }
            _ => {}
        }
    }

    fn holds(&self, reference: &str) -> bool {
        self.touched.contains(reference.trim()) || self.good.contains(reference.trim())
    }

    /// What the iteration proved, before it is judged.
    fn prove(&mut self, story: &Story) {
        let claims = self.planned.iter().flat_map(|planned| planned.completion_evidence.clone()).collect::<Vec<_>>();
        for claim in claims {
            if !claim.refs.iter().any(|reference| self.holds(reference)) {
                continue;
            }
            self.anything = true;
            let criteria = &story.row.success_criteria;
            let cited = criteria.iter().find(|known| claim.criterion.as_ref().is_some_and(|cited| cited == &known.id || cited == &known.text));
            self.proven.extend(cited.map(|criterion| criterion.id.clone()));
        }
    }

    fn objections(&self, story: &Story) -> Vec<String> {
        let mut objections = Vec::new();
        match &self.planned {
            Some(planned) if planned.exit_signal && planned.remaining_work.is_empty() => {}
            _ => objections.push("no exit signal, or work remains".to_owned()),
        }
        if self.steps.iter().any(|step| step.status != StepStatus::Done) {
            objections.push("a step is open".into());
        }
        let unproven = story.row.success_criteria.iter().filter(|criterion| !self.proven.contains(&criterion.id));
        objections.extend(unproven.map(|criterion| format!("{} is not proven", criterion.id)));
        if !self.anything {
            objections.push("nothing was made or read".into());
        }
        objections
    }
}

fn evidence(story: &Story, wrongs: &mut Vec<String>) {
    let mut proof = Proof::default();
    for event in &story.events {
        proof.learn(event);
        let Fact::Homework(H::IterationCompleted(fact)) = &event.fact else { continue };
        proof.prove(story);
        let objections = proof.objections(story);
        let complete = matches!(fact.verdict, Verdict::Stop { reason: StopReason::Completed, .. });
        if complete && !objections.is_empty() {
            wrongs.push(format!("19: run {} completed although {}", story.id, objections.join(", ")));
        }
        if !complete && objections.is_empty() && fact.lost.is_none() {
            wrongs.push(format!("19: run {} proved everything in iteration {} and was not let go", story.id, fact.iteration));
        }
        proof.planned = None;
    }
}

#[derive(Default)]
struct Streaks {
    without_progress: u32,
    repeats: u32,
    last_actions: Vec<String>,
    actions: Vec<String>,
    /// The set that came back without progress: it counts whenever it comes again.
    barred: Option<Vec<String>>,
    asks: bool,
}

impl Streaks {
    fn forgive(&mut self) {
        (self.repeats, self.without_progress, self.barred) = (0, 0, None);
    }

    fn close(&mut self, fact: &IterationCompleted) {
        let made = fact.progress.made;
        let known = self.actions == self.last_actions || self.barred.as_ref() == Some(&self.actions);
        let again = !made && !self.actions.is_empty() && known;
        self.repeats = if made { 0 } else { self.repeats + u32::from(again) };
        if made {
            self.barred = None;
        } else if again {
            self.barred = Some(self.actions.clone());
        }
        self.without_progress = match (made, self.asks) {
            (true, _) => 0,
            (false, true) => self.without_progress,
            (false, false) => self.without_progress + 1,
        };
        self.last_actions = std::mem::take(&mut self.actions);
    }
}

fn breaker(story: &Story, wrongs: &mut Vec<String>) {
    let mut streaks = Streaks::default();
    let mut limits = None;
    for event in &story.events {
        match &event.fact {
            Fact::Run(R::Queued(fact)) => limits = Some(fact.budgets.clone()),
            Fact::Run(R::BudgetChanged(fact)) => limits = Some(fact.budgets.clone()),
            Fact::Run(R::Resumed(fact)) if fact.reason == ResumeReason::Continued => streaks.forgive(),
            Fact::Homework(H::Planned(fact)) => (streaks.actions, streaks.asks) = (fact.actions.clone(), fact.needs_user_input),
            Fact::Homework(H::IterationStarted(fact)) => {
                streaks.asks = false;
                if limits.as_ref().is_some_and(|limits| fact.iteration > limits.max_iterations) && !lowered(story) {
                    wrongs.push(format!("43: run {} began iteration {}", story.id, fact.iteration));
                }
            }
            Fact::Homework(H::IterationCompleted(fact)) => {
                streaks.close(fact);
                let Some(limits) = &limits else { continue };
                let over = streaks.without_progress >= limits.no_progress_limit || streaks.repeats >= limits.repeat_limit;
                let stopped = matches!(fact.verdict, Verdict::Stop { reason: StopReason::NoProgress, .. });
                let excused = streaks.asks || matches!(fact.verdict, Verdict::Stop { reason: StopReason::Completed, .. });
                if stopped != (over && !excused) {
                    let Streaks { without_progress, repeats, .. } = streaks;
                    wrongs.push(format!("43: run {} iteration {}: {without_progress} without progress, {repeats} repeats, verdict {:?}", story.id, fact.iteration, fact.verdict));
                }
            }
            _ => {}
        }
    }
}

/// Somebody lowered the limit under a run that was past it.
fn lowered(story: &Story) -> bool {
    story.events.iter().any(|event| matches!(event.fact, Fact::Run(R::BudgetChanged(_))))
}

/// Work is only counted while somebody's lease on the run was good, or its holder proved to be alive.
fn working_time(lived: &Lived, story: &Story, wrongs: &mut Vec<String>) {
    let Some(run) = replay(&story.events, |_, _| ()) else { return };
    let holds = lived.record.holds.get(&story.id).map(Vec::as_slice).unwrap_or_default();
    let mut held: u64 = holds.iter().map(|hold| hold.until_ms.max(hold.seen_ms).saturating_sub(hold.from_ms)).sum();
    // A driver that died before its first commit was still the last one seen: the pause before it counts as its own.
    for pair in holds.windows(2).filter(|pair| !pair[1].committed) {
        held += pair[1].from_ms.saturating_sub(pair[0].until_ms.max(pair[0].seen_ms));
    }
    // A person's pause or cancel counts as the end of the work, even when the worker had died before it.
    for event in story.events.iter().filter(|event| matches!(event.fact, Fact::Run(R::Paused(_) | R::Canceled(_)))) {
        let at = crate::clock::VirtualClock::since_beginning(event.at);
        let lapsed = holds.iter().rev().find(|hold| hold.from_ms <= at).map_or(at, |hold| hold.until_ms);
        held += at.saturating_sub(lapsed);
    }
    let worked = run.shared.metrics.running_ms;
    if worked < 0 || worked as u64 > held {
        wrongs.push(format!("37: run {} worked {worked} ms, but was held for {held} ms only", story.id));
    }
}

fn nothing_lost_in_steady_worlds(lived: &Lived, story: &Story, wrongs: &mut Vec<String>) {
    use engine::facts::effect::FinishedAs;
    if !lived.setup.weather.is_steady() || lived.setup.crash_at.is_some() {
        return;
    }
    for event in &story.events {
        if matches!(&event.fact, Fact::Effect(Effect::Finished(fact)) if fact.outcome == FinishedAs::Lost) {
            wrongs.push(format!("34: run {} lost a call at {} though no process died", story.id, event.seq));
        }
    }
}
