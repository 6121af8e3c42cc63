//! The toolboxes that the configuration names: web, files and MCP servers, and whether each one is ready.

use crate::config::Config;
use async_trait::async_trait;
use effects::tools::{Files, Offer, Offers, Toolbox, Toolboxes, Web};
use engine::effect::{EffectId, Outcome, ToolCall, ToolOutcome};
use engine::ids::ProjectId;
use mcp::client::{McpServer, SEPARATOR, ServerConfig};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// A run is not kept waiting longer for a list of tools.
const PATIENCE: Duration = Duration::from_secs(25);

pub fn of(config: &Config) -> Toolboxes {
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

/// A server that is not configured so that it could be spoken to: said when its tools are asked for.
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

    async fn offers(&self) -> Result<Offers, String> {
        Err(self.why.clone())
    }

    async fn call(&self, _offer: &Offer, _call: &ToolCall, _effect: &EffectId) -> Outcome {
        Outcome::Tool(ToolOutcome::refused(self.why.clone()))
    }
}

/// Could this server have a tool of that name? Those that are none of MCP's have names of their own.
pub fn may_offer(server: &str, name: &str) -> bool {
    match name.split_once(SEPARATOR) {
        Some((of, _)) => of == server,
        None => true,
    }
}

pub async fn offers(toolbox: &dyn Toolbox) -> Result<Offers, String> {
    let late = || Err(format!("it did not say what it offers within {} s", PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, toolbox.offers()).await.unwrap_or_else(|_| late())
}

/// How one of them is.
#[derive(Debug, Serialize, Deserialize)]
pub struct State {
    pub server: String,
    pub ready: bool,
    /// What is spoken and offered, or what is wrong.
    pub detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl State {
    pub fn of(server: &str, offers: &Result<Offers, String>) -> State {
        match offers {
            Ok(found) => State {
                server: server.into(),
                ready: true,
                detail: format!("{} tools, {}", found.tools.len(), found.protocol),
                hash: Some(found.as_list(server).hash),
            },
            Err(why) => State { server: server.into(), ready: false, detail: why.clone(), hash: None },
        }
    }
}
