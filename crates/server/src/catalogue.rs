//! The models and tools that this process can give a run, from its configuration.

use crate::config::models::ModelNames;
use crate::config::{Config, VENDORS};
use crate::failure::Failure;
use crate::toolboxes;
use effects::model::{ConfigError, Gateway, REHEARSAL, Timeouts, examples};
use effects::performer::EffectsPerformer;
use effects::rehearsal::RehearsalModels;
use effects::tools::{Action, Registry, Toolboxes};
use engine::effect::{CallFailure, ToolList, ToolSpec};
use engine::ids::ProjectId;
use engine::model::{ModelSpec, Models};
use runtime::live::Live;
use runtime::ports::{Library, Performer};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How long a provider may take to list its models. After that, examples are shown instead.
pub(crate) const LISTING: Duration = Duration::from_secs(3);

pub(crate) struct Catalogue {
    gateway: Result<Arc<Gateway>, String>,
    /// The models of a run that names none.
    defaults: ModelNames,
    toolboxes: Toolboxes,
}

/// The tools that a run is granted.
#[derive(Default)]
pub(crate) struct ToolGrant {
    pub tools: Vec<ToolSpec>,
    pub lists: Vec<ToolList>,
    pub warnings: Vec<String>,
}

impl Catalogue {
    /// A provider without its key is not an error here, so that reading works; it becomes one when a model is needed.
    pub(crate) fn new(config: &Config) -> Catalogue {
        let gateway = Gateway::new(
            &config.provider_table(),
            &|name| config.variable(name),
            RehearsalModels { pace: Duration::from_millis(config.rehearsal_ms.value) },
            Timeouts::default(),
        );
        Catalogue {
            gateway: gateway.map(Arc::new).map_err(|error| error.to_string()),
            defaults: config.model.names(),
            toolboxes: toolboxes::of(config),
        }
    }

    fn gateway(&self) -> Result<&Arc<Gateway>, String> {
        self.gateway.as_ref().map_err(String::clone)
    }

    pub(crate) fn performer(&self, store: Arc<dyn Library>, live: Live) -> Result<Arc<dyn Performer>, Failure> {
        let models = self.gateway().map_err(Failure::usage)?.clone();
        let toolboxes = self.toolboxes.clone();
        let task_tools = Arc::new(pages::PageTools::new(store.clone()));
        let registry = Registry::builtin();
        Ok(Arc::new(EffectsPerformer { library: store, registry, toolboxes, task_tools, models, live }))
    }

    /// The model of each profile, and warnings for people before money is spent.
    pub(crate) async fn models(&self, names: &ModelNames) -> Result<(Models, Vec<String>), String> {
        let pick = |name: &Option<String>, default: &Option<String>| name.clone().or_else(|| default.clone());
        let balanced = self.spec(pick(&names.balanced, &self.defaults.balanced)).await?;
        let fast = self.spec_or(pick(&names.fast, &self.defaults.fast), &balanced).await?;
        let powerful = self.spec_or(pick(&names.powerful, &self.defaults.powerful), &balanced).await?;
        let models = Models { fast, balanced, powerful };
        let warnings = warnings(&models);
        Ok((models, warnings))
    }

    async fn spec_or(&self, name: Option<String>, otherwise: &ModelSpec) -> Result<ModelSpec, String> {
        match name {
            Some(name) => self.spec(Some(name)).await,
            None => Ok(otherwise.clone()),
        }
    }

    async fn spec(&self, name: Option<String>) -> Result<ModelSpec, String> {
        let gateway = self.gateway()?;
        let (provider, model) = match name.as_deref().map(|name| name.split_once('/').ok_or(name)) {
            Some(Ok((provider, model))) => (provider.to_owned(), Some(model.to_owned())),
            Some(Err(provider)) => (provider.to_owned(), None),
            None => (only_provider(gateway)?, None),
        };
        let text = |error: ConfigError| error.to_string();
        check_configured(gateway, &provider)?;
        let model = match model {
            Some(model) => model,
            None => gateway.only_model(&provider).await.map_err(text)?,
        };
        gateway.spec(&provider, &model).map_err(text)
    }

    /// Why the provider of a model cannot be used now, as far as a free request shows.
    pub(crate) async fn provider_problem(&self, spec: &ModelSpec) -> Option<String> {
        let gateway = self.gateway().ok()?;
        match tokio::time::timeout(LISTING, gateway.list_models(&spec.provider)).await {
            Err(_) => Some(format!("provider {:?} does not answer", spec.provider)),
            Ok(Err(error)) if matches!(error.failure, CallFailure::Unreachable | CallFailure::Auth) => {
                Some(error.message)
            }
            // Some servers answer everything but this request, so other errors are no problem.
            Ok(_) => None,
        }
    }

    /// The models a person may choose from: the configured ones and those that each provider lists.
    pub(crate) async fn offered(&self) -> Vec<Value> {
        let Ok(gateway) = &self.gateway else { return Vec::new() };
        let chosen = self.models(&ModelNames::default()).await.map(|(models, _)| models).ok();
        let mut specs: Vec<ModelSpec> = chosen.iter().flat_map(|models| models.all().into_iter().cloned()).collect();
        for (provider, kind) in gateway.providers() {
            let listed = tokio::time::timeout(LISTING, gateway.list_models(provider)).await;
            let names = match listed {
                Ok(Ok(names)) if !names.is_empty() => names,
                _ => examples(kind).map(str::to_owned).to_vec(),
            };
            specs.extend(names.iter().filter_map(|name| gateway.spec(provider, name).ok()));
        }
        let mut seen = BTreeSet::new();
        specs.retain(|spec| seen.insert(spec.name()));
        specs.iter().map(|spec| offer(spec, chosen.as_ref())).collect()
    }

    /// The toolboxes of tools that are not built in.
    pub(crate) fn toolboxes(&self) -> &Toolboxes {
        &self.toolboxes
    }

    /// Stops the MCP servers that this process started.
    pub(crate) async fn close(&self) {
        futures::future::join_all(self.toolboxes.0.iter().map(|toolbox| toolbox.close())).await;
    }

    /// Every built-in tool with the schema of its arguments.
    pub(crate) fn described_tools(&self) -> Vec<Value> {
        let described = |action: &Action| json!({"name": action.name, "description": action.description, "class": action.class().name(), "read": action.is_read(), "schema": action.schema()});
        Registry::builtin().list().iter().map(described).collect()
    }

    /// The named tools, or all, for a run restricted to these projects. The name of an MCP server stands for all of its tools.
    /// A server that cannot be reached is an error only for a run that named tools.
    pub(crate) async fn tools(&self, names: &[String], projects: &[ProjectId]) -> Result<ToolGrant, String> {
        let registry = Registry::builtin();
        let mut granted = ToolGrant { tools: registry.catalogue(), ..ToolGrant::default() };
        if !projects.is_empty() && names.is_empty() {
            let is_refused = |tool: &ToolSpec| registry.find(&tool.name).is_some_and(Action::needs_all_projects);
            granted.tools.retain(|tool| !is_refused(tool));
        }
        let mut servers = Vec::new();
        let mut missed = Vec::new();
        let open: Vec<_> = self.toolboxes.open_to(projects).collect();
        let wanted = open.iter().filter(|toolbox| {
            names.is_empty() || names.iter().any(|name| toolboxes::may_offer(toolbox.server(), name))
        });
        let asked = futures::future::join_all(
            wanted.map(|toolbox| async move { (toolbox.server(), toolboxes::offers(toolbox.as_ref()).await) }),
        );
        for (server, offers) in asked.await {
            servers.push(server);
            match offers {
                Ok(offers) => {
                    granted.lists.push(offers.as_list(server));
                    granted.tools.extend(offers.tools.iter().map(|offer| offer.spec(server)));
                }
                Err(why) => missed.push(format!("the tools of {server} are not available: {why}")),
            }
        }
        let is_known =
            |name: &String| servers.contains(&name.as_str()) || granted.tools.iter().any(|tool| tool.name == *name);
        if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
            let valid: Vec<&str> = granted.tools.iter().map(|tool| tool.name.as_str()).collect();
            let missed: String = missed.iter().map(|why| format!("; {why}")).collect();
            return Err(format!("tool {unknown} does not exist{missed}; tools: {}", valid.join(", ")));
        }
        if let Some(why) = missed.first().filter(|_| !names.is_empty()) {
            return Err(format!("{why}; no run was made"));
        }
        let is_named = |tool: &ToolSpec| {
            names.is_empty()
                || names.contains(&tool.name)
                || tool.external.as_ref().is_some_and(|external| names.contains(&external.server))
        };
        granted.tools.retain(is_named);
        granted.warnings = missed;
        Ok(granted)
    }
}

/// A model as the API lists it.
fn offer(spec: &ModelSpec, chosen: Option<&Models>) -> Value {
    let profiles =
        chosen.map(|models| [("fast", &models.fast), ("balanced", &models.balanced), ("powerful", &models.powerful)]);
    let profiles = profiles.into_iter().flatten().filter(|(_, of)| of.name() == spec.name()).map(|(name, _)| name);
    let mut offer = json!({
        "name": spec.name(),
        "provider": spec.provider,
        "model": spec.model,
        "context_window": spec.context_window,
        "max_output": spec.max_output,
        "profiles": profiles.collect::<Vec<_>>(),
    });
    if let Some(price) = &spec.price {
        offer["price"] = json!(price);
    }
    offer
}

/// A vendor without its variables gets an error that names them.
fn check_configured(gateway: &Gateway, provider: &str) -> Result<(), String> {
    let known = gateway.providers().any(|(name, _)| name == provider);
    match VENDORS.iter().find(|(name, ..)| *name == provider).filter(|_| !known) {
        Some((_, key, url)) => Err(format!(
            "provider {provider} has no key: {key} is not set.\nSet {key}=…, or {url}=… for a server that needs no key; or use --model rehearsal/default, which needs neither."
        )),
        None => Ok(()),
    }
}

/// The default without a configured model: the only provider, or rehearsal when there is none.
fn only_provider(gateway: &Gateway) -> Result<String, String> {
    let configured: Vec<&str> = gateway.providers().map(|(name, _)| name).filter(|name| *name != REHEARSAL).collect();
    match configured.as_slice() {
        [] => Ok(REHEARSAL.into()),
        [only] => Ok((*only).to_owned()),
        _ => Err(format!(
            "no model is chosen and several providers are configured; use --model or set PLEACH_MODEL, e.g. {}",
            example_models(gateway).join(", ")
        )),
    }
}

/// Three examples of models, from all configured providers.
fn example_models(gateway: &Gateway) -> Vec<String> {
    let of = |nth: usize| {
        let configured = gateway.providers().filter(|(name, _)| *name != REHEARSAL);
        configured.map(move |(name, kind)| format!("{name}/{}", examples(kind)[nth])).collect::<Vec<_>>()
    };
    (0..3).flat_map(of).take(3).collect()
}

fn warnings(models: &Models) -> Vec<String> {
    let mut unpriced: Vec<String> =
        models.all().iter().filter(|spec| spec.price.is_none()).map(|spec| spec.name()).collect();
    unpriced.dedup();
    unpriced
        .iter()
        .map(|name| format!("the price of {name} is unknown: cost is not counted, tokens are capped at {} unless --max-tokens says otherwise", engine::budget::IMPLIED_MAX_TOKENS))
        .collect()
}
