//! The perspectives on an objective, with the sentences of their pages (`perspectives.json`). `{t}` is the topic, `{a}` to `{d}` are
//! key phrases. The sentences ask and structure; they never claim facts.

use serde::Deserialize;
use std::sync::LazyLock;

/// One perspective: its name in a plan, its question, and three paragraphs with headings.
#[derive(Deserialize)]
pub(super) struct Perspective {
    pub title: &'static str,
    pub step: &'static str,
    pub question: &'static str,
    #[serde(borrow)]
    pub paragraphs: [(&'static str, &'static str); 3],
}

pub(super) static PERSPECTIVES: LazyLock<[Perspective; 8]> = LazyLock::new(|| {
    serde_json::from_str(include_str!("perspectives.json")).expect("the bundled perspectives are valid")
});
