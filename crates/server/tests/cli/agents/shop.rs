//! A shop with one subagent, and the parts a scripted model plays.

use crate::home::Home;
use serde_json::{Value, json};
use simulation::scripted::{Reply, Request, Script};

pub const TASK: &str = "Write the opening hours down";

/// A project that the agent may see, and a subagent that may write documents there.
pub struct Shop {
    pub home: Home,
    pub project: String,
}

impl Shop {
    pub fn open(script: Script) -> Shop {
        Shop::around(Home::with(script))
    }

    pub fn around(home: Home) -> Shop {
        let project = home.pleach(&["project", "create", "Shop", "--json"]).exits(0).run();
        let project = project["id"].as_str().expect("an id").to_owned();
        let create = ["agents", "create", "scout", "--identity", "You are tidy.", "--action", "create_document"];
        home.pleach(&[&create[..], &["--project", &project, "--json"]].concat()).exits(0);
        Shop { home, project }
    }

    /// `pleach agents run scout TASK --wait --json …`
    pub fn send(&self, task: &str, more: &[&str]) -> crate::home::Said {
        self.home.pleach(&[&["agents", "run", "scout", task, "--wait", "--json"], more].concat())
    }

    pub fn pad(&self) -> Value {
        self.home.pleach(&["agents", "scratchpad", "scout", "--json"]).exits(0).run()
    }
}

pub fn navigate(path: &str) -> Value {
    json!({"action": "navigate", "path": path, "action_name": null, "params": null, "message": null, "thought": "look"})
}

pub fn execute(path: &str, name: &str, params: Value) -> Value {
    json!({"action": "execute", "path": path, "action_name": name, "params": params, "message": null, "thought": "do"})
}

pub fn done() -> Value {
    json!({"action": "done", "path": null, "action_name": null, "params": null, "message": "The hours are written down.", "thought": null})
}

pub fn remember(text: &str) -> Reply {
    Reply::json(json!({ "scratchpad": text }))
}

/// Every path with this beginning and a whole id that a page showed, in the order they were shown.
pub fn all_seen(request: &Request, prefix: &str) -> Vec<String> {
    let pages = request.lines("steps");
    let texts = pages.iter().filter_map(|step| step["result"].as_str());
    let found =
        texts.flat_map(|text| text.match_indices(prefix).map(|(at, _)| text[at..].to_owned()).collect::<Vec<_>>());
    let whole = found.filter_map(|rest| {
        let id = rest.get(prefix.len()..prefix.len() + 36)?;
        uuid::Uuid::parse_str(id).ok().map(|_| format!("{prefix}{id}"))
    });
    whole.collect()
}

/// The first of them.
pub fn seen(request: &Request, prefix: &str) -> Option<String> {
    all_seen(request, prefix).into_iter().next()
}

/// Goes to the first project it is shown, writes the hours there, and is done.
pub fn clerk() -> Script {
    Script::default()
        .answer("agent_step", |request| {
            let taken = request.lines("steps").len();
            let project = seen(request, "/projects/").unwrap_or_else(|| "/whoami".into());
            Reply::json(match taken {
                1 => navigate(&project),
                2 => execute(&project, "create_document", json!({"title": "Opening hours", "content": "9 to 17"})),
                _ => done(),
            })
        })
        .on("agent_reflection", vec![remember("The hours are in one document of the shop.")])
}
