//! The realtime socket: events broadcast on private topics, in the protocol that `@supabase/realtime-js` speaks (Phoenix
//! channels, broadcast only). A topic is joined with a token that may see its run; what is broadcast is the stored event.

mod channel;
mod wire;

use super::auth;
use super::caller::Caller;
use super::problems::Problem;
use super::query::QueryString;
use super::route::{Access, Route};
use super::schema::{one_of, text};
use super::secret::Secret;
use super::{ApiResult, AppState};
use crate::connections::Connection;
use axum::Extension;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{ConnectInfo, State};
use axum::http::StatusCode;
use axum::response::Response;
use channel::{Channel, ChannelInput};
use futures::FutureExt;
use futures::future::select_all;
use serde::Deserialize;
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use wire::{ClientMessage, ProtocolVersion};

const MAX_CHANNELS: usize = 100;
/// Bytes of a message and of each of its frames; the protocol needs little.
const MAX_MESSAGE: usize = 64 << 10;
/// Every socket keeps a buffer of this size, so it is small.
const READ_BUFFER: usize = 4 << 10;
/// A socket without a valid token is closed after this time.
const LOGIN_WITHIN: Duration = Duration::from_secs(10);
/// Clients send a heartbeat about every 25 seconds; one that is silent for this long is closed.
const SILENCE: Duration = Duration::from_secs(90);

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get(
            "/realtime/v1/websocket",
            Access::Public,
            "Events as broadcasts on private topics (WebSocket)",
            connect,
        )
        .query("apikey", text())
        .query("vsn", one_of(["1.0.0", "2.0.0"]))
        .returns_text(101, "application/octet-stream")
        .errors([400, 426]),
    ]
}

#[derive(Deserialize)]
struct ConnectQuery {
    apikey: Option<String>,
    vsn: Option<String>,
}

async fn connect(
    State(app): State<Arc<AppState>>,
    QueryString(query): QueryString<ConnectQuery>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    entry: Option<Extension<Connection>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> ApiResult<Response> {
    let version = ProtocolVersion::parse(query.vsn.as_deref())
        .ok_or_else(|| Problem::invalid("unknown_vsn", "vsn must be 1.0.0 or 2.0.0"))?;
    let upgrade = upgrade.map_err(|refused| {
        Problem::new(
            StatusCode::UPGRADE_REQUIRED,
            "upgrade_required",
            format!("this path needs a WebSocket: {refused}"),
        )
    })?;
    let (token, entry) = (query.apikey, entry.map(|Extension(entry)| entry));
    let peer = peer.map(|Extension(ConnectInfo(address))| address.ip());
    let upgrade = upgrade.max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE).read_buffer_size(READ_BUFFER);
    Ok(upgrade.on_upgrade(move |socket| async move {
        if let Some(entry) = &entry {
            entry.upgrade();
        }
        let connection =
            RealtimeConnection { app, version, token, peer, entry, authenticated: false, channels: Vec::new(), socket };
        connection.serve().await;
    }))
}

/// The client disconnected, or has to be disconnected.
struct Disconnected;

struct RealtimeConnection {
    app: Arc<AppState>,
    version: ProtocolVersion,
    /// The token of the URL, for topics that are joined without one.
    token: Option<String>,
    peer: Option<IpAddr>,
    /// Its entry among all connections.
    entry: Option<Connection>,
    /// A valid token was received.
    authenticated: bool,
    channels: Vec<Channel>,
    socket: WebSocket,
}

impl RealtimeConnection {
    async fn serve(mut self) {
        // A URL key of another form may belong to another service; it is checked when a topic is joined with it.
        if let Some(token) = self.token.clone().filter(|token| Secret::parse(token).is_some()) {
            let _ = self.recognize(&token).await;
        }
        let (mut silent, login) = (Instant::now() + SILENCE, Instant::now() + LOGIN_WITHIN);
        loop {
            let turn = tokio::select! {
                message = self.socket.recv() => {
                    silent = Instant::now() + SILENCE;
                    match message {
                        Some(Ok(Message::Text(text))) => self.receive(&text).await,
                        Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                        // The library answers pings; binary frames are broadcasts of clients, which are ignored.
                        Some(Ok(_)) => Ok(()),
                    }
                }
                (index, input) = next_of(&mut self.channels) => self.forward(index, input).await,
                () = tokio::time::sleep_until(login), if !self.authenticated => Err(Disconnected),
                () = tokio::time::sleep_until(silent) => Err(Disconnected),
            };
            if turn.is_err() {
                return;
            }
        }
    }

    async fn receive(&mut self, text: &str) -> Result<(), Disconnected> {
        let Some(message) = ClientMessage::parse(self.version, text) else { return Ok(()) };
        match message.event.as_str() {
            "phx_join" => self.join(message).await,
            "phx_leave" => {
                self.channels.retain(|channel| channel.topic != message.topic);
                self.reply(&message, true, json!({})).await?;
                self.send(&message.join_ref, &Value::Null, &message.topic, "phx_close", "{}").await
            }
            "access_token" => self.renew(message).await,
            "heartbeat" | "presence" => self.reply(&message, true, json!({})).await,
            "broadcast" => self.reply(&message, false, json!({"reason": "only the server broadcasts here"})).await,
            _ => self.reply(&message, false, json!({"reason": "unknown event"})).await,
        }
    }

    async fn join(&mut self, message: ClientMessage) -> Result<(), Disconnected> {
        self.channels.retain(|channel| channel.topic != message.topic);
        if self.channels.len() >= MAX_CHANNELS {
            return self.reply(&message, false, json!({"reason": "too many topics on this connection"})).await;
        }
        match self.admit(&message).await {
            Ok(channel) => {
                self.channels.push(channel);
                self.reply(&message, true, json!({"postgres_changes": []})).await
            }
            Err(problem) if problem.status == StatusCode::TOO_MANY_REQUESTS => {
                self.reply(&message, false, json!({"reason": problem.detail})).await?;
                Err(Disconnected)
            }
            // The same for a topic that does not exist and one that may not be joined.
            Err(_) => self.reply(&message, false, json!({"reason": "Unauthorized: you may not join this topic"})).await,
        }
    }

    async fn recognize(&mut self, token: &str) -> ApiResult<Caller> {
        if token.is_empty() {
            return Err(auth::unauthorized());
        }
        let origin = &self.app.origin;
        let caller = auth::recognize(&self.app, token).await;
        let caller = caller.map_err(|problem| origin.refused(&origin.guesses, self.peer, problem))?;
        self.authenticated = true;
        if let Some(entry) = &self.entry {
            entry.authenticate();
        }
        Ok(caller)
    }

    async fn admit(&mut self, message: &ClientMessage) -> ApiResult<Channel> {
        let own = message.payload["access_token"].as_str().filter(|token| !token.is_empty());
        let token = own.or(self.token.as_deref()).unwrap_or_default().to_owned();
        let caller = self.recognize(&token).await?;
        Channel::open(&self.app, caller, message).await
    }

    /// Replaces the token of a joined topic. A token that may not read it ends the topic.
    async fn renew(&mut self, message: ClientMessage) -> Result<(), Disconnected> {
        let Some(index) = self.channels.iter().position(|channel| channel.topic == message.topic) else {
            // Sent before the join: used for the joins that follow.
            self.token = message.payload["access_token"].as_str().map(str::to_owned).or(self.token.take());
            return Ok(());
        };
        let token = message.payload["access_token"].as_str().unwrap_or_default();
        let renewed = match self.recognize(token).await {
            Ok(caller) => self.channels[index].renew(&self.app, caller).await,
            Err(problem) => Err(problem),
        };
        match renewed {
            Ok(()) => Ok(()),
            Err(problem) if problem.status == StatusCode::TOO_MANY_REQUESTS => Err(Disconnected),
            Err(_) => self.end(index, "the token is not valid for this topic").await,
        }
    }

    async fn forward(&mut self, index: usize, input: ChannelInput) -> Result<(), Disconnected> {
        match input {
            ChannelInput::Broadcasts(payloads) => {
                let (topic, join_ref) = (self.channels[index].topic.clone(), self.channels[index].join_ref.clone());
                for payload in payloads {
                    self.send(&join_ref, &Value::Null, &topic, "broadcast", &payload).await?;
                }
                Ok(())
            }
            ChannelInput::Over => self.end(index, "you may no longer read this topic").await,
        }
    }

    async fn end(&mut self, index: usize, reason: &str) -> Result<(), Disconnected> {
        let channel = self.channels.remove(index);
        let system = json!({"status": "error", "message": reason, "extension": "system", "channel": channel.name()});
        self.send(&channel.join_ref, &Value::Null, &channel.topic, "system", &system.to_string()).await?;
        self.send(&channel.join_ref, &Value::Null, &channel.topic, "phx_close", "{}").await
    }

    async fn reply(&mut self, to: &ClientMessage, ok: bool, response: Value) -> Result<(), Disconnected> {
        let payload = json!({"status": if ok { "ok" } else { "error" }, "response": response}).to_string();
        self.send(&to.join_ref, &to.reference, &to.topic, "phx_reply", &payload).await
    }

    async fn send(
        &mut self,
        join_ref: &Value,
        reference: &Value,
        topic: &str,
        event: &str,
        payload: &str,
    ) -> Result<(), Disconnected> {
        let text = wire::frame(self.version, join_ref, reference, topic, event, payload);
        // A client that does not read is disconnected.
        let sent = tokio::time::timeout(SILENCE, self.socket.send(Message::Text(text.into()))).await;
        sent.ok().and_then(Result::ok).ok_or(Disconnected)
    }
}

async fn next_of(channels: &mut [Channel]) -> (usize, ChannelInput) {
    if channels.is_empty() {
        return std::future::pending().await;
    }
    let (input, index, _) = select_all(channels.iter_mut().map(|channel| channel.next().boxed())).await;
    (index, input)
}
