//! Fake answers of subagents: steps from page to page, some of them forbidden, and reflections.

use super::{Behaviour, FakeModel, Sections};
use crate::dice::Dice;
use serde_json::{Value, json};

pub fn step(fake_model: &FakeModel, sections: &Sections, dice: &mut Dice) -> Value {
    let steps = sections.items("steps");
    let taken = steps.len() as u64;
    let project = steps.iter().find_map(|step| project_in(step["result"].as_str()?));
    let foreign = dice.pick(&fake_model.foreign).copied().unwrap_or_default();
    match fake_model.behaviour {
        Behaviour::Boasting | Behaviour::Chaotic if dice.happens(400) => {
            let steps = [
                json!({"action": "navigate", "path": format!("/projects/{foreign}")}),
                json!({"action": "navigate", "path": format!("/documents/{foreign}")}),
                json!({"action": "navigate"}),
                json!({"action": "execute", "path": format!("/documents/{foreign}"), "action_name": "update_document", "params": {"content": "defaced"}}),
                json!({"action": "execute", "path": "/whoami", "action_name": "launch_rockets", "params": {}}),
                json!({"action": "execute", "path": "/whoami", "action_name": "update_scratchpad", "params": {"content": "x".repeat(11_000)}}),
                json!({"action": "error", "message": "I will not"}),
            ];
            dice.pick(&steps).cloned().unwrap_or_default()
        }
        Behaviour::Lying if dice.happens(300) => json!({"action": "done", "message": "It is done, as you see."}),
        Behaviour::Repeating => json!({"action": "navigate", "path": "/whoami"}),
        _ if taken > fake_model.patience + 1 => json!({"action": "done", "message": "It is done."}),
        _ => {
            let project = project.unwrap_or_else(|| "/whoami".into());
            let steps = [
                json!({"action": "navigate", "path": project}),
                json!({"action": "execute", "path": project, "action_name": "create_document", "params": {"title": format!("Found {taken}"), "content": format!("what was found at step {taken},\nin two lines")}}),
                json!({"action": "execute", "path": "/whoami", "action_name": "update_scratchpad", "params": {"content": format!("step {taken}")}}),
                json!({"action": "execute", "path": project, "action_name": "list_documents", "params": {}}),
            ];
            dice.pick(&steps).cloned().unwrap_or_default()
        }
    }
}

fn project_in(page: &str) -> Option<String> {
    let at = page.find("/projects/")?;
    page.get(at..at + "/projects/".len() + 36).map(str::to_owned)
}

pub fn reflection(dice: &mut Dice) -> Value {
    match dice.below(5) {
        0 => json!({"scratchpad": null}),
        1 => json!({"scratchpad": "y".repeat(10_500)}),
        2 => json!({}),
        _ => json!({"scratchpad": format!("notes {}", dice.below(100))}),
    }
}
