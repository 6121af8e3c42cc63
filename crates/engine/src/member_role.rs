//! What a member of a project may do there. Roles are ordered: each may do what the one before it may.

use crate::words::words;

words! {
    MemberRole {
        /// Reads the project and sees runs that work in it.
        Viewer = "viewer",
        /// Writes to it and steers its runs.
        Editor = "editor",
        /// Invites, changes roles, removes members and the project itself.
        Owner = "owner",
    }
}

impl MemberRole {
    /// This role and those above it.
    pub fn and_above(self) -> impl Iterator<Item = MemberRole> {
        MemberRole::ALL.into_iter().filter(move |role| *role >= self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_do_what_the_one_before_it_may() {
        assert!(MemberRole::Viewer < MemberRole::Editor && MemberRole::Editor < MemberRole::Owner);
        assert_eq!(MemberRole::Editor.and_above().collect::<Vec<_>>(), [MemberRole::Editor, MemberRole::Owner]);
        assert!(MemberRole::ALL.into_iter().all(|role| MemberRole::parse(role.name()) == Some(role)));
        assert_eq!(MemberRole::parse("admin"), None);
    }
}
