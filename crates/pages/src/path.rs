//! Parses and prints the paths of pages. It does not know whether the document, task, project or run behind a path exists, or who may see it.

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
    /// Every action at once, for programs. It has no page: it prints as the HTTP route /api/tools, and `parse` never returns it.
    Tools,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PagePath {
    /// The page itself. A long text is shown from this character on.
    Page {
        subject: PageSubject,
        from: usize,
    },
    Actions(PageSubject),
    Action(PageSubject, String),
}

impl PagePath {
    /// `None` for an invalid path. A trailing `/` or `.md` is ignored.
    pub fn parse(path: &str) -> Option<PagePath> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let path = path.trim().strip_prefix('/')?.trim_end_matches('/');
        let parts: Vec<&str> = path.strip_suffix(".md").unwrap_or(path).split('/').collect();
        let from = query.split('&').find_map(|pair| pair.strip_prefix("from=")).and_then(|from| from.parse().ok());
        let from = from.unwrap_or(0);
        let (subject, rest) = match parts.as_slice() {
            ["whoami", rest @ ..] => (PageSubject::Whoami, rest),
            ["projects"] | ["projects", "actions", ..] => (PageSubject::Projects, &parts[1..]),
            ["runs"] => (PageSubject::Runs, &[][..]),
            [kind, id, rest @ ..] => (PageSubject::named(kind, id)?, rest),
            _ => return None,
        };
        match *rest {
            [] => Some(PagePath::Page { subject, from }),
            ["actions"] => Some(PagePath::Actions(subject)),
            ["actions", name] => Some(PagePath::Action(subject, name.to_owned())),
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
