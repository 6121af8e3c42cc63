//! A request to a model as a list of parts. Parts that are already stored are references, so a
//! 2,000-call run stores each text once; sizes are known without reading, so caps are judged here.

use crate::blob::{Blob, BlobRef, Hash};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    System,
    User,
    Assistant,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Text(String),
    /// A stored text, shown up to `limit` bytes with an honest marker where it is cut.
    Stored {
        blob: BlobRef,
        limit: u32,
    },
}

impl Part {
    pub fn bytes(&self) -> usize {
        match self {
            Part::Text(text) => text.len(),
            Part::Stored { blob, limit } if blob.bytes > *limit => quoted(*limit as usize) + CUT_FRAME_BYTES,
            Part::Stored { blob, .. } => blob.bytes as usize,
        }
    }

    /// The limit under which a cut text takes no more than so many bytes.
    pub fn limit_for(bytes: usize) -> usize {
        bytes.saturating_sub(CUT_FRAME_BYTES) / 5 * 4
    }
}

const CUT_FRAME_BYTES: usize = 80;

/// Quoting what is left of a cut text makes it longer; never by more than this.
fn quoted(limit: usize) -> usize {
    limit + limit / 4
}

/// The text, or, where it is longer than `limit` bytes, a JSON object on one line with its beginning and
/// what is missing: a cut value still reads as data.
pub fn cut(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    crate::shorten::beginning(&text, &text[..end], quoted(limit)).to_string()
}

#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub speaker: Speaker,
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct Request {
    pub messages: Vec<Message>,
}

/// The stored form of a request: the hashes of its parts in order, with the speaker of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest(pub Vec<(Speaker, Vec<ManifestPart>)>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ManifestPart {
    /// A short text is in the manifest itself, because a blob of its own would take more space.
    Said(String),
    Stored {
        hash: Hash,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
}

/// Shorter texts are written into the manifest itself.
const MIN_BLOB_BYTES: usize = 400;

impl Request {
    pub fn say(&mut self, speaker: Speaker, parts: Vec<Part>) {
        self.messages.push(Message { speaker, parts });
    }

    pub fn bytes(&self) -> usize {
        self.messages.iter().flat_map(|message| &message.parts).map(Part::bytes).sum()
    }

    /// The manifest, and the texts that are new to the store.
    pub fn manifest(&self) -> (Manifest, Vec<Blob>) {
        let mut fresh = Vec::new();
        let messages = self.messages.iter().map(|message| {
            let mut parts = Vec::new();
            for part in &message.parts {
                match (part, parts.last_mut()) {
                    (Part::Text(text), Some(ManifestPart::Said(said))) if text.len() < MIN_BLOB_BYTES => {
                        said.push_str(text)
                    }
                    (Part::Text(text), _) if text.len() < MIN_BLOB_BYTES => {
                        parts.push(ManifestPart::Said(text.clone()))
                    }
                    (Part::Text(text), _) => {
                        let blob = Blob::new(text.clone());
                        parts.push(ManifestPart::Stored { hash: blob.hash, limit: None });
                        fresh.push(blob);
                    }
                    (Part::Stored { blob, limit }, _) => {
                        let limit = (blob.bytes > *limit).then_some(*limit);
                        parts.push(ManifestPart::Stored { hash: blob.hash, limit });
                    }
                }
            }
            (message.speaker, parts)
        });
        (Manifest(messages.collect()), fresh)
    }

    /// The hashes a performer must fetch before it can send the request.
    pub fn stored(&self) -> Vec<Hash> {
        let parts = self.messages.iter().flat_map(|message| &message.parts);
        parts.filter_map(|part| if let Part::Stored { blob, .. } = part { Some(blob.hash) } else { None }).collect()
    }

    /// The messages as text; `fetch` gives the stored parts. Only line feeds break lines in them.
    pub fn render(&self, mut fetch: impl FnMut(Hash) -> Option<String>) -> Result<Vec<(Speaker, String)>, Hash> {
        self.messages
            .iter()
            .map(|message| {
                let mut text = String::new();
                for part in &message.parts {
                    match part {
                        Part::Text(own) => text.push_str(own),
                        Part::Stored { blob, limit } => {
                            text.push_str(&cut(fetch(blob.hash).ok_or(blob.hash)?, *limit as usize))
                        }
                    }
                }
                Ok((message.speaker, crate::lines::only_line_feeds(text)))
            })
            .collect()
    }
}
