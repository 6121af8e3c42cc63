//! Keeps API keys out of everything that is stored or shown, even if a server or model echoes them.

const MASK: &str = "[redacted]";

/// The keys of every configured provider.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    pub(super) fn new(api_keys: impl IntoIterator<Item = String>) -> Secrets {
        Secrets(api_keys.into_iter().filter(|api_key| is_secret(api_key)).collect())
    }

    pub(super) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), MASK);
            }
        }
        text
    }

    fn longest(&self) -> usize {
        self.0.iter().map(String::len).max().unwrap_or(0)
    }
}

/// Local servers ask for placeholders such as `ollama` or `lm-studio`, which are ordinary words and no secrets.
fn is_secret(api_key: &str) -> bool {
    let plain = api_key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    api_key.len() >= if plain { 16 } else { 8 }
}

/// Gets the pieces of an answer while it is written.
pub type OnDelta<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// Redacts a growing answer before it is shown. Holds back as much as could be the beginning of a key.
pub(super) struct DeltaRedactor<'a> {
    secrets: &'a Secrets,
    on_delta: Option<OnDelta<'a>>,
    held: String,
}

impl<'a> DeltaRedactor<'a> {
    pub(super) fn new(secrets: &'a Secrets, on_delta: Option<OnDelta<'a>>) -> DeltaRedactor<'a> {
        DeltaRedactor { secrets, on_delta, held: String::new() }
    }

    pub(super) fn push(&mut self, delta: &str) {
        if self.on_delta.is_some() {
            self.held.push_str(delta);
            self.release(self.secrets.longest().saturating_sub(1));
        }
    }

    pub(super) fn finish(mut self) {
        self.release(0);
    }

    fn release(&mut self, keep: usize) {
        let Some(on_delta) = self.on_delta else { return };
        self.held = self.secrets.redact(&self.held);
        let mut end = self.held.len().saturating_sub(keep);
        while !self.held.is_char_boundary(end) {
            end -= 1;
        }
        if end > 0 {
            on_delta(&self.held[..end]);
            self.held.drain(..end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn invariant_48_a_key_split_over_deltas_is_never_shown() {
        let secrets = Secrets::new(["sk-canary-0123456789".to_owned()]);
        let text = "before é sk-canary-0123456789 after sk-canary-01234567";
        for size in 1..text.len() {
            let seen = Mutex::new(String::new());
            let tell = |delta: &str| seen.lock().unwrap().push_str(delta);
            let mut deltas = DeltaRedactor::new(&secrets, Some(&tell));
            let letters: Vec<char> = text.chars().collect();
            letters.chunks(size).for_each(|chunk| deltas.push(&chunk.iter().collect::<String>()));
            deltas.finish();
            assert_eq!(*seen.lock().unwrap(), "before é [redacted] after sk-canary-01234567");
        }
    }

    #[test]
    fn placeholders_are_not_redacted() {
        let secrets = Secrets::new(["ollama".to_owned(), "lm-studio".to_owned()]);
        assert_eq!(secrets.redact("run lm-studio or ollama"), "run lm-studio or ollama");
    }
}
