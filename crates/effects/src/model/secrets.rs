//! Keeps API keys out of everything that is stored or shown, whoever echoes them.

const MASK: &str = "[redacted]";

/// The keys of every configured provider.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    pub fn new(keys: impl IntoIterator<Item = String>) -> Secrets {
        Secrets(keys.into_iter().filter(|key| is_secret(key)).collect())
    }

    pub fn redact(&self, text: &str) -> String {
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

/// Local servers ask for placeholders such as `ollama` or `lm-studio`: words people write, and no secret.
fn is_secret(key: &str) -> bool {
    let plain = key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    key.len() >= if plain { 16 } else { 8 }
}

/// Redacts an answer while it grows, before anybody is shown a part of it.
pub type OnDelta<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// Holds back as much of the stream as could be the beginning of a key.
pub(super) struct DeltaRedactor<'a> {
    secrets: &'a Secrets,
    tell: Option<OnDelta<'a>>,
    held: String,
}

impl<'a> DeltaRedactor<'a> {
    pub fn new(secrets: &'a Secrets, tell: Option<OnDelta<'a>>) -> DeltaRedactor<'a> {
        DeltaRedactor { secrets, tell, held: String::new() }
    }

    pub fn see(&mut self, delta: &str) {
        if self.tell.is_some() {
            self.held.push_str(delta);
            self.release(self.secrets.longest().saturating_sub(1));
        }
    }

    pub fn finish(mut self) {
        self.release(0);
    }

    fn release(&mut self, keep: usize) {
        let Some(tell) = self.tell else { return };
        self.held = self.secrets.redact(&self.held);
        let mut end = self.held.len().saturating_sub(keep);
        while !self.held.is_char_boundary(end) {
            end -= 1;
        }
        if end > 0 {
            tell(&self.held[..end]);
            self.held.drain(..end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn invariant_48_a_key_split_over_deltas_never_reaches_the_watcher() {
        let secrets = Secrets::new(["sk-canary-0123456789".to_owned()]);
        let text = "before é sk-canary-0123456789 after sk-canary-01234567";
        for size in 1..text.len() {
            let seen = Mutex::new(String::new());
            let tell = |delta: &str| seen.lock().unwrap().push_str(delta);
            let mut deltas = DeltaRedactor::new(&secrets, Some(&tell));
            let letters: Vec<char> = text.chars().collect();
            letters.chunks(size).for_each(|chunk| deltas.see(&chunk.iter().collect::<String>()));
            deltas.finish();
            assert_eq!(*seen.lock().unwrap(), "before é [redacted] after sk-canary-01234567");
        }
    }

    #[test]
    fn placeholders_are_ordinary_words() {
        let secrets = Secrets::new(["ollama".to_owned(), "lm-studio".to_owned()]);
        assert_eq!(secrets.redact("run lm-studio or ollama"), "run lm-studio or ollama");
    }
}
