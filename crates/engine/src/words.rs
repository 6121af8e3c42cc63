//! Closed vocabularies: enums whose variants are words in JSON, in the database and on the command line.

/// Declares such an enum with its words in one place, so that serialisation, `name`, `parse` and `ALL` cannot differ.
macro_rules! words {
    ($(#[$attr:meta])* $name:ident { $($(#[$variant_attr:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$attr])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name { $($(#[$variant_attr])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            pub const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];

            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            pub fn parse(word: &str) -> Option<$name> {
                $name::ALL.into_iter().find(|known| known.name() == word)
            }
        }
    };
}

pub(crate) use words;
