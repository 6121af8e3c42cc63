//! The sides from which a page looks at an objective, with the sentences it says there (`perspectives.json`). `{t}` is the
//! topic, `{a}` to `{d}` are key phrases. The sentences ask and order; they never pretend to know facts.

use serde::Deserialize;
use std::sync::LazyLock;

/// One side: how a plan names it, what it asks, and three paragraphs with their headings.
#[derive(Deserialize)]
pub struct Perspective {
    pub title: &'static str,
    pub step: &'static str,
    pub question: &'static str,
    #[serde(borrow)]
    pub paragraphs: [(&'static str, &'static str); 3],
}

pub static PERSPECTIVES: LazyLock<[Perspective; 8]> = LazyLock::new(|| {
    serde_json::from_str(include_str!("perspectives.json")).expect("the bundled perspectives are valid")
});
