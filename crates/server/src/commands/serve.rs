//! `up` and `worker`: drive every run of the database until a signal stops them.

use super::follow::Signals;
use super::{Session, note, print};
use crate::api::{CodeView, NewCode, Page};
use crate::attach;
use crate::catalogue::{Catalogue, LISTING};
use crate::config::models::ModelNames;
use crate::config::{Config, Database};
use crate::data_dir::DataDir;
use crate::failure::Failure;
use engine::batch::RunRow;
use std::net::SocketAddr;
use store::credentials::Grant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Up,
    Worker,
}

pub(crate) async fn serve(session: &Session, role: Role) -> Result<u8, Failure> {
    let config = &session.config;
    if role == Role::Worker && matches!(config.database.value, Database::Sqlite(_)) {
        return Err(Failure::usage(format!(
            "a worker needs a shared PostgreSQL database, but the database is {} ({}).\nNothing was started. Use `pleach up` on this machine, or name one: pleach worker --database postgres://…",
            config.database.value, config.database.origin
        )));
    }
    let mut signals = Signals::new()?;
    // A database that is starting up is waited for. Nothing is held before that, so a signal may end the wait at once.
    let mut attached = tokio::select! {
        attached = attach::as_server(config, &session.actor) => attached?,
        code = signals.next() => return Ok(code),
    };
    let address = match role {
        Role::Up => attached.listen(&config.listen).await.map(Some),
        Role::Worker => Ok(None),
    };
    let address = match address {
        Ok(address) => address,
        Err(failure) => {
            attached.close().await;
            return Err(failure);
        }
    };
    let resumed: Page<RunRow> = attached.client.get("/api/runs?status=running&limit=200").await?;
    let queued: Page<RunRow> = attached.client.get("/api/runs?status=queued&limit=200").await?;
    // Whoever starts the server may administer it. `pleach token link` makes links for others, with fewer rights.
    let admin = NewCode { scope: Some(Grant::Admin.name().into()) };
    let link = match address {
        Some(_) => attached.client.post::<CodeView>("/api/login-codes", &admin).await?.url,
        None => None,
    };
    if let Some(address) = address.filter(|address| is_exposed(config, *address)) {
        note(&format!(
            "warning: other machines can reach {address}, and the connection is not encrypted: tokens can be read on the network.\nPut a reverse proxy with TLS in front and set PLEACH_PUBLIC_URL=https://…, or listen on 127.0.0.1."
        ));
    }
    let model = default_model(config).await;
    for line in greeting(session, link, address, &model, resumed.items.len(), queued.items.len()) {
        print(&line);
    }
    signals.next().await;
    print("stopping: calls in flight have ten seconds to finish");
    attached.close().await;
    Ok(0)
}

/// Whether other machines can reach it without TLS.
fn is_exposed(config: &Config, address: SocketAddr) -> bool {
    let encrypted = config.public_url.as_ref().is_some_and(|url| url.value.is_secure());
    !address.ip().is_loopback() && !encrypted
}

/// On PostgreSQL only one process of a machine serves the socket.
fn socket(config: &Config) -> String {
    let own = DataDir::of(config).last_holder().filter(|holder| holder.pid == std::process::id());
    own.map_or_else(|| "(served by another process)".into(), |holder| holder.socket.display().to_string())
}

/// The model of a run that names none, or why such a run would be refused.
async fn default_model(config: &Config) -> String {
    let catalogue = Catalogue::new(config);
    let nothing_named = ModelNames::default();
    match tokio::time::timeout(LISTING, catalogue.models(&nothing_named)).await {
        Ok(Ok((models, _))) => models.balanced.name(),
        Ok(Err(why)) => format!("(each run must name one: {})", why.lines().next().unwrap_or_default()),
        Err(_) => "(each run must name one: the provider did not list its models in time)".into(),
    }
}

fn greeting(
    session: &Session,
    link: Option<String>,
    address: Option<SocketAddr>,
    model: &str,
    resumed: usize,
    queued: usize,
) -> Vec<String> {
    let config = &session.config;
    let what = address.map_or_else(|| "pleach worker".into(), |address| format!("pleach is up at http://{address}"));
    let mut lines = vec![format!("{what}, up to {} runs at once", config.workers.value)];
    lines.extend(link.map(|link| format!("log in    {link} (works once, within a day)")));
    lines.extend([
        format!("data      {}", config.data_dir.value.display()),
        format!("database  {}", config.database.value),
        format!("socket    {}", socket(config)),
        format!("model     {model}"),
        format!("resumed   {resumed} running, {queued} queued"),
    ]);
    lines
}
