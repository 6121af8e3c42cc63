//! Commands that only read: `ls show log report doc search`.

use super::{Session, all_pages, by_prefix, encoded, nodes, note, print};
use crate::api::{Page, Workspace};
use crate::api_client::{ApiClient, STORED};
use crate::args::{DocArgs, ListArgs, LogArgs, Target};
use crate::attach::Attached;
use crate::failure::Failure;
use crate::render::event_lines::EventLines;
use crate::render::style::{field, fit, json_line, line, moment, plain, width, with_moments};
use crate::render::tree_view::TreeView;
use crate::render::{self, show};
use engine::batch::{RunRow, StepRow};
use engine::ids::{DocumentId, ProjectId, RunId};
use engine::run::Kind;
use engine::workspace::{Document, Entry};
use futures::StreamExt;
use serde_json::Value;
use serde_json::value::RawValue;

const LAST_ENTRIES: usize = 3;

pub(crate) async fn list(session: &Session, args: ListArgs) -> Result<u8, Failure> {
    let Some(reader) = session.reader().await? else { return Ok(0) };
    let mut query = String::new();
    for (name, value) in [("q", &args.q), ("status", &args.status), ("kind", &args.kind)] {
        query.extend(value.iter().map(|value| format!("&{name}={}", encoded(value))));
    }
    let (mut left, mut cursor, mut unfinished) = (args.limit, String::new(), 0);
    while left > 0 {
        let page: Page<RunRow> =
            reader.client.get(&format!("/api/runs?limit={}{query}{cursor}", left.min(200))).await?;
        left -= page.items.len().min(left);
        page.items.iter().for_each(|run| list_one(session, run));
        unfinished += page.items.iter().filter(|run| run.status.is_live()).count();
        match page.next_cursor {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
        if left == 0 && !session.json {
            note(&format!("only the newest {} runs are listed; --limit N lists more", args.limit));
        }
    }
    if unfinished > 0 && nobody_drives(session, &reader) {
        note(&format!("{unfinished} unfinished, and no process drives them; `pleach up` continues them"));
    }
    reader.close().await;
    Ok(0)
}

fn list_one(session: &Session, run: &RunRow) {
    if session.json {
        return session.print_json(run);
    }
    let (color, status) = render::outcome_words(run);
    let padding = " ".repeat(20usize.saturating_sub(width(&status)));
    let cost = render::cost(&run.metrics);
    print(&format!(
        "{}  {}{padding}{:>8}  {}  {}",
        run.id,
        session.style.paint(color, &status),
        cost,
        &run.created_at.to_string()[..16],
        fit(&line(&run.objective), 60)
    ));
    if let Some(wait) = &run.provider_wait {
        print(&format!(
            "  waits for provider {} until {}: `pleach resume {}` tries now",
            line(&wait.provider),
            moment(wait.until),
            run.id
        ));
    }
}

/// Whether the database file is open to read because no process holds it. A shared database may have a worker anywhere.
fn nobody_drives(session: &Session, reader: &Attached) -> bool {
    !session.json && !reader.client.is_remote() && !reader.holds()
}

/// A reader and the id of a run; `None` when there is no database yet, which reading commands print nothing for.
async fn find(session: &Session, text: &str) -> Result<Option<(Attached, RunId)>, Failure> {
    let Some(reader) = session.reader().await? else { return Ok(None) };
    let found = match text.parse() {
        Ok(id) => Ok(id),
        Err(_) => by_prefix(&reader.client, text).await,
    };
    Ok(Some((reader, found?)))
}

pub(crate) async fn show(session: &Session, args: Target) -> Result<u8, Failure> {
    let Some((reader, id)) = find(session, &args.run).await? else { return Ok(0) };
    let client = &reader.client;
    if let Some(node) = &args.node {
        let node = nodes::find(session, id, node).await?;
        nodes::show(session, client, id, node).await?;
    } else if session.json {
        print(&json_line(&client.get_text(&format!("/api/runs/{id}")).await?));
    } else {
        let mut parts = parts(client, id).await?;
        show::lines(&mut parts, session.style).iter().for_each(|text| print(text));
        if parts.run.status.is_live() && nobody_drives(session, &reader) {
            note(&format!("no process drives it; `pleach watch {id}` continues it, `pleach up` continues all runs"));
        }
    }
    reader.close().await;
    Ok(0)
}

async fn parts(client: &ApiClient, id: RunId) -> Result<show::Parts, Failure> {
    let run: RunRow = client.get(&format!("/api/runs/{id}")).await?;
    let workspace: Workspace = client.get(&format!("/api/runs/{id}/workspace")).await?;
    let is_main = |document: &&Document| match run.kind {
        Kind::Homework => document.props["doc_role"] == "scratchpad_root",
        Kind::Tree => Some(document.id) == run.workspace_document_id,
        Kind::Task => false,
    };
    let entries = match workspace.documents.iter().find(is_main) {
        Some(pad) => {
            let path = format!("/api/documents/{}/entries?limit={LAST_ENTRIES}", pad.id);
            client.get::<Page<Entry>>(&path).await?.items
        }
        None => Vec::new(),
    };
    let mut tree_view = TreeView::default();
    if run.kind == Kind::Tree {
        nodes::refresh(client, &mut tree_view, id).await?;
    }
    let mut facts = show::EventFacts::default();
    each_event(client, id, 0, |json| facts.see(&serde_json::from_str(json).unwrap_or_default())).await?;
    let steps: Vec<StepRow> = match run.kind {
        Kind::Task => client.get(&format!("/api/runs/{id}/steps")).await?,
        Kind::Homework | Kind::Tree => Vec::new(),
    };
    Ok(show::Parts { run, tree_view, workspace, entries, facts, steps })
}

async fn each_event(client: &ApiClient, id: RunId, mut after: u64, mut see: impl FnMut(&str)) -> Result<(), Failure> {
    loop {
        let page: Page<Box<RawValue>> = client.get(&format!("/api/runs/{id}/events?after={after}&limit=500")).await?;
        page.items.iter().for_each(|event| see(event.get()));
        match page.next_cursor.and_then(|next| next.parse().ok()) {
            Some(next) => after = next,
            None => return Ok(()),
        }
    }
}

pub(crate) async fn log(session: &Session, args: LogArgs) -> Result<u8, Failure> {
    let Some((reader, id)) = find(session, &args.run).await? else { return Ok(0) };
    let mut event_lines = EventLines::default();
    if args.after > 0 && !session.json {
        // The events before the first one that is printed named the nodes.
        let mut tree_view = TreeView::default();
        nodes::refresh(&reader.client, &mut tree_view, id).await?;
        event_lines.learn(tree_view.names());
    }
    let mut show =
        |json: &str| if session.json { print(&json_line(json)) } else { print(&log_line(json, &mut event_lines)) };
    match args.follow {
        false => each_event(&reader.client, id, args.after, show).await?,
        true => {
            let mut events =
                reader.client.events(&format!("/api/runs/{id}/stream?after={}&until=ended", args.after)).await?;
            while let Some(event) = events.next().await {
                let event = event?;
                match event.name.as_str() {
                    "settled" => break,
                    STORED => show(&event.data),
                    _ => {}
                }
            }
        }
    }
    reader.close().await;
    Ok(0)
}

fn log_line(json: &str, event_lines: &mut EventLines) -> String {
    let event: Value = serde_json::from_str(json).unwrap_or_default();
    let headline = event_lines.whole_line(&event).unwrap_or_else(|| "(this version does not know this event)".into());
    let (seq, at, kind) = (event["seq"].to_string(), with_moments(&field(&event, "timestamp")), field(&event, "type"));
    format!("{seq:>6}  {at}  {kind:<30} {headline}")
}

pub(crate) async fn report(session: &Session, run: String) -> Result<u8, Failure> {
    let Some((reader, id)) = find(session, &run).await? else { return Ok(0) };
    let path = if session.json { "report" } else { "report.md" };
    let text = reader.client.get_text(&format!("/api/runs/{id}/{path}")).await?;
    reader.close().await;
    print(&if session.json { json_line(&text) } else { render::report::shown(text.trim_end(), session.style) });
    Ok(0)
}

pub(crate) async fn document(session: &Session, args: DocArgs) -> Result<u8, Failure> {
    match (args.id, args.search) {
        (_, Some(query)) => search(session, query, Some("document"), args.project, 50).await,
        (Some(id), None) => one_document(session, id).await,
        (None, None) => Err(Failure::usage("no document is named. Type its id, or --search QUERY to find it.")),
    }
}

async fn one_document(session: &Session, id: DocumentId) -> Result<u8, Failure> {
    let Some(reader) = session.reader().await? else { return Ok(0) };
    let text = reader.client.get_text(&format!("/api/documents/{id}")).await?;
    if session.json {
        print(&json_line(&text));
    } else {
        let document: Document = serde_json::from_str(&text).map_err(|error| Failure::failed(error.to_string()))?;
        let path = format!("/api/documents/{id}/entries?limit=200");
        let mut entries: Vec<Entry> = all_pages(&reader.client, &path, "before").await?;
        // The newest come first.
        entries.reverse();
        print(&markdown(&document, &entries));
    }
    reader.close().await;
    Ok(0)
}

fn markdown(document: &Document, entries: &[Entry]) -> String {
    let body = match entries {
        [] => document.content.clone(),
        entries => entries.iter().map(|entry| entry.markdown.trim_end()).collect::<Vec<_>>().join("\n\n"),
    };
    format!("# {}\n\n{}", line(&document.title), plain(body.trim_end()))
}

pub(crate) async fn search(
    session: &Session,
    query: String,
    kind: Option<&str>,
    project: Option<ProjectId>,
    limit: usize,
) -> Result<u8, Failure> {
    let kind = kind.map(|kind| format!("&kind={kind}")).unwrap_or_default();
    let project = project.map(|id| format!("&project_id={id}")).unwrap_or_default();
    let path = format!("/api/search?q={}&limit={limit}{kind}{project}", encoded(&query));
    let Some(page) = session.get::<Page<Value>>(&path).await? else { return Ok(0) };
    for hit in &page.items {
        let [id, kind, title, excerpt] = ["id", "kind", "title", "excerpt"].map(|name| field(hit, name));
        let excerpt = fit(&excerpt, 100);
        session.print_value(hit, &format!("{id}  {kind:<8}  {title}\n    {excerpt}"));
    }
    Ok(0)
}
