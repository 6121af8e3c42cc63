//! Messages that no model call was shown. The report and the event that ends the run name them, so that their authors know.
//! `Run::emit_at` adds them, because every event passes through it.

use super::Shared;
use crate::facts::{Fact, RunFact};
use serde_json::Value;

/// The most messages that are named, newest first.
const MAX_MESSAGES: usize = 20;
/// The most characters quoted of each.
const MAX_MESSAGE_CHARS: usize = 120;
/// The report's key for them.
pub(crate) const REPORT_KEY: &str = "messages_not_shown";

impl Shared {
    fn messages_not_shown(&self) -> Vec<String> {
        let unshown = self.messages.iter().rev().filter(|message| !message.delivered);
        unshown.take(MAX_MESSAGES).map(|message| short(&message.text)).collect()
    }

    /// Adds the unshown messages to a fact that ends the run, or to its report.
    pub(super) fn name_unshown(&self, fact: &mut Fact) {
        let Fact::Run(fact) = fact else { return };
        let named = match fact {
            RunFact::Completed(fact) => &mut fact.ended.messages_not_shown,
            RunFact::Stopped(fact) => &mut fact.ended.messages_not_shown,
            RunFact::Failed(fact) => &mut fact.ended.messages_not_shown,
            RunFact::Canceled(fact) => &mut fact.ended.messages_not_shown,
            RunFact::ReportCreated(fact) => {
                let unshown = self.messages_not_shown();
                if let (Value::Object(report), false) = (&mut fact.report, unshown.is_empty()) {
                    report.insert(REPORT_KEY.into(), unshown.into());
                }
                return;
            }
            _ => return,
        };
        *named = self.messages_not_shown();
    }
}

/// The beginning of a text on one line.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The sentence in the report for one message.
pub(crate) fn sentence(text: &str) -> String {
    format!("your message \"{text}\" was never shown to a model")
}
