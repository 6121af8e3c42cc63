//! The origin of a value and the layers it is looked up in. This module must not know what a setting means.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// Highest precedence first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Flag(&'static str),
    Variable(String),
    File(PathBuf),
    /// An untrusted file of the working directory: the value is shown but not used.
    Ignored(PathBuf),
    Default,
}

impl Origin {
    /// The lowest layer wins: flag, environment, file, default.
    pub(crate) fn layer(&self) -> u8 {
        match self {
            Origin::Flag(_) => 0,
            Origin::Variable(_) => 1,
            Origin::File(_) => 2,
            Origin::Ignored(_) | Origin::Default => 3,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag(name) => write!(f, "flag {name}"),
            Origin::Variable(name) => write!(f, "environment {name}"),
            Origin::File(path) => write!(f, "file {}", path.display()),
            Origin::Ignored(path) => write!(f, "ignored: not trusted, file {}", path.display()),
            Origin::Default => f.write_str("default"),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting<T> {
    pub value: T,
    pub origin: Origin,
}

impl<T> Setting<T> {
    pub(crate) fn default(value: T) -> Setting<T> {
        Setting { value, origin: Origin::Default }
    }

    pub(crate) fn or_default(found: Option<Setting<T>>, value: T) -> Setting<T> {
        found.unwrap_or_else(|| Setting::default(value))
    }

    pub(crate) fn to_text(&self) -> Setting<String>
    where
        T: fmt::Display,
    {
        Setting { value: self.value.to_string(), origin: self.origin.clone() }
    }

    pub(crate) fn map<U>(self, f: impl FnOnce(T) -> U) -> Setting<U> {
        Setting { value: f(self.value), origin: self.origin }
    }
}

/// The texts of each key, in order of precedence.
#[derive(Debug, Default)]
pub(crate) struct Layers(Vec<BTreeMap<&'static str, Setting<String>>>);

impl Layers {
    pub(crate) fn push(&mut self, layer: BTreeMap<&'static str, Setting<String>>) {
        self.0.push(layer);
    }

    pub(crate) fn find(&self, key: &str) -> Option<Setting<String>> {
        self.0.iter().find_map(|layer| layer.get(key)).cloned()
    }

    /// Parses the winning text of a key; `valid` describes valid values for the error.
    pub(crate) fn parse<T>(
        &self,
        key: &'static str,
        valid: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<Setting<T>>, BadValue> {
        let Some(text) = self.find(key) else { return Ok(None) };
        match parse(text.value.trim()) {
            Some(value) => Ok(Some(Setting { value, origin: text.origin })),
            None => Err(BadValue { key: key.into(), value: text.value, origin: text.origin, valid: valid.into() }),
        }
    }
}

/// An invalid value: which one, its origin, and what is valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {key} = {value:?} is not valid; it must be {valid}")]
pub(crate) struct BadValue {
    pub key: String,
    pub value: String,
    pub origin: Origin,
    pub valid: String,
}
