//! The subject of an objective: a headline, key phrases, and a seed for every choice.

use engine::blob::Hash;
use std::collections::BTreeSet;

/// The characters of an objective that are read.
const MAX_OBJECTIVE_CHARS: usize = 2_000;
const MAX_TOPIC_CHARS: usize = 70;
const MAX_PHRASE_CHARS: usize = 40;
const MAX_PHRASES: usize = 6;
const MIN_PHRASES: usize = 2;

/// Used if an objective has fewer phrases than a page needs.
const FACETS: [&str; 4] =
    ["the work around it", "the question behind it", "the first usable result", "the material at hand"];

/// Words that are no subject: grammar, and verbs of requests.
const STOP_WORDS: &str = "a about above after again against all also am an and any are as ask at be because been \
                           before being below between both brief but by can compare could create decide describe \
                           did do does doing done down draft during each every explain few find first for from \
                           further get give go had has have having help her here hers him his how i if in into is \
                           it its just keep kind kinds let like list long look make me more most my need no nor \
                           not now of off on once only or other our out over own plan please prepare produce recommend \
                           report research review same say see short should show so some state study such suggest \
                           summarise summarize take takes than that the their them then there these they this \
                           those through to too under until up us use using very want was way ways we were what \
                           when where which while who whom why will with within without would write you your";

/// Words before a noun. One after the first word tells that the first word is a verb.
const DETERMINERS: [&str; 9] = ["a", "an", "the", "our", "my", "your", "their", "this", "these"];

/// A phrase never begins with a number: "three backup plans" become "backup plans".
const NUMBERS: [&str; 10] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

const LEAD_INS: [&str; 8] =
    ["please ", "can you ", "could you ", "i want you to ", "i want to ", "i need you to ", "i need ", "help me "];

pub(super) struct Subject {
    pub topic: String,
    pub phrases: Vec<String>,
    seed: Hash,
}

impl Subject {
    pub(super) fn of(objective: &str) -> Subject {
        let seed = Hash::of(&[objective.as_bytes()]);
        let read: String = objective.chars().take(MAX_OBJECTIVE_CHARS).collect();
        let mut subject = Subject { topic: topic(&read), phrases: phrases(&read), seed };
        let start = subject.choose("facets", FACETS.len());
        let facets = FACETS.iter().cycle().skip(start).map(|facet| (*facet).to_owned());
        let missing = MIN_PHRASES.saturating_sub(subject.phrases.len());
        subject.phrases.extend(facets.take(missing));
        subject
    }

    /// A number below `count`, always the same for an objective and an occasion.
    pub(super) fn choose(&self, occasion: &str, count: usize) -> usize {
        let drawn = Hash::of(&[&self.seed.0, occasion.as_bytes()]).0;
        let number = u32::from_le_bytes([drawn[0], drawn[1], drawn[2], drawn[3]]) as usize;
        number.checked_rem(count).unwrap_or_default()
    }

    pub(super) fn pick<'a, T>(&self, occasion: &str, items: &'a [T; 4]) -> &'a T {
        &items[self.choose(occasion, items.len())]
    }

    /// The search query for existing material.
    pub(super) fn query(&self) -> &str {
        bare(self.phrase(0))
    }

    /// Wraps around after the last key phrase.
    pub(super) fn phrase(&self, nth: usize) -> &str {
        self.phrases.get(nth.checked_rem(self.phrases.len()).unwrap_or_default()).map_or(&self.topic, |phrase| phrase)
    }
}

/// The first sentence without its polite beginning, cut between words.
fn topic(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = line.split_inclusive(['.', '!', '?', ';']).find(|part| part.chars().any(char::is_alphanumeric));
    let mut rest = sentence.unwrap_or(&line).trim();
    while let Some(lead) =
        LEAD_INS.iter().find(|lead| rest.get(..lead.len()).is_some_and(|start| start.eq_ignore_ascii_case(lead)))
    {
        rest = rest.get(lead.len()..).unwrap_or_default().trim_start();
    }
    let rest = rest.trim_end_matches(|c: char| c.is_ascii_punctuation() && !")\"'".contains(c)).trim();
    let cut = cut_at_word(rest, MAX_TOPIC_CHARS);
    let mut letters = cut.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => "The task at hand".into(),
    }
}

fn cut_at_word(text: &str, max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max) else { return text.to_owned() };
    let head = text.get(..end).unwrap_or_default();
    let whole = head.rsplit_once(' ').map_or(head, |(whole, _)| whole);
    format!("{}…", whole.trim_end_matches([',', ':', ';', '-', ' ']))
}

/// Sequences of up to three words that are no stop words, in order, each with its article.
fn phrases(text: &str) -> Vec<String> {
    let stop_words: BTreeSet<&str> = STOP_WORDS.split_whitespace().collect();
    let mut found: Vec<String> = Vec::new();
    let mut run: Vec<&str> = Vec::new();
    let mut tokens = text.split_whitespace().enumerate().peekable();
    while let Some((place, token)) = tokens.next() {
        let word = token.trim_matches(|c: char| !c.is_alphanumeric());
        let is_verb = place == 0 && tokens.peek().is_some_and(|(_, next)| is_determiner(next));
        let lower = word.to_lowercase();
        let is_count = bare(&run.join(" ")).is_empty() && NUMBERS.contains(&lower.as_str());
        let carries = !word.is_empty() && !is_verb && !is_count && !stop_words.contains(lower.as_str());
        if carries {
            run.push(word);
        }
        let full = run.iter().filter(|word| **word != "the").count() == 3;
        if !carries || full || token.ends_with(|c: char| ".,;:!?)".contains(c)) {
            add_phrase(&mut found, &mut run);
        }
        if is_determiner(word) {
            run.push("the");
        }
    }
    add_phrase(&mut found, &mut run);
    found
}

fn is_determiner(word: &str) -> bool {
    DETERMINERS.contains(&word.to_lowercase().as_str())
}

/// A phrase without its article.
fn bare(phrase: &str) -> &str {
    phrase
        .strip_prefix("the")
        .map_or(phrase, |rest| if rest.is_empty() || rest.starts_with(' ') { rest } else { phrase })
        .trim()
}

fn add_phrase(found: &mut Vec<String>, run: &mut Vec<&str>) {
    let phrase: String = run.join(" ").chars().take(MAX_PHRASE_CHARS).collect();
    run.clear();
    let known = found.iter().any(|other| bare(other).to_lowercase() == bare(&phrase).to_lowercase());
    let says_something = !bare(&phrase).is_empty() && !NUMBERS.contains(&bare(&phrase));
    if says_something && !known && found.len() < MAX_PHRASES {
        found.push(phrase);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn topic_and_phrases_come_from_the_objective() {
        let subject = Subject::of("Please compare SQLite and PostgreSQL for a small bookkeeping team. Keep it short.");
        assert_eq!(subject.topic, "Compare SQLite and PostgreSQL for a small bookkeeping team");
        assert_eq!(subject.phrases, ["SQLite", "PostgreSQL", "the small bookkeeping team"]);
        let counted = Subject::of("Compare three database backup strategies and the two cheapest ones");
        assert_eq!(counted.phrases, ["database backup strategies", "cheapest ones"]);
    }

    proptest! {
        #[test]
        fn any_objective_has_a_topic_and_enough_phrases(objective in any::<String>()) {
            let subject = Subject::of(&objective);
            prop_assert!(!subject.topic.is_empty() && subject.topic.chars().count() <= MAX_TOPIC_CHARS + 4);
            prop_assert!(subject.phrases.len() >= MIN_PHRASES && subject.phrases.iter().all(|phrase| !phrase.is_empty()));
        }
    }
}
