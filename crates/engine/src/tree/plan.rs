//! A node's plan: bands in order, the steps of a band side by side, and which child works on which step.

use super::answer::PlanAnswer;
use super::status::StepStatus;
use crate::facts::tree::{PlanBand, PlanStep};
use crate::ids::{NodeNumber, PlanId};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The bands in the order they will run, whatever numbers they were given.
pub fn bands_of(answer: &PlanAnswer) -> Vec<PlanBand> {
    let mut bands: Vec<_> = answer.bands.iter().collect();
    bands.sort_by_key(|band| band.index);
    let numbered = bands.into_iter().enumerate().map(|(index, band)| PlanBand {
        index: index as u32,
        goal: band.goal.clone(),
        steps: band.steps.iter().map(step_of).collect(),
    });
    numbered.collect()
}

fn step_of(step: &super::answer::StepAnswer) -> PlanStep {
    PlanStep {
        id: step.id.trim().to_owned(),
        title: step.title.trim().to_owned(),
        reason: step.reason.clone(),
        success_criteria: step.success_criteria.clone(),
        deliverable: step.deliverable,
        leaf: step.leaf,
        agent: step.agent.clone(),
    }
}

#[derive(Clone, Debug)]
pub struct Step {
    pub of: PlanStep,
    pub band: u32,
    pub index: u32,
    pub status: StepStatus,
    /// Finished under an earlier version of the plan.
    pub carried_over: bool,
    /// The node that works on it, or the last one that did.
    pub child: Option<NodeNumber>,
    /// Set to be done again by another node, which is reserved.
    pub again: bool,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub id: PlanId,
    pub version: u32,
    pub summary: String,
    /// Finished steps of earlier versions that this one does not name, then its own, band by band.
    pub steps: Vec<Step>,
    bands: Vec<Range<usize>>,
    by_id: HashMap<String, u32>,
    /// Steps that run now.
    pub open: u32,
    /// Steps that are over, however they ended.
    ended: u32,
    /// Bands before this one have been started.
    pub next_band: usize,
}

impl Plan {
    /// The next version: steps that earlier ones finished are carried over.
    pub fn new(id: PlanId, version: u32, summary: String, bands: &[PlanBand], earlier: Option<Plan>) -> Plan {
        let mut finished: HashMap<String, Step> = HashMap::new();
        let mut steps = Vec::new();
        let named: HashSet<&str> = bands.iter().flat_map(|band| &band.steps).map(|step| step.id.as_str()).collect();
        let earlier = earlier.into_iter().flat_map(|plan| plan.steps);
        for step in
            earlier.filter(|step| step.status == StepStatus::Completed).map(|step| Step { carried_over: true, ..step })
        {
            if named.contains(step.of.id.as_str()) {
                finished.insert(step.of.id.clone(), step);
            } else {
                steps.push(step);
            }
        }
        let mut ranges = Vec::new();
        for band in bands {
            let first = steps.len();
            for (index, of) in band.steps.iter().enumerate() {
                let fresh = Step {
                    of: of.clone(),
                    band: band.index,
                    index: index as u32,
                    status: StepStatus::Pending,
                    carried_over: false,
                    child: None,
                    again: false,
                };
                let carried_over =
                    finished.remove(&of.id).map(|step| Step { band: band.index, index: index as u32, ..step });
                steps.push(carried_over.unwrap_or(fresh));
            }
            ranges.push(first..steps.len());
        }
        let by_id = steps.iter().enumerate().map(|(at, step)| (step.of.id.clone(), at as u32)).collect();
        let ended = steps.iter().filter(|step| step.status.is_terminal()).count() as u32;
        Plan { id, version, summary, steps, bands: ranges, by_id, open: 0, ended, next_band: 0 }
    }

    pub fn step(&self, id: &str) -> Option<&Step> {
        self.by_id.get(id).map(|at| &self.steps[*at as usize])
    }

    pub fn step_mut(&mut self, id: &str) -> Option<&mut Step> {
        self.by_id.get(id).map(|at| &mut self.steps[*at as usize])
    }

    /// Whether the step is from now on to be done again by another node.
    pub fn set_status(&mut self, id: &str, status: StepStatus) -> bool {
        let Some(step) = self.step_mut(id) else { return false };
        let was = std::mem::replace(&mut step.status, status);
        let band = step.band as usize;
        let again = status == StepStatus::Pending && step.child.is_some() && !step.again;
        step.again |= again;
        if again {
            self.next_band = self.next_band.min(band);
        }
        if was == StepStatus::Pending && status == StepStatus::Running {
            // Its band has begun; one that runs again was begun long ago.
            self.next_band = self.next_band.max(band + 1);
        }
        match (was == StepStatus::Running, status == StepStatus::Running) {
            (false, true) => self.open += 1,
            (true, false) => self.open -= 1,
            _ => {}
        }
        match (was.is_terminal(), status.is_terminal()) {
            (false, true) => self.ended += 1,
            (true, false) => self.ended -= 1,
            _ => {}
        }
        again
    }

    /// How many of its steps are over, from 0 to 1, to three places.
    pub fn progress(&self) -> Option<f64> {
        let all = self.steps.len() as f64;
        (all > 0.0).then(|| (f64::from(self.ended) / all * 1000.0).round() / 1000.0)
    }

    /// The next band that still has something to do.
    pub fn band_to_start(&self) -> Option<usize> {
        (self.next_band..self.bands.len()).find(|band| self.band(*band).any(|step| step.status == StepStatus::Pending))
    }

    pub fn band(&self, band: usize) -> impl Iterator<Item = &Step> {
        self.steps[self.bands.get(band).cloned().unwrap_or(0..0)].iter()
    }

    pub fn pending(&self) -> impl Iterator<Item = &Step> {
        self.steps[self.bands.get(self.next_band).map_or(self.steps.len(), |band| band.start)..]
            .iter()
            .filter(|step| step.status == StepStatus::Pending)
    }

    /// Whether no step of the last started band completed.
    pub fn last_band_failed(&self) -> bool {
        self.next_band > 0 && self.band(self.next_band - 1).all(|step| step.status != StepStatus::Completed)
    }

    pub fn delegated(&mut self, id: &str, child: NodeNumber) {
        if let Some(step) = self.step_mut(id) {
            step.child = Some(child);
        }
    }

    /// Every step that was given to a child, with that child, whatever its status.
    pub fn children(&self) -> impl Iterator<Item = (&Step, NodeNumber)> {
        self.steps.iter().filter_map(|step| Some((step, step.child?)))
    }

    /// The same of the steps that this version names. The others have no band in which they could be done again.
    pub fn named_children(&self) -> impl Iterator<Item = (&Step, NodeNumber)> {
        let first = self.bands.first().map_or(self.steps.len(), |band| band.start);
        self.steps[first..].iter().filter_map(|step| Some((step, step.child?)))
    }

    /// The steps before the child's own: those of earlier bands, and those finished under earlier versions.
    pub fn before(&self, band: u32, child: NodeNumber) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| {
            step.status.is_terminal() && step.child != Some(child) && (step.carried_over || step.band < band)
        })
    }

    /// Whether steps were skipped for another reason than that the last started band failed.
    pub fn skipped_without_failure(&self) -> bool {
        self.skipped().next().is_some() && !self.last_band_failed()
    }

    pub fn skipped(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.status == StepStatus::Skipped)
    }

    pub fn any_completed(&self) -> bool {
        self.steps.iter().any(|step| step.status == StepStatus::Completed)
    }

    pub fn all_completed(&self) -> bool {
        self.steps.iter().all(|step| step.status == StepStatus::Completed)
    }
}
