//! Words of people that no model call was shown. Who said them is told so when the run ends, in its report and in the event
//! that ends it; the one place where such an event leaves is `Run::emit_at`.

use super::Shared;
use crate::facts::{Fact, Run as R};
use serde_json::Value;

/// As many as are named; the newest come first.
const NAMED: usize = 20;
/// Characters of each that are repeated.
const REPEATED: usize = 120;
/// Where the report has them.
pub(crate) const REPORT_KEY: &str = "messages_not_shown";

impl Shared {
    fn messages_not_shown(&self) -> Vec<String> {
        let unshown = self.messages.iter().rev().filter(|message| !message.delivered);
        unshown.take(NAMED).map(|message| short(&message.text)).collect()
    }

    /// Completes a fact that ends the run, or the report before it.
    pub(super) fn name_unshown(&self, fact: &mut Fact) {
        let Fact::Run(fact) = fact else { return };
        let named = match fact {
            R::Completed(fact) => &mut fact.messages_not_shown,
            R::Stopped(fact) => &mut fact.messages_not_shown,
            R::Failed(fact) => &mut fact.messages_not_shown,
            R::Canceled(fact) => &mut fact.messages_not_shown,
            R::ReportCreated(fact) => {
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

/// One line of it.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(REPEATED) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// What is said to whoever wrote them.
pub(crate) fn sentence(text: &str) -> String {
    format!("your message \"{text}\" was never shown to a model")
}
