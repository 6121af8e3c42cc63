//! Everything that can be true of a run, one struct per event type, grouped by who owns the rule.
//! A fact is past tense and never fails to apply. Facts own the types in their payloads: they do not
//! depend on how answers are parsed, so that relaxing the parser cannot change the log. Payloads are camelCase JSON; the
//! objects `budgets`, `metrics` and `artifacts` keep the names they have in the API.

pub mod effect;
pub mod evidence;
pub mod homework;
pub mod run;
pub mod task;
pub mod tree;

/// Declares a family of facts: each struct beside its wire name, and the enum with its encoder and decoder. A fact without
/// a comment that says what happened and what it moves does not compile.
macro_rules! facts {
    (
        $(#[$doc:meta])* enum $family:ident as $group:ident;
        $($(#[$about:meta])+ $variant:ident = $kind:literal {
            $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)?
        })+
    ) => {
        $(
            $(#[$about])+
            #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            #[serde(rename_all = "camelCase")]
            pub struct $variant { $($(#[$attribute])* pub $field: $type),* }
        )+

        $(#[$doc])*
        // A run's brief is far larger than any other fact, and there is one per run: boxing it would pay for nothing.
        #[allow(clippy::large_enum_variant)]
        #[derive(Clone, Debug, PartialEq)]
        pub enum $family { $($variant($variant)),+ }

        impl $family {
            pub fn kind(&self) -> &'static str {
                match self { $($family::$variant(_) => $kind),+ }
            }
            pub fn encode(&self) -> serde_json::Result<String> {
                match self { $($family::$variant(fact) => serde_json::to_string(fact)),+ }
            }
            pub fn decode(kind: &str, payload: &str) -> Option<serde_json::Result<$family>> {
                match kind {
                    $($kind => Some(serde_json::from_str(payload).map($family::$variant)),)+
                    _ => None,
                }
            }
            /// The JSON schema of each payload, by event type.
            #[cfg(feature = "schema")]
            pub(super) fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<(&'static str, schemars::Schema)> {
                vec![$(($kind, <$variant as schemars::JsonSchema>::json_schema(generator))),+]
            }
        }

        $(impl From<$variant> for $crate::facts::Fact {
            fn from(fact: $variant) -> Self { $crate::facts::Fact::$group($family::$variant(fact)) }
        })+
    };
}
pub(crate) use facts;

pub use effect::EffectFact;
pub use homework::HomeworkFact;
pub use run::RunFact;
pub use task::TaskFact;
pub use tree::TreeFact;

#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    Run(RunFact),
    Effect(EffectFact),
    Homework(HomeworkFact),
    Tree(TreeFact),
    Task(TaskFact),
    /// Written by a newer version, or damaged: stored, shown, ignored by folds.
    Unrecognized(UnrecognizedEvent),
}

/// An event that this version cannot decode.
#[derive(Clone, Debug, PartialEq)]
pub struct UnrecognizedEvent {
    pub kind: String,
    /// Why it could not be read, when the type itself is known.
    pub error: Option<String>,
}

impl Fact {
    pub fn kind(&self) -> &str {
        match self {
            Fact::Run(fact) => fact.kind(),
            Fact::Effect(fact) => fact.kind(),
            Fact::Homework(fact) => fact.kind(),
            Fact::Tree(fact) => fact.kind(),
            Fact::Task(fact) => fact.kind(),
            Fact::Unrecognized(event) => &event.kind,
        }
    }

    /// Part of the work: it does not change the run's status, limits, questions or report.
    pub fn is_work(&self) -> bool {
        match self {
            Fact::Effect(_) => true,
            Fact::Homework(fact) => !matches!(fact, HomeworkFact::RunStarted(_)),
            Fact::Tree(fact) => !matches!(fact, TreeFact::RunStarted(_)),
            Fact::Task(fact) => !matches!(fact, TaskFact::Started(_)),
            Fact::Run(_) | Fact::Unrecognized(_) => false,
        }
    }

    /// `None` for facts of an unknown type: they are never written.
    pub fn encode(&self) -> Option<String> {
        match self {
            Fact::Run(fact) => fact.encode().ok(),
            Fact::Effect(fact) => fact.encode().ok(),
            Fact::Homework(fact) => fact.encode().ok(),
            Fact::Tree(fact) => fact.encode().ok(),
            Fact::Task(fact) => fact.encode().ok(),
            Fact::Unrecognized(_) => None,
        }
    }

    pub fn decode(kind: &str, payload: &str) -> Fact {
        let decoded = match kind.split('.').next().unwrap_or_default() {
            "run" => RunFact::decode(kind, payload).map(|fact| fact.map(Fact::Run)),
            "effect" => EffectFact::decode(kind, payload).map(|fact| fact.map(Fact::Effect)),
            "homework" => HomeworkFact::decode(kind, payload).map(|fact| fact.map(Fact::Homework)),
            "tree" => TreeFact::decode(kind, payload).map(|fact| fact.map(Fact::Tree)),
            "task" => TaskFact::decode(kind, payload).map(|fact| fact.map(Fact::Task)),
            _ => None,
        };
        match decoded {
            Some(Ok(fact)) => fact,
            Some(Err(error)) => {
                Fact::Unrecognized(UnrecognizedEvent { kind: kind.into(), error: Some(error.to_string()) })
            }
            None => Fact::Unrecognized(UnrecognizedEvent { kind: kind.into(), error: None }),
        }
    }
}

/// The JSON schemas of all payloads, by event type; what they share is left in the generator's definitions.
#[cfg(feature = "schema")]
pub fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<(&'static str, schemars::Schema)> {
    let families = [RunFact::schemas, EffectFact::schemas, HomeworkFact::schemas, TreeFact::schemas, TaskFact::schemas];
    families.iter().flat_map(|schemas| schemas(generator)).collect()
}
