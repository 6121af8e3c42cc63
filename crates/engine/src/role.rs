//! What a member of a project may do there. Roles are ordered: each may do what the one before it may.

use crate::words::words;

words! {
    Role {
        /// Reads the project and sees runs that work in it.
        Viewer = "viewer",
        /// Writes to it and steers its runs.
        Editor = "editor",
        /// Invites, changes roles, removes members and the project itself.
        Owner = "owner",
    }
}

impl Role {
    /// This role and those above it.
    pub fn and_above(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| *role >= self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_do_what_the_one_before_it_may() {
        assert!(Role::Viewer < Role::Editor && Role::Editor < Role::Owner);
        assert_eq!(Role::Editor.and_above().collect::<Vec<_>>(), [Role::Editor, Role::Owner]);
        assert!(Role::ALL.into_iter().all(|role| Role::parse(role.name()) == Some(role)));
        assert_eq!(Role::parse("admin"), None);
    }
}
