//! The models and tools this process can offer a run, made from its configuration.

use crate::config::models::ModelNames;
use crate::config::{Config, VENDORS};
use crate::failure::Failure;
use crate::toolboxes;
use effects::model::{ConfigError, Gateway, REHEARSAL, Timeouts, examples};
use effects::performer::EffectsPerformer;
use effects::rehearsal::RehearsalModels;
use effects::tools::{Registry, Toolboxes};
use engine::effect::{CallFailure, ToolList, ToolSpec};
use engine::ids::ProjectId;
use engine::model::{ModelSpec, Models};
use runtime::live::Live;
use runtime::ports::{Library, Performer};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A provider that does not say within this what it has is shown with models people are likely to mean.
pub const LISTING: Duration = Duration::from_secs(3);

pub struct Catalogue {
    gateway: Result<Arc<Gateway>, String>,
    /// Used where a run names no model of its own.
    chosen: ModelNames,
    outside: Toolboxes,
}

/// What a run is given to work with.
#[derive(Default)]
pub struct ToolGrant {
    pub tools: Vec<ToolSpec>,
    pub lists: Vec<ToolList>,
    pub warnings: Vec<String>,
}

impl Catalogue {
    /// A provider that lacks its key does not keep anyone from reading; it is said when a model is needed.
    pub fn new(config: &Config) -> Catalogue {
        let gateway = Gateway::new(
            &config.provider_table(),
            &|name| config.variable(name),
            RehearsalModels { pace: Duration::from_millis(config.rehearsal_ms.value) },
            Timeouts::default(),
        );
        Catalogue {
            gateway: gateway.map(Arc::new).map_err(|error| error.to_string()),
            chosen: config.model.names(),
            outside: toolboxes::of(config),
        }
    }

    fn gateway(&self) -> Result<&Arc<Gateway>, String> {
        self.gateway.as_ref().map_err(String::clone)
    }

    pub fn performer(&self, store: Arc<dyn Library>, live: Live) -> Result<Arc<dyn Performer>, Failure> {
        let models = self.gateway().map_err(Failure::usage)?.clone();
        let outside = self.outside.clone();
        let task_tools = Arc::new(pages::PageTools::new(store.clone()));
        let registry = Registry::builtin();
        Ok(Arc::new(EffectsPerformer { library: store, registry, outside, task_tools, models, live }))
    }

    /// Each profile's model, and what people should know about them before money is spent.
    pub async fn models(&self, asked: &ModelNames) -> Result<(Models, Vec<String>), String> {
        let pick = |asked: &Option<String>, chosen: &Option<String>| asked.clone().or_else(|| chosen.clone());
        let balanced = self.spec(pick(&asked.balanced, &self.chosen.balanced)).await?;
        let fast = self.spec_or(pick(&asked.fast, &self.chosen.fast), &balanced).await?;
        let powerful = self.spec_or(pick(&asked.powerful, &self.chosen.powerful), &balanced).await?;
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
        let said = |error: ConfigError| error.to_string();
        set_up(gateway, &provider)?;
        let model = match model {
            Some(model) => model,
            None => gateway.only_model(&provider).await.map_err(said)?,
        };
        gateway.spec(&provider, &model).map_err(said)
    }

    /// Why a model could not be asked now, as far as its provider says without being paid.
    pub async fn trouble_with(&self, spec: &ModelSpec) -> Option<String> {
        let gateway = self.gateway().ok()?;
        match tokio::time::timeout(LISTING, gateway.list_models(&spec.provider)).await {
            Err(_) => Some(format!("provider {:?} does not answer", spec.provider)),
            Ok(Err(error)) if matches!(error.failure, CallFailure::Unreachable | CallFailure::Auth) => {
                Some(error.message)
            }
            // There are servers that answer everything but this.
            Ok(_) => None,
        }
    }

    /// The models that can be named at once: those chosen, and those each provider says it has.
    pub async fn offered(&self) -> Vec<Value> {
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

    /// Who carries out tools that are not built in.
    pub fn outside(&self) -> &Toolboxes {
        &self.outside
    }

    /// End what was started to carry out tools.
    pub async fn close(&self) {
        futures::future::join_all(self.outside.0.iter().map(|toolbox| toolbox.close())).await;
    }

    /// Every built-in tool with the schema of its arguments.
    pub fn described_tools(&self) -> Vec<Value> {
        let described = |action: &effects::tools::Action| json!({"name": action.name, "description": action.description, "class": action.class.name(), "read": action.is_read(), "schema": action.schema()});
        Registry::builtin().list().iter().map(described).collect()
    }

    /// The tools of these names, or all there are, for a run within these projects. A server may be named for all of its
    /// tools; one that cannot be reached is missed only by those who named it.
    pub async fn tools(&self, names: &[String], projects: &[ProjectId]) -> Result<ToolGrant, String> {
        let mut granted = ToolGrant { tools: Registry::builtin().catalogue(), ..ToolGrant::default() };
        if !projects.is_empty() && names.is_empty() {
            // Nobody is offered what is refused every time: a run within projects makes none.
            granted.tools.retain(|tool| tool.name != "create_project");
        }
        let mut servers = Vec::new();
        let mut missed = Vec::new();
        let open: Vec<_> = self.outside.open_to(projects).collect();
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
        let is_asked = |tool: &ToolSpec| {
            names.is_empty()
                || names.contains(&tool.name)
                || tool.outside.as_ref().is_some_and(|outside| names.contains(&outside.server))
        };
        granted.tools.retain(is_asked);
        granted.warnings = missed;
        Ok(granted)
    }
}

/// A model as people choose it.
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

/// A vendor that is named but not set up lacks only its variables.
fn set_up(gateway: &Gateway, provider: &str) -> Result<(), String> {
    let known = gateway.providers().any(|(name, _)| name == provider);
    match VENDORS.iter().find(|(name, ..)| *name == provider).filter(|_| !known) {
        Some((_, key, url)) => Err(format!(
            "provider {provider} has no key: {key} is not set.\nexport {key}=…, or {url}=… for a server that needs none; without either, --model rehearsal/default works."
        )),
        None => Ok(()),
    }
}

/// Nobody chose: the one provider that is set up, or rehearsal where there is none.
fn only_provider(gateway: &Gateway) -> Result<String, String> {
    let set_up: Vec<&str> = gateway.providers().map(|(name, _)| name).filter(|name| *name != REHEARSAL).collect();
    match set_up.as_slice() {
        [] => Ok(REHEARSAL.into()),
        [only] => Ok((*only).to_owned()),
        _ => Err(format!(
            "no model is chosen and several providers are set up; name one in the run or set PLEACH_MODEL, e.g. {}",
            some_of_each(gateway).join(", ")
        )),
    }
}

/// Three models that could be meant, of every provider that is set up.
fn some_of_each(gateway: &Gateway) -> Vec<String> {
    let of = |nth: usize| {
        let set_up = gateway.providers().filter(|(name, _)| *name != REHEARSAL);
        set_up.map(move |(name, kind)| format!("{name}/{}", examples(kind)[nth])).collect::<Vec<_>>()
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
