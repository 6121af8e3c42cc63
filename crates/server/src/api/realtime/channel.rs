//! One topic that a client has joined: whose events it hears, and for how long it may.

use super::super::caller::Caller;
use super::super::heartbeat::{Heartbeat, HeartbeatEvent};
use super::super::problems::Problem;
use super::super::tail::{Heard, Tail};
use super::super::{Answer, AppState};
use super::wire::Incoming;
use engine::ids::{NodeId, RunId};
use engine::run::Kind;
use runtime::live::Commit;
use serde_json::Value;
use std::str::FromStr;

const PREFIX: &str = "realtime:";

/// What a topic is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Topic {
    Run(Kind, RunId),
    Node(NodeId),
    Documents(RunId),
}

impl Topic {
    fn parse(name: &str) -> Option<Topic> {
        let mut parts = name.split(':');
        let (Some(family), Some(what), Some(id), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return None;
        };
        match (family, what) {
            ("tree-agent", "run") => Some(Topic::Run(Kind::Tree, parse(id)?)),
            ("tree-agent", "node") => Some(Topic::Node(parse(id)?)),
            ("tree-agent", "docs") => Some(Topic::Documents(parse(id)?)),
            ("homework", "run") => Some(Topic::Run(Kind::Homework, parse(id)?)),
            _ => None,
        }
    }
}

fn parse<T: FromStr>(id: &str) -> Option<T> {
    id.parse().ok()
}

pub struct Channel {
    /// As it is on the wire.
    pub topic: String,
    pub join_ref: Value,
    about: Topic,
    tail: Tail,
    heartbeat: Heartbeat,
}

pub enum ChannelInput {
    /// Payloads, as JSON.
    Broadcasts(Vec<String>),
    /// The topic may no longer be read, or cannot be.
    Over,
}

impl Channel {
    /// From now on: what was before is in the log.
    pub async fn open(app: &AppState, caller: Caller, join: &Incoming) -> Answer<Channel> {
        let unknown = || Problem::not_found("topic");
        let name = join.topic.strip_prefix(PREFIX).ok_or_else(unknown)?;
        let about = Topic::parse(name).ok_or_else(unknown)?;
        let (run, kind) = match about {
            Topic::Run(kind, run) => (run, kind),
            Topic::Documents(run) => (run, Kind::Tree),
            Topic::Node(node) => (app.store.run_of_node(node).await?.ok_or_else(unknown)?, Kind::Tree),
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

    pub fn name(&self) -> &str {
        self.topic.strip_prefix(PREFIX).unwrap_or(&self.topic)
    }

    pub async fn renew(&mut self, app: &AppState, caller: Caller) -> Answer<()> {
        caller.run(app, self.tail.run).await?;
        self.heartbeat = Heartbeat::of(&app.revoked, &caller);
        self.tail.turn_to(app, &caller);
        Ok(())
    }

    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> ChannelInput {
        loop {
            let heard = tokio::select! {
                biased;
                beat = self.heartbeat.next() => match beat {
                    HeartbeatEvent::Revoked => return ChannelInput::Over,
                    // Whether the run may still be seen is looked at anew.
                    HeartbeatEvent::Quiet | HeartbeatEvent::Loud => continue,
                },
                heard = self.tail.next() => heard,
            };
            match heard {
                Ok(Heard::Events(commit, after)) => {
                    let payloads = broadcasts(self.about, &commit, after);
                    if !payloads.is_empty() {
                        return ChannelInput::Broadcasts(payloads);
                    }
                }
                Ok(Heard::Delta(_) | Heard::CaughtUp | Heard::Behind) => {}
                Ok(Heard::Gone) | Err(_) => return ChannelInput::Over,
            }
        }
    }
}

fn broadcasts(about: Topic, commit: &Commit, after: u64) -> Vec<String> {
    let told = commit.events_after(after).filter(|told| match about {
        Topic::Run(..) => true,
        Topic::Node(node) => told.node == Some(node),
        Topic::Documents(_) => told.about_documents,
    });
    told.map(|told| format!(r#"{{"type":"broadcast","event":"tree-event","payload":{}}}"#, told.json)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t13_topics_are_those_of_the_contract_and_no_others() {
        let id = "01a1de11-0000-7000-8000-000000000009";
        let run: RunId = id.parse().unwrap();
        let of = |name: &str| Topic::parse(&format!("{name}:{id}"));
        assert_eq!(of("tree-agent:run"), Some(Topic::Run(Kind::Tree, run)));
        assert_eq!(of("tree-agent:node"), Some(Topic::Node(NodeId(run.0))));
        assert_eq!(of("tree-agent:docs"), Some(Topic::Documents(run)));
        assert_eq!(of("homework:run"), Some(Topic::Run(Kind::Homework, run)));
        for none in ["homework:node", "tree-agent:run:run", "tree-agent", "public:anything"] {
            assert_eq!(of(none), None, "{none}");
        }
        assert_eq!(Topic::parse("tree-agent:run:17"), None);
    }
}
