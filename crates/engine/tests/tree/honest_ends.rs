//! A node ends as what it did: it is held to what its step asked for, and canceled is canceled.

use crate::*;
use engine::run::Status;

/// A plan of one step that plans itself, and owes this.
fn owes(deliverable: &str) -> Value {
    let mut answer = plan(&[&["a"]]);
    answer["plan"]["bands"][0]["steps"][0]["leaf"] = json!(false);
    answer["plan"]["bands"][0]["steps"][0]["deliverable"] = json!(deliverable);
    answer
}

fn with_data(mut answer: Value) -> Value {
    let data = json!({ "type": "json", "label": "rows", "json": { "rows": 2 } });
    answer["artifacts"].as_array_mut().expect("artifacts").push(data);
    answer
}

#[test]
fn t3_a_planning_node_is_held_to_its_deliverable_as_a_leaf_is() {
    for (given_when_asked_again, outcome) in [(true, "success"), (false, "partial")] {
        // given: a step that owes JSON, whose node plans and sums up in a document alone
        let mut play = scripted(brief("Owes"), move |role, title, attempt| match (role, title) {
            (Role::TreePlanner, "Owes") => Some(Ok(owes("json"))),
            (Role::TreePlanner, _) => Some(Ok(plan(&[&["x"]]))),
            (Role::TreeAggregator, "Step a") if given_when_asked_again && attempt.effect.0.ends_with(".agg.fix") => {
                Some(Ok(with_data(summed("synthesis"))))
            }
            _ => None,
        });
        // when
        play.go();
        // then: it is asked once more, and what is still missing makes it partial
        check(&play);
        let rejected = payloads(&play, "tree.answer_rejected");
        assert_eq!(rejected.len(), 1, "asked once more, not for ever");
        assert!(rejected[0]["effect"].as_str().unwrap().ends_with(".n1.g1.agg"), "{rejected:?}");
        assert!(rejected[0]["errors"][0].as_str().unwrap().contains("\"json\""), "{rejected:?}");
        let node = state(&play).node(by_title(&play, "Step a")).expect("the node");
        assert_eq!(json!(node.outcome), outcome);
        let missing = (!given_when_asked_again).then_some("gave no JSON although it was asked for");
        assert_eq!(node.shortfall.as_deref(), missing);
        assert_eq!(play.run.shared.status(), Status::Completed);
    }
}

#[test]
fn t3_the_synthesis_is_the_document_of_a_planning_node_that_wrote_none() {
    // given: an aggregator that writes no artifact at all
    let mut play = scripted(brief("Plain"), |role, title, _| match (role, title) {
        (Role::TreePlanner, "Plain") => Some(Ok(owes("document"))),
        (Role::TreePlanner, _) => Some(Ok(plan(&[&["x"]]))),
        (Role::TreeAggregator, _) => {
            let mut answer = summed("synthesis");
            answer["artifacts"] = json!([]);
            answer["result"] = json!({ "summary": "in short", "success_assessment": { "met": true } });
            Some(Ok(answer))
        }
        _ => None,
    });
    // when
    play.go();
    // then: the platform made the document from its synthesis
    check(&play);
    assert_eq!(count(&play, "tree.answer_rejected"), 0);
    assert!(payloads(&play, "tree.node_completed").iter().all(|end| end["outcome"] == "success"));
}
