//! Servers of tools, spoken to as their client: one connection each, made when it is first needed and made again when
//! it broke. What a call may do, and whether it may be repeated, is not decided here.

mod answer;
mod call;
mod child;
mod config;
mod http;
mod link;
pub mod messages;
mod reading;

pub use config::{ConfigError, ServerConfig, Transport, variables};

use async_trait::async_trait;
use call::{Held, Underway};
use effects::tools::{Approval, Offer, Offers, Toolbox};
use engine::effect::{Class, EffectId, Outcome, ToolCall};
use engine::ids::ProjectId;
use link::Link;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Mutex as AsyncMutex;

/// Between the name of a server and that of its tool.
pub const BETWEEN: &str = "__";
/// How long a list of tools is believed without asking again.
const BELIEVED: Duration = Duration::from_secs(30);
/// A server that could not be reached is not tried again within this.
const LEFT_ALONE: Duration = Duration::from_secs(5);
/// Calls that wait for a person's answer with their connection open.
const MOST_HELD: usize = 200;

/// One server of tools.
pub struct McpServer {
    config: ServerConfig,
    link: AsyncMutex<Known>,
    held: Mutex<HashMap<EffectId, Held>>,
}

/// What is known of the connection.
#[derive(Default)]
struct Known {
    link: Option<Arc<Link>>,
    offers: Option<(Instant, Offers)>,
    trouble: Option<(Instant, String)>,
}

impl McpServer {
    pub fn new(config: ServerConfig) -> McpServer {
        McpServer { config, link: AsyncMutex::default(), held: Mutex::default() }
    }

    async fn link(&self) -> Result<Arc<Link>, String> {
        let mut known = self.link.lock().await;
        self.linked(&mut known).await
    }

    async fn linked(&self, known: &mut Known) -> Result<Arc<Link>, String> {
        if let Some(link) = known.link.as_ref().filter(|link| !link.is_closed()) {
            return Ok(link.clone());
        }
        if let Some((_, why)) = known.trouble.as_ref().filter(|(when, _)| when.elapsed() < LEFT_ALONE) {
            return Err(why.clone());
        }
        // The old one's process is gone before a new one is started.
        if let Some(old) = known.link.take() {
            old.close().await;
        }
        known.offers = None;
        match Link::open(&self.config).await {
            Ok(link) => {
                known.trouble = None;
                Ok(known.link.insert(Arc::new(link)).clone())
            }
            Err(why) => {
                known.trouble = Some((Instant::now(), why.clone()));
                Err(why)
            }
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, HashMap<EffectId, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Toolbox for McpServer {
    fn server(&self) -> &str {
        &self.config.name
    }

    fn projects(&self) -> &[ProjectId] {
        &self.config.projects
    }

    /// What only reads by our own configuration's word needs nobody's.
    fn approval(&self, offer: &Offer) -> Approval {
        if offer.class == Class::ReadOnly { Approval::Never } else { self.config.approval }
    }

    fn destination(&self, _call: &ToolCall) -> String {
        let name = &self.config.name;
        match &self.config.transport {
            Transport::Stdio { command, .. } => {
                format!("the tool server {name}, the program {command} on this machine, which may send it anywhere")
            }
            Transport::Http { url, .. } => {
                let url = reqwest::Url::parse(url).ok();
                let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or("an unknown host").to_owned();
                format!("the tool server {name} at {host}")
            }
        }
    }

    async fn offers(&self) -> Result<Offers, String> {
        let mut known = self.link.lock().await;
        let link = self.linked(&mut known).await?;
        let fresh = |(when, _): &&(Instant, Offers)| when.elapsed() < BELIEVED && !link.has_changed();
        if let Some((_, offers)) = known.offers.as_ref().filter(fresh) {
            return Ok(offers.clone());
        }
        let offers = link.offers(&self.config).await?;
        known.offers = Some((Instant::now(), offers.clone()));
        Ok(offers)
    }

    async fn call(&self, offer: &Offer, call: &ToolCall, effect: &EffectId) -> Outcome {
        let link = match self.link().await {
            Ok(link) => link,
            Err(why) => return Outcome::Away(format!("{} cannot be reached: {why}", self.config.name)),
        };
        let tool = offer.name.strip_prefix(&self.config.prefix()).unwrap_or(&offer.name);
        let held = call.told.as_ref().and_then(|_| self.held().remove(effect));
        let underway = match (held, &call.told) {
            (Some(held), Some(told)) => held.go_on(told),
            (None, Some(told)) => Underway::resumed(&self.config, &link, tool, call, effect, told),
            (_, None) => Ok(Underway::begin(&self.config, &link, tool, call, effect)),
        };
        let (outcome, held) = match underway {
            Ok(underway) => underway.outcome().await,
            Err(paused) => *paused,
        };
        if let Some(held) = held {
            let mut all = self.held();
            all.retain(|_, held| !held.is_stale());
            if all.len() < MOST_HELD {
                all.insert(effect.clone(), held);
            }
        }
        outcome
    }

    async fn close(&self) {
        self.held().clear();
        let link = self.link.lock().await.link.take();
        if let Some(link) = link {
            link.close().await;
        }
    }
}
