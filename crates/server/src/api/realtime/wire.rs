//! Phoenix messages in both of their forms: objects (1.0.0) and arrays (2.0.0). Clients send them before any login, so parsing
//! takes time linear in their length, and deep nesting is refused.

use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProtocolVersion {
    V1,
    V2,
}

impl ProtocolVersion {
    /// The first version is Phoenix's default.
    pub(super) fn parse(text: Option<&str>) -> Option<ProtocolVersion> {
        match text {
            None | Some("1.0.0") => Some(ProtocolVersion::V1),
            Some("2.0.0") => Some(ProtocolVersion::V2),
            Some(_) => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClientMessage {
    pub join_ref: Value,
    pub reference: Value,
    pub topic: String,
    pub event: String,
    pub payload: Value,
}

impl ClientMessage {
    pub(super) fn parse(version: ProtocolVersion, text: &str) -> Option<ClientMessage> {
        let mut value: Value = serde_json::from_str(text).ok()?;
        let parts = match (version, &mut value) {
            (ProtocolVersion::V1, Value::Object(fields)) => {
                ["join_ref", "ref", "topic", "event", "payload"].map(|name| fields.remove(name).unwrap_or_default())
            }
            (ProtocolVersion::V2, Value::Array(items)) => <[Value; 5]>::try_from(std::mem::take(items)).ok()?,
            _ => return None,
        };
        let [join_ref, reference, Value::String(topic), Value::String(event), payload] = parts else { return None };
        Some(ClientMessage { join_ref, reference, topic, event, payload })
    }
}

/// `payload` is JSON text.
pub(super) fn frame(
    version: ProtocolVersion,
    join_ref: &Value,
    reference: &Value,
    topic: &str,
    event: &str,
    payload: &str,
) -> String {
    let (topic, event) = (Value::from(topic), Value::from(event));
    match version {
        ProtocolVersion::V1 => {
            format!(
                r#"{{"topic":{topic},"event":{event},"payload":{payload},"ref":{reference},"join_ref":{join_ref}}}"#
            )
        }
        ProtocolVersion::V2 => format!("[{join_ref},{reference},{topic},{event},{payload}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use simulation::fuzz::{Target, assert_doubles, assert_linear, assert_sound};

    fn version() -> impl Strategy<Value = ProtocolVersion> {
        prop_oneof![Just(ProtocolVersion::V1), Just(ProtocolVersion::V2)]
    }

    /// JSON, nearly JSON, and neither.
    fn text() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            Just("null".to_owned()),
            Just("{".to_owned()),
            Just("}".to_owned()),
            Just("[".to_owned()),
            Just("]".to_owned()),
            Just(",".to_owned()),
            Just(":".to_owned()),
            Just("\"topic\":\"phoenix\"".to_owned()),
            Just("\"event\":\"phx_join\"".to_owned()),
            Just("\"payload\":{}".to_owned()),
            "\"[a-z\\\\u0-9]{0,8}\"",
            "-?[0-9]{1,30}(\\.[0-9]{1,9})?(e[0-9]{1,4})?",
            ".{0,12}",
        ];
        prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn x6_whatever_is_sent_is_read_without_harm(version in version(), text in text()) {
            if let Some(read) = ClientMessage::parse(version, &text) {
                let again = frame(version, &read.join_ref, &read.reference, &read.topic, &read.event, &read.payload.to_string());
                prop_assert_eq!(ClientMessage::parse(version, &again), Some(read));
            }
        }

        #[test]
        fn x6_what_is_written_is_read_back(version in version(), topic: String, event: String, number: i64) {
            let text = frame(version, &json!(number), &Value::Null, &topic, &event, "{}");
            let read = ClientMessage::parse(version, &text).expect("a message");
            prop_assert_eq!((read.join_ref, read.topic, read.event), (json!(number), topic, event));
        }
    }

    #[test]
    fn x6_what_is_nested_without_end_is_no_message_and_overflows_nothing() {
        for open in ["[", "{\"a\":"] {
            let deep = format!("[null,null,\"phoenix\",\"heartbeat\",{}", open.repeat(60_000));
            assert_eq!(ClientMessage::parse(ProtocolVersion::V2, &deep), None);
        }
    }

    #[test]
    fn x6_twice_as_long_a_message_costs_at_most_two_and_a_half_times() {
        let schemas: [fn(usize) -> String; 3] = [
            |size| format!("[null,\"1\",\"t\",\"e\",[{}0]]", "0,".repeat(size / 2)),
            |size| format!("[null,\"1\",\"t\",\"e\",\"{}\"]", "\\u00e9".repeat(size / 6)),
            |size| "[".repeat(size),
        ];
        for schema in schemas {
            // As long as a message may be, and half of it.
            let (half, whole) = (schema(32 << 10), schema(64 << 10));
            assert_doubles(&half[..40], &half, &whole, |text| {
                std::hint::black_box(ClientMessage::parse(ProtocolVersion::V2, text));
            });
        }
    }

    fn read(bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        for version in [ProtocolVersion::V1, ProtocolVersion::V2] {
            if let Some(read) = ClientMessage::parse(version, &text) {
                let ClientMessage { join_ref, reference, topic, event, payload } = read.clone();
                let again = frame(version, &join_ref, &reference, &topic, &event, &payload.to_string());
                assert_eq!(ClientMessage::parse(version, &again), Some(read));
            }
        }
    }

    const FRAMES: Target = Target {
        name: "realtime",
        seeds: &[
            r#"["1","2","realtime:tree-agent:run:x","phx_join",{"config":{"private":true},"access_token":"t"}]"#,
            r#"{"topic":"phoenix","event":"heartbeat","payload":{},"ref":"5","join_ref":null}"#,
            r#"[null,"5","phoenix","heartbeat",{}]"#,
        ],
        words: &["[", "]", "{", "}", "\"", "\\", ",", ":", "null", "\"topic\":", "\"phx_leave\"", "\\ud800", "1e999"],
        parse: read,
    };

    #[test]
    fn fuzz_realtime_frames() {
        assert_sound(&FRAMES);
    }

    #[test]
    fn x6_twice_the_frame_costs_at_most_two_and_a_half_times() {
        for unit in ["[", "{\"a\":", "\"\\\"", "[1],", " "] {
            assert_linear("realtime", unit, 300_000, read);
        }
    }

    #[test]
    fn both_forms_are_read_and_written() {
        for version in [ProtocolVersion::V1, ProtocolVersion::V2] {
            let text = frame(version, &json!("1"), &json!("2"), "realtime:a \"b\"", "phx_join", r#"{"x":1}"#);
            let read = ClientMessage::parse(version, &text).unwrap();
            assert_eq!((read.join_ref, read.reference), (json!("1"), json!("2")));
            assert_eq!((read.topic.as_str(), read.event.as_str()), ("realtime:a \"b\"", "phx_join"));
            assert_eq!(read.payload, json!({"x": 1}));
        }
        let heartbeat = r#"[null,"5","phoenix","heartbeat",{}]"#;
        assert_eq!(ClientMessage::parse(ProtocolVersion::V2, heartbeat).unwrap().join_ref, Value::Null);
        for bad in ["", "[]", "{}", "[1,2,3,4,5]", "null", "[\"a\",\"b\",\"c\",\"d\"]"] {
            assert_eq!(ClientMessage::parse(ProtocolVersion::V2, bad), None, "{bad}");
            assert_eq!(ClientMessage::parse(ProtocolVersion::V1, bad), None, "{bad}");
        }
    }
}
