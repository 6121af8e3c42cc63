//! Who drives. Whoever gets the lock holds the database, serves its socket and may drive; everyone else
//! speaks to the holder. A socket that nobody answers on means nobody holds.

use crate::api::door::Door;
use crate::api::{self, HolderView, House};
use crate::catalogue::Catalogue;
use crate::config::origins::Setting;
use crate::config::{Config, Database};
use crate::data_dir::{DataDir, Hold, SocketFile};
use crate::drive::{Drive, Load, SystemClock};
use crate::failure::Failure;
use crate::link::Link;
use axum::Router;
use axum::serve::Listener;
use runtime::ports::{Clock, Performer, Store, StoreError};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use store::SqlStore;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A holder that just started may not answer yet; one that ends gives its lock back soon.
const PATIENCE: Duration = Duration::from_secs(15);
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// How this process reaches the database, until it is closed.
pub struct Attached {
    pub link: Link,
    /// What must end in order when this process holds the database itself.
    held: Option<Held>,
}

struct Held {
    drive: Drive,
    house: Arc<House>,
    served: Vec<Served>,
    _hold: Option<Hold>,
}

struct Served {
    stop: CancellationToken,
    task: JoinHandle<()>,
    _file: Option<SocketFile>,
}

impl Attached {
    /// Give everything back: calls in flight end or are given up within the drain time.
    pub async fn close(self) {
        let Some(held) = self.held else { return };
        held.drive.stop().await;
        held.served.iter().for_each(|served| served.stop.cancel());
        for served in held.served {
            // Streams never end by themselves; their readers go on with the next holder.
            let abort = served.task.abort_handle();
            if tokio::time::timeout(Duration::from_millis(200), served.task).await.is_err() {
                abort.abort();
            }
        }
    }

    /// Answer on the network too, from now on. The address says which port was chosen.
    pub async fn listen(&mut self, address: &Setting<SocketAddr>) -> Result<SocketAddr, Failure> {
        let Some(held) = &mut self.held else {
            return Err(Failure::failed("only the process that holds the database can answer for it"));
        };
        let unusable = |error: std::io::Error| {
            Failure::usage(format!(
                "{} ({}) cannot be listened on: {error}\nNothing was started. Choose another with --listen ADDRESS:PORT; port 0 takes any that is free.",
                address.value, address.origin
            ))
        };
        let listener = TcpListener::bind(address.value).await.map_err(unusable)?;
        let bound = listener.local_addr().map_err(unusable)?;
        held.served.push(serve(listener, api::router(held.house.clone(), Door::Open), None));
        Ok(bound)
    }

    pub fn holds(&self) -> bool {
        self.held.is_some()
    }
}

/// To look only. `None` when there is no database yet.
pub async fn to_read(config: &Config, actor: &str) -> Result<Option<Attached>, Failure> {
    let Database::Sqlite(path) = &config.database.value else {
        return to_work(config, actor, Load::Nothing).await.map(Some);
    };
    if let Some(link) = holders_link(&DataDir::of(config), actor).await {
        return Ok(Some(Attached { link, held: None }));
    }
    let Some(store) = store::open_read_only(path).await.map_err(|error| unusable(config, &error))? else {
        return Ok(None);
    };
    let catalogue = Arc::new(Catalogue::new(config));
    let house = House { store, desk: None, catalogue, clock: Arc::new(SystemClock), drives: api::Drives::Nothing };
    Ok(Some(Attached { link: Link::to_router(api::router(Arc::new(house), Door::Private), actor), held: None }))
}

/// To command or to drive: hold the database, or reach the one who does.
pub async fn to_work(config: &Config, actor: &str, load: Load) -> Result<Attached, Failure> {
    let dir = DataDir::of(config);
    dir.create()?;
    if let Database::Postgres(_) = &config.database.value {
        // Leases are in the database; the lock only says who serves this machine's socket.
        let hold = if load == Load::Nothing { None } else { dir.try_hold()? };
        return hold_database(config, actor, load, &dir, hold).await;
    }
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        if let Some(hold) = dir.try_hold()? {
            return hold_database(config, actor, load, &dir, Some(hold)).await;
        }
        if let Some(link) = holders_link(&dir, actor).await {
            return Ok(Attached { link, held: None });
        }
        if tokio::time::Instant::now() > deadline {
            return Err(Failure::unreachable(format!(
                "{}, and it does not answer.\nStop it or wait, then run the command again.",
                holder(&dir)
            )));
        }
        tokio::time::sleep(BETWEEN_TRIES).await;
    }
}

/// The holder of this very database, if it answers: a stale lock may name a socket that now serves another.
async fn holders_link(dir: &DataDir, actor: &str) -> Option<Link> {
    let holder = dir.last_holder()?;
    let link = Link::to_socket(&holder.socket, actor).ok()?;
    let answering = link.get::<HolderView>("/api/holder").await.ok()?;
    (answering.pid == holder.pid).then_some(link)
}

/// To serve everybody: only the holder can.
pub async fn to_serve(config: &Config, actor: &str) -> Result<Attached, Failure> {
    let attached = to_work(config, actor, Load::Everything).await?;
    match attached.holds() {
        true => Ok(attached),
        false => Err(Failure::usage(format!(
            "{}; nothing was started. Stop it, or let it finish and try again: the commands reach it meanwhile.",
            holder(&DataDir::of(config))
        ))),
    }
}

fn holder(dir: &DataDir) -> String {
    match dir.last_holder() {
        Some(holder) => format!("process {} holds the database", holder.pid),
        None => "another process holds the database".into(),
    }
}

async fn hold_database(
    config: &Config,
    actor: &str,
    load: Load,
    dir: &DataDir,
    hold: Option<Hold>,
) -> Result<Attached, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store: Arc<dyn Store> = open(config).await?;
    let catalogue = Arc::new(Catalogue::new(config));
    let performer: Arc<dyn Performer> = match load {
        Load::Nothing => Arc::new(Idle),
        _ => catalogue.performer(store.clone())?,
    };
    let drive = Drive::start(config, load, store.clone(), performer, clock.clone());
    let house = House { store, desk: Some(drive.desk()), catalogue, clock, drives: load.drives() };
    let house = Arc::new(house);
    let router = api::router(house.clone(), Door::Private);
    let mut hold = hold;
    let served = match &mut hold {
        Some(hold) => vec![serve_socket(dir, hold, router.clone()).await?],
        None => Vec::new(),
    };
    Ok(Attached { link: Link::to_router(router, actor), held: Some(Held { drive, house, served, _hold: hold }) })
}

/// Performs for a process that only records commands: it is never asked.
struct Idle;

#[async_trait::async_trait]
impl Performer for Idle {
    async fn perform(&self, _job: engine::effect::Job) -> engine::effect::Outcome {
        std::future::pending().await
    }
}

pub async fn open(config: &Config) -> Result<Arc<SqlStore>, Failure> {
    let options = store::Options { direct_url: config.database_direct.as_ref().map(|url| url.value.clone()) };
    let url = match &config.database.value {
        Database::Sqlite(path) => format!("sqlite://{}", path.display()),
        Database::Postgres(url) => url.clone(),
    };
    store::open(&url, options).await.map_err(|error| unusable(config, &error))
}

/// What the database refused, where it is, and what to do about it.
pub fn unusable(config: &Config, error: &StoreError) -> Failure {
    let next = match (&config.database.value, error) {
        (Database::Postgres(_), StoreError::Unavailable(_)) => {
            "Start PostgreSQL or correct --database (PLEACH_DATABASE_URL), then run the command again."
        }
        (_, StoreError::Full(_)) => "Free some space, then run the command again.",
        _ => "Nothing was changed. `pleach doctor` says more; --data-dir or --database chooses another.",
    };
    let database = &config.database;
    Failure::usage(format!("the database {} ({}) cannot be used: {error}\n{next}", database.value, database.origin))
}

async fn serve_socket(dir: &DataDir, hold: &mut Hold, router: Router) -> Result<Served, Failure> {
    let (listener, file) = dir.listen(hold).await.map_err(|error| {
        Failure::failed(format!("the socket {} cannot be served: {error}", dir.usual_socket().display()))
    })?;
    Ok(serve(listener, router, Some(file)))
}

fn serve<L>(listener: L, router: Router, file: Option<SocketFile>) -> Served
where
    L: Listener,
    L::Addr: std::fmt::Debug,
{
    let stop = CancellationToken::new();
    let until = stop.clone();
    let task = tokio::spawn(async move {
        let served = axum::serve(listener, router).with_graceful_shutdown(async move { until.cancelled().await });
        if let Err(error) = served.await {
            tracing::error!(%error, "requests are no longer answered");
        }
    });
    Served { stop, task, _file: file }
}
