//! A performer that counts what it is asked for and answers when the test lets it.

use async_trait::async_trait;
use engine::effect::{EffectAttempt, EffectId, ModelReply, Outcome, ToolOutcome, ToolOutput, Usage, Work};
use engine::ids::DocumentId;
use engine::workspace::{Mutation, Scope};
use runtime::ports::{Library, Performer};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use store::SqlStore;
use tokio::sync::{Semaphore, watch};

/// In virtual time.
pub const PATIENCE: Duration = Duration::from_secs(600);

pub struct Scripted {
    /// What the model answers every time.
    answer: Value,
    /// What the one tool rewrites, and where.
    rewrites: Option<(Arc<SqlStore>, DocumentId)>,
    model_calls: watch::Sender<Vec<EffectId>>,
    tool_calls: watch::Sender<usize>,
    /// One permit lets one model call be answered.
    answers: Semaphore,
}

impl Scripted {
    /// A tree of one node that finishes after a few calls.
    pub fn finishing() -> Arc<Scripted> {
        let result = json!({"kind": "document", "summary": "done", "parent_hint": {"artifact_labels": []}});
        Scripted::answering(json!({"mode": "execute", "result": result}), None)
    }

    /// A homework planner that asks for one tool call: rewrite this document.
    pub fn rewriting(store: Arc<SqlStore>, document: DocumentId) -> Arc<Scripted> {
        let call = json!({"tool": "update_document", "arguments": {"document_id": document}, "purpose": "rewrite"});
        let answer = json!({
            "progress_summary": "rewriting", "plan": {"steps": []}, "tool_calls": [call], "executor_tasks": [],
            "remaining_work": ["more"], "completion_evidence": [], "exit_signal": false, "needs_user_input": false,
            "blocking_questions": [], "next_action_hint": "execute", "confidence": "medium", "branch_rollup": null,
        });
        Scripted::answering(answer, Some((store, document)))
    }

    fn answering(answer: Value, rewrites: Option<(Arc<SqlStore>, DocumentId)>) -> Arc<Scripted> {
        Arc::new(Scripted {
            answer,
            rewrites,
            model_calls: watch::Sender::default(),
            tool_calls: watch::Sender::default(),
            answers: Semaphore::new(0),
        })
    }

    pub fn answer(&self, calls: usize) {
        self.answers.add_permits(calls);
    }

    pub fn answer_all(&self) {
        self.answers.add_permits(1_000);
    }

    pub fn model_calls(&self) -> usize {
        self.model_calls.borrow().len()
    }

    /// Every call was made once: no answer was paid for twice.
    pub fn called_once_each(&self) -> bool {
        let calls = self.model_calls.borrow();
        calls.iter().collect::<HashSet<_>>().len() == calls.len()
    }

    pub fn tool_calls(&self) -> usize {
        *self.tool_calls.borrow()
    }

    /// Until so many model calls have begun.
    pub async fn until_model_calls(&self, calls: usize) {
        let mut begun = self.model_calls.subscribe();
        let begun = tokio::time::timeout(PATIENCE, begun.wait_for(|begun| begun.len() >= calls));
        begun.await.expect("the calls begin in time").expect("the performer lives");
    }

    async fn rewrite(&self) -> Outcome {
        let (store, id) = self.rewrites.as_ref().expect("a document to rewrite");
        let document = store.document(&Scope::Platform, *id).await.expect("readable").expect("it exists");
        let mutation = Mutation::UpdateDocument {
            id: *id,
            expected_version: Some(document.version),
            title: None,
            content: Some(format!("{} and the run's", document.content)),
            props: None,
        };
        let output = ToolOutput { content: json!({}), summary: "rewritten".into(), read: false };
        Outcome::Tool(ToolOutcome { result: Ok(output), mutations: vec![mutation] })
    }
}

#[async_trait]
impl Performer for Scripted {
    async fn perform(&self, attempt: EffectAttempt) -> Outcome {
        let Work::Model(_) = attempt.work else {
            self.tool_calls.send_modify(|calls| *calls += 1);
            return self.rewrite().await;
        };
        self.model_calls.send_modify(|calls| calls.push(attempt.effect));
        self.answers.acquire().await.expect("open").forget();
        let usage = Usage { input: 100, cached: 0, output: 20, estimated: false };
        let text = self.answer.to_string();
        Outcome::Model(Ok(ModelReply { text, usage, truncated: false, provider_request_id: None }))
    }
}
