//! Arguments from a model may be anything: a tool always answers, and returns no changes when it refuses.

use crate::fixture::Fixture;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const NAMES: &str =
    "project_id document_id task_id edge_id src_id dst_id title content append query props limit version state";

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        (0u128..140).prop_map(|n| json!(uuid::Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + n))),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Mostly names that tools know, with values of every type.
fn any_arguments() -> impl Strategy<Value = Value> {
    let named = prop::collection::vec((prop::sample::select(NAMES.split(' ').collect::<Vec<_>>()), any_json()), 0..6)
        .prop_map(|fields| {
            Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
        });
    prop_oneof![3 => named, 1 => any_json()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn no_arguments_make_a_tool_panic_or_return_changes_with_a_refusal(arguments in any_arguments(), stray in any::<String>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let fixture = Fixture::global().await;
            let mut tools: Vec<String> = fixture.granted.clone();
            tools.push(stray);
            for tool in tools {
                let outcome = fixture.outcome(&tool, arguments.clone()).await;
                match outcome.result {
                    Ok(output) => assert!(output.summary.chars().count() <= 200),
                    Err(error) => assert!(!error.is_empty() && outcome.mutations.is_empty()),
                }
            }
        });
    }
}
