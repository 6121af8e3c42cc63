//! Plays a run against scripted answers, without a store: every effect is performed at once.

#![allow(dead_code)] // Each test file uses its own part of the stage.

pub(crate) mod view;

use engine::actor::Actor;
use engine::batch::Batch;
use engine::budget::Budgets;
use engine::effect::{
    CallError, CallFailure, CheckWork, EffectAttempt, EffectId, ModelReply, Outcome, ToolOutcome, ToolOutput, ToolSpec,
    Usage, Work,
};
use engine::event::Event;
use engine::facts::run::{Agent, Queued};
use engine::ids::{ActorId, DocumentId, EdgeId, LessonId, ProjectId, RunId, derive};
use engine::model::{ModelSpec, Models, Price, Role};
use engine::run::{Criterion, Kind, Run, ScopeKind};
use engine::time::Timestamp;
use engine::workspace::{DOCUMENT_HAS_DOCUMENT, Mutation, Scope};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

pub(crate) const START: Timestamp = Timestamp(1_763_200_000_000);

pub(crate) fn spec() -> ModelSpec {
    let price = Some(Price { input: 2_000_000, cached: 200_000, output: 8_000_000 });
    ModelSpec { provider: "test".into(), model: "m1".into(), context_window: 128_000, max_output: 8_192, price }
}

pub(crate) fn brief(objective: &str) -> Queued {
    let id = |name: &str| derive(START, &[name.as_bytes()]);
    let tool = |name: &str, arguments: &str, read| ToolSpec {
        name: name.into(),
        arguments: arguments.into(),
        description: format!("{name} of the workspace"),
        read,
        external: None,
    };
    Queued {
        kind: Kind::Homework,
        objective: objective.into(),
        scope: ScopeKind::Global,
        project_ids: Vec::new(),
        success_criteria: Criterion::number(["A recommendation exists".to_owned()]),
        tools: vec![
            tool("search_documents", "query, project_id?, limit?", true),
            tool("create_document", "title, content, project_id?, parent_document_id?, type_key?, props?", false),
        ],
        budgets: Budgets::default(),
        models: Models::uniform(spec()),
        owner: ActorId(id("owner")),
        workspace_project_id: ProjectId(id("project")),
        warnings: Vec::new(),
        tool_lists: Vec::new(),
        agent: None,
        agents: Vec::new(),
        own_workspace: false,
        no_verify: true,
    }
}

/// A subagent that work may be given to.
pub(crate) fn scout() -> Agent {
    let id = ActorId(derive(START, &[b"agent"]));
    Agent { id, handle: "scout".into(), identity: "You know wood.\n## tools".into(), max_steps: None }
}

pub(crate) fn lesson(text: &str) -> Value {
    json!({ "tool": "add_lesson", "arguments": { "text": text }, "purpose": "keep it" })
}

/// What became of lessons in the commits of a play: those kept, and those promoted with the kind of event they commit with.
pub(crate) fn learned(play: &Play) -> (Vec<String>, Vec<(usize, String)>) {
    let (mut kept, mut promoted) = (Vec::new(), Vec::new());
    for change in play.batches.iter().flat_map(|batch| &batch.changes) {
        match &change.mutation {
            Mutation::AddLesson { agent, text, .. } => {
                assert_eq!((change.actor, *agent), (Actor::Subagent(scout().id), scout().id));
                kept.push(text.clone());
            }
            Mutation::PromoteLessons { agent, lessons } => {
                assert_eq!(*agent, scout().id);
                promoted.push((lessons.len(), play.events[change.seq as usize - 1].kind().to_owned()));
            }
            _ => {}
        }
    }
    (kept, promoted)
}

pub(crate) type Script = Box<dyn FnMut(Role, &EffectAttempt) -> Result<Value, CallError>>;

pub(crate) struct Play {
    pub run: Run,
    pub now: Timestamp,
    pub events: Vec<Event>,
    pub blobs: HashMap<engine::blob::Hash, String>,
    pub batches: Vec<Batch>,
    /// What every answer costs.
    pub usage: Usage,
    /// Tools that are refused, with why.
    denied: HashMap<String, String>,
    /// New texts of documents, which a person wrote.
    pub edited: HashMap<String, Vec<String>>,
    script: Script,
}

impl Play {
    pub(crate) fn new(
        brief: Queued,
        script: impl FnMut(Role, &EffectAttempt) -> Result<Value, CallError> + 'static,
    ) -> Play {
        let id = RunId(derive(START, &[b"run"]));
        let run = Run::create(id, brief.clone(), Actor::Person(brief.owner), START).expect("a run");
        let mut play = Play {
            run,
            now: START,
            events: Vec::new(),
            blobs: HashMap::new(),
            batches: Vec::new(),
            usage: Usage { input: 1_000, cached: 0, output: 100, estimated: false },
            denied: HashMap::new(),
            edited: HashMap::new(),
            script: Box::new(script),
        };
        play.commit();
        play
    }

    pub(crate) fn commit(&mut self) {
        let batch = self.run.take_batch();
        self.events.extend(batch.events.iter().cloned());
        self.blobs.extend(batch.blobs.iter().map(|blob| (blob.hash, blob.text.clone())));
        self.batches.push(batch);
    }

    /// Until nothing is due.
    pub(crate) fn go(&mut self) {
        self.go_within(1_000);
    }

    pub(crate) fn go_within(&mut self, turns: usize) {
        self.step(0);
        for _ in 0..turns {
            if !self.turn() {
                return;
            }
        }
        panic!("the run does not come to rest: {} {:?}", self.run.activity(), self.run.due(self.now));
    }

    /// As a new driver, at most so many turns.
    pub(crate) fn step(&mut self, turns: usize) {
        self.run.take_over(None, self.now);
        self.commit();
        for _ in 0..turns {
            self.turn();
        }
    }

    /// One thing that is due; false when nothing is.
    fn turn(&mut self) -> bool {
        self.now = self.now.plus_ms(1_000);
        let due = self.run.due(self.now);
        if let Some(effect) = due.inline.first() {
            self.perform(effect);
        } else if let Some(effect) = due.external.first() {
            if let Some(attempt) = self.run.intend(effect, self.now) {
                self.commit();
                self.land(&attempt);
            }
        } else if let Some(at) = due.wake_at.filter(|_| self.run.shared.is_moving()) {
            self.now = self.now.max(at);
            self.run.tick(self.now);
        } else {
            return false;
        }
        self.commit();
        true
    }

    /// A built-in tool, done at once.
    pub(crate) fn perform(&mut self, effect: &EffectId) {
        let attempt = self.run.inline_attempt(effect, self.now).expect("the work");
        let outcome = match &attempt.work {
            Work::Check(work) => self.check(work),
            Work::Tool(call) if self.denied.contains_key(&call.tool) => {
                ToolOutcome { result: Err(self.denied[&call.tool].clone()), mutations: Vec::new() }
            }
            Work::Tool(_) | Work::Model(_) => tool(&attempt),
        };
        self.run.outcome(effect, 1, Outcome::Tool(outcome), None, self.now);
        self.commit();
    }

    /// What the platform reads for a check, from the documents and texts of this play.
    fn check(&self, work: &CheckWork) -> ToolOutcome {
        let content: Vec<Value> = match work {
            CheckWork::ReadEvidence { refs } => refs.iter().map(|reference| self.document(reference)).collect(),
            CheckWork::FindQuotes { quotes } => quotes
                .iter()
                .map(|quote| {
                    let text: Value = serde_json::from_str(&self.blobs[&quote.text]).expect("JSON");
                    let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
                    text.contains(&quote.quote).into()
                })
                .collect(),
        };
        let output = ToolOutput { content: content.into(), summary: "looked up".into(), read: true };
        ToolOutcome { result: Ok(output), mutations: Vec::new() }
    }

    /// A document that the run created, or null.
    fn document(&self, reference: &str) -> Value {
        let edits = self.edited.get(reference).cloned().unwrap_or_default();
        let changes = self.batches.iter().flat_map(|batch| &batch.changes);
        let mut created = changes.filter_map(|change| match &change.mutation {
            Mutation::CreateDocument { id, title, content, .. } if format!("doc:{id}") == reference => {
                Some(json!({ "title": title, "version": 1 + edits.len(), "text": edits.last().unwrap_or(content) }))
            }
            _ => None,
        });
        created.next_back().unwrap_or(Value::Null)
    }

    /// The answer to a call arrives.
    pub(crate) fn land(&mut self, attempt: &EffectAttempt) {
        let outcome = self.answer(attempt);
        self.run.outcome(&attempt.effect, attempt.number, outcome, None, self.now);
        self.commit();
    }

    /// As a new process would find it: the log up to here, and nothing else.
    pub(crate) fn resume_from(&mut self, events: &[Event]) {
        self.run = Run::fold(events).expect("a run");
        self.run.take_batch();
        self.events = events.to_vec();
        let mut first = Batch::after(self.run.shared.id, 0);
        first.events = events.to_vec();
        self.batches = vec![first];
        self.now = self.run.shared.updated_at;
    }

    fn answer(&mut self, attempt: &EffectAttempt) -> Outcome {
        let Work::Model(call) = &attempt.work else { panic!("not a model call") };
        let usage = self.usage;
        Outcome::Model((self.script)(call.role, attempt).map(|answer| ModelReply {
            text: answer.to_string(),
            usage,
            truncated: false,
            provider_request_id: None,
        }))
    }

    /// A request as the model reads it.
    pub(crate) fn deny(&mut self, tool: &str, why: &str) {
        self.denied.insert(tool.into(), why.into());
    }

    pub(crate) fn whole_text(&self, attempt: &EffectAttempt) -> String {
        let Work::Model(call) = &attempt.work else { panic!("not a model call") };
        let messages = call.request.render(|hash| self.blobs.get(&hash).cloned()).expect("every part is stored");
        messages.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn kinds(&self) -> Vec<&str> {
        self.events.iter().map(Event::kind).collect()
    }
}

/// A request's own words, stored parts marked.
pub(crate) fn own_text(attempt: &EffectAttempt) -> String {
    let Work::Model(call) = &attempt.work else { panic!("not a model call") };
    let parts = call.request.messages.iter().flat_map(|message| &message.parts);
    parts
        .map(|part| match part {
            engine::request::Part::Text(text) => text.as_str(),
            engine::request::Part::Stored { .. } => "<stored>",
        })
        .collect()
}

/// A tiny workspace: creating works, searching finds one document, anything else is refused.
pub(crate) fn tool(attempt: &EffectAttempt) -> ToolOutcome {
    let Work::Tool(call) = &attempt.work else { panic!("not a tool call") };
    match call.tool.as_str() {
        "create_document" if call.arguments["title"].is_string() => {
            let id = DocumentId(derive(START, &[attempt.effect.0.as_bytes()]));
            let title = call.arguments["title"].as_str().unwrap_or_default().to_owned();
            let link = Mutation::Link {
                id: EdgeId(derive(START, &[attempt.effect.0.as_bytes(), b"edge"])),
                project_id: attempt.run.home_project,
                src: call.home_document.expect("a document to link under").0,
                dst: id.0,
                rel: DOCUMENT_HAS_DOCUMENT.into(),
                props: json!({}),
            };
            let created = Mutation::CreateDocument {
                id,
                project_id: attempt.run.home_project,
                title: title.clone(),
                type_key: "document".into(),
                content: call.arguments["content"].as_str().unwrap_or("text").into(),
                props: call.props.clone(),
            };
            let output = ToolOutput {
                content: json!({ "document_id": id, "title": title }),
                summary: format!("created {title}"),
                read: false,
            };
            ToolOutcome { result: Ok(output), mutations: vec![created, link] }
        }
        // As the real tool does: the change holds the whole text.
        "update_document" => {
            let id: DocumentId = call.arguments["document_id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
            let added = call.arguments["append"].as_str().unwrap_or_default();
            let whole = call.arguments["content"].as_str().map(str::to_owned);
            let changed = Mutation::UpdateDocument {
                id,
                expected_version: Some(1),
                title: Some("Log".into()),
                content: Some(whole.unwrap_or_else(|| format!("first line\n{added}"))),
                props: None,
            };
            let output = ToolOutput {
                content: json!({ "id": id, "title": "Log", "version": 2 }),
                summary: "updated Log".into(),
                read: false,
            };
            ToolOutcome { result: Ok(output), mutations: vec![changed] }
        }
        // As the real tool does: the document with its content.
        "get_document" => {
            let id = call.arguments["document_id"].clone();
            let content = json!({ "id": id, "title": "Paper", "version": 1, "content": "# Paper" });
            let output = ToolOutput { content, summary: "document \"Paper\", 7 characters".into(), read: true };
            ToolOutcome { result: Ok(output), mutations: Vec::new() }
        }
        "search_documents" => {
            let content = json!({ "documents": [{ "id": "0199", "title": "Notes on backups" }], "count": 1 });
            ToolOutcome {
                result: Ok(ToolOutput { content, summary: "1 document".into(), read: true }),
                mutations: Vec::new(),
            }
        }
        // Five documents that others wrote, the newest first.
        "list_documents" => {
            let limit = call.arguments["limit"].as_u64().unwrap_or(50) as usize;
            let listed = |n: usize| json!({ "id": derive(START, &[b"old", &[n as u8]]), "title": format!("Old {n}"), "version": 3, "updated_at": attempt.run.now });
            let documents: Vec<Value> = (0..limit.min(5)).map(listed).collect();
            shown(json!({ "documents": documents, "more": limit < 5 }))
        }
        "open_page" => shown(json!(format!("# {}", call.arguments["path"].as_str().unwrap_or_default()))),
        "page_action" => shown(json!(format!("{} was carried out", call.arguments["action"]))),
        "write_scratchpad" => {
            let Scope::OnBehalf { agent, .. } = attempt.run.scope else { panic!("a subagent writes its own") };
            let content = call.arguments["content"].as_str().unwrap_or_default().to_owned();
            let based_on = call.arguments["version"].as_i64().unwrap_or_default();
            let write = Mutation::WriteScratchpad { agent, content, based_on, step: None };
            ToolOutcome { mutations: vec![write], ..shown(json!({ "version": based_on + 1 })) }
        }
        "add_lesson" => {
            let id = LessonId(derive(START, &[attempt.effect.0.as_bytes(), b"lesson"]));
            let lesson = Mutation::AddLesson {
                id,
                agent: call.agent.expect("only subagents learn"),
                text: call.arguments["text"].as_str().unwrap_or_default().into(),
                iteration: call.props["iteration"].as_u64().map(|iteration| iteration as u32),
                branch_id: call.props["branch_id"].as_str().map(str::to_owned),
                node_id: call.props["tree_agent_node_id"].as_str().and_then(|node| node.parse().ok()),
            };
            let output =
                ToolOutput { content: json!({ "lesson_id": id }), summary: "a lesson was kept".into(), read: false };
            ToolOutcome { result: Ok(output), mutations: vec![lesson] }
        }
        "read_scratchpad" => shown(json!({ "version": 3, "content": "notes of an earlier errand" })),
        other => ToolOutcome {
            result: Err(format!("unknown tool {other}; valid: search_documents, create_document")),
            mutations: Vec::new(),
        },
    }
}

fn shown(content: Value) -> ToolOutcome {
    ToolOutcome { result: Ok(ToolOutput { content, summary: "shown".into(), read: true }), mutations: Vec::new() }
}

pub(crate) fn plan(summary: &str) -> Value {
    json!({
        "progress_summary": summary, "plan": { "steps": [] }, "tool_calls": [], "executor_tasks": [], "remaining_work": ["more"],
        "completion_evidence": [], "exit_signal": false, "needs_user_input": false, "blocking_questions": [],
        "next_action_hint": "execute", "confidence": "medium", "branch_rollup": null,
    })
}

pub(crate) fn report() -> Value {
    json!({ "title": "Done", "summary": "It is done.", "findings": [], "not_done": [] })
}

/// The payloads of all events of one type.
pub(crate) fn payloads(play: &Play, kind: &str) -> Vec<Value> {
    let events = play.events.iter().filter(|event| event.kind() == kind);
    events.map(|event| serde_json::from_str(&event.payload).expect("JSON")).collect()
}

pub(crate) fn rate_limited() -> CallError {
    CallError { failure: CallFailure::RateLimited, message: "429".into(), retry_after_ms: None, maybe_paid: false }
}

pub(crate) type Asked = Rc<RefCell<Vec<EffectAttempt>>>;

/// A play that keeps every attempt its script was given.
pub(crate) fn asking(
    brief: Queued,
    mut script: impl FnMut(Role, usize, &EffectAttempt) -> Value + 'static,
) -> (Play, Asked) {
    let asked = Asked::default();
    let seen = asked.clone();
    let play = Play::new(brief, move |role, attempt| {
        let of_role = |attempt: &&EffectAttempt| role_of(attempt) == role;
        let before = seen.borrow().iter().filter(of_role).count();
        seen.borrow_mut().push(attempt.clone());
        Ok(script(role, before + 1, attempt))
    });
    (play, asked)
}

pub(crate) fn role_of(attempt: &EffectAttempt) -> Role {
    let Work::Model(call) = &attempt.work else { panic!("a model call") };
    call.role
}

pub(crate) fn texts(play: &Play, asked: &Asked, role: Role) -> Vec<String> {
    let asked = asked.borrow();
    asked.iter().filter(|attempt| role_of(attempt) == role).map(|attempt| play.whole_text(attempt)).collect()
}

/// The lines of a section, parsed.
pub(crate) fn section(text: &str, name: &str) -> Vec<Value> {
    let (_, rest) = text.split_once(&format!("## {name}\n")).unwrap_or_default();
    let lines = rest.lines().take_while(|line| !line.is_empty());
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("one JSON value per line: {line}"))).collect()
}

/// A text as it is known to be; BLESS=1 writes it anew.
pub(crate) fn golden_text(name: &str, text: &str) {
    let golden = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, text).expect("written");
    }
    let kept = std::fs::read_to_string(golden).unwrap_or_default();
    assert_eq!(kept, text, "run with BLESS=1 after reading the difference");
}

/// The log of a run that an earlier version wrote, as the present one reads it: whole, understood, unbroken. Where there
/// is none yet, BLESS=1 writes the one that is played; one that exists is never written again.
pub(crate) fn golden_log(name: &str, played: impl FnOnce() -> Play) -> Vec<Event> {
    let golden = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("BLESS").is_some() && !std::path::Path::new(&golden).exists() {
        let lines: String = played().events.iter().map(|event| event.to_json() + "\n").collect();
        std::fs::write(&golden, lines).expect("written");
    }
    let log = std::fs::read_to_string(&golden).expect("the golden log");
    let events: Vec<Event> = log.lines().map(stored).collect();
    let mut head = engine::event::genesis(events[0].run_id);
    for event in &events {
        assert!(!matches!(event.fact, engine::facts::Fact::Unrecognized(_)), "{} is still understood", event.kind());
        assert_eq!(event.link(head), event.hash, "the chain holds at {}", event.seq);
        head = event.hash;
    }
    events
}

fn stored(line: &str) -> Event {
    let public: Value = serde_json::from_str(line).expect("JSON");
    let payload = line.split_once("\"payload\":").and_then(|(_, rest)| rest.strip_suffix('}')).expect("a payload");
    let node = |name: &str| public[name].as_str().and_then(|id| id.parse().ok());
    engine::event::StoredEvent {
        run_id: public["runId"].as_str().and_then(|id| id.parse().ok()).expect("a run"),
        seq: public["seq"].as_u64().expect("a seq"),
        node_id: node("nodeId"),
        parent_node_id: node("parentNodeId"),
        kind: public["type"].as_str().expect("a type").into(),
        at: public["timestamp"].as_str().and_then(Timestamp::parse).expect("a time"),
        actor: serde_json::from_value(public["actor"].clone()).expect("an actor"),
        hash: public["hash"].as_str().and_then(|hash| hash.parse().ok()).expect("a hash"),
        payload: payload.into(),
    }
    .decode()
}
