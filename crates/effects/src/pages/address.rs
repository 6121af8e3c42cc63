//! Where a page is. Knows paths and nothing of what is there.

use engine::ids::{DocumentId, ProjectId, RunId, TaskId};
use std::fmt;
use std::str::FromStr;

/// What a page is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSubject {
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
        subject: PageSubject,
        from: usize,
    },
    Actions(PageSubject),
    Action(PageSubject, String),
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
            ["whoami"] => Some(Address::Page { subject: PageSubject::Whoami, from }),
            ["whoami", "actions"] => Some(Address::Actions(PageSubject::Whoami)),
            ["whoami", "actions", name] => Some(Address::Action(PageSubject::Whoami, name.to_owned())),
            ["projects"] => Some(Address::Page { subject: PageSubject::Projects, from }),
            ["projects", "actions"] => Some(Address::Actions(PageSubject::Projects)),
            ["projects", "actions", name] => Some(Address::Action(PageSubject::Projects, name.to_owned())),
            ["runs"] => Some(Address::Page { subject: PageSubject::Runs, from }),
            [kind, id] => Some(Address::Page { subject: PageSubject::named(kind, id)?, from }),
            [kind, id, "actions"] => PageSubject::named(kind, id).map(Address::Actions),
            [kind, id, "actions", name] => Some(Address::Action(PageSubject::named(kind, id)?, name.to_owned())),
            _ => None,
        }
    }

    pub fn subject(&self) -> PageSubject {
        match self {
            Address::Page { subject, .. } | Address::Actions(subject) | Address::Action(subject, _) => *subject,
        }
    }
}

impl PageSubject {
    fn named(kind: &str, id: &str) -> Option<PageSubject> {
        fn id_of<T: FromStr>(text: &str) -> Option<T> {
            text.parse().ok()
        }
        match kind {
            "projects" => id_of(id).map(PageSubject::Project),
            "documents" => id_of(id).map(PageSubject::Document),
            "tasks" => id_of(id).map(PageSubject::Task),
            "runs" => id_of(id).map(PageSubject::Run),
            _ => None,
        }
    }

    pub fn action(self, name: &str) -> String {
        match self {
            PageSubject::Tools => format!("{self}/{name}"),
            _ => format!("{self}/actions/{name}"),
        }
    }
}

impl fmt::Display for PageSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageSubject::Whoami => f.write_str("/whoami"),
            PageSubject::Projects => f.write_str("/projects"),
            PageSubject::Runs => f.write_str("/runs"),
            PageSubject::Project(id) => write!(f, "/projects/{id}"),
            PageSubject::Document(id) => write!(f, "/documents/{id}"),
            PageSubject::Task(id) => write!(f, "/tasks/{id}"),
            PageSubject::Run(id) => write!(f, "/runs/{id}"),
            PageSubject::Tools => f.write_str("/api/tools"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_its_spot_are_the_same_thing() {
        let id = uuid::Uuid::from_u128(7);
        for subject in [
            PageSubject::Whoami,
            PageSubject::Projects,
            PageSubject::Runs,
            PageSubject::Project(id.into()),
            PageSubject::Document(id.into()),
            PageSubject::Task(id.into()),
            PageSubject::Run(id.into()),
        ] {
            assert_eq!(Address::parse(&subject.to_string()), Some(Address::Page { subject, from: 0 }));
            assert_eq!(Address::parse(&format!("{subject}.md")), Some(Address::Page { subject, from: 0 }));
            assert_eq!(Address::parse(&format!("{subject}?x=1&from=5")), Some(Address::Page { subject, from: 5 }));
        }
        assert_eq!(
            Address::parse(&PageSubject::Projects.action("x")),
            Some(Address::Action(PageSubject::Projects, "x".into()))
        );
        let document = PageSubject::Document(id.into());
        assert_eq!(Address::parse(&format!("{document}/actions/")), Some(Address::Actions(document)));
        assert_eq!(Address::parse(&document.action("edit")), Some(Address::Action(document, "edit".into())));
        for nowhere in ["whoami", "/", "/whoami/x", "/projects/7", "/api/runs", "/../etc/passwd", "//evil.example/x"] {
            assert_eq!(Address::parse(nowhere), None, "{nowhere}");
        }
    }
}
