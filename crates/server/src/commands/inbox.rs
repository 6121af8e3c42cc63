//! `pleach inbox`.

use super::{Session, closing};
use crate::api::Page;
use crate::api_client::{ApiClient, ApiError};
use crate::args::InboxArgs;
use crate::failure::Failure;
use crate::render::style::line;
use serde_json::{Value, json};
use store::notifications::Notice;

pub(crate) async fn show(session: &Session, args: InboxArgs) -> Result<u8, Failure> {
    let attached = match args.read {
        true => Some(session.writer().await?),
        false => session.reader().await?,
    };
    let Some(attached) = attached else { return Ok(0) };
    let notices = read(&attached.client, &args).await;
    for notice in closing(attached, notices).await? {
        session.print_value(&notice, &text(&notice));
    }
    Ok(0)
}

/// Marks as read exactly the notifications it returns.
async fn read(client: &ApiClient, args: &InboxArgs) -> Result<Vec<Notice>, ApiError> {
    let unread = if args.all { "" } else { "unread=true&" };
    let limit = args.limit.clamp(1, 200);
    let page: Page<Notice> = client.get(&format!("/api/notifications?{unread}limit={limit}")).await?;
    if args.read && !page.items.is_empty() {
        let ids: Vec<&str> = page.items.iter().map(|notice| notice.id.as_str()).collect();
        client.post::<Value>("/api/notifications/read", &json!({"ids": ids})).await?;
    }
    Ok(page.items)
}

fn text(notice: &Notice) -> String {
    let body = if notice.body.is_empty() { String::new() } else { format!(": {}", line(&notice.body)) };
    let about =
        notice.run_id.map(|run| run.to_string()).or(notice.invitation_id.map(|invitation| invitation.to_string()));
    format!("{}  {:<9}  {}  {}{body}", notice.at, notice.kind, about.unwrap_or_default(), line(&notice.title))
}
