//! `pleach inbox`.

use super::{Session, closing, print};
use crate::api::Page;
use crate::args::InboxArgs;
use crate::failure::Failure;
use crate::link::{Link, LinkError};
use crate::render::style::line;
use runtime::post::Notice;
use serde_json::{Value, json};

pub async fn show(session: &Session, args: &InboxArgs) -> Result<u8, Failure> {
    let attached = match args.read {
        true => Some(session.writer().await?),
        false => session.reader().await?,
    };
    let Some(attached) = attached else { return Ok(0) };
    let notices = taken(&attached.link, args).await;
    for notice in closing(attached, notices).await? {
        if session.json { session.print_json(&notice) } else { print(&sentence(&notice)) }
    }
    Ok(0)
}

async fn taken(link: &Link, args: &InboxArgs) -> Result<Vec<Notice>, LinkError> {
    let unread = if args.all { "" } else { "unread=true&" };
    let limit = args.limit.clamp(1, 200);
    let page: Page<Notice> = link.get(&format!("/api/notifications?{unread}limit={limit}")).await?;
    if args.read && !page.items.is_empty() {
        let ids: Vec<&str> = page.items.iter().map(|notice| notice.id.as_str()).collect();
        link.post::<Value>("/api/notifications/read", &json!({"ids": ids})).await?;
    }
    Ok(page.items)
}

fn sentence(notice: &Notice) -> String {
    let row = &notice.row;
    let body = if row.body.is_empty() { String::new() } else { format!(": {}", line(&row.body)) };
    format!("{}  {:<9}  {}  {}{body}", row.at, row.kind, row.run_id, line(&row.title))
}
