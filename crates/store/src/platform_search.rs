//! Full-text search in the platform's own documents: plans, workspaces, scratchpads with their entries. They are in no index,
//! because they grow with every iteration and are looked for seldom; so those of one type are read, newest first.

use crate::scope::visible;
use crate::sql::{Value, equals, id, newest, older};
use crate::{SqlStore, StoreError, records};
use engine::workspace::{Document, Scope};
use runtime::ports::{Hit, HitKind, Library, SearchFilter};
use runtime::search_terms as terms;

/// The most documents that one search reads.
const MAX_READ: usize = 500;
const READ_AT_ONCE: usize = 50;
const MAX_EXCERPT_CHARS: usize = 200;

impl SqlStore {
    pub(crate) async fn search_platform(
        &self,
        scope: &Scope,
        needles: &[String],
        filter: &SearchFilter,
    ) -> Result<Vec<Hit>, StoreError> {
        let (mut found, mut before) = (Vec::new(), filter.before);
        for _ in 0..MAX_READ / READ_AT_ONCE {
            let mut query = visible(records::LISTED_DOCUMENT, "project_id", scope);
            query.push(" AND doc_role IS NOT NULL");
            equals(&mut query, "type_key", filter.type_key.clone().map(Value::from));
            equals(&mut query, "project_id", filter.project_id.map(id));
            equals(&mut query, "made_run", filter.run_id.map(id));
            older(&mut query, before);
            let listed = self.all(newest(query, READ_AT_ONCE), records::document).await?;
            let Some(last) = listed.last() else { break };
            before = Some(last.id.0);
            for document in &listed {
                let whole = self.document(scope, document.id).await?;
                found.extend(whole.filter(|whole| contains(whole, needles)).map(|whole| hit(&whole, needles)));
                if found.len() >= crate::sql::page(filter.limit) {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }
}

fn contains(document: &Document, needles: &[String]) -> bool {
    let index = terms::index(&[&document.title, &document.content]);
    needles.iter().all(|needle| index.contains(needle.as_str()))
}

/// Shown from the first line on that has one of the words.
fn hit(document: &Document, needles: &[String]) -> Hit {
    let has_one = |line: &str| needles.iter().any(|needle| terms::index(&[line]).contains(needle.as_str()));
    let lines: Vec<&str> = document.content.lines().collect();
    let start = lines.iter().position(|line| has_one(line)).unwrap_or(0);
    let excerpt = lines[start.min(lines.len())..].join("\n");
    Hit {
        kind: HitKind::Document,
        id: document.id.0,
        project_id: document.project_id,
        title: document.title.clone(),
        excerpt: excerpt.chars().take(MAX_EXCERPT_CHARS).collect(),
    }
}
