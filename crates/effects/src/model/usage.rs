//! The tokens of a call, with one meaning for every provider: input includes cached tokens.

use engine::effect::Usage;
use serde_json::Value;

/// No model uses more in one call; a higher figure is wrong.
const MAX_CREDIBLE_TOKENS: u64 = 100_000_000;

/// Figures as a server reported them; absent where it did not, or where they are no count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReportedUsage {
    pub input: Option<u64>,
    pub cached: Option<u64>,
    pub output: Option<u64>,
}

impl ReportedUsage {
    /// `prompt_tokens` includes cached tokens.
    pub(super) fn openai(usage: &Value) -> ReportedUsage {
        ReportedUsage {
            input: usage["prompt_tokens"].as_u64(),
            cached: usage["prompt_tokens_details"]["cached_tokens"].as_u64(),
            output: usage["completion_tokens"].as_u64(),
        }
    }

    /// `input_tokens` leaves out tokens written to and read from the cache.
    pub(super) fn anthropic(usage: &Value) -> ReportedUsage {
        let read = usage["cache_read_input_tokens"].as_u64();
        let written = usage["cache_creation_input_tokens"].as_u64();
        let fresh = usage["input_tokens"].as_u64();
        ReportedUsage {
            input: fresh.map(|fresh| fresh.saturating_add(written.unwrap_or(0)).saturating_add(read.unwrap_or(0))),
            cached: read,
            output: usage["output_tokens"].as_u64(),
        }
    }

    /// Later figures replace earlier ones; a later report may leave some out.
    pub(super) fn update(&mut self, later: ReportedUsage) {
        self.input = later.input.or(self.input);
        self.cached = later.cached.or(self.cached);
        self.output = later.output.or(self.output);
    }

    /// The reported figures if they are plausible, otherwise an estimate from the bytes. Never zero: a budget would never stop
    /// the run.
    pub(super) fn settle(self, bytes_in: usize, bytes_out: usize) -> Usage {
        let usable = |figure: &u64| (1..=MAX_CREDIBLE_TOKENS).contains(figure);
        match (self.input.filter(usable), self.output.filter(usable)) {
            (Some(input), Some(output)) => {
                Usage { input, cached: self.cached.unwrap_or(0).min(input), output, estimated: false }
            }
            _ => Usage { input: estimate(bytes_in), cached: 0, output: estimate(bytes_out), estimated: true },
        }
    }
}

fn estimate(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn e3_cached_tokens_count_once_with_either_provider() {
        let openai =
            json!({"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 40}});
        let anthropic = json!({"input_tokens": 50, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 40, "output_tokens": 7});
        let expected = Usage { input: 100, cached: 40, output: 7, estimated: false };
        assert_eq!(ReportedUsage::openai(&openai).settle(1, 1), expected);
        assert_eq!(ReportedUsage::anthropic(&anthropic).settle(1, 1), expected);
    }

    #[test]
    fn implausible_figures_are_replaced_by_an_estimate() {
        let ours = Usage { input: 100, cached: 0, output: 3, estimated: true };
        for (input, output) in [
            (json!(0), json!(0)),
            (json!(-5), json!(9)),
            (json!(1_000_000_000), json!(9)),
            (json!("x"), json!(1.5)),
            (json!(null), json!(9)),
            (json!(9), json!(0)),
        ] {
            let usage = json!({"prompt_tokens": input, "completion_tokens": output});
            assert_eq!(ReportedUsage::openai(&usage).settle(400, 10), ours, "{usage}");
        }
        assert_eq!(ReportedUsage::default().settle(0, 0).output, 1);
    }
}
