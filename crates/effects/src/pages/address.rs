//! Where a page is. Knows paths and nothing of what is there.

use engine::ids::{DocumentId, ProjectId, RunId, TaskId};
use std::fmt;
use std::str::FromStr;

/// What a page is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    Whoami,
    Projects,
    Runs,
    Project(ProjectId),
    Document(DocumentId),
    Task(TaskId),
    Run(RunId),
    /// Every action at once, for programs. It has no page, and no path leads here.
    Tools,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// The page itself; a long text from this character on.
    Page {
        spot: Spot,
        from: usize,
    },
    Actions(Spot),
    Action(Spot, String),
}

impl Address {
    /// `None` where no page can be. A trailing `/` or `.md` changes nothing.
    pub fn parse(path: &str) -> Option<Address> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let path = path.trim().strip_prefix('/')?.trim_end_matches('/');
        let parts: Vec<&str> = path.strip_suffix(".md").unwrap_or(path).split('/').collect();
        let from = query.split('&').find_map(|pair| pair.strip_prefix("from=")).and_then(|from| from.parse().ok());
        let from = from.unwrap_or(0);
        match *parts.as_slice() {
            ["whoami"] => Some(Address::Page { spot: Spot::Whoami, from }),
            ["whoami", "actions"] => Some(Address::Actions(Spot::Whoami)),
            ["whoami", "actions", name] => Some(Address::Action(Spot::Whoami, name.to_owned())),
            ["projects"] => Some(Address::Page { spot: Spot::Projects, from }),
            ["projects", "actions"] => Some(Address::Actions(Spot::Projects)),
            ["projects", "actions", name] => Some(Address::Action(Spot::Projects, name.to_owned())),
            ["runs"] => Some(Address::Page { spot: Spot::Runs, from }),
            [kind, id] => Some(Address::Page { spot: Spot::named(kind, id)?, from }),
            [kind, id, "actions"] => Spot::named(kind, id).map(Address::Actions),
            [kind, id, "actions", name] => Some(Address::Action(Spot::named(kind, id)?, name.to_owned())),
            _ => None,
        }
    }

    pub fn spot(&self) -> Spot {
        match self {
            Address::Page { spot, .. } | Address::Actions(spot) | Address::Action(spot, _) => *spot,
        }
    }
}

impl Spot {
    fn named(kind: &str, id: &str) -> Option<Spot> {
        fn id_of<T: FromStr>(text: &str) -> Option<T> {
            text.parse().ok()
        }
        match kind {
            "projects" => id_of(id).map(Spot::Project),
            "documents" => id_of(id).map(Spot::Document),
            "tasks" => id_of(id).map(Spot::Task),
            "runs" => id_of(id).map(Spot::Run),
            _ => None,
        }
    }

    pub fn action(self, name: &str) -> String {
        match self {
            Spot::Tools => format!("{self}/{name}"),
            _ => format!("{self}/actions/{name}"),
        }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spot::Whoami => f.write_str("/whoami"),
            Spot::Projects => f.write_str("/projects"),
            Spot::Runs => f.write_str("/runs"),
            Spot::Project(id) => write!(f, "/projects/{id}"),
            Spot::Document(id) => write!(f, "/documents/{id}"),
            Spot::Task(id) => write!(f, "/tasks/{id}"),
            Spot::Run(id) => write!(f, "/runs/{id}"),
            Spot::Tools => f.write_str("/api/tools"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_its_spot_are_the_same_thing() {
        let id = uuid::Uuid::from_u128(7);
        for spot in [
            Spot::Whoami,
            Spot::Projects,
            Spot::Runs,
            Spot::Project(id.into()),
            Spot::Document(id.into()),
            Spot::Task(id.into()),
            Spot::Run(id.into()),
        ] {
            assert_eq!(Address::parse(&spot.to_string()), Some(Address::Page { spot, from: 0 }));
            assert_eq!(Address::parse(&format!("{spot}.md")), Some(Address::Page { spot, from: 0 }));
            assert_eq!(Address::parse(&format!("{spot}?x=1&from=5")), Some(Address::Page { spot, from: 5 }));
        }
        assert_eq!(Address::parse(&Spot::Projects.action("x")), Some(Address::Action(Spot::Projects, "x".into())));
        let document = Spot::Document(id.into());
        assert_eq!(Address::parse(&format!("{document}/actions/")), Some(Address::Actions(document)));
        assert_eq!(Address::parse(&document.action("edit")), Some(Address::Action(document, "edit".into())));
        for nowhere in ["whoami", "/", "/whoami/x", "/projects/7", "/api/runs", "/../etc/passwd", "//evil.example/x"] {
            assert_eq!(Address::parse(nowhere), None, "{nowhere}");
        }
    }
}
