//! The toolboxes of the configuration (web, files and MCP servers), and whether each one is ready.

use crate::config::Config;
use async_trait::async_trait;
use effects::tools::{Files, OfferedTool, OfferedTools, Toolbox, Toolboxes, Web};
use engine::effect::{EffectId, Outcome, ToolCall, ToolOutcome};
use engine::ids::ProjectId;
use mcp::client::{McpServer, SEPARATOR, ServerConfig};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// How long a run waits for a list of tools.
const LIST_WITHIN: Duration = Duration::from_secs(25);

pub(crate) fn of(config: &Config) -> Toolboxes {
    let mut all: Vec<Arc<dyn Toolbox>> = Vec::new();
    if config.fetch_url.value {
        let hosts = config.fetch_hosts.as_ref().map(|hosts| hosts.value.clone());
        all.push(Arc::new(Web::new(config.fetch_private.value).bounded(hosts, config.fetch_approve.value)));
    }
    if let Some(dir) = &config.files_dir {
        all.push(Arc::new(Files::new(dir.value.clone(), config.files_write.value, config.own_places())));
    }
    for (name, section) in &config.mcp {
        all.push(
            match ServerConfig::read(name, section.value.clone(), &|name| config.variable_for(&section.origin, name)) {
                Ok(server) => Arc::new(McpServer::new(server)),
                Err(error) => Arc::new(Unusable { name: name.clone(), why: format!("{error} ({})", section.origin) }),
            },
        );
    }
    Toolboxes(all)
}

/// An MCP server whose configuration is wrong. The error is reported when its tools are listed or called.
struct Unusable {
    name: String,
    why: String,
}

#[async_trait]
impl Toolbox for Unusable {
    fn server(&self) -> &str {
        &self.name
    }

    fn projects(&self) -> &[ProjectId] {
        &[]
    }

    async fn offers(&self) -> Result<OfferedTools, String> {
        Err(self.why.clone())
    }

    async fn call(&self, _offer: &OfferedTool, _call: &ToolCall, _effect: &EffectId) -> Outcome {
        Outcome::Tool(ToolOutcome::refused(self.why.clone()))
    }
}

/// Whether this server could have a tool of that name. Tools of web and files have no server prefix.
pub(crate) fn may_offer(server: &str, name: &str) -> bool {
    match name.split_once(SEPARATOR) {
        Some((of, _)) => of == server,
        None => true,
    }
}

pub(crate) async fn offers(toolbox: &dyn Toolbox) -> Result<OfferedTools, String> {
    let late = || Err(format!("it did not list its tools within {} s", LIST_WITHIN.as_secs()));
    tokio::time::timeout(LIST_WITHIN, toolbox.offers()).await.unwrap_or_else(|_| late())
}

/// Whether a toolbox can be used.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ToolboxStatus {
    pub server: String,
    pub ready: bool,
    /// The protocol and the number of tools, or the error.
    pub detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl ToolboxStatus {
    pub(crate) fn of(server: &str, offers: &Result<OfferedTools, String>) -> ToolboxStatus {
        match offers {
            Ok(found) => ToolboxStatus {
                server: server.into(),
                ready: true,
                detail: format!("{} tools, {}", found.tools.len(), found.protocol),
                hash: Some(found.as_list(server).hash),
            },
            Err(why) => ToolboxStatus { server: server.into(), ready: false, detail: why.clone(), hash: None },
        }
    }
}
