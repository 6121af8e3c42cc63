//! The parser of MCP messages holds against any bytes, and its cost is linear.

use mcp::client::messages::MessageScanner;
use simulation::fuzz::{Target, assert_linear, assert_sound};

fn scanner(bytes: &[u8]) {
    let mut scanner = MessageScanner::default();
    bytes.chunks(7).for_each(|part| scanner.scan(part));
    // If the JSON parser finds the id of an answer, the scanner found the same one.
    let read = serde_json::from_slice::<serde_json::Value>(bytes).ok().filter(|message| message["method"].is_null());
    let known = read.as_ref().and_then(|message| message.as_object()?.get("id")).filter(|id| id.is_u64());
    if let (Some(id), None) = (known, scanner.error()) {
        assert_eq!(scanner.answered_id(), Some(id));
    }
}

const MESSAGES: Target = Target {
    name: "mcp",
    seeds: &[
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"a\"b"}],"id":8}}"#,
        r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#,
        r#"{"id":1,"method":"elicitation/create","params":{}}"#,
    ],
    words: &["{", "}", "[", "]", "\"", "\\", ":", ",", "\"id\":", "\"method\":", "null", "1", " ", "\n"],
    parse: scanner,
};

#[test]
fn fuzz_mcp_messages() {
    assert_sound(&MESSAGES);
}

#[test]
fn r8_twice_the_message_costs_at_most_two_and_a_half_times() {
    for unit in ["{", "{\"id\":", "\"\\", "[[", ",,", ":", "{\"a\":{}}"] {
        assert_linear("mcp", unit, 500_000, |bytes| MessageScanner::default().scan(bytes));
    }
}
