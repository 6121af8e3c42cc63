//! Tools that are not built in: MCP servers, the web, a directory of files. This module has what they share: how a tool is
//! described to a run, and whether a call is allowed now. Each `Toolbox` carries out its own calls.

use super::approval::{Approved, approved};
use super::schema::schema_violations;
use super::{ActionError, one_line, refuse};
use crate::text::cut;
use crate::tools::list;
use async_trait::async_trait;
use engine::blob::Hash;
use engine::effect::{
    EffectId, ExternalTool, Outcome, RepeatSafety, RunContext, ToolCall, ToolList, ToolOutcome, ToolOutput, ToolSpec,
};
use engine::ids::ProjectId;
use engine::json::{MAX_DEPTH, is_deeper};
use runtime::ports::Library;
use serde_json::{Value, json};
use std::sync::Arc;

/// A longer description of a tool is cut.
const MAX_DESCRIPTION_CHARS: usize = 600;
/// A longer result is cut before it is stored. Prompts show less; the rest can be looked up.
pub const MAX_STORED_RESULT_CHARS: usize = 200_000;

/// One tool as its server describes it now.
#[derive(Clone, Debug)]
pub struct OfferedTool {
    /// The name that runs use.
    pub name: String,
    pub description: String,
    /// The JSON schema of its arguments.
    pub schema: Value,
    /// By our own configuration: decides about approval, grants and repetition.
    pub class: RepeatSafety,
    /// What the server claims. Nobody checks the claim, so it decides nothing here.
    pub hint: Option<RepeatSafety>,
}

/// All tools of one server, in a stable order.
#[derive(Clone, Debug, Default)]
pub struct OfferedTools {
    /// The protocol version agreed with the server.
    pub protocol: String,
    pub tools: Vec<OfferedTool>,
}

/// When a person is asked before a tool is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approval {
    #[default]
    Never,
    /// Once the run has read something from outside, which may contain injected instructions.
    Tainted,
    Always,
}

impl Approval {
    /// From its name in a configuration file.
    pub fn parse(text: &str) -> Option<Approval> {
        match text {
            "never" => Some(Approval::Never),
            "tainted" => Some(Approval::Tainted),
            "always" => Some(Approval::Always),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Approval::Never => "never",
            Approval::Tainted => "tainted",
            Approval::Always => "always",
        }
    }
}

/// Carries out tools that are not built in.
#[async_trait]
pub trait Toolbox: Send + Sync + 'static {
    fn server(&self) -> &str;
    /// Only runs within these projects may use it; empty: every run.
    fn projects(&self) -> &[ProjectId] {
        &[]
    }
    fn approval(&self, _offer: &OfferedTool) -> Approval {
        Approval::Never
    }
    /// Who receives what this call sends, shown to the person who is asked for approval.
    fn destination(&self, _call: &ToolCall) -> String {
        format!("{}, on this machine", self.server())
    }
    /// The tools it offers now, or why it cannot be reached.
    async fn offers(&self) -> Result<OfferedTools, String>;
    async fn call(&self, offer: &OfferedTool, call: &ToolCall, effect: &EffectId) -> Outcome;
    /// Stops processes and closes connections.
    async fn close(&self) {}
}

impl OfferedTool {
    /// A hash of the server's description. Our own configuration is left out: changing it does not change the tool.
    pub fn hash(&self) -> String {
        let class = format!("{:?}", self.hint.unwrap_or(self.class));
        let schema = self.schema.to_string();
        let parts = [&self.name, &self.description, &schema, &class].map(|part| part.as_bytes());
        Hash::of(&[parts[0], b"\0", parts[1], b"\0", parts[2], b"\0", parts[3]]).to_string()
    }

    pub fn spec(&self, server: &str) -> ToolSpec {
        ToolSpec {
            name: self.name.clone(),
            arguments: argument_names(&self.schema),
            description: cut(&self.description, MAX_DESCRIPTION_CHARS),
            read: self.class == RepeatSafety::ReadOnly,
            external: Some(ExternalTool { server: server.into(), class: self.class, hash: self.hash() }),
        }
    }
}

impl OfferedTools {
    pub fn as_list(&self, server: &str) -> ToolList {
        let hashes: Vec<String> = self.tools.iter().map(OfferedTool::hash).collect();
        let hash = Hash::of(&[hashes.concat().as_bytes()]).to_string();
        ToolList { server: server.into(), protocol: self.protocol.clone(), hash }
    }
}

/// Every toolbox of this process.
#[derive(Clone, Default)]
pub struct Toolboxes(pub Vec<Arc<dyn Toolbox>>);

impl Toolboxes {
    /// The toolboxes that a run within these projects may use.
    pub fn open_to<'a>(&'a self, projects: &'a [ProjectId]) -> impl Iterator<Item = &'a Arc<dyn Toolbox>> {
        self.0.iter().filter(move |toolbox| is_open(toolbox.as_ref(), projects))
    }

    /// Makes one call if it is allowed now. A refusal goes to the model, and nothing was sent.
    pub async fn call(&self, library: &dyn Library, run: &RunContext, call: &ToolCall, effect: &EffectId) -> Outcome {
        match self.admitted(library, run, call).await {
            Ok((toolbox, offer)) => match approved(toolbox.as_ref(), &offer, run, call) {
                Approved::Yes(call) => toolbox.call(&offer, &call, effect).await,
                Approved::No => Outcome::Tool(ToolOutcome::refused(format!(
                    "approval_refused: a person refused the call of {} with these arguments",
                    call.tool
                ))),
                Approved::NotYet(asking) => Outcome::Asks(asking),
            },
            Err(ActionError::Refused(why)) => Outcome::Tool(ToolOutcome::refused(why)),
            Err(ActionError::Store(error)) => Outcome::Unavailable(error.to_string()),
        }
    }

    async fn admitted(
        &self,
        library: &dyn Library,
        run: &RunContext,
        call: &ToolCall,
    ) -> Result<(Arc<dyn Toolbox>, OfferedTool), ActionError> {
        let Some(granted) = call.external.as_ref().filter(|_| call.granted.contains(&call.tool)) else {
            let valid = list(call.granted.iter());
            return refuse(format!(
                "tool_not_granted: {} was not given to this caller; granted tools: {valid}",
                call.tool
            ));
        };
        let server = &granted.server;
        let Some(toolbox) = self.0.iter().find(|toolbox| toolbox.server() == server) else {
            return refuse(format!("tool_unavailable: {server} is not configured where this run is driven"));
        };
        if !is_open(toolbox.as_ref(), &run.projects) {
            return refuse(format!("tool_not_granted: {server} may not be used for the projects of this run"));
        }
        for project in &run.projects {
            if library.project(&run.scope, *project).await?.is_none() {
                return refuse(format!("tool_not_granted: the owner of this run may no longer use project {project}"));
            }
        }
        let offers = match toolbox.offers().await {
            Ok(offers) => offers,
            Err(why) => return refuse(format!("tool_unavailable: {server} cannot be used: {why}")),
        };
        let Some(offer) = offers.tools.into_iter().find(|offer| offer.name == call.tool) else {
            return refuse(format!("tool_unavailable: {server} no longer offers {}", call.tool));
        };
        if offer.hash() != granted.hash {
            return refuse(format!(
                "schema_changed: {server} changed its description of {} after this run was given the tool; start a new \
                 run to use the tool as it is now",
                call.tool
            ));
        }
        match schema_violations(&offer.schema, &call.arguments) {
            wrong if wrong.is_empty() => Ok((toolbox.clone(), offer)),
            wrong => {
                let valid = argument_names(&offer.schema);
                refuse(format!("{}; {} takes: {valid}", wrong.join("; "), call.tool))
            }
        }
    }
}

fn is_open(toolbox: &dyn Toolbox, projects: &[ProjectId]) -> bool {
    let only = toolbox.projects();
    only.is_empty() || (!projects.is_empty() && projects.iter().all(|project| only.contains(project)))
}

/// A result from outside: cut to its limit and marked as untrusted wherever it is shown.
pub fn answered(server: &str, mut content: Value, summary: &str) -> ToolOutcome {
    let size = content.to_string().len();
    if size > MAX_STORED_RESULT_CHARS || is_deeper(&content, MAX_DEPTH) {
        let text = content["text"].as_str().map_or_else(|| content.to_string(), str::to_owned);
        let shown = format!("{size} bytes, shown as a text of up to {MAX_STORED_RESULT_CHARS} characters");
        content = json!({ "text": cut(&text, MAX_STORED_RESULT_CHARS), "cut": shown });
    }
    content["source"] = json!(server);
    content["untrusted"] = json!(true);
    // A result from outside counts as progress the first time it is seen.
    let output = ToolOutput { content, summary: one_line(summary), read: true };
    ToolOutcome { result: Ok(output), mutations: Vec::new() }
}

/// `path, tail?: number`: the names, optional ones marked; the type is left out for strings.
fn argument_names(schema: &Value) -> String {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut properties: Vec<_> = schema["properties"].as_object().into_iter().flatten().collect();
    properties.sort_by_key(|(name, _)| !required.contains(&name.as_str()));
    let named = properties.into_iter().map(|(name, field)| {
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        let kind = match (field["enum"].as_array(), field["type"].as_str()) {
            (Some(choices), _) => format!(": {}", choices.iter().map(Value::to_string).collect::<Vec<_>>().join("|")),
            (None, Some("string")) => String::new(),
            (None, Some("array")) => format!(": [{}]", item(&field["items"])),
            (None, Some("object")) => format!(": {{{}}}", argument_names(field)),
            (None, kind) => format!(": {}", kind.unwrap_or("any")),
        };
        format!("{name}{optional}{kind}")
    });
    cut(&named.collect::<Vec<_>>().join(", "), MAX_DESCRIPTION_CHARS)
}

fn item(schema: &Value) -> String {
    match schema["type"].as_str() {
        Some("object") => format!("{{{}}}", argument_names(schema)),
        kind => kind.unwrap_or("any").to_owned(),
    }
}
