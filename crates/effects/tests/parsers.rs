//! Every parser of foreign bytes holds against any input, and its cost is linear.

use effects::parsers;
use simulation::fuzz::{assert_linear, assert_sound, targets};

#[test]
fn fuzz_every_parser_holds_against_a_few_thousand_inputs() {
    for target in targets::all() {
        assert_sound(&target);
    }
}

#[test]
fn x4_twice_the_page_costs_at_most_two_and_a_half_times() {
    for unit in [
        "<svg></svg>",
        "<svg>",
        "<div>",
        "<b",
        "<a href=x>",
        "<a href=x></a>",
        "<a href='",
        "<!--",
        "<script>",
        "</script",
        "<style></styl",
        "<p hidden a=b c='d'>",
        "<table><tr><td>",
        "<ul><li>",
        "<pre> ",
        "&amp",
        "&#1",
        "<x y=\"",
        "<title>",
        "charset=",
    ] {
        assert_linear("html", unit, 150_000, parsers::html);
    }
}

#[test]
fn x4_twice_the_answer_costs_at_most_two_and_a_half_times() {
    // In some of these, every brace seems to be closed only at the very end.
    for unit in ["{\\\"", "{\"\\", "{ ", "[{", "{}x", "{\"a\":</think>", "{\"a\":\\\"</think>", "{{}", "{\"a\" "] {
        assert_linear("json", unit, 400_000, parsers::json);
    }
}

#[test]
fn t4_twice_the_answer_in_progress_costs_at_most_two_and_a_half_times() {
    for unit in ["{\"", "{\"a\":\"b c", "\\u", "\\ud83c", "[{", "]", "word", "a b\n", "\"\","] {
        assert_linear("readable", unit, 400_000, parsers::readable);
    }
}

#[test]
fn x4_twice_the_stream_costs_at_most_two_and_a_half_times() {
    let call =
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"arguments\":\" \"}}]}}]}\n\n";
    let blank = "data: {\"choices\":[{\"delta\":{\"content\":\"                \"}}]}\n\n";
    for unit in ["data: x\n", "data:", "\r", ":\n\n", call, blank, "event: a\n"] {
        assert_linear("sse", unit, 300_000, |bytes| parsers::ALL[4].1(bytes));
    }
}

#[test]
fn x15_twice_the_quotation_costs_at_most_two_and_a_half_times() {
    for unit in ["\r", "\u{2028}", "/a", "?from=", "x\n"] {
        assert_linear("page", unit, 400_000, pages::parsers::page);
    }
    for unit in ["http://[::", "a.", "%31", "@"] {
        assert_linear("address", unit, 400_000, parsers::address);
    }
}
