//! People: they answer, interrupt, change their minds, and do it twice, through whichever process is at hand.

use super::witness::{Deed, Told, Witness};
use crate::dice::Dice;
use engine::actor::Actor;
use engine::batch::RunRow;
use engine::budget::BudgetPatch;
use engine::ids::{ActorId, QuestionId, RunId};
use engine::money::Usd;
use engine::run::{Command, Lane};
use runtime::{CommandError, Desk};
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
}

impl Wish {
    pub fn any(dice: &mut Dice) -> Wish {
        use Wish as W;
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
    pub async fn wish(&self, desk: Desk, run: RunId, wish: Wish, nth: u64) {
        let text = format!("words {nth}");
        let act = |what, command| self.act(&desk, run, what, command);
        match wish {
            Wish::Say => act(Deed::Say(text.clone()), Command::Say { text, node: None, lane: Lane::Steer }).await,
            Wish::Answer => self.answer(&desk, run, &text).await,
            Wish::AnswerTwice => {
                let again = format!("words {nth} again");
                futures::future::join(self.answer(&desk, run, &text), self.answer(&desk, run, &again)).await;
            }
            Wish::Pause => act(Deed::Pause, Command::Pause).await,
            Wish::Resume => act(Deed::Resume, Command::Resume).await,
            Wish::Cancel => act(Deed::Cancel, Command::Cancel).await,
            Wish::Continue => {
                let message = Some(text.clone());
                act(Deed::Continue(text), Command::Continue { budgets: more(), message }).await;
            }
            Wish::Lower => {
                let patch = BudgetPatch { max_tokens: Some(60_000), max_iterations: Some(3), ..BudgetPatch::default() };
                act(Deed::SetBudgets, Command::SetBudgets(patch)).await;
            }
        }
    }

    /// The first open question of the run as it is stored, or none at all.
    async fn answer(&self, desk: &Desk, run: RunId, text: &str) {
        let row = desk.store().run(&engine::workspace::Scope::Platform, run).await.ok().flatten();
        let question = row.as_ref().and_then(|row| open_questions(row).into_iter().next());
        self.act(desk, run, Deed::Answer(text.to_owned()), Command::Answer { question, text: text.to_owned() }).await;
    }

    pub async fn act(&self, desk: &Desk, run: RunId, what: Deed, command: Command) {
        let told = match tokio::time::timeout(PATIENCE, desk.command(run, command, Actor::Person(self.id))).await {
            Ok(Ok(_)) => Told::Done,
            Ok(Err(CommandError::Refused(refusal))) => Told::Refused(refusal.slug.to_owned()),
            Ok(Err(_)) | Err(_) => Told::Nothing,
        };
        self.witness.acted(run, what, told);
    }
}

/// Limits that let a stopped run go on.
fn more() -> BudgetPatch {
    BudgetPatch {
        max_cost_usd: Some(Usd(6_000_000)),
        max_tokens: Some(900_000),
        max_wall_ms: Some(7_200_000),
        max_iterations: Some(10),
        ..BudgetPatch::default()
    }
}

pub fn open_questions(row: &RunRow) -> Vec<QuestionId> {
    let questions = row.questions.as_array().map(Vec::as_slice).unwrap_or_default();
    let open = questions.iter().filter(|question| question["answer"].is_null());
    open.filter_map(|question| QuestionId::from_str(question["id"].as_str()?).ok()).collect()
}
