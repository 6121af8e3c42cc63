//! The snapshot of docs/protocol.md, written straight from the columns.

use super::View;
use super::tree_columns::{Columns, PlannedStep, TreeColumns};
use crate::batch::{RunRow, StepRow};
use crate::ids::{NodeNumber, QuestionId};
use crate::run::{EffectState, Shared};
use crate::time::Timestamp;
use crate::tree::status::StepStatus;
use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Serialize)]
struct Snapshot<'a> {
    seq: u64,
    last_seq: u64,
    at: Timestamp,
    run: RunRow,
    iterations: Vec<&'a RawValue>,
    nodes: Option<Nodes<'a>>,
    steps: Option<Steps<'a>>,
    /// The steps of a task so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_steps: Option<Vec<StepRow>>,
}

#[derive(Serialize)]
struct Nodes<'a> {
    count: usize,
    #[serde(flatten)]
    columns: &'a Columns,
    question: Vec<Option<QuestionId>>,
    in_flight: Vec<u32>,
}

/// Steps without a node.
#[derive(Default, Serialize)]
struct Steps<'a> {
    count: usize,
    node: Vec<NodeNumber>,
    step_id: Vec<&'a str>,
    band: Vec<u32>,
    step: Vec<u32>,
    title: Vec<&'a str>,
    status: Vec<StepStatus>,
}

impl View {
    /// The state after `seq()`, as one JSON object; `last_seq` is where the log ends now.
    pub fn to_json(&self, last_seq: u64) -> serde_json::Result<String> {
        let columns = self.tree();
        serde_json::to_string(&Snapshot {
            seq: self.seq(),
            last_seq,
            at: self.shared.updated_at,
            run: self.run(),
            iterations: self.iterations(),
            nodes: columns.map(|columns| nodes(columns, &self.shared)),
            steps: columns.map(steps),
            task_steps: self.steps(),
        })
    }
}

fn nodes<'a>(columns: &'a TreeColumns, shared: &Shared) -> Nodes<'a> {
    let count = columns.nodes.id.len();
    let (mut question, mut in_flight) = (vec![None; count], vec![0; count]);
    for open in shared.open_questions() {
        let asker = columns.nodes.id.iter().position(|id| Some(*id) == open.node_id);
        asker.into_iter().for_each(|number| question[number] = Some(open.id));
    }
    let tag = shared.id.tag();
    for (effect, state) in &shared.effects {
        let node = crate::tree::effect_id::EffectPosition::of(effect, &tag).map(|position| position.node.index());
        if let (EffectState::InFlight(_), Some(number)) = (state, node.filter(|number| *number < count)) {
            in_flight[number] += 1;
        }
    }
    Nodes { count, columns: &columns.nodes, question, in_flight }
}

fn steps(columns: &TreeColumns) -> Steps<'_> {
    let mut steps = Steps::default();
    let open = columns.plans.iter().flat_map(|(node, plan)| plan.iter().map(move |step| (*node, step)));
    for (node, PlannedStep { id, title, band, step, status, child: _ }) in open.filter(|(_, step)| step.child.is_none())
    {
        steps.count += 1;
        steps.node.push(node);
        steps.step_id.push(id);
        steps.band.push(*band);
        steps.step.push(*step);
        steps.title.push(title);
        steps.status.push(*status);
    }
    steps
}
