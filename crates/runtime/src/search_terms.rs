//! Search terms: a query is split on whatever is not alphanumeric and lower-cased; all terms are required, the last one
//! is a prefix. A text is indexed as its distinct terms between spaces, so a match is a plain substring and no query
//! grammar ever sees user text. Knows no database.

use std::collections::BTreeSet;

/// Words that a query may have: each is one more condition, and databases bound how many there may be.
pub const MAX_TERMS_PER_QUERY: usize = 32;

/// Lower-cased before splitting: some capitals become a letter and a combining mark.
fn lowered(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

fn terms(lower: &str) -> impl Iterator<Item = &str> {
    lower.split(|c: char| !c.is_alphanumeric()).filter(|term| !term.is_empty())
}

/// ` alpha beta `, or empty when there is nothing to find.
pub fn index(texts: &[&str]) -> String {
    let lower: Vec<String> = texts.iter().map(|text| lowered(text)).collect();
    let distinct: BTreeSet<&str> = lower.iter().flat_map(|text| terms(text)).collect();
    if distinct.is_empty() {
        return String::new();
    }
    let mut index = String::from(" ");
    for term in distinct {
        index.push_str(term);
        index.push(' ');
    }
    index
}

/// Whether a query has too many words to be looked for, and then what to say.
pub fn too_many(query: &str) -> Option<String> {
    let count = terms(query).count();
    (count > MAX_TERMS_PER_QUERY)
        .then(|| format!("the query has {count} words; at most {MAX_TERMS_PER_QUERY} can be looked for at once"))
}

/// What an index must contain to match; `None` when the query has no terms, which matches nothing. Of a query with too
/// many terms, which its callers refuse, the first ones.
pub fn needles(query: &str) -> Option<Vec<String>> {
    let lower = lowered(query);
    let mut terms: Vec<&str> = terms(&lower).take(MAX_TERMS_PER_QUERY).collect();
    let last = terms.pop()?;
    let mut needles: Vec<String> = terms.into_iter().map(|term| format!(" {term} ")).collect();
    needles.push(format!(" {last}"));
    Some(needles)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, query: &str) -> bool {
        let index = index(&[text]);
        needles(query).is_some_and(|needles| needles.iter().all(|needle| index.contains(needle.as_str())))
    }

    #[test]
    fn terms_are_split_lower_cased_and_all_required() {
        assert!(found("Quarterly-report: Q3, draft_2", "report QUARTERLY"));
        assert!(!found("Quarterly report", "quarterly budget"));
    }

    #[test]
    fn only_the_last_term_is_a_prefix() {
        assert!(found("budget forecast", "budget fore"));
        assert!(!found("budget forecast", "budg forecast"));
    }

    #[test]
    fn r7_too_many_words_are_told_before_they_are_looked_for() {
        let words = |count: usize| vec!["word"; count].join(" ");
        assert_eq!(too_many(&words(MAX_TERMS_PER_QUERY)), None);
        assert!(too_many(&words(999)).is_some_and(|why| why.contains("999 words; at most 32")));
        assert_eq!(needles(&words(999)).map(|needles| needles.len()), Some(MAX_TERMS_PER_QUERY));
    }

    #[test]
    fn a_query_without_terms_finds_nothing() {
        assert!(!found("anything", "  \"*'-- "));
    }

    #[test]
    fn other_scripts_and_hostile_syntax_are_only_words() {
        assert!(found("Бюджет на ГОД", "бюджет год"));
        assert!(found("İstanbul", "İstanbul"));
        assert!(found("a OR b", "or"));
        assert!(!found("a b", "\"a\" OR *"));
    }
}
