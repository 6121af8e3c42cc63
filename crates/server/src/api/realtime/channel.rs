//! One topic that a realtime client has joined: whose events it receives, and until when.

use super::super::caller::Caller;
use super::super::heartbeat::{Heartbeat, HeartbeatEvent};
use super::super::problems::Problem;
use super::super::tail::{Tail, TailItem};
use super::super::{ApiResult, AppState};
use super::wire::ClientMessage;
use engine::ids::{NodeId, RunId};
use engine::run::Kind;
use runtime::live::Commit;
use serde_json::Value;
use std::str::FromStr;

const PREFIX: &str = "realtime:";

/// What a topic carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChannelTopic {
    Run(Kind, RunId),
    Node(NodeId),
    Documents(RunId),
}

impl ChannelTopic {
    fn parse(name: &str) -> Option<ChannelTopic> {
        let mut parts = name.split(':');
        let (Some(family), Some(what), Some(id), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return None;
        };
        match (family, what) {
            ("tree-agent", "run") => Some(ChannelTopic::Run(Kind::Tree, parse(id)?)),
            ("tree-agent", "node") => Some(ChannelTopic::Node(parse(id)?)),
            ("tree-agent", "docs") => Some(ChannelTopic::Documents(parse(id)?)),
            ("homework", "run") => Some(ChannelTopic::Run(Kind::Homework, parse(id)?)),
            _ => None,
        }
    }
}

fn parse<T: FromStr>(id: &str) -> Option<T> {
    id.parse().ok()
}

pub(super) struct Channel {
    /// With the prefix that the protocol puts before it.
    pub topic: String,
    pub join_ref: Value,
    about: ChannelTopic,
    tail: Tail,
    heartbeat: Heartbeat,
}

pub(super) enum ChannelInput {
    /// Payloads, as JSON.
    Broadcasts(Vec<String>),
    /// The topic can no longer be read.
    Over,
}

impl Channel {
    /// Joins at the end of the log: earlier events are not broadcast.
    pub(super) async fn open(app: &AppState, caller: Caller, join: &ClientMessage) -> ApiResult<Channel> {
        let unknown = || Problem::not_found("topic");
        let name = join.topic.strip_prefix(PREFIX).ok_or_else(unknown)?;
        let about = ChannelTopic::parse(name).ok_or_else(unknown)?;
        let (run, kind) = match about {
            ChannelTopic::Run(kind, run) => (run, kind),
            ChannelTopic::Documents(run) => (run, Kind::Tree),
            ChannelTopic::Node(node) => (app.store.run_of_node(node).await?.ok_or_else(unknown)?, Kind::Tree),
        };
        let row = caller.run(app, run).await?;
        if row.kind != kind {
            return Err(unknown());
        }
        Ok(Channel {
            topic: join.topic.clone(),
            join_ref: join.join_ref.clone(),
            about,
            tail: Tail::new(app, &caller, run, row.last_seq),
            heartbeat: Heartbeat::of(&app.revoked, &caller),
        })
    }

    pub(super) fn name(&self) -> &str {
        self.topic.strip_prefix(PREFIX).unwrap_or(&self.topic)
    }

    pub(super) async fn renew(&mut self, app: &AppState, caller: Caller) -> ApiResult<()> {
        caller.run(app, self.tail.run).await?;
        self.heartbeat = Heartbeat::of(&app.revoked, &caller);
        self.tail.set_reader(app, &caller);
        Ok(())
    }

    /// Cancel-safe.
    pub(super) async fn next(&mut self) -> ChannelInput {
        loop {
            let item = tokio::select! {
                biased;
                beat = self.heartbeat.next() => match beat {
                    HeartbeatEvent::Revoked => return ChannelInput::Over,
                    // Polling the tail again checks whether the run can still be seen.
                    HeartbeatEvent::Recheck | HeartbeatEvent::Send => continue,
                },
                item = self.tail.next() => item,
            };
            match item {
                Ok(TailItem::Events(commit, after)) => {
                    let payloads = broadcasts(self.about, &commit, after);
                    if !payloads.is_empty() {
                        return ChannelInput::Broadcasts(payloads);
                    }
                }
                Ok(TailItem::Delta(_) | TailItem::Written(_) | TailItem::CaughtUp | TailItem::Behind) => {}
                Ok(TailItem::Gone) | Err(_) => return ChannelInput::Over,
            }
        }
    }
}

fn broadcasts(about: ChannelTopic, commit: &Commit, after: u64) -> Vec<String> {
    let events = commit.events_after(after).filter(|event| match about {
        ChannelTopic::Run(..) => true,
        ChannelTopic::Node(node) => event.node == Some(node),
        ChannelTopic::Documents(_) => event.about_documents,
    });
    events.map(|event| format!(r#"{{"type":"broadcast","event":"tree-event","payload":{}}}"#, event.json)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t13_topics_are_those_of_the_contract_and_no_others() {
        let id = "01a1de11-0000-7000-8000-000000000009";
        let run: RunId = id.parse().unwrap();
        let of = |name: &str| ChannelTopic::parse(&format!("{name}:{id}"));
        assert_eq!(of("tree-agent:run"), Some(ChannelTopic::Run(Kind::Tree, run)));
        assert_eq!(of("tree-agent:node"), Some(ChannelTopic::Node(NodeId(run.0))));
        assert_eq!(of("tree-agent:docs"), Some(ChannelTopic::Documents(run)));
        assert_eq!(of("homework:run"), Some(ChannelTopic::Run(Kind::Homework, run)));
        for none in ["homework:node", "tree-agent:run:run", "tree-agent", "public:anything"] {
            assert_eq!(of(none), None, "{none}");
        }
        assert_eq!(ChannelTopic::parse("tree-agent:run:17"), None);
    }
}
