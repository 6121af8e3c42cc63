//! The report as people read it at the end of real runs.

use crate::home::Home;
use crate::planner::{creates_documents, planned_as};
use crate::tree::scripts::{document, grows, nonsense, pad, planned, result, step};
use serde_json::{Value, json};

#[test]
fn h1_a_verified_criterion_is_shown_with_its_quote_and_where_it_stands() {
    // Given a run on rehearsal with a criterion
    let home = Home::bare();
    let run = home.run("Write a short guide to growing tomatoes on a balcony", &["--success", "The guide exists"]);
    let id = run.exits(0).id();
    // When its report is read
    let report = home.pleach(&["report", &id, "--json"]).exits(0).run();
    let text = home.pleach(&["report", &id]).exits(0).out;
    // Then the state, the quote and the document are there, and the document can be read by what is printed
    assert_eq!((&report["outcome"], &report["criteria"][0]["state"]), (&json!("verified"), &json!("verified")));
    let cited = report["criteria"][0]["evidence"].as_array().expect("evidence");
    let cited = cited.iter().find(|cited| cited["quotes"][0].is_string()).expect("a quote");
    let (quote, document) = (cited["quotes"][0].as_str().expect("words"), &cited["ref"].as_str().expect("a ref")[4..]);
    assert!(text.contains("- **Verified**: The guide exists\n"), "{text}");
    assert!(text.contains(&format!("\n  > {}", quote.lines().next().expect("a line"))), "{quote:?} is not in\n{text}");
    assert!(text.contains(&format!("](/documents/{document}), version ")), "{text}");
    home.pleach(&["doc", document]).exits(0);
}

#[test]
fn t18_the_report_of_a_tree_has_the_synthesis_itself_and_each_failure_once() {
    // Given a tree of four steps, of which two come to nothing for the same reason, and one that hands up data from below
    let bands: [&[Value]; 1] =
        [&[step("Speed of both"), planned(step("Costs of both")), step("Licence"), step("Support")]];
    let special = |request: &simulation::scripted::Request| match (request.role.as_str(), request.node()) {
        ("tree_executor", "Licence" | "Support") => Some(nonsense()),
        ("tree_executor", "Costs of both") => Some(json!({"tool_calls": [], "question": null, "scratchpad": pad(),
            "artifacts": [document("costs", "# Costs\n\nHalf."), {"type": "json", "label": "prices", "title": "prices", "json": {"usd": 9}}],
            "result": result("costs")})),
        _ => None,
    };
    let home = Home::with(grows(&bands, special));
    let run = home.tree("Which tool", &[]).exits(0).run();
    let id = run["id"].as_str().expect("an id");
    // Then the report shows what the root wrote, everything that was made, and why the two failed, once
    let text = home.pleach(&["report", id]).exits(0).out;
    assert!(text.contains("**Completed, partial**"), "{text}");
    assert!(text.contains("\n## On synthesis\n\nTaken together.\n"), "{text}");
    assert!(text.contains("](/documents/") && text.contains("- prices (data, by “Costs of both”)\n"), "{text}");
    assert_eq!(text.matches("the model's answers could not be used").count(), 1, "{text}");
    assert!(text.contains("- **Licence** and **Support**: ") && text.contains("2 of 5 nodes failed"), "{text}");
    // And so does what `show` prints
    let shown = home.pleach(&["show", id]).exits(0).out;
    assert!(shown.contains("Failed and dropped\n  ✗ Licence: the model's answers could not be used"), "{shown}");
    // And the JSON
    let report = home.pleach(&["report", id, "--json"]).exits(0).run();
    assert_eq!(report["synthesis"]["document"]["text"], "# Synthesis\n\nTaken together.");
    assert_eq!(report["failed"].as_array().map(Vec::len), Some(2));
}

#[test]
fn h9_an_unknown_price_is_nowhere_shown_as_nothing() {
    let home = Home::with(planned_as(creates_documents))
        .set("OPENAI_API_KEY", "k")
        .set("PLEACH_MODEL", "openai/nobody-knows-this-model");
    let id = home.run("Unknown price", &["--max-iterations", "1"]).exits(4).id();
    let report = home.pleach(&["report", &id]).exits(0).out;
    assert!(report.contains("- Unknown price: ") && !report.contains("USD"), "{report}");
    for shown in [report, home.pleach(&["ls"]).exits(0).out, home.pleach(&["show", &id]).exits(0).out] {
        assert!(!shown.contains("$0.00") && shown.to_lowercase().contains("unknown"), "{shown}");
    }
}
