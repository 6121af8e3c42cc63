//! Attaches a command to a database. The process that gets the lock holds the database, serves its socket and may drive runs;
//! every other process talks to that holder. A socket on which nobody answers means that there is no holder.

use crate::api::auth::RequestSource;
use crate::api::{self, AppState, HolderView};
use crate::api_client::{ApiClient, ApiError};
use crate::background_task::BackgroundTask;
use crate::catalogue::Catalogue;
use crate::config::origins::Setting;
use crate::config::{Config, Database};
use crate::connections;
use crate::data_dir::{DataDir, HolderLock, SocketFile, keep_announced};
use crate::drive::{Drive, SystemClock, WorkerScope};
use crate::failure::Failure;
use axum::Router;
use axum::http::StatusCode;
use http_client::PrivateAddresses;
use outbound::traces::{Exporter, Tracer};
use outbound::webhooks::WebhookSender;
use runtime::live::Live;
use runtime::ports::{Clock, LOCAL_HANDLE, Library, Performer, StoreError};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use store::SqlStore;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// How long to wait for a holder that is starting or ending.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);
/// A holder identifies itself without using the database, so this is long enough.
const PROBE_WITHIN: Duration = Duration::from_secs(5);
/// A process ends within ten seconds of its signal, whatever the database does.
const CLOSE_WITHIN: Duration = Duration::from_secs(9);
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// How this process reaches the database, until it is closed.
pub(crate) struct Attached {
    pub client: ApiClient,
    /// Present when this process holds the database. Its parts end in order.
    held: Option<Held>,
}

struct Held {
    drive: Drive,
    senders: Vec<BackgroundTask>,
    app: Arc<AppState>,
    served: Vec<Served>,
    _hold: Option<HolderLock>,
}

struct Served {
    stop: CancellationToken,
    task: JoinHandle<()>,
    _file: Option<SocketFile>,
}

impl Held {
    async fn close(self) {
        self.drive.stop().await;
        self.app.catalogue.close().await;
        // After the runs, so that their ends are sent too.
        for sender in self.senders {
            sender.stop().await;
        }
        self.served.iter().for_each(|served| served.stop.cancel());
        for served in self.served {
            // Streams never end by themselves; clients resume them at the next holder.
            let abort = served.task.abort_handle();
            if tokio::time::timeout(Duration::from_millis(200), served.task).await.is_err() {
                abort.abort();
            }
        }
    }
}

impl Attached {
    /// Stops driving and serving. Calls in flight end or are abandoned within the drain time. A database that does not answer
    /// is not waited for: leases lapse by themselves, and the log has everything that was committed.
    pub(crate) async fn close(self) {
        let Some(held) = self.held else { return };
        if tokio::time::timeout(CLOSE_WITHIN, held.close()).await.is_err() {
            tracing::warn!(
                "the database did not answer in time; stopping without it. Everything committed is kept, and leases lapse by themselves"
            );
        }
    }

    /// Listens on the network too. Returns the address with the port that was chosen.
    pub(crate) async fn listen(&mut self, address: &Setting<SocketAddr>) -> Result<SocketAddr, Failure> {
        let Some(held) = &mut self.held else {
            return Err(Failure::failed("only the process that holds the database can listen for it"));
        };
        let unusable = |error: std::io::Error| {
            Failure::usage(format!(
                "{} ({}) cannot be listened on: {error}\nNothing was started. Choose another address with --listen ADDRESS:PORT; port 0 takes any free port.",
                address.value, address.origin
            ))
        };
        let listener = TcpListener::bind(address.value).await.map_err(unusable)?;
        let bound = listener.local_addr().map_err(unusable)?;
        // Never set twice: a process listens on one address.
        let _ = held.app.origin.listening.set(bound);
        let router = api::router(held.app.clone(), RequestSource::Open);
        held.served.push(spawn(None, |until| connections::serve(listener, router, until)));
        Ok(bound)
    }

    /// Completes with the reason when this process can no longer drive runs.
    pub(crate) async fn unable(&self) -> String {
        match &self.held {
            Some(held) => held.drive.commands().unable().await,
            None => std::future::pending().await,
        }
    }

    pub(crate) fn holds(&self) -> bool {
        self.held.is_some()
    }
}

/// Attaches to a server by its URL. It is asked to identify itself first, so that a wrong address or token is reported before
/// anything else happens.
pub(crate) async fn to_remote_server(
    config: &Config,
    server: &Setting<String>,
    patience: Duration,
) -> Result<Attached, Failure> {
    let client = ApiClient::to_remote_server(&server.value, config.token().as_deref())?;
    let deadline = tokio::time::Instant::now() + patience;
    loop {
        match client.get::<HolderView>("/api/holder").await {
            Ok(_) => return Ok(Attached { client, held: None }),
            Err(ApiError::Gone(_)) if tokio::time::Instant::now() < deadline => {}
            Err(ApiError::Refused(problem)) if problem.status == StatusCode::UNAUTHORIZED => {
                return Err(unauthorized(config, server));
            }
            Err(ApiError::Refused(problem)) if problem.is_foreign() => {
                return Err(Failure::unreachable(format!(
                    "{} ({}) answers, but is not a pleach server ({}).\nCheck the address; `pleach up` prints the one to use.",
                    server.value, server.origin, problem.status
                )));
            }
            Err(error) => return Err(error.into()),
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

fn unauthorized(config: &Config, server: &Setting<String>) -> Failure {
    let what = match config.token() {
        Some(_) => "does not accept the token in PLEACH_TOKEN: it is mistyped, expired or revoked",
        None => "wants a token, and PLEACH_TOKEN is not set",
    };
    Failure::usage(format!(
        "{} ({}) {what}.\n`pleach token create` on the server's machine makes one; then export PLEACH_TOKEN=…",
        server.value, server.origin
    ))
}

/// Attaches for reading. `None` when there is no database yet.
pub(crate) async fn to_read(config: &Config, actor: &str) -> Result<Option<Attached>, Failure> {
    let Database::Sqlite(path) = &config.database.value else {
        return to_work(config, actor, WorkerScope::Nothing).await.map(Some);
    };
    match holders_client(&DataDir::of(config), actor).await {
        HolderProbe::Holder(client) => return Ok(Some(Attached { client: *client, held: None })),
        HolderProbe::Silent => return Err(silent(&DataDir::of(config))),
        HolderProbe::Nobody => {}
    }
    DataDir::of(config).check()?;
    let Some(store) = store::open_read_only(path).await.map_err(|error| unusable(config, &error))? else {
        return Ok(None);
    };
    let live = Live::default();
    // Another process may start to write to the database while this one reads.
    live.follow_other_processes(store.clone());
    let app = AppState::reading(store, Arc::new(Catalogue::new(config)), Arc::new(SystemClock), live);
    let router = api::router(Arc::new(configured(config, app)), RequestSource::Private);
    Ok(Some(Attached { client: ApiClient::to_router(router, actor), held: None }))
}

/// Attaches for commands or for driving: holds the database, or talks to its holder.
pub(crate) async fn to_work(config: &Config, actor: &str, scope: WorkerScope) -> Result<Attached, Failure> {
    let dir = DataDir::of(config);
    dir.create()?;
    if let Database::Postgres(_) = &config.database.value {
        // PostgreSQL has the leases; the lock only decides which process serves this machine's socket.
        let hold = if scope == WorkerScope::Nothing { None } else { dir.try_hold()? };
        return hold_database(config, actor, scope, &dir, hold).await;
    }
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        if let Some(hold) = dir.try_hold()? {
            return hold_database(config, actor, scope, &dir, Some(hold)).await;
        }
        if let HolderProbe::Holder(client) = holders_client(&dir, actor).await {
            return Ok(Attached { client: *client, held: None });
        }
        if tokio::time::Instant::now() > deadline {
            return Err(silent(&dir));
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// The result of looking for the holder.
enum HolderProbe {
    Holder(Box<ApiClient>),
    /// Nobody listens, or only for another database.
    Nobody,
    /// It listens but does not answer; it may be stopped.
    Silent,
}

/// Connects to the holder of this database. A stale lock may name a socket that now serves another one, so the pid is compared.
async fn holders_client(dir: &DataDir, actor: &str) -> HolderProbe {
    let Some(holder) = dir.last_holder() else { return HolderProbe::Nobody };
    let Ok(client) = ApiClient::to_socket(&holder.socket, actor) else { return HolderProbe::Nobody };
    match tokio::time::timeout(PROBE_WITHIN, client.get::<HolderView>("/api/holder")).await {
        Ok(Ok(answering)) if answering.pid == holder.pid => HolderProbe::Holder(Box::new(client)),
        Ok(_) => HolderProbe::Nobody,
        Err(_) => HolderProbe::Silent,
    }
}

fn silent(dir: &DataDir) -> Failure {
    let wake = dir
        .last_holder()
        .map_or_else(String::new, |holder| format!(" If it was stopped, `kill -CONT {}` lets it go on.", holder.pid));
    Failure::unreachable(format!(
        "{}, and it does not answer.{wake}\nNothing was changed. Stop it or wait, then run the command again.",
        holder(dir)
    ))
}

/// Attaches to serve and drive everything, which only the holder can.
pub(crate) async fn as_server(config: &Config, actor: &str) -> Result<Attached, Failure> {
    let attached = to_work(config, actor, WorkerScope::Everything).await?;
    match attached.holds() {
        true => Ok(attached),
        false => Err(Failure::usage(format!(
            "{}; nothing was started. Commands reach that process meanwhile; stop it, or try again when it has finished.",
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
    scope: WorkerScope,
    dir: &DataDir,
    mut hold: Option<HolderLock>,
) -> Result<Attached, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let startup_wait = if scope == WorkerScope::Everything { STARTUP_WAIT } else { Duration::ZERO };
    let store = open_within(config, startup_wait).await?;
    let live = Live::default();
    if let Database::Postgres(_) = &config.database.value {
        live.follow_other_processes(store.clone());
    }
    let catalogue = Arc::new(Catalogue::new(config));
    let performer: Arc<dyn Performer> = match scope {
        WorkerScope::Nothing => Arc::new(Idle),
        _ => catalogue.performer(store.clone(), live.clone())?,
    };
    let drive = Drive::start(config, scope, store.clone(), performer, clock.clone(), live.clone());
    let webhook_sender = WebhookSender::new(store.clone(), clock.clone(), private(config));
    let mut senders = Vec::new();
    if scope != WorkerScope::Nothing {
        let (webhook_sender, commits) = (webhook_sender.clone(), live.clone());
        senders.push(BackgroundTask::start(|stop| webhook_sender.serve(commits, stop)));
        if let Some(tracer) = tracer(config, &store)? {
            let commits = live.clone();
            senders.push(BackgroundTask::start(|stop| tracer.serve(commits, stop)));
        }
    }
    let app = configured(config, AppState::reading(store, catalogue, clock, live));
    let (commands, drives) = (Some(drive.commands()), scope.drives());
    let app = Arc::new(AppState { commands, drives, webhook_sender: Some(webhook_sender), ..app });
    if let Some(local) = app.store.actor(LOCAL_HANDLE).await.map_err(|error| unusable(config, &error))? {
        app.origin.name_cookie(local.id);
    }
    let router = api::router(app.clone(), RequestSource::Private);
    let served = match &mut hold {
        Some(hold) => vec![serve_socket(dir, hold, router.clone()).await?],
        None => Vec::new(),
    };
    Ok(Attached {
        client: ApiClient::to_router(router, actor),
        held: Some(Held { drive, senders, app, served, _hold: hold }),
    })
}

/// The trace exporter, if a collector is configured.
fn tracer(config: &Config, store: &Arc<SqlStore>) -> Result<Option<Tracer>, Failure> {
    let Some(collector) = config.collector() else { return Ok(None) };
    let exporter = Exporter::new(&collector).map_err(Failure::usage)?;
    Ok(Some(Tracer::new(store.clone(), exporter)))
}

fn private(config: &Config) -> PrivateAddresses {
    if config.webhooks_private.value { PrivateAddresses::Allowed } else { PrivateAddresses::Refused }
}

/// The state with what the configuration says about addresses.
fn configured(config: &Config, mut app: AppState) -> AppState {
    app.origin.public = config.public_url.as_ref().map(|url| url.value.clone());
    app.private = private(config);
    app
}

/// The performer of a process that only stores commands; it is never called.
struct Idle;

#[async_trait::async_trait]
impl Performer for Idle {
    async fn perform(&self, _attempt: engine::effect::EffectAttempt) -> engine::effect::Outcome {
        std::future::pending().await
    }
}

/// A process that drives every run waits for a database that is starting; every other command reports it and ends.
const STARTUP_WAIT: Duration = Duration::from_secs(60);

pub(crate) async fn open(config: &Config) -> Result<Arc<SqlStore>, Failure> {
    open_within(config, Duration::ZERO).await
}

pub(crate) fn options(config: &Config, startup_wait: Duration) -> store::Options {
    store::Options {
        direct_url: config.database_direct.as_ref().map(|url| url.value.clone()),
        project_items: config.project_items.value,
        variables: config.database_variables(),
        startup_wait,
        on_wait: |why| eprintln!("waiting up to {} s for the database: {why}", STARTUP_WAIT.as_secs()),
    }
}

async fn open_within(config: &Config, startup_wait: Duration) -> Result<Arc<SqlStore>, Failure> {
    let url = match &config.database.value {
        Database::Sqlite(path) => format!("sqlite://{}", path.display()),
        Database::Postgres(url) => url.clone(),
    };
    store::open(&url, options(config, startup_wait)).await.map_err(|error| unusable(config, &error))
}

/// The error of the database, with its location and what to do.
pub(crate) fn unusable(config: &Config, error: &StoreError) -> Failure {
    let next = match (&config.database.value, error) {
        (Database::Postgres(_), StoreError::Unavailable(_)) => {
            "Start PostgreSQL or correct --database (PLEACH_DATABASE_URL), then run the command again."
        }
        (_, StoreError::Busy(_)) => "Nothing was changed by this command. Run it again.",
        (_, StoreError::Full(_)) => "Free some space, then run the command again.",
        _ => "Nothing was changed. `pleach doctor` says more; --data-dir or --database chooses another.",
    };
    let database = &config.database;
    Failure::usage(format!("the database {} ({}) cannot be used: {error}\n{next}", database.value, database.origin))
}

async fn serve_socket(dir: &DataDir, hold: &mut HolderLock, router: Router) -> Result<Served, Failure> {
    let (listener, file) = dir.listen(hold).await.map_err(|error| {
        Failure::failed(format!("the socket {} cannot be served: {error}", dir.usual_socket().display()))
    })?;
    let announced = hold.announcement();
    Ok(spawn(Some(file), |until| async move {
        let serving = axum::serve(listener, router).with_graceful_shutdown(until).into_future();
        let announcing = async {
            match announced {
                Some(announced) => keep_announced(announced).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            served = serving => served,
            () = announcing => Ok(()),
        }
    }))
}

/// Spawns a server that runs until it is stopped.
fn spawn<S>(file: Option<SocketFile>, serve: impl FnOnce(WaitForCancellationFutureOwned) -> S) -> Served
where
    S: IntoFuture<Output = std::io::Result<()>>,
    S::IntoFuture: Send + 'static,
{
    let stop = CancellationToken::new();
    let serving = serve(stop.clone().cancelled_owned()).into_future();
    let task = tokio::spawn(async move {
        if let Err(error) = serving.await {
            tracing::error!(%error, "a listener failed; its requests are no longer answered");
        }
    });
    Served { stop, task, _file: file }
}
