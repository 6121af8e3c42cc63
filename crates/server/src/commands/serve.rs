//! `up` and `worker`: drive every run of the database until told to stop.

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
use store::keys::Grant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Up,
    Worker,
}

pub async fn serve(session: &Session, role: Role) -> Result<u8, Failure> {
    let config = &session.config;
    if role == Role::Worker && matches!(config.database.value, Database::Sqlite(_)) {
        return Err(Failure::usage(format!(
            "a worker joins others on a shared PostgreSQL, but the database is {} ({}).\nUse `pleach up` on this machine, or name one: pleach worker --database postgres://…",
            config.database.value, config.database.origin
        )));
    }
    let mut signals = Signals::new()?;
    // The database may be waited for; nothing is held yet that would have to be given back in order.
    let mut attached = tokio::select! {
        attached = attach::to_serve(config, &session.actor) => attached?,
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
    // Whoever starts the server owns it; links for others are made with less.
    let everything = NewCode { scope: Some(Grant::Admin.name().into()) };
    let link = match address {
        Some(_) => attached.client.post::<CodeView>("/api/login-codes", &everything).await?.url,
        None => None,
    };
    if let Some(address) = address.filter(|address| is_exposed(config, *address)) {
        note(&format!(
            "warning: {address} is reached from other machines, and nothing sent there is encrypted: whoever listens in reads tokens.\nPut a server with TLS in front and set PLEACH_PUBLIC_URL=https://…, or listen on 127.0.0.1."
        ));
    }
    let model = default_model(config).await;
    for line in greeting(session, link, address, &model, resumed.items.len(), queued.items.len()) {
        print(&line);
    }
    signals.next().await;
    print("stopping: calls in flight are given up to ten seconds");
    attached.close().await;
    Ok(0)
}

/// Reached from elsewhere, with nobody in front who encrypts.
fn is_exposed(config: &Config, address: SocketAddr) -> bool {
    let encrypted = config.public_url.as_ref().is_some_and(|url| url.value.is_secure());
    !address.ip().is_loopback() && !encrypted
}

/// A second process of the same machine and PostgreSQL does without.
fn socket(config: &Config) -> String {
    let own = DataDir::of(config).last_holder().filter(|holder| holder.pid == std::process::id());
    own.map_or_else(|| "(served by another process)".into(), |holder| holder.socket.display().to_string())
}

/// What a run gets that names no model, or why it would be refused.
async fn default_model(config: &Config) -> String {
    let catalogue = Catalogue::new(config);
    let nothing_named = ModelNames::default();
    match tokio::time::timeout(LISTING, catalogue.models(&nothing_named)).await {
        Ok(Ok((models, _))) => models.balanced.name(),
        Ok(Err(why)) => format!("(to be named by each run: {})", why.lines().next().unwrap_or_default()),
        Err(_) => "(to be named by each run: the provider does not say which it has)".into(),
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
    lines.extend(link.map(|link| format!("log in    {link} (once, within a day)")));
    lines.extend([
        format!("data      {}", config.data_dir.value.display()),
        format!("database  {}", config.database.value),
        format!("socket    {}", socket(config)),
        format!("model     {model}"),
        format!("resumed   {resumed} running, {queued} queued"),
    ]);
    lines
}
