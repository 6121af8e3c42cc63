//! What the tree roles answer. An empty band, a step id used twice or a result that says nothing is refused
//! with the reason, so that one repair can put it right. Limits of the run are judged where they are known.

use crate::answer::{CallAnswer, CheckedAnswer, nullable, too_long, too_many};
use crate::facts::tree::{ArtifactType, Deliverable, HintType, ProposedHint, ProposedResult, SuccessAssessment};
use crate::words::words;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashSet;

/// Rounds of an executor, the one with its result included.
pub const MAX_ROUNDS: u32 = 6;
/// Questions one generation of a node may ask.
pub const MAX_ASKS: u32 = 5;
pub const MAX_ARTIFACTS: usize = 20;
const MAX_MARKDOWN_BYTES: usize = 200_000;
const MAX_JSON_BYTES: usize = 100_000;
const MAX_TITLE_BYTES: usize = 300;
const MAX_LABEL_BYTES: usize = 120;
/// The most errors sent back, however many steps are wrong.
const MAX_ERRORS: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Execute,
    Plan,
}

words! {
    #[derive(Default)]
    LeafDecision {
        #[default]
        Direct = "direct",
        CriteriaTestable = "criteria_testable",
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PlannerAnswer {
    #[serde(default)]
    pub mode: Option<Mode>,
    #[serde(default, deserialize_with = "nullable")]
    pub mode_reason: String,
    #[serde(default, deserialize_with = "nullable")]
    pub leaf_decision: LeafDecision,
    #[serde(default)]
    pub plan: Option<PlanAnswer>,
    #[serde(default)]
    pub question: Option<QuestionAnswer>,
    #[serde(default, deserialize_with = "nullable")]
    pub scratchpad: PadAnswer,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PlanAnswer {
    #[serde(default, deserialize_with = "nullable")]
    pub summary: String,
    pub bands: Vec<BandAnswer>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct BandAnswer {
    #[serde(default, deserialize_with = "nullable")]
    pub index: i64,
    #[serde(default, deserialize_with = "nullable")]
    pub goal: String,
    pub steps: Vec<StepAnswer>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StepAnswer {
    pub id: String,
    pub title: String,
    #[serde(default, deserialize_with = "nullable")]
    pub reason: String,
    #[serde(default, deserialize_with = "nullable")]
    pub success_criteria: Vec<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub deliverable: Deliverable,
    #[serde(default, deserialize_with = "nullable")]
    pub leaf: bool,
    /// The handle of the subagent it is delegated to.
    #[serde(default)]
    pub agent: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct QuestionAnswer {
    pub text: String,
    #[serde(default, deserialize_with = "nullable")]
    pub options: Vec<String>,
    #[serde(default)]
    pub default: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct PadAnswer {
    #[serde(default, deserialize_with = "nullable")]
    pub append_markdown: String,
    #[serde(default, deserialize_with = "nullable")]
    pub tail_preview: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ExecutorAnswer {
    #[serde(default, deserialize_with = "nullable")]
    pub tool_calls: Vec<CallAnswer>,
    #[serde(default, deserialize_with = "nullable")]
    pub artifacts: Vec<ArtifactAnswer>,
    #[serde(default)]
    pub result: Option<ResultAnswer>,
    #[serde(default)]
    pub question: Option<QuestionAnswer>,
    #[serde(default, deserialize_with = "nullable")]
    pub scratchpad: PadAnswer,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ArtifactAnswer {
    #[serde(rename = "type")]
    pub kind: ArtifactType,
    #[serde(default, deserialize_with = "nullable")]
    pub label: String,
    #[serde(default, deserialize_with = "nullable")]
    pub title: String,
    #[serde(default, deserialize_with = "nullable")]
    pub markdown: String,
    #[serde(default, deserialize_with = "nullable")]
    pub json: Value,
    #[serde(default, deserialize_with = "nullable")]
    pub is_primary: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ResultAnswer {
    pub summary: String,
    #[serde(default)]
    pub success_assessment: Option<AssessmentAnswer>,
    #[serde(default)]
    pub primary_artifact_label: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub parent_hint: HintAnswer,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct AssessmentAnswer {
    pub met: bool,
    #[serde(default)]
    pub notes: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct HintAnswer {
    #[serde(default)]
    pub hint_type: Option<HintType>,
    #[serde(default, deserialize_with = "nullable")]
    pub artifact_labels: Vec<String>,
}

impl From<ResultAnswer> for ProposedResult {
    fn from(answer: ResultAnswer) -> ProposedResult {
        let HintAnswer { hint_type, artifact_labels } = answer.parent_hint;
        ProposedResult {
            summary: answer.summary,
            success_assessment: answer
                .success_assessment
                .map(|AssessmentAnswer { met, notes }| SuccessAssessment { met, notes }),
            primary_artifact_label: answer.primary_artifact_label,
            parent_hint: ProposedHint { hint_type, artifact_labels },
        }
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct AggregatorAnswer {
    pub synthesis: Synthesis,
    #[serde(default, deserialize_with = "nullable")]
    pub artifacts: Vec<ArtifactAnswer>,
    #[serde(default)]
    pub result: Option<ResultAnswer>,
    #[serde(default, deserialize_with = "nullable")]
    pub next: NextAnswer,
    #[serde(default, deserialize_with = "nullable")]
    pub scratchpad: PadAnswer,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Synthesis {
    pub summary: String,
    #[serde(default, deserialize_with = "nullable")]
    pub key_findings: Vec<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub gaps: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct NextAnswer {
    #[serde(default, deserialize_with = "nullable")]
    pub should_replan: bool,
    #[serde(default, deserialize_with = "nullable")]
    pub reason: String,
}

impl PlanAnswer {
    pub fn steps(&self) -> impl Iterator<Item = &StepAnswer> {
        self.bands.iter().flat_map(|band| &band.steps)
    }
}

impl ArtifactAnswer {
    /// Its label, or its title when it has none.
    pub fn name(&self) -> &str {
        if self.label.trim().is_empty() { self.title.trim() } else { self.label.trim() }
    }

    /// Its title, where the label does not say it already.
    pub fn title_beside_label(&self) -> Option<String> {
        Some(self.title.trim()).filter(|title| !title.is_empty() && *title != self.name()).map(str::to_owned)
    }
}

impl CheckedAnswer for PlannerAnswer {
    fn role() -> Option<crate::model::Role> {
        Some(crate::model::Role::TreePlanner)
    }

    fn errors(&self) -> Vec<String> {
        let mut errors = match (&self.question, self.mode, &self.plan) {
            (Some(question), ..) => question.errors(),
            (None, Some(Mode::Plan), Some(plan)) => plan.errors(),
            (None, Some(Mode::Plan), None) => vec!["mode is \"plan\" but there is no plan".into()],
            (None, Some(Mode::Execute), _) => Vec::new(),
            (None, None, _) => vec!["mode must be \"execute\" or \"plan\"".into()],
        };
        errors.extend(self.scratchpad.errors());
        errors.truncate(MAX_ERRORS);
        errors
    }
}

impl PlanAnswer {
    fn errors(&self) -> Vec<String> {
        let mut errors = Vec::new();
        if self.bands.is_empty() {
            errors.push("the plan has no bands".into());
        }
        let empty = self.bands.iter().enumerate().filter(|(_, band)| band.steps.is_empty());
        errors.extend(empty.map(|(index, _)| format!("band {index} has no steps")));
        let mut seen = HashSet::new();
        for step in self.steps() {
            if errors.len() >= MAX_ERRORS {
                break;
            }
            if step.id.trim().is_empty()
                || step.id.len() > MAX_LABEL_BYTES
                || step.title.trim().is_empty()
                || step.title.len() > MAX_TITLE_BYTES
            {
                errors.push(format!(
                    "step {:.40?} needs an id (at most {MAX_LABEL_BYTES} bytes) and a title (at most {MAX_TITLE_BYTES})",
                    step.id
                ));
            }
            if !seen.insert(step.id.trim()) {
                errors.push(format!("step id {:.40?} is used twice", step.id));
            }
            errors.extend(too_long("reason", &step.reason));
            errors.extend(too_many("success_criteria", step.success_criteria.len()));
        }
        errors
    }
}

pub fn too_many_questions() -> String {
    format!("{MAX_ASKS} questions were asked already, which is the most: the rest is decided with what is known")
}

impl QuestionAnswer {
    fn errors(&self) -> Vec<String> {
        let mut errors: Vec<String> = too_long("question.text", &self.text).into_iter().collect();
        if self.text.trim().is_empty() {
            errors.push("question.text is empty".into());
        }
        errors.extend(too_many("question.options", self.options.len()));
        errors
    }
}

impl PadAnswer {
    fn errors(&self) -> Option<String> {
        too_long("scratchpad.append_markdown", &self.append_markdown)
    }
}

impl CheckedAnswer for ExecutorAnswer {
    fn role() -> Option<crate::model::Role> {
        Some(crate::model::Role::TreeExecutor)
    }

    fn errors(&self) -> Vec<String> {
        let mut errors = artifact_errors(&self.artifacts);
        if self.tool_calls.is_empty() && self.result.is_none() && self.question.is_none() {
            errors.push("the answer has neither tool_calls nor result".into());
        }
        errors.extend(self.question.iter().flat_map(QuestionAnswer::errors));
        errors.extend(self.result.iter().flat_map(ResultAnswer::errors));
        errors.extend(self.scratchpad.errors());
        errors.truncate(MAX_ERRORS);
        errors
    }
}

impl CheckedAnswer for AggregatorAnswer {
    fn role() -> Option<crate::model::Role> {
        Some(crate::model::Role::TreeAggregator)
    }

    fn errors(&self) -> Vec<String> {
        let mut errors = artifact_errors(&self.artifacts);
        errors.extend(too_long("synthesis.summary", &self.synthesis.summary));
        errors.extend(too_many("synthesis.key_findings", self.synthesis.key_findings.len()));
        errors.extend(too_many("synthesis.gaps", self.synthesis.gaps.len()));
        if self.result.is_none() && !self.next.should_replan {
            errors.push("the answer has no result, and next.should_replan is not set".into());
        }
        errors.extend(self.result.iter().flat_map(ResultAnswer::errors));
        errors.extend(self.scratchpad.errors());
        errors.truncate(MAX_ERRORS);
        errors
    }
}

impl ResultAnswer {
    fn errors(&self) -> Vec<String> {
        let mut errors: Vec<String> = too_long("result.summary", &self.summary).into_iter().collect();
        if self.summary.trim().is_empty() {
            errors.push("result.summary is empty".into());
        }
        errors.extend(too_many("parent_hint.artifact_labels", self.parent_hint.artifact_labels.len()));
        errors
    }
}

fn artifact_errors(artifacts: &[ArtifactAnswer]) -> Vec<String> {
    let mut errors = Vec::new();
    if artifacts.len() > MAX_ARTIFACTS {
        errors.push(format!("{} artifacts; {MAX_ARTIFACTS} is the most", artifacts.len()));
    }
    for (index, artifact) in artifacts.iter().take(MAX_ARTIFACTS).enumerate() {
        let name = artifact.name();
        if name.is_empty() || name.len() > MAX_LABEL_BYTES {
            errors.push(format!("artifact {index} needs a label of at most {MAX_LABEL_BYTES} bytes"));
        }
        if artifacts[..index].iter().any(|earlier| earlier.name() == name) {
            errors.push(format!("artifact label {name:?} is used twice"));
        }
        if artifact.markdown.len() > MAX_MARKDOWN_BYTES {
            errors.push(format!(
                "artifact {name:?} has {} bytes of markdown; {MAX_MARKDOWN_BYTES} is the most",
                artifact.markdown.len()
            ));
        }
        match artifact.kind {
            ArtifactType::Json if artifact.json.is_null() => {
                errors.push(format!("artifact {name:?} is of type json but has no json"))
            }
            ArtifactType::Json if artifact.json.to_string().len() > MAX_JSON_BYTES => {
                errors.push(format!(
                    "artifact {name:?} has over {MAX_JSON_BYTES} bytes of json; a document may have more"
                ));
            }
            ArtifactType::Document | ArtifactType::Summary if artifact.markdown.trim().is_empty() => {
                errors.push(format!("artifact {name:?} has no markdown"));
            }
            _ => {}
        }
    }
    errors
}
