//! The report of every end of a homework and a task, as a person reads it: nothing claimed that was not checked, nothing told twice.

mod play;

use engine::actor::Actor;
use engine::effect::{CallError, CallFailure, EffectAttempt};
use engine::facts::run::{Agent, Queued};
use engine::model::Role;
use engine::report::markdown;
use engine::run::{Command, Criterion, Kind, Lane, Status, StopReason};
use play::{Play, golden_text, own_text, plan, scout};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

const ADVICE: &str = "# Advice\n\nTake Borg. It restores 1 TB in 40 minutes; Duplicity needs 160.\nBoth encrypt.";
const QUOTE: &str = "It restores 1 TB in 40 minutes; Duplicity needs 160.";

fn brief(criteria: &[&str]) -> Queued {
    let success_criteria = Criterion::number(criteria.iter().map(|text| (*text).to_owned()));
    Queued { success_criteria, no_verify: false, ..play::brief("Which backup tool should the office use?") }
}

fn write(title: &str, content: &str) -> Value {
    json!({ "tool": "create_document", "arguments": { "title": title, "content": content }, "purpose": "write" })
}

fn search(query: &str) -> Value {
    json!({ "tool": "search_documents", "arguments": { "query": query }, "purpose": "look" })
}

fn step(id: &str, title: &str, status: &str) -> Value {
    json!({ "id": id, "title": title, "status": status, "owner": "executor" })
}

fn prose(not_done: &[&str]) -> Value {
    json!({
        "title": "Which backup tool to use", "summary": "Borg is the better choice for the office: it restores four times as fast.",
        "findings": ["Borg restores 1 TB in 40 minutes, Duplicity in 160.", "Both encrypt what they store."], "not_done": not_done,
    })
}

/// A planner that wants to leave.
fn leaving(drops: bool) -> Value {
    let mut answer = plan("everything is written");
    let mut steps = vec![step("s1", "Write the advice", "done"), step("s2", "Compare the costs", "done")];
    steps.extend((!drops).then(|| step("s3", "Try a restore", "done")));
    (answer["plan"]["steps"], answer["remaining_work"], answer["exit_signal"]) = (json!(steps), json!([]), json!(true));
    answer
}

fn met(criteria: &[&str], reference: &str) -> Value {
    let verdict = |id: &&str| json!({ "criterion": id, "quotes": [{ "ref": reference, "text": QUOTE }], "reason": "the page says so", "verdict": "met" });
    json!({ "verdicts": criteria.iter().map(verdict).collect::<Vec<_>>() })
}

/// Writes the advice, delegates the costs, and leaves in the third iteration. The last step is either done then, or was dropped in
/// the second; then there is a branch that fails, too.
fn writing(brief: Queued, drops: bool, verdicts: impl Fn(&str) -> Value + 'static) -> Play {
    let mut plans = 0;
    Play::new(brief, move |role, attempt| {
        Ok(match role {
            Role::HomeworkPlanner => {
                plans += 1;
                let mut answer = plan("writing");
                match plans {
                    1 => {
                        answer["plan"]["steps"] = json!([
                            step("s1", "Write the advice", "doing"),
                            step("s2", "Compare the costs", "pending"),
                            step("s3", "Try a restore", "pending")
                        ]);
                        answer["tool_calls"] = json!([search("backup"), write("Advice", ADVICE)]);
                    }
                    2 => {
                        answer["plan"]["steps"] = json!([
                            step("s1", "Write the advice", "done"),
                            step("s2", "Compare the costs", "doing"),
                            step("s3", "Try a restore", "pending")
                        ]);
                        answer["executor_tasks"] = json!([{ "branch_id": "costs", "step_id": "s2", "title": "Compare the costs", "objective": "Find both prices", "tools": ["create_document"] }]);
                        if drops {
                            answer["plan"]["steps"].as_array_mut().expect("steps").pop();
                            let vendors = json!({ "branch_id": "vendors", "title": "Ask the vendors", "objective": "Ask both", "tools": ["create_document"] });
                            answer["executor_tasks"].as_array_mut().expect("tasks").push(vendors);
                        }
                    }
                    _ => answer = leaving(drops),
                }
                answer
            }
            Role::HomeworkExecutor if own_text(attempt).contains("Ask both") => json!("I would rather not"),
            Role::HomeworkExecutor => {
                json!({ "thought": "write", "tool_calls": [write("Costs", "Borg 9 USD, Duplicity 18 USD a month.")], "done": true, "summary": "both prices found", "completed_step_ids": ["s2"] })
            }
            Role::Verifier => verdicts(&first_advice(attempt)),
            Role::HomeworkReport => prose(&[]),
            _ => json!({ "corrected_calls": [] }),
        })
    })
}

/// The reference of the advice in the verifier's request.
fn first_advice(attempt: &EffectAttempt) -> String {
    let text = own_text(attempt);
    let at = text.find("\"title\":\"Advice\"").expect("the advice is cited");
    let line = text[..at].rfind('\n').map_or(0, |break_at| break_at + 1);
    text[line..].split("\"ref\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("its ref").to_owned()
}

fn report(play: &Play) -> Value {
    play.run.shared.report.clone().expect("a report")
}

fn command(play: &mut Play, command: Command) {
    let owner = Actor::Person(play.run.shared.brief.owner);
    play.run.command(command, owner, play.now).expect("accepted");
    play.commit();
}

fn verified() -> Play {
    let mut play = writing(brief(&["It says which tool to take, and why"]), false, |advice| met(&["c1"], advice));
    play.go();
    play
}

fn claimed() -> Play {
    let cannot_tell = |advice: &str| {
        let mut verdicts = met(&["c1"], advice);
        let open =
            json!({ "criterion": "c2", "quotes": [], "reason": "No page speaks of a test.", "verdict": "cannot_tell" });
        verdicts["verdicts"].as_array_mut().expect("a list").push(open);
        verdicts
    };
    let mut play = writing(brief(&["It says which tool to take", "A restore was tried"]), false, cannot_tell);
    play.go();
    play
}

/// No criteria, a step that is dropped on the way, a branch and a tool that fail.
fn dropping() -> Play {
    let mut play = writing(brief(&[]), true, |_| Value::Null);
    play.deny("search_documents", "unknown argument \"scope\"; valid arguments: query, project_id?, limit?");
    play.go();
    play
}

fn out_of_tokens() -> Play {
    let mut brief = brief(&["It says which tool to take"]);
    brief.budgets.max_tokens = Some(60_000);
    let mut plans = 0;
    let mut play = Play::new(brief, move |role, _| {
        plans += 1;
        let mut answer = plan("reading on");
        answer["plan"]["steps"] = json!([step("s1", "Read everything", "doing")]);
        answer["remaining_work"] = json!(["Read everything", "Compare the two"]);
        answer["tool_calls"] = json!([write(&format!("Notes {plans}"), &format!("Note {plans}"))]);
        Ok(if role == Role::HomeworkReport { prose(&["No recommendation was reached"]) } else { answer })
    });
    play.usage.input = 9_000;
    play.go();
    play
}

fn no_progress() -> Play {
    let mut play = Play::new(brief(&["It says which tool to take"]), |role, _| {
        let mut answer = plan("searching for the price list");
        answer["tool_calls"] = json!([search("price list")]);
        answer["remaining_work"] = json!(["Find the price list"]);
        Ok(match role {
            Role::HomeworkReport => {
                json!({ "title": "No price list", "summary": "The workspace has no price list, so nothing could be compared.", "findings": [], "not_done": [] })
            }
            _ => answer,
        })
    });
    play.go();
    play
}

/// Asked, answered, told something, and canceled while an executor works.
fn canceled() -> Play {
    let mut plans = 0;
    let mut play = Play::new(brief(&["It says which tool to take"]), move |role, _| {
        plans += 1;
        let mut answer = plan("asking");
        match plans {
            1 => {
                (answer["needs_user_input"], answer["blocking_questions"]) =
                    (json!(true), json!(["How much may it cost a month?"]));
                answer["tool_calls"] = json!([write("Notes", "Two tools are in question.")]);
            }
            _ => {
                answer["executor_tasks"] = json!([{ "branch_id": "b", "title": "Look at prices", "objective": "Find both", "tools": ["search_documents"] }])
            }
        }
        assert_ne!(role, Role::HomeworkExecutor, "it is canceled before that");
        Ok(answer)
    });
    play.go();
    command(&mut play, Command::Answer { question: None, text: "At most 20 USD".into() });
    command(&mut play, Command::Say { text: "Prefer open source".into(), node: None, lane: Lane::Steer });
    play.step(1);
    let effect = play.run.due(play.now).external.first().cloned().expect("the executor's call");
    play.run.intend(&effect, play.now).expect("it goes out");
    play.commit();
    command(&mut play, Command::Say { text: "Stop, we bought one".into(), node: None, lane: Lane::Queue });
    command(&mut play, Command::Cancel);
    play
}

fn without_a_key() -> Play {
    let refused = CallError {
        failure: CallFailure::Auth,
        message: "401 from test: invalid key".into(),
        retry_after_ms: None,
        maybe_paid: false,
    };
    let mut play = Play::new(brief(&["It says which tool to take"]), move |_, _| Err(refused.clone()));
    play.go();
    play
}

fn task_done() -> Play {
    let agent: Agent = scout();
    let brief = Queued { kind: Kind::Task, agent: Some(agent), ..brief(&[]) };
    let steps = Rc::new(RefCell::new(vec![
        json!({ "action": "navigate", "path": "/projects/7" }),
        json!({ "action": "execute", "path": "/projects/7", "action_name": "create_document", "params": { "title": "Order" } }),
        json!({ "action": "navigate", "path": "/documents/9" }),
        json!({ "action": "done", "message": "The order for Borg is written." }),
    ].into_iter()));
    let mut play = Play::new(brief, move |role, _| {
        Ok(match role {
            Role::AgentReflection => json!({ "scratchpad": null }),
            _ => steps.borrow_mut().next().expect("a step"),
        })
    });
    play.deny("page_action", "create_document is not granted; valid: read_project");
    play.go();
    play
}

/// One run for each end of a homework and a task.
fn all() -> Vec<(&'static str, Play)> {
    vec![
        ("verified", verified()),
        ("claimed", claimed()),
        ("dropping", dropping()),
        ("out of tokens", out_of_tokens()),
        ("no progress", no_progress()),
        ("canceled", canceled()),
        ("without a key", without_a_key()),
        ("task", task_done()),
    ]
}

#[test]
fn h1_the_report_of_a_verified_run_is_golden() {
    let play = verified();
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    golden_text("report_verified.txt", &markdown(&report(&play)));
}

#[test]
fn t6_the_report_of_a_task_counts_steps_and_is_golden() {
    let play = task_done();
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    golden_text("report_task.txt", &markdown(&report(&play)));
}

#[test]
fn h1_every_report_of_every_end_has_all_its_parts() {
    let parts = "title summary findings not_done prose_by objective status stop_reason stop_detail evidence artifacts questions metrics \
        models what_changed criteria outcome made left_out failed dropped messages replans cost how_it_ended";
    for (name, play) in all() {
        let report = report(&play);
        for key in parts.split_whitespace() {
            assert!(report.get(key).is_some(), "{name} lacks {key}: {report}");
        }
        assert_eq!(report["outcome"], json!(play.run.shared.outcome()), "{name}: as the run says");
        assert_eq!(report["status"], json!(play.run.shared.status()), "{name}");
    }
}

#[test]
fn t18_no_report_tells_anything_twice_or_to_a_model() {
    for (name, play) in all() {
        let text = markdown(&report(&play));
        for never in ["null", "0.0 USD", "budget_", "valid:", "valid arguments", "event:", "doc:"] {
            assert!(!text.contains(never), "{name} says {never}:\n{text}");
        }
        let mut told = BTreeSet::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("From ")) {
            let without_state = line.trim_end_matches(" (pending)").trim_end_matches(" (blocked)");
            assert!(told.insert(without_state), "{name} says twice {line:?}:\n{text}");
        }
    }
}

#[test]
fn h1_what_was_dropped_and_what_failed_is_in_the_report_of_a_completed_run() {
    // Given a run that dropped a step, and in which a branch and a tool failed
    let play = dropping();
    // Then it completed in part, and its report says which, once each
    assert_eq!(play.run.shared.status(), Status::Completed, "{:?}", play.run.shared.stop_detail);
    let report = report(&play);
    assert_eq!(report["outcome"], "partial");
    let titles = |key: &str| {
        report[key].as_array().map(|list| list.iter().map(|part| part["title"].clone()).collect::<Vec<_>>())
    };
    assert_eq!(titles("failed"), Some(vec![json!("Ask the vendors"), json!("search_documents")]));
    assert_eq!(titles("dropped"), Some(vec![json!("Try a restore")]));
    let not_done = report["not_done"].to_string();
    assert!(not_done.contains("Ask the vendors") && not_done.contains("Try a restore"), "{not_done}");
    let text = markdown(&report);
    for told in [
        "**Completed, partial**",
        "- **Ask the vendors** (iteration 2): the model's answers could not be used: the answer contains no JSON object\n",
        "- Tool **search_documents** (iteration 1): unknown argument \"scope\"\n",
        "- Dropped: **Try a restore**: left out of the plan in iteration 2; nothing was planned instead\n",
        "- Completed in part after 3 iterations: 1 step failed, 1 planned step was dropped.\n",
    ] {
        assert!(text.contains(told), "{told:?} is not in\n{text}");
    }
}

#[test]
fn h1_a_criterion_that_was_only_claimed_is_not_called_verified() {
    let play = claimed();
    let report = report(&play);
    assert_eq!((&report["outcome"], &report["status"]), (&json!("claimed"), &json!("completed")));
    assert_eq!(report["evidence"][0]["verified"]["criterion"], "c1");
    assert_eq!((&report["evidence"][1]["verified"], &report["evidence"][1]["claimed"]), (&json!(null), &json!(true)));
    let text = markdown(&report);
    assert!(
        text.contains("- **Claimed, not verified**: A restore was tried\n\n  Why: No page speaks of a test.\n"),
        "{text}"
    );
    assert!(text.contains("1 of 2 criteria hold; the rest is claimed, not verified."), "{text}");
}

#[test]
fn h1_a_persons_word_after_the_end_is_in_the_report() {
    let mut play = claimed();
    let accept = engine::facts::evidence::CriterionDecision::Accept;
    command(
        &mut play,
        Command::Criterion { criterion: Some("c2".into()), decision: accept, note: Some("seen it".into()) },
    );
    let mut row = engine::projection::run_row(&play.run);
    assert_eq!(row.report["outcome"], "claimed", "as it was written");
    engine::report::refresh(&mut row);
    assert_eq!(row.report["outcome"], "verified");
    let text = markdown(&row.report);
    assert!(text.contains("- **Accepted by a person**: A restore was tried\n\n  Why: seen it\n"), "{text}");
    assert!(text.contains("Completed after 3 iterations. All 2 criteria hold."), "{text}");
}

#[test]
fn h1_the_report_role_is_told_what_was_checked_and_what_was_not_done() {
    let asked: Rc<RefCell<Vec<String>>> = Rc::default();
    let seen = asked.clone();
    let mut inner = writing(brief(&[]), true, |_| Value::Null);
    inner.go();
    // The same log, continued by a reader of the last request.
    let until = inner.events.iter().position(|event| event.payload.contains("homework_report")).expect("a report call");
    let mut play = Play::new(brief(&[]), move |role, attempt| {
        assert_eq!(role, Role::HomeworkReport);
        seen.borrow_mut().push(own_text(attempt));
        Ok(prose(&[]))
    });
    play.blobs = inner.blobs.clone();
    play.resume_from(&inner.events[..until]);
    play.go();
    let text = asked.borrow()[0].clone();
    let section = |name: &str| {
        let rest = text.split(&format!("## {name}\n")).nth(1).unwrap_or_else(|| panic!("no {name}:\n{text}"));
        rest.split("\n\n").next().expect("a section").to_owned()
    };
    assert!(section("failed").contains("Ask the vendors") && section("dropped").contains("Try a restore"), "{text}");
}

#[test]
fn h4_without_criteria_the_evidence_is_what_was_made() {
    let report = report(&dropping());
    let evidence = report["evidence"].as_array().expect("evidence");
    let refs: Vec<&Value> = evidence.iter().map(|item| &item["refs"][0]).collect();
    let made: Vec<&Value> = report["made"].as_array().expect("made").iter().map(|made| &made["ref"]).collect();
    assert_eq!((refs.len(), &refs), (2, &made), "{evidence:?}");
}

#[test]
fn h6_answers_messages_and_replans_are_in_the_report() {
    let play = canceled();
    assert_eq!(play.run.shared.stop_reason, Some(StopReason::Canceled));
    let report = report(&play);
    let said = |text: &str, shown: bool| json!({ "text": text, "shown": shown });
    assert_eq!(report["messages"], json!([said("Prefer open source", true), said("Stop, we bought one", false)]));
    let text = markdown(&report);
    for told in [
        "- **How much may it cost a month?** At most 20 USD\n",
        "- Said: “Prefer open source”\n",
        "- Your message \"Stop, we bought one\" was never shown to a model\n",
        "- **Look at prices** (iteration 2): the run ended while it worked: canceled\n",
        "- Canceled by a person in iteration 2. The one thing it had made is kept.\n",
    ] {
        assert!(text.contains(told), "{told:?} is not in\n{text}");
    }
    let stuck = markdown(&self::report(&no_progress()));
    assert!(stuck.contains("- It was made to plan anew in iteration 2.\n"), "{stuck}");
}

#[test]
fn h9_the_parts_of_the_cost_add_up_and_lost_calls_are_presumed() {
    for (name, play) in all() {
        let (report, metrics) = (report(&play), &play.run.shared.metrics);
        let cost = &report["cost"];
        assert_eq!(cost["total_usd"].as_f64(), Some(metrics.cost_usd.dollars()), "{name}");
        if cost["owned"].is_null() {
            continue;
        }
        for part in ["llm_calls", "tokens_in", "tokens_out"] {
            let [owned, unowned] = ["owned", "unowned"].map(|side| cost[side][part].as_u64().expect(part));
            assert_eq!(json!(owned + unowned), report["metrics"][part], "{name}: {part}");
        }
        assert_eq!(cost["unowned"], cost["wrap_up"], "{name}: only the report is part of no iteration");
    }
    let text = markdown(&report(&canceled()));
    assert!(text.contains("- Calls whose answer was lost: $"), "{text}");
}

#[test]
fn h9_an_unknown_price_is_called_unknown() {
    let mut brief = brief(&[]);
    for spec in [&mut brief.models.fast, &mut brief.models.balanced, &mut brief.models.powerful] {
        spec.price = None;
    }
    let mut play = writing(brief, false, |_| Value::Null);
    play.go();
    let report = report(&play);
    assert_eq!((&report["cost"]["known"], &report["cost"]["total_usd"]), (&json!(false), &json!(null)));
    let text = markdown(&report);
    assert!(text.contains("- Unknown price: 5 model calls and 3 tool calls, "), "{text}");
    assert!(
        text.contains("- Writing this report: unknown price, 1 call, included above\n") && !text.contains('$'),
        "{text}"
    );
}

#[test]
fn a_report_of_an_earlier_version_is_still_readable() {
    let mut row = engine::projection::run_row(&verified().run);
    row.success_criteria =
        vec![engine::criteria::CriterionRecord { id: "c1".into(), text: "It exists".into(), ..Default::default() }];
    row.report = json!({
        "title": "Old", "summary": "It was done.", "findings": [], "not_done": [], "status": "completed", "stop_reason": "completed",
        "stop_detail": "nothing remains and the evidence holds", "iterations": 3, "artifacts": [{ "ref": "doc:7", "title": "Page" }],
        "evidence": [{ "criterion": "c1", "text": "It exists", "verified": { "refs": ["doc:7"] } }], "questions": [], "metrics": {},
    });
    engine::report::refresh(&mut row);
    let text = markdown(&row.report);
    assert!(
        text.contains(
            "- **Claimed, not verified**: It exists\n\n  Cited: [a document without a title](/documents/7)\n"
        ),
        "{text}"
    );
    assert!(text.contains("- [Page](/documents/7)\n"), "{text}");
}
