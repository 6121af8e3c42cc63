//! A fake verifier: honest, bribed (calls everything met), careless with its quotes, or chaotic. The platform must not believe a quote that
//! is not there, whoever gives it.

use super::{Behaviour, FakeModel, Sections};
use crate::dice::Dice;
use serde_json::{Value, json};

pub(super) fn answer(fake_model: &FakeModel, sections: &Sections, dice: &mut Dice) -> Value {
    let verdicts: Vec<Value> =
        sections.lines("criteria").iter().map(|criterion| verdict(fake_model, criterion, sections, dice)).collect();
    json!({ "verdicts": verdicts })
}

fn verdict(fake_model: &FakeModel, criterion: &Value, sections: &Sections, dice: &mut Dice) -> Value {
    let refs = criterion["refs"].as_array().cloned().unwrap_or_default();
    let cited = dice.pick(&refs).cloned().unwrap_or(Value::Null);
    let text = sections.lines("evidence").iter().find(|item| item["ref"] == cited).map(|item| words_of(&item["text"]));
    let true_quote: String = text.unwrap_or_default().chars().take(40).collect();
    let (quotes, verdict) = match (fake_model.behaviour, dice.below(8)) {
        (Behaviour::Boasting, 0..4) => (json!([{"ref": cited, "text": "This was verified by the committee."}]), "met"),
        (Behaviour::Boasting, _) => (json!([]), "met"),
        (_, 0) => (json!([{"ref": cited, "text": almost(&true_quote)}]), "met"),
        (_, 1) => (json!([{"ref": "doc:elsewhere", "text": true_quote}]), "met"),
        (_, 2) => (json!([{"ref": cited, "text": true_quote}]), "not_met"),
        (_, 3) => (json!([]), "cannot_tell"),
        _ => (json!([{"ref": cited, "text": true_quote}]), "met"),
    };
    let id = if dice.happens(40) { json!("c99") } else { criterion["criterion"].clone() };
    json!({"criterion": id, "quotes": quotes, "reason": "by what is cited", "verdict": verdict})
}

/// The quote with one letter changed.
fn almost(quote: &str) -> String {
    let mut letters: Vec<char> = quote.chars().collect();
    if let Some(letter) = letters.iter_mut().rev().find(|letter| letter.is_alphanumeric()) {
        *letter = if *letter == 'q' { 'z' } else { 'q' };
    }
    letters.into_iter().collect()
}

fn words_of(text: &Value) -> String {
    text.as_str().map_or_else(|| text.to_string(), str::to_owned)
}
