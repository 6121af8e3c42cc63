//! `pleach tools` lists the tools that runs may use; `pleach mcp` serves runs to another program over standard input and output.

use super::{Session, note, print};
use crate::api::{Tools, described};
use crate::catalogue::Catalogue;
use crate::drive::WorkerScope;
use crate::failure::Failure;
use crate::mcp_tools::RunTools;
use crate::render::style::line;
use std::sync::Arc;
use std::time::Duration;

pub(crate) async fn list(session: &Session) -> Result<u8, Failure> {
    let tools: Tools = match session.get("/api/tools").await? {
        Some(tools) => tools,
        None => {
            let catalogue = Catalogue::new(&session.config);
            let tools = described(&catalogue, &catalogue.toolboxes().0).await;
            catalogue.close().await;
            tools
        }
    };
    if session.json {
        tools.items.iter().for_each(|tool| session.print_json(tool));
        tools.servers.iter().for_each(|server| session.print_json(server));
        return Ok(0);
    }
    for tool in &tools.items {
        let field = |key: &str| tool[key].as_str().unwrap_or_default();
        let about: String = line(field("description")).chars().take(90).collect();
        print(&format!("{:<36} {:<10}  {about}", line(field("name")), field("class")));
    }
    for server in &tools.servers {
        let mark = if server.ready { "✓" } else { "✗" };
        print(&format!("{mark} {:<34} {}", line(&server.server), line(&server.detail)));
    }
    Ok(0)
}

/// Runs until standard input is closed. The process that holds the database drives the runs; when there is none, this one does.
pub(crate) async fn converse(session: &Session) -> Result<u8, Failure> {
    let attached = session.worker(WorkerScope::Everything, Duration::ZERO).await?;
    let tools = RunTools::new(attached.client.clone(), true);
    let ended = mcp::server::serve(Arc::new(tools), tokio::io::stdin(), tokio::io::stdout()).await;
    attached.close().await;
    match ended {
        Ok(()) => Ok(0),
        Err(why) => {
            note(&format!("the MCP connection broke: {why}"));
            Ok(1)
        }
    }
}
