//! The report of a tree, as a person reads it: the synthesis itself, everything that was made, each failure once.

use crate::play::golden_text;
use crate::*;
use engine::report;
use engine::run::Status;

fn full_report(play: &Play) -> Value {
    let mut told = play.run.shared.report.clone().expect("a report");
    let text = report::main_text(&told).map(|hash| play.blobs[&hash].clone());
    text.into_iter().for_each(|text| report::show_main_text(&mut told, &text));
    told
}

/// Four steps, of which two come to nothing, one hands up data, and one planned further.
fn half_failed() -> Play {
    let mut play = scripted(brief("Which backup tool should the office use?"), |role, title, _| match (role, title) {
        (Role::TreePlanner, "Step costs") => Some(Ok(plan(&[&["borg", "duplicity"]]))),
        (Role::TreePlanner, _) => {
            let mut answer = plan(&[&["speed", "costs", "licence", "support"]]);
            answer["plan"]["bands"][0]["steps"][1]["leaf"] = json!(false);
            answer["plan"]["bands"][0]["steps"][1]["deliverable"] = json!("either");
            Some(Ok(answer))
        }
        (Role::TreeExecutor, "Step licence" | "Step support") => {
            Some(Ok(json!({ "tool_calls": [], "artifacts": [], "result": result("plan"), "scratchpad": pad("no") })))
        }
        (Role::TreeExecutor, "Step borg") => {
            let mut answer = done("borg");
            answer["artifacts"][0] =
                json!({ "type": "json", "label": "prices", "title": "prices", "json": { "usd_a_month": 9 } });
            answer["artifacts"].as_array_mut().unwrap().push(document("borg", "# Borg\n\nNine dollars."));
            Some(Ok(answer))
        }
        (Role::TreeExecutor, title) => Some(Ok(done(title.strip_prefix("Step ").unwrap_or("paper")))),
        (Role::TreeAggregator, "Step costs") => Some(Ok(summed("costs"))),
        (Role::TreeAggregator, _) => {
            let mut answer = summed("advice");
            answer["artifacts"] = json!([document(
                "advice",
                "# Advice\n\nTake Borg: it costs half and restores four times as fast.\n\n## Open\n\nLicence and support were not looked at."
            )]);
            answer["synthesis"] = json!({ "summary": "Borg, as far as is known.", "key_findings": ["Borg costs half.", "Borg restores four times as fast."], "gaps": ["Licence and support were not looked at."] });
            answer["result"]["summary"] = json!("Borg is recommended, as far as half of the questions go.");
            Some(Ok(answer))
        }
        _ => None,
    });
    play.go();
    check(&play);
    play
}

fn canceled() -> Play {
    let mut play = scripted(brief("Which backup tool should the office use?"), |role, _, _| match role {
        Role::TreePlanner => Some(Ok(plan(&[&["speed", "costs"], &["advice"]]))),
        _ => None,
    });
    play.step(2);
    let owner = Actor::Person(play.run.shared.brief.owner);
    play.run.command(Command::Cancel, owner, play.now).expect("canceled");
    play.commit();
    play
}

#[test]
fn t18_the_report_of_a_tree_half_of_which_failed_is_golden() {
    let play = half_failed();
    assert_eq!(play.run.shared.status(), Status::Completed);
    golden_text("report_tree.txt", &report::markdown(&full_report(&play)));
}

#[test]
fn t9_everything_made_at_every_depth_is_listed_data_too_and_the_rest_is_counted() {
    let report = full_report(&half_failed());
    let made = |title: &str| report["made"].as_array().unwrap().iter().find(|made| made["title"] == title).cloned();
    assert_eq!(report["made"][0]["title"], "About advice", "the main document first");
    assert_eq!(made("About duplicity").expect("two levels down")["node"], "Step duplicity");
    let data = made("prices").expect("data");
    assert!(data["kind"] == "json" && data["ref"].as_str().unwrap().starts_with("artifact:"), "{data}");
    assert_eq!(report["artifacts"].as_array().map(Vec::len), Some(6));
    // Given a tree that made more than a report lists
    let mut play = scripted(brief("Many"), |role, _, _| {
        (role == Role::TreeExecutor).then(|| {
            let mut answer = done("paper");
            let more = (0..19).map(|n| document(&format!("part {n}"), "# Part"));
            answer["artifacts"].as_array_mut().unwrap().extend(more);
            Ok(answer)
        })
    });
    play.go();
    let one = full_report(&play);
    assert_eq!((one["made"].as_array().map(Vec::len), &one["left_out"]), (Some(20), &json!(0)));
    let mut play = scripted(brief("More"), |role, _, _| match role {
        Role::TreePlanner => Some(Ok(plan(&[&["a", "b", "c", "d"]]))),
        Role::TreeExecutor => {
            let mut answer = done("paper");
            let more = (0..19).map(|n| document(&format!("part {n}"), "# Part"));
            answer["artifacts"].as_array_mut().unwrap().extend(more);
            Some(Ok(answer))
        }
        _ => None,
    });
    play.go();
    let many = full_report(&play);
    assert_eq!((many["made"].as_array().map(Vec::len), &many["left_out"]), (Some(60), &json!(21)));
    assert!(report::markdown(&many).contains("- and 21 more\n"));
}

#[test]
fn t1_a_criterion_of_a_tree_is_told_with_its_state_and_its_quote() {
    let words = "Nine dollars a month, and half of what the other costs.";
    for met in [true, false] {
        let mut play = Play::new(Queued { no_verify: false, ..brief("Prices") }, move |role, attempt| {
            Ok(match role {
                Role::TreePlanner => execute(),
                Role::TreeExecutor => {
                    json!({ "tool_calls": [], "artifacts": [document("paper", words)], "result": result("paper"), "question": null, "scratchpad": pad("x") })
                }
                Role::Verifier => {
                    let text = own_text(attempt);
                    let reference = text
                        .split("\"refs\":[\"")
                        .nth(1)
                        .and_then(|rest| rest.split('"').next())
                        .expect("a ref")
                        .to_owned();
                    let verdict = if met { "met" } else { "not_met" };
                    json!({ "verdicts": [{ "criterion": "c1", "quotes": [{ "ref": reference, "text": words }], "reason": "no tool is named", "verdict": verdict }] })
                }
                _ => panic!("not a role of the tree"),
            })
        });
        play.run.shared.budgets.max_replans = 0;
        play.go();
        let report = full_report(&play);
        let text = report::markdown(&report);
        let told = match met {
            true => {
                format!("- **Verified**: A recommendation exists\n\n  > {words}\n\n  From [About paper](/documents/")
            }
            false => "- **Not met**: A recommendation exists\n\n  Why: no tool is named\n".to_owned(),
        };
        assert!(text.contains(&told), "{told:?} is not in\n{text}");
        assert_eq!(report["outcome"], if met { "verified" } else { "partial" });
        assert_eq!(report["cost"]["unowned"], report["cost"]["verifier"], "no node pays for the check");
    }
}

#[test]
fn t18_a_limit_is_named_once_and_what_was_never_begun_is_told() {
    let text = report::markdown(&full_report(&canceled()));
    for told in [
        "1 of 3 nodes completed; nothing was summed up.\n",
        "- **Step costs**: canceled by a person\n- Dropped: **Step advice**: canceled before it began\n",
        "- Canceled by a person. The one thing it had made is kept.\n",
    ] {
        assert!(text.contains(told), "{told:?} is not in\n{text}");
    }
    let mut short = brief("Short");
    (short.budgets.max_cost_usd, short.budgets.max_tokens) = (None, Some(60_000));
    let mut play = scripted(short, |role, title, _| {
        (role == Role::TreePlanner && title == "Short").then(|| Ok(plan(&[&["a", "b"], &["c", "d"], &["e"]])))
    });
    (play.usage.input, play.usage.output) = (9_000, 1_000);
    play.go();
    check(&play);
    assert_eq!(
        play.run.shared.stop_reason,
        Some(engine::run::StopReason::BudgetTokens),
        "{:?}",
        play.run.shared.stop_detail
    );
    let detail = play.run.shared.stop_detail.clone().expect("a detail");
    let text = report::markdown(&full_report(&play));
    assert!(!detail.contains("budget_tokens") && !text.contains("budget_tokens"), "{detail}\n{text}");
    assert!(text.contains("by the token limit. "), "{text}");
    assert!(text.contains("- Dropped: **Step e**: skipped: "), "{text}");
}
