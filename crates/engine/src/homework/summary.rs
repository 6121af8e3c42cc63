//! The summary document of ten iterations: what was made and found, what failed, how the plan moved and what was learned. Made
//! from the log, without a model call; what the planner says of itself is in the journal and not here.

use super::entry::{self, Closing, line};
use super::state::{IterationDigest, State};
use super::{SUMMARY, platform_props};
use crate::calls;
use crate::facts::homework::{Progress, Verdict};
use crate::ids::DocumentId;
use crate::run::{Facts, Shared};
use crate::workspace::Mutation;

/// A summary document is written every this many iterations.
pub(super) const ITERATIONS_PER_SUMMARY: u32 = 10;
/// The most lines of one kind for one iteration.
const MAX_LINES: usize = 12;

impl State {
    /// What came of the current iteration.
    pub(super) fn digest(&self, closing: &Closing<'_>) -> IterationDigest {
        let current = &self.current;
        let executors = || current.executors.iter().filter_map(|of| Some((of, of.finished.as_ref()?)));
        let found = executors().filter(|(_, finished)| finished.ok && !finished.snippet.trim().is_empty());
        let learned = self.heard.iter().cloned();
        let refused = closing.objections.iter().map(|reason| format!("the run could not end: {}", line(reason)));
        IterationDigest {
            iteration: self.iteration,
            progress: closing.progress.clone(),
            made: bounded(entry::entities(&current.artifacts)),
            found: bounded(
                found.map(|(of, finished)| format!("{}: {}", of.task.title, line(&finished.snippet))).collect(),
            ),
            failed: bounded(self.failures_in(closing)),
            plan: bounded(entry::step_changes(self)),
            learned: bounded(learned.chain(refused).chain(self.repeated(closing)).collect()),
        }
    }

    fn failures_in(&self, closing: &Closing<'_>) -> Vec<String> {
        let current = &self.current;
        let lost = closing.lost.map(|why| format!("there was no usable answer of the planner: {}", line(why)));
        let broken_off = match closing.verdict {
            Verdict::Stop { reason, detail } if reason.breaks_off() => {
                Some(format!("{}: {}", reason.name(), line(detail)))
            }
            _ => None,
        };
        let of_executors = current.executors.iter().flat_map(|executor| calls::answered(&executor.calls));
        let calls = calls::answered(&current.calls).chain(of_executors).filter(|(_, result)| !result.ok);
        let calls = calls.map(|(call, result)| format!("{}: {}", entry::call_name(call), line(&result.summary)));
        let executors = current.executors.iter().filter_map(|executor| {
            let error = executor.finished.as_ref()?.error.as_ref()?;
            Some(format!("executor {:?}: {}", executor.task.title, line(error)))
        });
        let not_run = current.not_run.iter().map(|task| format!("executor {:?}: {}", task.title, line(&task.why)));
        lost.into_iter().chain(broken_off).chain(calls).chain(executors).chain(not_run).collect()
    }

    fn repeated(&self, closing: &Closing<'_>) -> Vec<String> {
        let barred = self.current.planned.iter().filter(|_| closing.repeats == Some(1));
        barred
            .flat_map(|planned| &planned.actions)
            .map(|action| format!("brought nothing new: {}", line(action)))
            .collect()
    }

    /// Every ten iterations one document, in the commit that closes the tenth.
    pub(super) fn write_summary(&self, shared: &Shared, closing: &Closing<'_>, facts: &mut Facts) {
        let Some(workspace) = self.workspace.filter(|_| self.iteration.is_multiple_of(ITERATIONS_PER_SUMMARY)) else {
            return;
        };
        let id: DocumentId = facts.new_id();
        let from = self.iteration + 1 - ITERATIONS_PER_SUMMARY;
        let last = self.digest(closing);
        let digests: Vec<&IterationDigest> =
            self.digests.iter().chain([&last]).filter(|of| of.iteration >= from).collect();
        let name = format!("iterations {from} to {}", self.iteration);
        facts.mutate(Mutation::CreateDocument {
            id,
            project_id: shared.home_project(),
            title: format!("Summary of {name}"),
            type_key: SUMMARY.into(),
            content: markdown(&name, &digests),
            props: platform_props(shared, "iteration_summary", "planner", self.iteration, None),
        });
        facts.link(shared, workspace.scratchpad, id);
    }
}

fn markdown(name: &str, digests: &[&IterationDigest]) -> String {
    let all = |of: fn(&IterationDigest) -> &[String]| -> Vec<String> {
        let lines = digests.iter().flat_map(|digest| of(digest).iter().map(|line| (line, digest.iteration)));
        lines.map(|(line, iteration)| format!("{line} (iteration {iteration})")).collect()
    };
    let mut text = format!("# Summary of {name}");
    entry::section(&mut text, "Made", all(|digest| &digest.made));
    entry::section(&mut text, "Found", all(|digest| &digest.found));
    entry::section(&mut text, "Failed", all(|digest| &digest.failed));
    entry::section(&mut text, "The plan moved", all(|digest| &digest.plan));
    entry::section(&mut text, "Learned", all(|digest| &digest.learned));
    entry::section(&mut text, "Progress", digests.iter().map(|digest| progress_line(digest)).collect());
    text.push('\n');
    text
}

fn progress_line(IterationDigest { iteration, progress: Progress { made, reasons }, .. }: &IterationDigest) -> String {
    match made {
        true => format!("iteration {iteration} (progress): {}", reasons.join(", ")),
        false => format!("iteration {iteration} (no progress)"),
    }
}

/// The first lines, and how many more there were.
fn bounded(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(MAX_LINES);
    if more > 0 {
        lines.truncate(MAX_LINES);
        lines.push(format!("and {more} more"));
    }
    lines
}
