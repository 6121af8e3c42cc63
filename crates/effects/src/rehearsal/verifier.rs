//! The verifier: looks for the part of a cited text that answers a criterion, under a heading with its words or in a paragraph that has
//! them all. A criterion that asks for a table is met by a table and by nothing else. It quotes what it found.

use super::{Sections, one_line};
use serde_json::{Value, json};

/// In characters: shorter words are mostly grammar.
const MIN_WORD_CHARS: usize = 4;
/// The lines of a passage that are quoted.
const QUOTED_LINES: usize = 3;

pub(super) fn answer(sections: &Sections) -> Value {
    let criteria = sections.lines("criteria");
    let verdicts: Vec<Value> =
        criteria.iter().map(|criterion| verdict(criterion, sections.lines("evidence"))).collect();
    json!({ "verdicts": verdicts })
}

fn verdict(criterion: &Value, evidence: &[Value]) -> Value {
    let (id, text) = (&criterion["criterion"], criterion["text"].as_str().unwrap_or_default());
    let cited = |item: &&Value| criterion["refs"].as_array().is_some_and(|refs| refs.contains(&item["ref"]));
    let wants_table = words(text).any(|word| word.starts_with("table"));
    let found = evidence.iter().filter(cited).find_map(|item| {
        let passage = passage(item["text"].as_str()?, text, wants_table)?;
        Some((&item["ref"], item["title"].as_str().unwrap_or_default(), passage))
    });
    match found {
        Some((reference, title, passage)) => {
            let quote = passage.lines().take(QUOTED_LINES).collect::<Vec<_>>().join("\n");
            let reason = format!("“{}” answers it in its own words.", one_line(title));
            json!({"criterion": id, "quotes": [{"ref": reference, "text": quote}], "reason": reason, "verdict": "met"})
        }
        None => {
            let wanted = if wants_table { "no table" } else { "no passage" };
            let reason = format!("{wanted} in what is cited answers “{}”", one_line(text));
            json!({"criterion": id, "quotes": [], "reason": reason, "verdict": "not_met"})
        }
    }
}

/// The paragraph or table that answers the criterion.
fn passage(page: &str, criterion: &str, wants_table: bool) -> Option<String> {
    let wanted: Vec<String> = words(criterion).filter(|word| word.chars().count() >= MIN_WORD_CHARS).collect();
    let has_all = |text: &str| {
        let there: Vec<String> = words(text).collect();
        !wanted.is_empty() && wanted.iter().all(|word| there.contains(word))
    };
    let mut heading = "";
    for block in page.split("\n\n").map(str::trim).filter(|block| !block.is_empty()) {
        if block.starts_with('#') {
            heading = block;
            continue;
        }
        let is_table = block.lines().count() > 2 && block.lines().all(|line| line.trim_start().starts_with('|'));
        let answers = has_all(heading) || has_all(block) && !block.starts_with('-');
        if answers && (is_table || !wants_table) {
            return Some(block.to_owned());
        }
    }
    None
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h1_a_table_is_a_table_and_a_promise_of_one_is_none() {
        let criterion = "a table of running costs per year";
        let promise = "# Costs\n\n- a table of running costs per year: answered by this page";
        assert_eq!(passage(promise, criterion, true), None);
        let table = "## A table of running costs per year\n\n| pump | costs |\n|---|---|\n| A | 410 |";
        assert!(passage(table, criterion, true).is_some_and(|quote| quote.contains("| A | 410 |")));
    }

    #[test]
    fn h1_a_criterion_without_a_passage_is_not_met() {
        assert_eq!(passage("# Kites\n\nKites fly.", "a 40 page book exists", false), None);
    }
}
