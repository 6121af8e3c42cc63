//! People: they answer, interrupt, change their minds, and do it twice, through whichever process is at hand.

use super::witness::{Action, Reply, Witness};
use crate::dice::Dice;
use engine::actor::Actor;
use engine::batch::RunRow;
use engine::budget::BudgetPatch;
use engine::event::{Event, StoredEvent};
use engine::facts::{Fact, Tree as T};
use engine::ids::{ActorId, NodeId, QuestionId, RunId};
use engine::money::Usd;
use engine::run::{Command, Kind, Lane, NodeCommand};
use runtime::ports::Log;
use runtime::{CommandError, RunCommands};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// A person does not wait longer for the product to react.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Person {
    pub id: ActorId,
    pub witness: Arc<Witness>,
}

/// What a person means to do, before they look at the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
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
}

impl Wish {
    pub fn any(kind: Kind, dice: &mut Dice) -> Wish {
        use Wish as W;
        let nodes = [
            W::Node(NodeCommand::Cancel),
            W::Node(NodeCommand::Retry),
            W::Node(NodeCommand::Retry),
            W::Node(NodeCommand::Pause),
            W::Node(NodeCommand::Resume),
            W::SayToNode,
            W::Answer,
        ];
        if kind == Kind::Tree && dice.happens(700) {
            return *dice.pick(&nodes).unwrap_or(&W::Answer);
        }
        let wishes = [
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
        ];
        *dice.pick(&wishes).unwrap_or(&W::Say)
    }
}

impl Person {
    pub async fn wish(&self, commands: RunCommands, run: RunId, wish: Wish, nth: u64) {
        let text = format!("words {nth}");
        let act = |what, command| self.act(&commands, run, what, command);
        match wish {
            Wish::Say => act(Action::Say(text.clone()), Command::Say { text, node: None, lane: Lane::Steer }).await,
            Wish::Answer => self.answer(&commands, run, &text).await,
            Wish::AnswerTwice => {
                let again = format!("words {nth} again");
                futures::future::join(self.answer(&commands, run, &text), self.answer(&commands, run, &again)).await;
            }
            Wish::Pause => act(Action::Pause, Command::Pause).await,
            Wish::Resume => act(Action::Resume, Command::Resume).await,
            Wish::Cancel => act(Action::Cancel, Command::Cancel).await,
            Wish::Continue => {
                let message = Some(text.clone());
                act(Action::Continue(text), Command::Continue { budgets: more(), message }).await;
            }
            Wish::Lower => {
                let patch =
                    BudgetPatch { max_tokens: Some(Some(60_000)), max_iterations: Some(3), ..BudgetPatch::default() };
                act(Action::SetBudgets, Command::SetBudgets(patch)).await;
            }
            Wish::Node(order) => {
                let nodes = look(commands.log().as_ref(), run).await;
                let fitting: Vec<NodeId> = nodes.iter().filter(|node| node.fits(order)).map(|node| node.id).collect();
                let any: Vec<NodeId> = nodes.iter().map(|node| node.id).collect();
                let mut dice = Dice::about(nth, "node");
                // Now and then at the wrong one.
                let list = if fitting.is_empty() || dice.happens(100) { &any } else { &fitting };
                if let Some(node) = dice.pick(list).copied() {
                    act(Action::Node(order, node), Command::Node { node, order }).await;
                }
            }
            Wish::SayToNode => {
                let nodes = look(commands.log().as_ref(), run).await;
                let mut dice = Dice::about(nth, "node");
                let lane = if dice.happens(300) { Lane::Queue } else { Lane::Steer };
                if let Some(node) = dice.pick(&nodes).map(|node| node.id) {
                    act(Action::Say(text.clone()), Command::Say { text, node: Some(node), lane }).await;
                }
            }
        }
    }

    /// One of the open questions of the run as it is stored, or none at all.
    async fn answer(&self, commands: &RunCommands, run: RunId, text: &str) {
        let row = commands.log().run_row(run).await.ok().flatten();
        let open = row.as_ref().map(open_questions).unwrap_or_default();
        let question = Dice::about(open.len() as u64, text).pick(&open).copied();
        self.act(commands, run, Action::Answer(text.to_owned()), Command::Answer { question, text: text.to_owned() })
            .await;
    }

    pub async fn act(&self, commands: &RunCommands, run: RunId, what: Action, command: Command) {
        let told = match tokio::time::timeout(PATIENCE, commands.command(run, command, Actor::Person(self.id))).await {
            Ok(Ok(_)) => Reply::Done,
            Ok(Err(CommandError::Refused(refusal))) => Reply::Refused(refusal.slug.to_owned()),
            Ok(Err(_)) | Err(_) => Reply::Nothing,
        };
        self.witness.acted(run, what, told);
    }
}

/// What a person sees of a node.
pub struct Sight {
    pub id: NodeId,
    ended: bool,
    pub paused: bool,
}

impl Sight {
    fn fits(&self, order: NodeCommand) -> bool {
        match order {
            NodeCommand::Cancel => !self.ended,
            NodeCommand::Retry => self.ended,
            NodeCommand::Pause => !self.ended && !self.paused,
            NodeCommand::Resume => self.paused,
        }
    }
}

/// The nodes of a tree as its log shows them.
pub async fn look(log: &dyn Log, run: RunId) -> Vec<Sight> {
    let events = log.events(run, 0, usize::MAX >> 1).await.unwrap_or_default();
    let mut nodes: Vec<Sight> = Vec::new();
    for Event { fact, node_id, .. } in events.into_iter().map(StoredEvent::decode) {
        let (Fact::Tree(fact), Some(id)) = (fact, node_id) else { continue };
        if matches!(fact, T::NodeCreated(_)) {
            nodes.push(Sight { id, ended: false, paused: false });
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
