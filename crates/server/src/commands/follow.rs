//! Follows a run until it settles. This process drives it, or the process that holds the database. When that one ends, this
//! process takes the database over and drives the run from there.

use super::{Session, nodes, note, print};
use crate::api::Workspace;
use crate::api_client::{ApiClient, ApiError, STORED};
use crate::args::Follow;
use crate::attach::{Attached, PATIENCE};
use crate::drive::WorkerScope;
use crate::failure::Failure;
use crate::render::live::{Screen, Size, frame};
use crate::render::live_state::LiveState;
use crate::render::style::json_line;
use crate::render::summary;
use crate::render::tree_view::TreeView;
use engine::batch::RunRow;
use engine::ids::RunId;
use engine::run::Kind;
use engine::workspace::Document;
use futures::StreamExt;
use serde_json::Value;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

/// What is printed while a run is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FollowOutput {
    Nothing,
    /// A picture that is redrawn in place.
    Live,
    /// One line per event that has a sentence.
    Lines,
    /// One event per line, as JSON.
    Events,
}

impl FollowOutput {
    pub(crate) fn for_command(session: &Session, follow: Follow) -> FollowOutput {
        match (session.json, follow.watch, follow.wait) {
            (true, ..) => FollowOutput::Nothing,
            (_, true, _) => FollowOutput::for_watching(session),
            (_, _, true) => FollowOutput::Nothing,
            _ if session.on_terminal() => FollowOutput::Live,
            _ => FollowOutput::Nothing,
        }
    }

    pub(crate) fn for_watching(session: &Session) -> FollowOutput {
        match (session.json, session.on_terminal()) {
            (true, _) => FollowOutput::Events,
            (false, true) => FollowOutput::Live,
            (false, false) => FollowOutput::Lines,
        }
    }
}

/// The last line of `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastLine {
    Event,
    Run,
}

enum FollowEnd {
    Settled(Box<RunRow>),
    HolderGone,
    Interrupted(u8),
}

/// Follows the run until it settles; the exit code tells how it ended.
pub(crate) async fn stay(
    session: &Session,
    attached: Attached,
    run: RunId,
    after: u64,
    showing: FollowOutput,
    last: LastLine,
) -> Result<u8, Failure> {
    let mut attached = attached;
    let mut signals = Signals::new()?;
    let mut viewer = Viewer::new(session, run, after, showing);
    let mut failures = 0;
    loop {
        let seen = viewer.after;
        let ended = tokio::select! {
            ended = viewer.follow(&attached.client) => ended,
            code = signals.next() => Ok(FollowEnd::Interrupted(code)),
            why = attached.unable() => Err(cannot_continue(run, &why)),
        };
        viewer.screen.clear();
        failures = if viewer.after > seen { 0 } else { failures + 1 };
        match ended {
            Ok(FollowEnd::Settled(row)) => {
                viewer.leave(&attached.client, &row).await;
                return settled(session, attached, *row, last).await;
            }
            Ok(FollowEnd::HolderGone) if attached.holds() && failures >= MAX_FAILURES => {
                attached.close().await;
                return Err(cannot_continue(run, "its log cannot be read"));
            }
            Ok(FollowEnd::HolderGone) => {
                attached.close().await;
                // A server may come back, a database may be free to take over.
                attached = session.worker(WorkerScope::Only(run), PATIENCE).await?;
            }
            Ok(FollowEnd::Interrupted(code)) => return detach(session, attached, run, code, &mut signals).await,
            Err(failure) => {
                attached.close().await;
                return Err(failure);
            }
        }
    }
}

/// How often this process opens the database again after a stream that broke off before any event.
const MAX_FAILURES: u32 = 3;

fn cannot_continue(run: RunId, why: &str) -> Failure {
    Failure::failed(format!(
        "run {run} cannot continue: {why}\nEverything that was committed is kept. `pleach doctor` shows what is damaged and what to do."
    ))
}

async fn settled(session: &Session, attached: Attached, row: RunRow, last: LastLine) -> Result<u8, Failure> {
    let path = format!("/api/runs/{}/workspace", row.id);
    let documents = match session.json {
        true => Vec::new(),
        false => attached.client.get::<Workspace>(&path).await.map(made).unwrap_or_default(),
    };
    attached.close().await;
    match (session.json, last) {
        (true, LastLine::Event) => {}
        (true, _) => session.print_json(&row),
        (false, _) => {
            let lines = summary::lines(&row, &documents, session.style);
            lines.iter().for_each(|line| match line.strip_prefix(summary::NEXT) {
                Some(command) => print(&format!("{}{}", summary::NEXT, session.with_flags(command))),
                None => print(line),
            });
        }
    }
    Ok(summary::exit_code(&row))
}

/// The documents that the run wrote, without the platform's own.
fn made(workspace: Workspace) -> Vec<Document> {
    workspace.documents.into_iter().filter(|document| document.props["doc_role"].is_null()).collect()
}

/// After Ctrl-C. A second one ends the process without waiting for calls in flight.
async fn detach(
    session: &Session,
    attached: Attached,
    run: RunId,
    code: u8,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    let state = match attached.holds() {
        true => "calls in flight have ten seconds to finish",
        false => "another process drives it",
    };
    let command = session.with_flags(&format!("pleach watch {run}"));
    note(&format!("detached from run {run}; {state}\n`{command}` continues it"));
    tokio::select! {
        () = attached.close() => {}
        _ = signals.next() => {}
    }
    Ok(code)
}

pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(crate) fn new() -> Result<Signals, Failure> {
        let listen =
            |kind| signal(kind).map_err(|error| Failure::failed(format!("signals cannot be handled: {error}")));
        Ok(Signals { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    /// Waits for a signal and returns the exit code that shells expect after it.
    pub(crate) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
        }
    }
}

/// Reads the events of one run in order, across the processes that drive it, and prints them.
struct Viewer<'a> {
    session: &'a Session,
    run: RunId,
    after: u64,
    showing: FollowOutput,
    live_state: LiveState,
    tree_view: TreeView,
    screen: Screen,
    size: Size,
    /// The run as it was read last.
    drawn: Option<RunRow>,
    drawn_at: Option<Instant>,
}

/// The shortest time between two pictures.
const FRAME: Duration = Duration::from_millis(100);

impl<'a> Viewer<'a> {
    fn new(session: &'a Session, run: RunId, after: u64, showing: FollowOutput) -> Viewer<'a> {
        let size = if showing == FollowOutput::Live { Size::of_terminal() } else { Size { rows: 24, columns: 80 } };
        Viewer {
            session,
            run,
            after,
            showing,
            live_state: LiveState::default(),
            tree_view: TreeView::default(),
            screen: Screen::default(),
            size,
            drawn: None,
            drawn_at: None,
        }
    }

    async fn follow(&mut self, client: &ApiClient) -> Result<FollowEnd, Failure> {
        match self.events(client).await {
            Ok(ended) => Ok(ended),
            Err(ApiError::Gone(_)) => Ok(FollowEnd::HolderGone),
            Err(error) => Err(error.into()),
        }
    }

    async fn events(&mut self, client: &ApiClient) -> Result<FollowEnd, ApiError> {
        client.post::<Value>(&format!("/api/runs/{}/drive", self.run), &Value::Object(Default::default())).await?;
        if self.after > 0 && matches!(self.showing, FollowOutput::Live | FollowOutput::Lines) {
            nodes::refresh(client, &mut self.tree_view, self.run).await?;
            self.live_state.event_lines.learn(self.tree_view.names());
        }
        let mut events =
            client.events(&format!("/api/runs/{}/stream?after={}&until=settled", self.run, self.after)).await?;
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        loop {
            tokio::select! {
                event = events.next() => match event {
                    Some(event) => {
                        let event = event?;
                        match event.name.as_str() {
                            "settled" => return row(&event.data).map(|row| FollowEnd::Settled(Box::new(row))),
                            STORED => self.see(client, &event.data).await?,
                            "delta" if self.showing == FollowOutput::Live => self.write(&event.data),
                            // Other stream events that are not in the log.
                            _ => {}
                        }
                    }
                    None => return Ok(FollowEnd::HolderGone),
                },
                _ = ticks.tick(), if self.showing == FollowOutput::Live => self.draw(client).await?,
            }
        }
    }

    async fn see(&mut self, client: &ApiClient, json: &str) -> Result<(), ApiError> {
        let event: Value = serde_json::from_str(json).unwrap_or_default();
        self.after = event["seq"].as_u64().unwrap_or(self.after).max(self.after);
        match self.showing {
            FollowOutput::Nothing => {}
            FollowOutput::Events => print(&json_line(json)),
            FollowOutput::Lines => {
                if let Some(text) = self.live_state.event_lines.line(&event) {
                    print(&text);
                }
            }
            FollowOutput::Live => {
                if self.live_state.see(&event) && self.is_due() {
                    self.draw(client).await?;
                }
            }
        }
        Ok(())
    }

    /// An answer grew. The run is as it was, so only its picture is drawn anew.
    fn write(&mut self, json: &str) {
        let delta: Value = serde_json::from_str(json).unwrap_or_default();
        if self.live_state.writings.delta(&delta) && self.is_due() {
            self.paint();
        }
    }

    fn is_due(&self) -> bool {
        self.drawn_at.is_none_or(|at| at.elapsed() >= FRAME)
    }

    /// Leaves the final tree on the screen.
    async fn leave(&mut self, client: &ApiClient, run: &RunRow) {
        if self.showing != FollowOutput::Live || run.kind != Kind::Tree {
            return;
        }
        let mut tree_view = TreeView::default();
        if nodes::refresh(client, &mut tree_view, self.run).await.is_ok() {
            tree_view
                .lines(self.size.rows, self.size.columns.saturating_sub(1), self.session.style)
                .iter()
                .for_each(|line| print(line));
        }
    }

    async fn draw(&mut self, client: &ApiClient) -> Result<(), ApiError> {
        let run: RunRow = client.get(&format!("/api/runs/{}", self.run)).await?;
        if run.kind == Kind::Tree {
            nodes::refresh(client, &mut self.tree_view, self.run).await?;
        }
        self.drawn = Some(run);
        self.paint();
        Ok(())
    }

    fn paint(&mut self) {
        let Some(run) = &self.drawn else { return };
        self.screen.draw(&frame(run, &self.live_state, &mut self.tree_view, self.size, self.session.style));
        self.drawn_at = Some(Instant::now());
    }
}

fn row(json: &str) -> Result<RunRow, ApiError> {
    serde_json::from_str(json).map_err(|error| ApiError::Gone(error.to_string()))
}
