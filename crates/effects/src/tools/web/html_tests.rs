//! Ordinary pages, and malformed ones.

use super::*;
use proptest::prelude::*;

fn page(html: &str) -> Reading {
    read(html, &Url::parse("https://example.org/a/b.html").unwrap(), 60_000)
}

fn text(html: &str) -> String {
    page(html).text
}

#[test]
fn markup_and_scripts_are_removed() {
    let html = "<html><head><title>Oaks &amp; elms</title><style>p{}</style></head><body><p>One <b>bold</b> &lt;tree&gt;</p>\
                <script>steal('</p>')</script><!-- <p>hidden</p> --><div>Two</div><SCRIPT>x</SCRIPT>";
    let page = page(html);
    assert_eq!((page.title.as_str(), page.text.as_str()), ("Oaks & elms", "One bold <tree>\nTwo"));
    assert_eq!(text("<script>never closed"), "");
}

#[test]
fn w2_links_keep_their_address() {
    for (html, shown) in [
        ("see <a href='/x?a=1&amp;b=2'>the  page</a>.", "see [the page](https://example.org/x?a=1&b=2)."),
        ("<a href=c.html>c</a>", "[c](https://example.org/a/c.html)"),
        ("<a href=\"https://h/(x)\">p</a>", "[p](https://h/%28x%29)"),
        ("<a href='#top'>up</a> <a>no</a> <a href='javascript:x()'>js</a>", "up no js"),
        (
            "<a href=/1></a>x<a href=/2>two<a href=/3>three",
            "x[two](https://example.org/2)[three](https://example.org/3)",
        ),
        ("<base href='https://other.example/d/'><a href=e>e</a>", "[e](https://other.example/d/e)"),
        ("<a href=/n><h2>News</h2><p>of today</p></a>", "[News of today](https://example.org/n)"),
        ("<a href='mailto:a@b.example'>write</a>", "[write](mailto:a@b.example)"),
    ] {
        assert_eq!(text(html), shown, "{html}");
    }
}

#[test]
fn w2_headings_lists_tables_and_preformatted_text_keep_their_shape() {
    let html = "<h1>Trees</h1><p>Some:<ul><li>oak<li>elm<ul><li>wych</ul></ul><ol><li>one</li><li>two</li></ol>\
                <table><tr><th>Name</th><th>m</th></tr><tr><td><p>Oak</p></td><td>40</td></tr><tr><td></td><td>7</td></tr></table>\
                <pre>\n  a  b\n    c</pre><h2>End</h2>a<br>b<hr><img alt='a leaf' src=x>";
    let shown = "# Trees\nSome:\n- oak\n- elm\n  - wych\n1. one\n2. two\nName | m\nOak | 40\n | 7\n```\n  a  b\n    c\n```\n\n## End\na\nb\n---\n[image: a leaf]";
    assert_eq!(text(html), shown);
}

#[test]
fn w2_hidden_elements_are_left_out() {
    for html in [
        "a<svg><text>x</text></svg>b",
        "a<svg/>b",
        "a<template><p>x</template>b",
        "a<div hidden>x<div>y</div>z</div>b",
        "a<span style='color:red; display : none'>x</span>b",
        "a<i aria-hidden=true>x</i>b",
        "a<noscript>x</noscript>b",
    ] {
        assert_eq!(text(html), "ab", "{html}");
    }
    assert_eq!(text("<p hidden>one<p>two"), "one\ntwo", "nothing that needs no end tag hides the rest");
}

#[test]
fn x4_what_is_written_stays_within_its_bound() {
    // Given a page whose short links become long ones
    let address = Url::parse(&format!("https://example.org/{}/", "d".repeat(1_500))).unwrap();
    // When it is read
    let reading = read(&"<a href=x>a</a> ".repeat(100_000), &address, 60_000);
    // Then there is no more of it than was asked for
    assert!(reading.is_cut && reading.text.len() <= 60_000);
}

proptest! {
    #[test]
    fn x4_no_text_makes_reading_panic(html in ".{0,200}") {
        page(&html);
    }

    #[test]
    fn x4_no_markup_makes_reading_panic(
        parts in prop::collection::vec(prop::sample::select(vec![
            "<", ">", "</", "/>", "a", " ", "=", "'", "\"", "<a href=", "</a>", "<svg", "<pre>", "</pre>", "<ul>", "<li>", "<td>",
            "<table>", "<!--", "-->", "&", "&#", "é", "\u{2028}", "<script>", "</script", "hidden", "<title>", "<h9>", "<h2>", ";",
        ]), 0..60),
    ) {
        page(&parts.concat());
    }
}
