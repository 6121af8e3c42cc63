//! The schema of a role: a value to check answers against, and the text that is sent. A model that is held to a schema
//! fills in its fields in the order of that text, so the text keeps the order in which the prompt file lists them.
//! It knows no role. `serde_json` could keep the order of every map, but hashes and stored logs rely on sorted ones.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::fmt;

#[derive(Clone, Debug)]
pub struct RoleSchema {
    pub value: Value,
    /// Without white space. Read into a `Value` and written again, its fields would be sorted by name.
    pub text: Box<RawValue>,
}

impl RoleSchema {
    /// `None` if this is not JSON.
    pub(crate) fn read(json: &str) -> Option<RoleSchema> {
        RoleSchema::of(&serde_json::from_str(json).ok()?)
    }

    fn of(json: &InOrder) -> Option<RoleSchema> {
        let text = to_raw_value(json).ok()?;
        Some(RoleSchema { value: serde_json::from_str(text.get()).ok()?, text })
    }

    /// With one more field, the last one, in the object at this JSON pointer. It is required like all others, because some
    /// servers reject schemas with optional fields.
    pub(crate) fn with_field(&self, object: &str, name: &str, schema: Value) -> Option<RoleSchema> {
        let mut whole: InOrder = serde_json::from_str(self.text.get()).ok()?;
        let object = object.split('/').skip(1).try_fold(&mut whole, InOrder::field)?;
        let InOrder::Array(required) = object.field("required")? else { return None };
        required.push(InOrder::Scalar(name.into()));
        let InOrder::Object(Fields(fields)) = object.field("properties")? else { return None };
        fields.push((name.to_owned(), InOrder::Scalar(schema)));
        RoleSchema::of(&whole)
    }
}

/// JSON whose fields stay in the order in which they were written.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum InOrder {
    Object(Fields),
    Array(Vec<InOrder>),
    Scalar(Value),
}

pub(crate) struct Fields(pub(crate) Vec<(String, InOrder)>);

impl InOrder {
    fn field(&mut self, name: &str) -> Option<&mut InOrder> {
        match self {
            InOrder::Object(Fields(fields)) => {
                fields.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fields, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}
