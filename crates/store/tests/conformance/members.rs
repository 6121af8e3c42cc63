//! Members of projects, their roles, and what a role lets them see and steer.

use crate::agents::agent;
use crate::world::{World, fresh, run_id};
use engine::actor::ActorKind;
use engine::ids::{ActorId, InvitationId, ProjectId};
use engine::role::Role;
use engine::time::Timestamp;
use engine::workspace::{ActorRecord, Scope};
use runtime::ports::{Library, RunFilter, Slice};
use store::members::{INVITATION_MS, MOST_MEMBERS, MemberChange, NewInvitation};

crate::promises!(on [sqlite = Sqlite, inline = Inline, postgres = Postgres]: [
    x1_a_run_is_seen_with_all_of_its_projects_and_steered_by_editors_of_all,
    x1_a_narrowed_scope_reaches_runs_whose_projects_are_all_within_it,
    x1_a_subagent_steers_and_writes_in_the_lesser_of_its_own_and_its_owners_role,
    x2_membership_begins_when_the_invited_person_accepts,
    x2_an_invitation_that_is_declined_withdrawn_or_old_makes_no_member,
    x2_an_invitation_goes_with_its_project,
    x2_the_last_owner_stays_and_subagents_leave_with_their_owner,
    x2_of_two_owners_who_leave_at_once_one_stays,
    x11_a_list_of_members_ends_where_one_answer_does,
    x20_people_know_themselves_their_subagents_and_those_they_share_something_with,
]);

async fn person(world: &World, handle: &str) -> ActorRecord {
    let record = ActorRecord {
        id: fresh(),
        kind: ActorKind::Person,
        handle: handle.into(),
        name: handle.to_uppercase(),
        created_at: Timestamp(1),
    };
    world.store.create_actor(record.clone()).await.unwrap();
    record
}

async fn invited(world: &World, project: ProjectId, actor: ActorId, role: Role) -> InvitationId {
    let invited_by = world.store.actor(&world.me.to_string()).await.unwrap().unwrap();
    let (title, body) = ("you are invited".into(), "accept or decline it".into());
    let new = NewInvitation { id: fresh(), project, actor, role, invited_by, title, body, now: world.now() };
    world.store.invite(new).await.unwrap();
    let open = world.store.invitations(actor, world.now()).await.unwrap();
    open.iter().find(|invitation| invitation.project_id == project).expect("an open invitation").id
}

/// The handle and the role of each member, and whether they are only invited.
async fn listed(world: &World, project: ProjectId) -> Vec<(String, Role, bool)> {
    let members = world.store.members(project, world.now()).await.unwrap();
    members.into_iter().map(|member| (member.actor.handle, member.role, member.invited)).collect()
}

async fn x1_a_run_is_seen_with_all_of_its_projects_and_steered_by_editors_of_all(world: World) {
    let (oak, ash) = (world.project("Oak").await, world.project("Ash").await);
    let both = run_id(&world.queued(&[oak, ash]).await);
    let private = run_id(&world.queued(&[]).await);
    let bob = Scope::Actor(person(&world, "bob").await.id);
    let Scope::Actor(id) = bob else { panic!("an actor") };
    let may = |run| {
        let (world, bob) = (world.clone(), bob.clone());
        async move {
            let sees = world.store.run(&bob, run).await.unwrap().is_some();
            (sees, world.store.may_steer(&bob, run).await.unwrap())
        }
    };
    assert_eq!(may(both).await, (false, false), "a stranger");
    world.store.grant(oak, id, Role::Owner).await.unwrap();
    assert_eq!(may(both).await, (false, false), "one of two projects");
    assert!(world.store.runs(&bob, RunFilter::default()).await.unwrap().is_empty());
    assert!(world.store.iterations(&bob, both, Slice::first(10)).await.unwrap().is_empty());
    world.store.grant(ash, id, Role::Viewer).await.unwrap();
    assert_eq!(may(both).await, (true, false), "a viewer in one of them");
    assert_eq!(world.store.runs(&bob, RunFilter::default()).await.unwrap().len(), 1);
    world.store.set_role(ash, id, Role::Editor).await.unwrap();
    assert_eq!(may(both).await, (true, true), "an editor or more in all");
    assert!(world.store.revoke(oak, id).await.unwrap());
    assert_eq!(may(both).await, (false, false), "one of two again");
    assert_eq!(may(private).await, (false, false), "a run without projects is its owner's alone");
    let mine = world.mine();
    world.store.revoke(ash, world.me).await.unwrap();
    assert!(world.store.run(&mine, both).await.unwrap().is_some(), "its owner");
    assert!(world.store.may_steer(&mine, both).await.unwrap() && world.store.may_steer(&mine, private).await.unwrap());
}

async fn x1_a_narrowed_scope_reaches_runs_whose_projects_are_all_within_it(world: World) {
    let (oak, ash) = (world.project("Oak").await, world.project("Ash").await);
    let (in_oak, in_both) = (world.queued(&[oak]).await, world.queued(&[oak, ash]).await);
    let nowhere = world.queued(&[]).await;
    let seen = |projects: &[ProjectId]| {
        let (world, scope) = (world.clone(), Scope::Within(world.me, projects.to_vec()));
        async move {
            let runs = world.store.runs(&scope, RunFilter::default()).await.unwrap();
            runs.into_iter().map(|run| run.id).collect::<Vec<_>>()
        }
    };
    assert_eq!(seen(&[oak]).await, [run_id(&in_oak)]);
    assert_eq!(seen(&[oak, ash]).await, [run_id(&in_both), run_id(&in_oak)]);
    assert!(seen(&[]).await.is_empty());
    let home = nowhere.shared.home_project();
    assert!(seen(&[home]).await.is_empty(), "its own workspace is no project of a run");
    let bound = Scope::Within(world.me, vec![oak]);
    assert!(!world.store.may_steer(&bound, run_id(&in_both)).await.unwrap());
    assert!(world.store.may_steer(&bound, run_id(&in_oak)).await.unwrap());
}

async fn x1_a_subagent_steers_and_writes_in_the_lesser_of_its_own_and_its_owners_role(world: World) {
    let scout = agent(&world, "scout").await;
    let oak = world.project("Oak").await;
    let run = run_id(&world.queued(&[oak]).await);
    world.store.grant(oak, scout.id, Role::Viewer).await.unwrap();
    let scope = scout.scope();
    let may = || async {
        (world.store.may_write(&scope, oak).await.unwrap(), world.store.may_steer(&scope, run).await.unwrap())
    };
    assert!(world.store.run(&scope, run).await.unwrap().is_some());
    assert_eq!(may().await, (false, false));
    world.store.set_role(oak, scout.id, Role::Editor).await.unwrap();
    assert_eq!(may().await, (true, true));
    let ann = person(&world, "ann").await;
    world.store.grant(oak, ann.id, Role::Owner).await.unwrap();
    world.store.set_role(oak, world.me, Role::Viewer).await.unwrap();
    assert!(!may().await.0, "its owner may only read");
    assert!(listed(&world, oak).await.contains(&("scout".into(), Role::Viewer, false)), "and so may it");
    assert!(!world.store.may_write(&world.mine(), oak).await.unwrap());
}

async fn x2_membership_begins_when_the_invited_person_accepts(world: World) {
    let oak = world.project("Oak").await;
    let (bob, eve) = (person(&world, "bob").await, person(&world, "eve").await);
    let theirs = Scope::Actor(bob.id);
    let first = invited(&world, oak, bob.id, Role::Viewer).await;
    assert_eq!(listed(&world, oak).await, [("local".into(), Role::Owner, false), ("bob".into(), Role::Viewer, true)]);
    assert!(world.store.project(&theirs, oak).await.unwrap().is_none(), "invited is no member");
    // Inviting again changes the role of the open invitation.
    assert_eq!(invited(&world, oak, bob.id, Role::Editor).await, first);
    let open = world.store.invitations(bob.id, world.now()).await.unwrap();
    let [invitation] = &open[..] else { panic!("{open:?}") };
    assert_eq!((invitation.project_title.as_str(), invitation.role), ("Oak", Role::Editor));
    assert_eq!(invitation.invited_by, "local");
    let told = world.store.notifications(&theirs, 10).await.unwrap();
    assert_eq!(told.iter().map(|row| row.kind.as_str()).collect::<Vec<_>>(), ["invitation"]);
    assert!(!world.store.accept(eve.id, first, world.now()).await.unwrap(), "another's");
    assert!(world.store.accept(bob.id, first, world.now()).await.unwrap());
    assert!(!world.store.accept(bob.id, first, world.now()).await.unwrap(), "settled");
    assert_eq!(listed(&world, oak).await, [("bob".into(), Role::Editor, false), ("local".into(), Role::Owner, false)]);
    assert!(world.store.may_write(&theirs, oak).await.unwrap());
    assert!(world.store.notifications(&theirs, 10).await.unwrap().is_empty());
    assert_eq!(world.store.roles(bob.id, &[oak, fresh()]).await.unwrap(), [(oak, Role::Editor)]);
    assert_eq!(world.store.creator(oak).await.unwrap(), Some(world.me));
}

async fn x2_an_invitation_that_is_declined_withdrawn_or_old_makes_no_member(world: World) {
    let oak = world.project("Oak").await;
    let bob = person(&world, "bob").await.id;
    let declined = invited(&world, oak, bob, Role::Viewer).await;
    assert!(world.store.decline(bob, declined, world.now()).await.unwrap());
    assert!(!world.store.accept(bob, declined, world.now()).await.unwrap());
    let withdrawn = invited(&world, oak, bob, Role::Viewer).await;
    assert!(world.store.withdraw(oak, bob, world.now()).await.unwrap());
    assert!(!world.store.withdraw(oak, bob, world.now()).await.unwrap());
    assert!(!world.store.accept(bob, withdrawn, world.now()).await.unwrap());
    assert!(world.store.notifications(&Scope::Actor(bob), 10).await.unwrap().is_empty());
    let old = invited(&world, oak, bob, Role::Viewer).await;
    let later = world.now().plus_ms(INVITATION_MS + 1_000);
    assert!(world.store.invitations(bob, later).await.unwrap().is_empty());
    assert!(!world.store.accept(bob, old, later).await.unwrap());
    assert_eq!(listed(&world, oak).await.len(), 2, "as of now it is open");
    assert!(world.store.project(&Scope::Actor(bob), oak).await.unwrap().is_none());
}

async fn x2_an_invitation_goes_with_its_project(world: World) {
    let oak = world.project("Oak").await;
    let bob = person(&world, "bob").await.id;
    let open = invited(&world, oak, bob, Role::Viewer).await;
    world.store.remove_project(oak).await.unwrap();
    assert!(world.store.invitations(bob, world.now()).await.unwrap().is_empty());
    assert!(world.store.notifications(&Scope::Actor(bob), 10).await.unwrap().is_empty());
    assert!(!world.store.accept(bob, open, world.now()).await.unwrap());
}

async fn x2_the_last_owner_stays_and_subagents_leave_with_their_owner(world: World) {
    let oak = world.project("Oak").await;
    let scout = agent(&world, "scout").await;
    let bob = person(&world, "bob").await.id;
    world.store.grant(oak, scout.id, Role::Owner).await.unwrap();
    world.store.grant(oak, bob, Role::Editor).await.unwrap();
    assert_eq!(world.store.remove_member(oak, world.me).await.unwrap(), MemberChange::LastOwner);
    assert_eq!(world.store.set_role(oak, world.me, Role::Editor).await.unwrap(), MemberChange::LastOwner);
    assert_eq!(world.store.set_role(oak, fresh(), Role::Owner).await.unwrap(), MemberChange::NotMember);
    assert_eq!(world.store.set_role(oak, bob, Role::Owner).await.unwrap(), MemberChange::Done);
    assert_eq!(world.store.remove_member(oak, world.me).await.unwrap(), MemberChange::Done);
    assert_eq!(listed(&world, oak).await, [("bob".into(), Role::Owner, false)]);
    assert_eq!(world.store.remove_member(oak, world.me).await.unwrap(), MemberChange::NotMember);
    assert!(world.store.project(&scout.scope(), oak).await.unwrap().is_none());
}

async fn x2_of_two_owners_who_leave_at_once_one_stays(world: World) {
    for round in 0..5 {
        let oak = world.project("Oak").await;
        let bob = person(&world, &format!("bob-{round}")).await.id;
        world.store.grant(oak, bob, Role::Owner).await.unwrap();
        let leave = |actor| {
            let members = world.store.clone();
            tokio::spawn(async move { members.remove_member(oak, actor).await.unwrap() })
        };
        let (mine, theirs) = (leave(world.me), leave(bob));
        let mut left = [mine.await.unwrap(), theirs.await.unwrap()];
        left.sort_by_key(|change| *change != MemberChange::Done);
        assert_eq!(left, [MemberChange::Done, MemberChange::LastOwner]);
        assert_eq!(listed(&world, oak).await.len(), 1);
    }
}

async fn x20_people_know_themselves_their_subagents_and_those_they_share_something_with(world: World) {
    let (ann, bob, eve) = (person(&world, "ann").await, person(&world, "bob").await, person(&world, "eve").await);
    let scout = agent(&world, "scout").await;
    let oak = world.project("Oak").await;
    world.store.grant(oak, ann.id, Role::Viewer).await.unwrap();
    world.store.grant(oak, scout.id, Role::Viewer).await.unwrap();
    invited(&world, oak, bob.id, Role::Viewer).await;
    let known = |actor: ActorId| {
        let world = world.clone();
        async move {
            let known = world.store.acquaintances(actor, Slice::first(10), world.now()).await.unwrap();
            let mut handles: Vec<String> = known.into_iter().map(|actor| actor.handle).collect();
            handles.sort();
            handles
        }
    };
    assert_eq!(known(world.me).await, ["ann", "bob", "local", "scout"]);
    assert_eq!(known(ann.id).await, ["ann", "local"], "not the subagent of another");
    assert_eq!(known(bob.id).await, ["bob", "local"]);
    assert_eq!(known(eve.id).await, ["eve"]);
}

async fn x11_a_list_of_members_ends_where_one_answer_does(world: World) {
    let project = world.project("Oak").await;
    let joining = (0..=MOST_MEMBERS).map(|number| {
        let world = &world;
        async move {
            let guest = person(world, &format!("guest-{number}")).await;
            world.store.grant(project, guest.id, Role::Viewer).await.unwrap();
        }
    });
    futures::future::join_all(joining).await;
    assert_eq!(listed(&world, project).await.len(), MOST_MEMBERS);
}
