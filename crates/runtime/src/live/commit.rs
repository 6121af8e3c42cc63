//! The events of one commit, serialised once as server-sent events, so that most listeners are sent a slice of the same
//! bytes.

use bytes::Bytes;
use engine::event::{Event, StoredEvent};
use engine::ids::{NodeId, RunId};

#[derive(Debug)]
pub struct Commit {
    pub run: RunId,
    pub first: u64,
    pub last: u64,
    /// There is a `run.*` event among them.
    pub lifecycle: bool,
    text: Bytes,
    lines: Vec<EventOffsets>,
}

#[derive(Debug)]
struct EventOffsets {
    node: Option<NodeId>,
    about_documents: bool,
    /// Where the event's JSON begins and its frame ends.
    json: u32,
    end: u32,
}

/// One event of a commit.
#[derive(Clone, Copy, Debug)]
pub struct PublishedEvent<'a> {
    pub seq: u64,
    pub node: Option<NodeId>,
    pub about_documents: bool,
    pub json: &'a str,
}

impl Commit {
    pub fn of(run: RunId, events: &[Event]) -> Commit {
        let mut draft = Draft::new(run, events.first().map(|event| event.seq));
        for event in events {
            draft.add(event.seq, event.node_id, event.kind(), |out| event.write_json(out));
        }
        draft.done()
    }

    pub fn of_stored(run: RunId, events: &[StoredEvent]) -> Commit {
        let mut draft = Draft::new(run, events.first().map(|event| event.seq));
        for event in events {
            draft.add(event.seq, event.node_id, &event.kind, |out| event.write_json(out));
        }
        draft.done()
    }

    /// No events: only that the log reaches this far.
    pub fn without_events(run: RunId, end: u64) -> Commit {
        Draft::new(run, Some(end + 1)).done()
    }

    /// The text of the events after `seq`, shared and not copied.
    pub fn text_after(&self, seq: u64) -> Bytes {
        match self.skipped(seq) {
            0 => self.text.clone(),
            skipped => {
                let from = self.lines.get(skipped - 1).map_or(self.text.len(), |line| line.end as usize);
                self.text.slice(from..)
            }
        }
    }

    pub fn events_after(&self, seq: u64) -> impl Iterator<Item = PublishedEvent<'_>> {
        self.lines.iter().zip(self.first..).skip(self.skipped(seq)).map(|(line, seq)| PublishedEvent {
            seq,
            node: line.node,
            about_documents: line.about_documents,
            json: self.json(line),
        })
    }

    fn json(&self, line: &EventOffsets) -> &str {
        std::str::from_utf8(&self.text[line.json as usize..line.end as usize - 2]).expect("it was written as text")
    }

    fn skipped(&self, seq: u64) -> usize {
        (seq + 1).saturating_sub(self.first) as usize
    }
}

/// Scratchpads, artifacts, who read them, and what a parent is told to read.
fn is_about_documents(kind: &str) -> bool {
    kind.contains("scratchpad") || kind.contains("artifact") || kind == "tree.parent_hint"
}

/// A commit while it is written.
struct Draft {
    commit: Commit,
    text: String,
}

impl Draft {
    fn new(run: RunId, first: Option<u64>) -> Draft {
        let first = first.unwrap_or(1);
        let commit = Commit { run, first, last: first - 1, lifecycle: false, text: Bytes::new(), lines: Vec::new() };
        Draft { commit, text: String::new() }
    }

    fn add(&mut self, seq: u64, node: Option<NodeId>, kind: &str, write: impl FnOnce(&mut String)) {
        self.text.push_str("id: ");
        self.text.push_str(&seq.to_string());
        self.text.push_str("\ndata: ");
        let json = self.text.len() as u32;
        write(&mut self.text);
        self.text.push_str("\n\n");
        let about_documents = is_about_documents(kind);
        self.commit.lines.push(EventOffsets { node, about_documents, json, end: self.text.len() as u32 });
        self.commit.lifecycle |= kind.starts_with("run.");
        self.commit.last = seq;
    }

    fn done(self) -> Commit {
        Commit { text: self.text.into(), ..self.commit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t11_the_topic_of_documents_has_artifacts_their_readers_and_hints() {
        let told = ["tree.scratchpad_linked", "tree.scratchpad_updated", "tree.artifact_created", "tree.artifact_read"];
        assert!(told.iter().chain(&["tree.parent_hint"]).all(|kind| is_about_documents(kind)));
        assert!(!["tree.node_status", "tree.node_result", "run.completed"].iter().any(|kind| is_about_documents(kind)));
    }
}
