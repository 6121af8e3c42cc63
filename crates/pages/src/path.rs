//! The paths of pages. Parses and prints them; does not know what is there or who may see it.

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
pub enum PagePath {
    /// The page itself; a long text from this character on.
    Page {
        subject: PageSubject,
        from: usize,
    },
    Actions(PageSubject),
    Action(PageSubject, String),
}

impl PagePath {
    /// `None` where no page can be. A trailing `/` or `.md` changes nothing.
    pub fn parse(path: &str) -> Option<PagePath> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let path = path.trim().strip_prefix('/')?.trim_end_matches('/');
        let parts: Vec<&str> = path.strip_suffix(".md").unwrap_or(path).split('/').collect();
        let from = query.split('&').find_map(|pair| pair.strip_prefix("from=")).and_then(|from| from.parse().ok());
        let from = from.unwrap_or(0);
        match *parts.as_slice() {
            ["whoami"] => Some(PagePath::Page { subject: PageSubject::Whoami, from }),
            ["whoami", "actions"] => Some(PagePath::Actions(PageSubject::Whoami)),
            ["whoami", "actions", name] => Some(PagePath::Action(PageSubject::Whoami, name.to_owned())),
            ["projects"] => Some(PagePath::Page { subject: PageSubject::Projects, from }),
            ["projects", "actions"] => Some(PagePath::Actions(PageSubject::Projects)),
            ["projects", "actions", name] => Some(PagePath::Action(PageSubject::Projects, name.to_owned())),
            ["runs"] => Some(PagePath::Page { subject: PageSubject::Runs, from }),
            [kind, id] => Some(PagePath::Page { subject: PageSubject::named(kind, id)?, from }),
            [kind, id, "actions"] => PageSubject::named(kind, id).map(PagePath::Actions),
            [kind, id, "actions", name] => Some(PagePath::Action(PageSubject::named(kind, id)?, name.to_owned())),
            _ => None,
        }
    }

    pub fn subject(&self) -> PageSubject {
        match self {
            PagePath::Page { subject, .. } | PagePath::Actions(subject) | PagePath::Action(subject, _) => *subject,
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
    fn a_path_and_its_subject_round_trip() {
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
            assert_eq!(PagePath::parse(&subject.to_string()), Some(PagePath::Page { subject, from: 0 }));
            assert_eq!(PagePath::parse(&format!("{subject}.md")), Some(PagePath::Page { subject, from: 0 }));
            assert_eq!(PagePath::parse(&format!("{subject}?x=1&from=5")), Some(PagePath::Page { subject, from: 5 }));
        }
        assert_eq!(
            PagePath::parse(&PageSubject::Projects.action("x")),
            Some(PagePath::Action(PageSubject::Projects, "x".into()))
        );
        let document = PageSubject::Document(id.into());
        assert_eq!(PagePath::parse(&format!("{document}/actions/")), Some(PagePath::Actions(document)));
        assert_eq!(PagePath::parse(&document.action("edit")), Some(PagePath::Action(document, "edit".into())));
        for nowhere in ["whoami", "/", "/whoami/x", "/projects/7", "/api/runs", "/../etc/passwd", "//evil.example/x"] {
            assert_eq!(PagePath::parse(nowhere), None, "{nowhere}");
        }
    }
}
