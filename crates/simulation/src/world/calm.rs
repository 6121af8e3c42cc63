//! After the storm: no faults, every worker at work, every question answered, every pause ended. Now
//! everything must come to rest.

use super::people::{Person, look, open_questions};
use super::witness::Action;
use super::{Due, World};
use engine::ids::RunId;
use engine::run::{Command, NodeCommand, Status};
use engine::workspace::Scope;
use runtime::ports::Library;
use std::time::Duration;
use tokio::sync::mpsc;

/// Once the storm is over, everything must have come to rest by then.
const REST_WITHIN_MS: u64 = 45 * 60_000;
const LOOK_EVERY: Duration = Duration::from_secs(3);

impl World {
    /// No faults any more, every worker at work, every question answered, every pause ended.
    pub(super) async fn calm(&mut self, deaths: &mut mpsc::UnboundedReceiver<String>) {
        self.ground.faults.calm_down();
        self.ground.witness.note(format_args!("calm"));
        for (_, due) in std::mem::take(&mut self.agenda) {
            if matches!(due, Due::Start(_)) {
                self.happen(due).await;
            }
        }
        let began = self.ground.witness.now_ms();
        loop {
            // What a process was doomed to in the storm may still befall it when it wakes.
            while let Ok(name) = deaths.try_recv() {
                self.workforce.bury(&name);
            }
            self.workforce.hire_all();
            tokio::time::sleep(LOOK_EVERY).await;
            while self.people.try_join_next().is_some() {}
            let busy = self.look_after_runs().await;
            if busy.is_empty() && self.people.is_empty() {
                break;
            }
            if self.ground.witness.now_ms() - began > REST_WITHIN_MS {
                busy.into_iter().for_each(|run| self.ground.witness.wrong(format!("30: {run}")));
                break;
            }
        }
        let leaving: Vec<_> = (0..self.workforce.seats()).filter_map(|seat| self.workforce.terminate(seat)).collect();
        for worker in leaving {
            let _ = worker.await;
        }
    }

    /// The runs that have not come to rest.
    async fn look_after_runs(&mut self) -> Vec<String> {
        let mut busy = Vec::new();
        let person = Person { id: self.fixtures.owner, witness: self.ground.witness.clone() };
        for errand in self.errands.clone() {
            let Ok(Some(row)) = self.ground.store.run(&Scope::Platform, errand.id).await else { continue };
            self.wishes += 1;
            let commands = self.ground.detached_commands(format!("person-{}", self.wishes));
            match row.status {
                Status::Paused => {
                    person.act(&commands, row.id, Action::Resume, Command::Resume).await;
                    self.resume_nodes(&person, row.id).await;
                }
                Status::WaitingOnUser => {
                    for question in open_questions(&row) {
                        self.wishes += 1;
                        let text = format!("words {}", self.wishes);
                        let command = Command::Answer { question: Some(question), text: text.clone() };
                        person.act(&commands, row.id, Action::Answer(text), command).await;
                    }
                }
                _ => {}
            }
            if !row.status.is_terminal() {
                busy.push(format!(
                    "run {} is {} ({}) after {} events",
                    row.id,
                    row.status.name(),
                    row.activity,
                    row.last_seq
                ));
            }
        }
        busy
    }

    /// A tree whose branches are paused goes on only when they do.
    async fn resume_nodes(&mut self, person: &Person, run: RunId) {
        for node in look(self.ground.store.as_ref(), run).await.into_iter().filter(|node| node.paused) {
            self.wishes += 1;
            let commands = self.ground.detached_commands(format!("person-{}", self.wishes));
            let (node, order) = (node.id, NodeCommand::Resume);
            person.act(&commands, run, Action::Node(order, node), Command::Node { node, order }).await;
        }
    }
}
