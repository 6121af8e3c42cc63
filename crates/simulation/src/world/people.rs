//! Simulated people: they answer, send messages, pause, cancel and repeat themselves, through any process.

use super::witness::{Reply, Witness};
use crate::dice::Dice;
use engine::actor::Actor;
use engine::batch::RunRow;
use engine::budget::BudgetPatch;
use engine::event::{Event, StoredEvent};
use engine::facts::evidence::CriterionDecision;
use engine::facts::{Fact, TreeFact as T};
use engine::ids::{ActorId, NodeId, QuestionId, RunId};
use engine::money::Usd;
use engine::run::{Command, Kind, Lane, NodeCommand};
use runtime::ports::Log;
use runtime::{CommandError, RunCommands};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// The longest a person waits for a reply.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Person {
    pub id: ActorId,
    pub witness: Arc<Witness>,
}

/// What a person is going to do; the details depend on the run at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonAction {
    Say,
    Answer,
    AnswerTwice,
    Pause,
    Resume,
    Cancel,
    Continue,
    Lower,
    /// To one node of a tree.
    Node(NodeCommand),
    SayToNode,
    /// A word on one of its success criteria, or on all of them.
    Criterion(CriterionDecision),
}

impl PersonAction {
    pub fn any(kind: Kind, dice: &mut Dice) -> PersonAction {
        use PersonAction as W;
        let nodes = [
            W::Node(NodeCommand::Cancel),
            W::Node(NodeCommand::Retry),
            W::Node(NodeCommand::RetryWithDependents),
            W::Node(NodeCommand::Pause),
            W::Node(NodeCommand::Resume),
            W::SayToNode,
            W::Answer,
            W::Criterion(CriterionDecision::Recheck),
        ];
        if kind == Kind::Tree && dice.happens(700) {
            return *dice.pick(&nodes).unwrap_or(&W::Answer);
        }
        let actions_taken = [
            W::Say,
            W::Say,
            W::Answer,
            W::Answer,
            W::AnswerTwice,
            W::Pause,
            W::Pause,
            W::Resume,
            W::Resume,
            W::Continue,
            W::Continue,
            W::Cancel,
            W::Lower,
            W::Criterion(CriterionDecision::Accept),
            W::Criterion(CriterionDecision::Reject),
            W::Criterion(CriterionDecision::Recheck),
            W::Criterion(CriterionDecision::Recheck),
        ];
        *dice.pick(&actions_taken).unwrap_or(&W::Say)
    }
}

impl Person {
    pub async fn person_action(&self, commands: RunCommands, run: RunId, person_action: PersonAction, nth: u64) {
        let text = format!("words {nth}");
        let mut dice = Dice::about(nth, "node");
        let command = match person_action {
            PersonAction::Say => Command::Say { text, node: None, lane: Lane::Steer },
            PersonAction::Answer => return self.answer(&commands, run, &text).await,
            PersonAction::AnswerTwice => {
                let again = format!("words {nth} again");
                futures::future::join(self.answer(&commands, run, &text), self.answer(&commands, run, &again)).await;
                return;
            }
            PersonAction::Pause => Command::Pause,
            PersonAction::Resume => Command::Resume,
            PersonAction::Cancel => Command::Cancel,
            PersonAction::Continue => Command::Continue { budgets: more(), message: Some(text) },
            PersonAction::Lower => {
                let (max_tokens, max_iterations) = (Some(Some(60_000)), Some(3));
                Command::SetBudgets(BudgetPatch { max_tokens, max_iterations, ..BudgetPatch::default() })
            }
            PersonAction::Node(order) => {
                let nodes = visible_nodes(commands.log().as_ref(), run).await;
                let fitting: Vec<NodeId> = nodes.iter().filter(|node| node.fits(order)).map(|node| node.id).collect();
                let any: Vec<NodeId> = nodes.iter().map(|node| node.id).collect();
                // Sometimes a node for which the command makes no sense.
                let list = if fitting.is_empty() || dice.happens(100) { &any } else { &fitting };
                let Some(node) = dice.pick(list).copied() else { return };
                Command::Node { node, order }
            }
            PersonAction::SayToNode => {
                let nodes = visible_nodes(commands.log().as_ref(), run).await;
                let lane = if dice.happens(300) { Lane::Queue } else { Lane::Steer };
                let Some(node) = dice.pick(&nodes).map(|node| node.id) else { return };
                Command::Say { text, node: Some(node), lane }
            }
            PersonAction::Criterion(decision) => {
                let meant = ["c1", "c1", "c2", "c9"].map(String::from);
                let criterion = if dice.happens(150) { None } else { dice.pick(&meant).cloned() };
                Command::Criterion { criterion, decision, note: Some(text) }
            }
        };
        self.act(&commands, run, command).await;
    }

    /// Answers one of the run's open questions, or names none.
    async fn answer(&self, commands: &RunCommands, run: RunId, text: &str) {
        let row = commands.log().run_row(run).await.ok().flatten();
        let open = row.as_ref().map(open_questions).unwrap_or_default();
        let question = Dice::about(open.len() as u64, text).pick(&open).copied();
        self.act(commands, run, Command::Answer { question, text: text.to_owned() }).await;
    }

    pub async fn act(&self, commands: &RunCommands, run: RunId, command: Command) -> Reply {
        let asked = commands.command(run, command.clone(), Actor::Person(self.id));
        let reply = match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(_)) => Reply::Done,
            Ok(Err(CommandError::Refused(refusal))) => Reply::Refused(refusal.slug.to_owned()),
            Ok(Err(_)) | Err(_) => Reply::Nothing,
        };
        self.witness.acted(run, command, reply.clone());
        reply
    }
}

/// A node as a person sees it.
pub struct VisibleNode {
    pub id: NodeId,
    ended: bool,
    pub paused: bool,
}

impl VisibleNode {
    fn fits(&self, order: NodeCommand) -> bool {
        match order {
            NodeCommand::Cancel => !self.ended,
            NodeCommand::Retry | NodeCommand::RetryWithDependents => self.ended,
            NodeCommand::Pause => !self.ended && !self.paused,
            NodeCommand::Resume => self.paused,
        }
    }
}

/// The nodes of a tree as its log shows them.
pub async fn visible_nodes(log: &dyn Log, run: RunId) -> Vec<VisibleNode> {
    let events = log.events(run, 0, usize::MAX >> 1).await.unwrap_or_default();
    let mut nodes: Vec<VisibleNode> = Vec::new();
    for Event { fact, node_id, .. } in events.into_iter().map(StoredEvent::decode) {
        let (Fact::Tree(fact), Some(id)) = (fact, node_id) else { continue };
        if matches!(fact, T::NodeCreated(_)) {
            nodes.push(VisibleNode { id, ended: false, paused: false });
        }
        let Some(node) = nodes.iter_mut().find(|node| node.id == id) else { continue };
        match fact {
            T::NodeCompleted(_) | T::NodeFailed(_) | T::NodeCanceled(_) => node.ended = true,
            T::NodeReopened(_) => node.ended = false,
            T::NodePaused(_) => node.paused = true,
            T::NodeResumed(_) => node.paused = false,
            _ => {}
        }
    }
    nodes
}

/// Limits that let a stopped run go on.
fn more() -> BudgetPatch {
    BudgetPatch {
        max_cost_usd: Some(Usd(6_000_000)),
        max_tokens: Some(Some(900_000)),
        max_wall_ms: Some(7_200_000),
        max_iterations: Some(10),
        max_nodes: Some(30),
        ..BudgetPatch::default()
    }
}

pub fn open_questions(row: &RunRow) -> Vec<QuestionId> {
    let questions = row.questions.as_array().map(Vec::as_slice).unwrap_or_default();
    let open = questions.iter().filter(|question| question["answer"].is_null());
    open.filter_map(|question| QuestionId::from_str(question["id"].as_str()?).ok()).collect()
}
