//! Routes for tools: the built-in ones and those of the configured servers. People can call the built-in ones here too.

use super::prelude::*;
use super::{auth, pages};
use crate::catalogue::Catalogue;
use crate::toolboxes::{ToolboxStatus, offers};
use ::pages::PageSubject;
use effects::tools::{Registry, Toolbox};
use engine::effect::RepeatSafety;
use engine::ids::ProjectId;

pub(super) fn routes() -> Vec<Route> {
    let tool = record! { "Tool":
        name: text(), description: text(), class: one_of(["read-only", "idempotent", "once"]), read: flag(),
        schema: open();
        server: text(),
    };
    let server =
        named("ToolServer", record([("server", text()), ("ready", flag()), ("detail", text())], [("hash", text())]));
    let tools_page =
        record([("items", list_of(tool)), ("next_cursor", nullable(text())), ("servers", list_of(server))], []);
    vec![
        Route::get("/api/tools", Read, "The tools that runs may be granted, and the status of the MCP servers", tools)
            .returns(200, tools_page),
        // A token with the scope read may call tools that only read, so the handler checks the scope once it knows the tool.
        Route::post("/api/tools/{name}", Read, "Call a built-in tool as yourself, with its arguments", call)
            .body(open())
            .returns(200, open()),
    ]
}

/// Every tool, and the status of the toolboxes that are not built in.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Tools {
    pub items: Vec<Value>,
    pub next_cursor: Option<String>,
    pub servers: Vec<ToolboxStatus>,
}

async fn tools(Context(app, caller): Context) -> JsonResult<Tools> {
    let mut visible = Vec::new();
    for toolbox in &app.catalogue.toolboxes().0 {
        if is_visible(&app, &caller, toolbox.projects()).await? {
            visible.push(toolbox.clone());
        }
    }
    Ok(Json(described(&app.catalogue, &visible).await))
}

async fn call(
    Context(app, caller): Context,
    Id(name): Id<String>,
    JsonBody(arguments): JsonBody<Value>,
) -> JsonResult<Value> {
    if caller.access < Run && Registry::builtin().find(&name).is_some_and(|action| !action.is_read()) {
        return Err(auth::insufficient(Run));
    }
    let page = pages::execute_action(&app, &caller, PageSubject::Tools, &name, &arguments).await?;
    let result = page.facts.iter().find(|(fact, _)| *fact == "result").map(|(_, result)| result.clone());
    match page.is_ok() {
        true => Ok(Json(result.unwrap_or_else(|| json!({})))),
        false => Err(pages::problem(&page)),
    }
}

/// A toolbox that is restricted to projects is listed for callers who may see one of them.
async fn is_visible(app: &AppState, caller: &Caller, projects: &[ProjectId]) -> ApiResult<bool> {
    for project in projects {
        if app.store.project(&caller.scope(), *project).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(projects.is_empty())
}

pub(crate) async fn described(catalogue: &Catalogue, toolboxes: &[Arc<dyn Toolbox>]) -> Tools {
    let listings = toolboxes.iter().map(|toolbox| async move { (toolbox.server(), offers(toolbox.as_ref()).await) });
    let mut tools = Tools { items: catalogue.described_tools(), next_cursor: None, servers: Vec::new() };
    for (server, offers) in futures::future::join_all(listings).await {
        tools.servers.push(ToolboxStatus::of(server, &offers));
        for offer in offers.map(|offers| offers.tools).unwrap_or_default() {
            tools.items.push(json!({
                "name": offer.name, "description": offer.description, "class": offer.class.name(),
                "read": offer.class == RepeatSafety::ReadOnly, "schema": offer.schema, "server": server,
            }));
        }
    }
    tools
}
