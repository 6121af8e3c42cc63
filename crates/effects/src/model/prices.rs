//! Known models: prices per million tokens, context windows and limits, as published on the table's date. The table is no
//! allow-list: an unknown model can be used, and its price is unknown.

use super::config::{ModelTerms, ProviderKind};
use engine::model::{ModelSpec, Price};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const DEFAULT_CONTEXT_TOKENS: u32 = 128_000;
/// The limit of an answer unless the configuration sets another. Many models could write more, but the cost of the longest answer
/// is reserved from the budget before each call.
const DEFAULT_OUTPUT_TOKENS: u32 = 8_192;

#[derive(Deserialize)]
struct Table {
    date: String,
    models: BTreeMap<String, Entry>,
}

/// If a price rises for long prompts, the window ends where it rises, so that one price holds.
#[derive(Clone, Copy, Deserialize)]
struct Entry {
    input: f64,
    cached: f64,
    output: f64,
    context: u32,
    max_output: u32,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("prices.json")).expect("the bundled price table is valid"));

/// The day the table was last checked.
pub fn date() -> &'static str {
    &TABLE.date
}

/// Three common models of this kind, for messages that ask for a choice.
pub fn examples(kind: ProviderKind) -> [&'static str; 3] {
    match kind {
        ProviderKind::Openai => ["gpt-6-sol", "gpt-5-mini", "gpt-4.1"],
        ProviderKind::Anthropic => ["claude-opus-5", "claude-sonnet-5", "claude-haiku-4-5"],
        ProviderKind::Rehearsal => ["default"; 3],
    }
}

/// Whether calls of a provider cost money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Billing {
    /// A server without a key cannot charge anybody.
    Free,
    Metered,
}

pub(super) fn spec(provider: &str, model: &str, billing: Billing, terms: Option<&ModelTerms>) -> ModelSpec {
    let entry = find(model);
    let own = terms.copied().unwrap_or_default();
    let listed = match billing {
        Billing::Free => Some(Price::FREE),
        Billing::Metered => entry.map(|entry| price(entry.input, entry.cached, entry.output)),
    };
    ModelSpec {
        provider: provider.to_owned(),
        model: model.to_owned(),
        context_window: own.context_window.or(entry.map(|entry| entry.context)).unwrap_or(DEFAULT_CONTEXT_TOKENS),
        max_output: own.max_output.unwrap_or_else(|| {
            entry.map_or(DEFAULT_OUTPUT_TOKENS, |entry| entry.max_output.min(DEFAULT_OUTPUT_TOKENS))
        }),
        price: overridden(listed, &own),
    }
}

/// A price that is only partly configured and otherwise unknown stays unknown.
fn overridden(listed: Option<Price>, own: &ModelTerms) -> Option<Price> {
    if own.input_per_mtok.is_none() && own.cached_per_mtok.is_none() && own.output_per_mtok.is_none() {
        return listed;
    }
    let input = own.input_per_mtok.map(pico).or(listed.map(|price| price.input))?;
    let output = own.output_per_mtok.map(pico).or(listed.map(|price| price.output))?;
    let listed_cached = listed.filter(|_| own.input_per_mtok.is_none()).map(|price| price.cached);
    let cached = own.cached_per_mtok.map(pico).or(listed_cached).unwrap_or(input);
    Some(Price { input, cached, output })
}

fn price(input: f64, cached: f64, output: f64) -> Price {
    Price { input: pico(input), cached: pico(cached), output: pico(output) }
}

fn pico(dollars_per_mtok: f64) -> u64 {
    (dollars_per_mtok.max(0.0) * 1e6).round() as u64
}

fn find(model: &str) -> Option<&'static Entry> {
    let named = |(name, _): &(&String, &Entry)| model.strip_prefix(name.as_str()).is_some_and(is_release);
    TABLE.models.iter().filter(named).max_by_key(|(name, _)| name.len()).map(|(_, entry)| entry)
}

/// Whether a suffix only names a release of the model: a date, or `latest`.
fn is_release(rest: &str) -> bool {
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    rest.is_empty()
        || rest == "-latest"
        || (digits >= 4 && rest.bytes().all(|byte| byte.is_ascii_digit() || b"-@".contains(&byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(model: &str) -> Option<Price> {
        spec("p", model, Billing::Metered, None).price
    }

    #[test]
    fn a_dated_id_finds_its_model_and_a_variant_does_not() {
        assert_eq!(known("gpt-4o-2024-08-06"), Some(price(2.5, 1.25, 10.0)));
        assert_eq!(known("gpt-4o-mini-2024-07-18"), Some(price(0.15, 0.075, 0.6)));
        assert_eq!(known("claude-sonnet-4-5-20250929"), known("claude-sonnet-4-5"));
        assert_eq!(known("claude-haiku-4-5@20251001"), known("claude-haiku-4-5-latest"));
        assert_eq!(known("gpt-4o-audio-preview"), None);
        assert_eq!(known("claude-sonnet-5-9"), None);
    }

    #[test]
    fn an_unknown_model_has_the_stated_limits_and_no_price() {
        let spec = spec("p", "mystery", Billing::Metered, None);
        assert_eq!((spec.context_window, spec.max_output, spec.price), (128_000, 8_192, None));
    }

    #[test]
    fn a_keyless_server_is_free_and_configuration_wins() {
        assert_eq!(spec("p", "gpt-4o", Billing::Free, None).price, Some(Price::FREE));
        let terms = ModelTerms {
            context_window: Some(4_096),
            input_per_mtok: Some(1.0),
            output_per_mtok: Some(2.0),
            ..Default::default()
        };
        let own = spec("p", "mystery", Billing::Metered, Some(&terms));
        assert_eq!((own.context_window, own.price), (4_096, Some(price(1.0, 1.0, 2.0))));
        let half = ModelTerms { input_per_mtok: Some(1.0), ..Default::default() };
        assert_eq!(spec("p", "mystery", Billing::Metered, Some(&half)).price, None);
        assert_eq!(spec("p", "gpt-4o", Billing::Metered, Some(&half)).price, Some(price(1.0, 1.0, 10.0)));
    }

    #[test]
    fn the_table_is_plausible_and_dated() {
        assert_eq!(date().len(), "2026-11-15".len());
        for (name, entry) in &TABLE.models {
            assert!(entry.cached <= entry.input && entry.input < entry.output, "{name}");
            assert!(entry.max_output < entry.context, "{name}");
        }
        for kind in [ProviderKind::Openai, ProviderKind::Anthropic] {
            assert!(examples(kind).iter().all(|model| find(model).is_some()));
        }
    }
}
