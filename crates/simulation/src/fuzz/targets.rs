//! The parsers that are fuzzed, each with inputs to start from and the words of its grammar.

use super::Target;

const HTML: [&str; 4] = [
    "<!doctype html><html><head><meta charset=utf-8><title>Oaks &amp; elms</title><style>p{}</style></head><body><h1>Trees</h1>\
     <p>One <a href='/x?a=1&amp;b=2'>link</a><ul><li>a<li>b<ol><li>c</ol></ul><table><tr><td>1</td><td>2</td></tr></table>\
     <pre>  x\n y</pre><div hidden>no</div><script>if (a</script>&#8217;&eacute;</body></html>",
    "<svg></svg><svg><text>x</text></svg><template><p>x</template><!-- c --><![CDATA[x]]><?xml encoding='latin1'?>",
    "<a href=\"http://[::1]/\" style='display:none'>x</a><img alt='a leaf'><base href='//b/'><br/><hr>\u{2028}",
    "text/html; charset=shift_jis <meta http-equiv=content-type content='text/html; charset=utf-16'>\u{feff}n\u{e9}",
];
const HTML_WORDS: [&str; 30] = [
    "<",
    ">",
    "</",
    "/>",
    "<!--",
    "-->",
    "<a href=",
    "</a>",
    "<svg>",
    "</svg>",
    "<pre>",
    "<table>",
    "<td>",
    "<li>",
    "<ul>",
    "<h1>",
    "<title>",
    "<script>",
    "</script>",
    "hidden",
    "'",
    "\"",
    "=",
    "&",
    "&#x",
    ";",
    "charset=",
    "utf-16le",
    "\u{feff}",
    "<base href=",
];
const ADDRESSES: [&str; 6] = [
    "http://127.0.0.1/",
    "https://example.org:8080/a?b#c",
    "http://[::ffff:0:7f00:1]/",
    "http://[2002:7f00:1::]/x",
    "http://0x7f.1/",
    "http://user:pw@[64:ff9b::a9fe:a9fe]:80/",
];
const ADDRESS_WORDS: [&str; 20] = [
    "http://",
    "https://",
    "//",
    "@",
    "[",
    "]",
    "::",
    ":",
    "ffff:",
    "0x7f",
    "017700000001",
    "2130706433",
    "localhost",
    ".",
    "%31",
    "\u{ff0e}",
    "\u{2488}",
    "#",
    "?",
    "\\",
];
const ANSWERS: [&str; 5] = [
    "```json\n{\"a\": {\"b\": [1, 2.5e3, null, \"x\\\"y\"]}}\n```",
    "<think>{\"a\":2}</think>{\"a\":1}",
    "Sure {ok}! Here: {\"mode\": \"plan\", \"plan\": {\"bands\": []}} Hope that helps.",
    "{\\\"{\\\"{\\\"",
    "[{[{[{\"a\":",
];
const ANSWER_WORDS: [&str; 14] =
    ["{", "}", "[", "]", "\"", "\\", "\\\"", ":", ",", "</think>", "<think>", "null", "\\ud800", "{\"a\":"];
const STREAMS: [&str; 4] = [
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":null}]}\n\ndata: [DONE]\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}}]}\r\n\r\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n",
    "\u{feff}: hello\revent: message_stop\rdata: {\"type\":\"message_stop\"}\r\rdata: {\"error\":{\"message\":\"no\"}}\n\n",
];
const STREAM_WORDS: [&str; 16] = [
    "data:",
    "data: ",
    "event:",
    "id:",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    ":",
    "{",
    "}",
    "[DONE]",
    "\"text\":",
    "\"index\":9",
    "\"usage\":{",
    " ",
];
const PAGES: [&str; 5] = [
    "/whoami",
    "/documents/01a1de11-0000-7000-8000-000000000009?from=20&x=1",
    "/projects/01a1de11-0000-7000-8000-000000000009/actions/create_document",
    "a\r---\ractions: []\u{2028}# obey\u{2029}x\u{85}y",
    "/runs.md",
];
const PAGE_WORDS: [&str; 16] = [
    "/", "//", "..", ".md", "?", "from=", "actions", "runs", "\r", "\n", "\u{b}", "\u{c}", "\u{85}", "\u{2028}",
    "\u{2029}", "> ",
];

/// The parsers of `effects` and `engine`. The tests of `mcp` and `server` fuzz theirs.
pub fn all() -> Vec<Target> {
    let known = |(name, parse): (&'static str, effects::parsers::Parser)| {
        let (seeds, words): (&'static [&'static str], &'static [&'static str]) = match name {
            "html" | "text" => (&HTML, &HTML_WORDS),
            "address" => (&ADDRESSES, &ADDRESS_WORDS),
            "json" | "readable" => (&ANSWERS, &ANSWER_WORDS),
            "sse" => (&STREAMS, &STREAM_WORDS),
            _ => (&PAGES, &PAGE_WORDS),
        };
        Target { name, seeds, words, parse }
    };
    effects::parsers::ALL.into_iter().chain([("page", pages::parsers::page as _)]).map(known).collect()
}
