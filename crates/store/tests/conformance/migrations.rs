//! Migrations: the content of an older database is there afterwards, and means the same.

use crate::world::{Database, client, fresh, now};
use engine::blob::Hash;
use engine::ids::{ActorId, ProjectId, RunId};
use engine::member_role::MemberRole;
use std::path::Path;
use std::sync::Arc;
use store::{Options, SqlStore};

/// The migrations before version 14, as databases of those versions applied them.
const MIGRATIONS: [(i64, &str, &str); 12] = [
    (1, "homework", include_str!("../../migrations/0001_homework.sql")),
    (2, "tree", include_str!("../../migrations/0002_tree.sql")),
    (3, "access", include_str!("../../migrations/0003_access.sql")),
    (4, "notifications", include_str!("../../migrations/0004_notifications.sql")),
    (5, "front", include_str!("../../migrations/0005_front.sql")),
    (6, "agents", include_str!("../../migrations/0006_agents.sql")),
    (7, "projects", include_str!("../../migrations/0007_projects.sql")),
    (8, "lessons", include_str!("../../migrations/0008_lessons.sql")),
    (9, "members", include_str!("../../migrations/0009_members.sql")),
    (10, "credentials", include_str!("../../migrations/0010_credentials.sql")),
    (12, "claims_by_owner", include_str!("../../migrations/0012_claims_by_owner.sql")),
    (13, "database_notes", include_str!("../../migrations/0013_database_notes.sql")),
];

/// The empty database of an older version, for SQLite.
fn schema(newest: i64) -> String {
    let mut sql =
        "CREATE TABLE schema_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, \
        applied_at BIGINT NOT NULL);\n"
            .to_owned();
    for (version, name, text) in MIGRATIONS.into_iter().filter(|(version, ..)| *version <= newest) {
        let checksum = Hash::of(&[text.as_bytes()]);
        sql += &format!("{text};\nINSERT INTO schema_migrations VALUES ({version}, '{name}', '{checksum}', 0);\n");
    }
    sql
}

/// The same for PostgreSQL.
pub fn postgres_schema(newest: i64) -> String {
    in_postgres(&schema(newest))
}

fn in_postgres(sql: &str) -> String {
    sql.replace(" BLOB", " BYTEA").replace(" WITHOUT ROWID", "")
}

/// Two people and a subagent of the first. All three share a project, a run of the second person made another one, and
/// a third project has no members.
struct Old {
    first: ActorId,
    second: ActorId,
    agent: ActorId,
    shared: ProjectId,
    made_by_run: ProjectId,
    empty: ProjectId,
}

impl Old {
    fn new() -> Old {
        // Ids rise with time, so the order says that the first person has been here longer.
        Old { first: fresh(), second: fresh(), agent: fresh(), shared: fresh(), made_by_run: fresh(), empty: fresh() }
    }

    fn sql(&self) -> String {
        let mut sql = schema(8);
        let Old { first, second, agent, shared, made_by_run, empty } = self;
        for (id, kind, handle) in [(first, "person", "ann"), (second, "person", "bob"), (agent, "subagent", "scout")] {
            sql += &format!("INSERT INTO actors VALUES ('{id}', '{kind}', '{handle}', '{handle}', 0);\n");
        }
        sql += &format!("INSERT INTO agents VALUES ('{agent}', '{first}', '', '[]', NULL, 1, 0, 0);\n");
        let run: RunId = fresh();
        sql += &format!(
            "INSERT INTO homework_runs (id, owner, objective, scope, project_ids, status, activity, iteration, budgets, metrics, plan, \
             success_criteria, questions, workspace_project_id, report, model, warnings, created_at, updated_at, last_seq, head, terms) \
             VALUES ('{run}', '{second}', '', 'global', '[]', 'completed', '', 0, '{{}}', '{{}}', 'null', '[]', '[]', '{made_by_run}', \
             'null', '', '[]', 0, 0, 0, '', '');\n"
        );
        for (id, run) in [(shared, None), (made_by_run, Some(run)), (empty, None)] {
            let made = run.map_or("NULL".into(), |run| format!("'{run}'"));
            sql += &format!(
                "INSERT INTO onto_projects (id, title, description, version, created_at, updated_at, made_run, terms) \
                 VALUES ('{id}', 'P', '', 1, 0, 0, {made}, '');\n"
            );
        }
        for (project, actor) in
            [(shared, agent), (shared, second), (shared, first), (made_by_run, first), (made_by_run, second)]
        {
            sql += &format!("INSERT INTO project_members (project_id, actor_id) VALUES ('{project}', '{actor}');\n");
        }
        sql
    }

    async fn check(&self, store: Arc<SqlStore>) {
        let roles = |project: ProjectId| {
            let store = store.clone();
            async move {
                let members = store.members(project, now()).await.unwrap();
                members.into_iter().map(|member| (member.actor.id, member.role)).collect::<Vec<_>>()
            }
        };
        let (owner, editor) = (MemberRole::Owner, MemberRole::Editor);
        assert_eq!(
            roles(self.shared).await,
            [(self.first, owner), (self.second, editor), (self.agent, editor)],
            "nobody wrote down who made it: whoever has been here longest"
        );
        assert_eq!(roles(self.made_by_run).await, [(self.first, editor), (self.second, owner)], "the owner of its run");
        assert!(roles(self.empty).await.is_empty());
        assert_eq!(store.creator(self.shared).await.unwrap(), Some(self.first));
        assert_eq!(store.creator(self.made_by_run).await.unwrap(), Some(self.second));
        assert_eq!(store.creator(self.empty).await.unwrap(), None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x2_members_of_a_version_8_file_become_editors_and_its_creators_owners() {
    let (old, directory) = (Old::new(), tempfile::tempdir().unwrap());
    let path: &Path = &directory.path().join("pleach.db");
    rusqlite::Connection::open(path).unwrap().execute_batch(&old.sql()).unwrap();
    let store = store::open(&format!("sqlite://{}", path.display()), Options::default()).await.expect("it opens");
    old.check(store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x2_members_of_a_version_8_server_become_editors_and_its_creators_owners() {
    let (old, database) = (Old::new(), Database::create().await);
    let sql = in_postgres(&old.sql());
    client(&database.url).await.batch_execute(&sql).await.unwrap();
    let store = store::open(&database.url, Options::default()).await.expect("it opens");
    old.check(store).await;
    database.drop().await;
}
