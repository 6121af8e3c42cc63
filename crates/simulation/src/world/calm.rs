//! The second half of a world, without faults: all workers run, every question is answered and every pause ended, so every
//! run must end.

use super::people::{Person, open_questions, visible_nodes};
use super::{Due, World};
use engine::ids::RunId;
use engine::run::{Command, NodeCommand, Status};
use engine::workspace::Scope;
use runtime::ports::Library;
use std::time::Duration;
use tokio::sync::mpsc;

/// All runs must have ended this long after the storm.
const REST_WITHIN_MS: u64 = 45 * 60_000;
const LOOK_EVERY: Duration = Duration::from_secs(3);

impl World {
    /// Runs the world without faults until every run has ended.
    pub(super) async fn calm(&mut self, deaths: &mut mpsc::UnboundedReceiver<String>) {
        self.shared.faults.calm_down();
        self.shared.witness.note(format_args!("calm"));
        for (_, due) in std::mem::take(&mut self.agenda) {
            if matches!(due, Due::Start(_)) {
                self.happen(due).await;
            }
        }
        let began = self.shared.witness.now_ms();
        loop {
            // A stalled process may still die of a fault from the storm when it wakes.
            while let Ok(name) = deaths.try_recv() {
                self.workforce.remove_dead(&name);
            }
            self.workforce.start_all();
            tokio::time::sleep(LOOK_EVERY).await;
            while self.people.try_join_next().is_some() {}
            let busy = self.look_after_runs().await;
            if busy.is_empty() && self.people.is_empty() {
                break;
            }
            if self.shared.witness.now_ms() - began > REST_WITHIN_MS {
                busy.into_iter().for_each(|run| self.shared.witness.violation(format!("30: {run}")));
                break;
            }
        }
        let leaving: Vec<_> = (0..self.workforce.seats()).filter_map(|seat| self.workforce.terminate(seat)).collect();
        for worker in leaving {
            let _ = worker.await;
        }
    }

    /// Answers and resumes what waits; returns the runs that have not ended.
    async fn look_after_runs(&mut self) -> Vec<String> {
        let mut busy = Vec::new();
        let person = Person { id: self.fixtures.owner, witness: self.shared.witness.clone() };
        for planned_run in self.planned_runs.clone() {
            let Ok(Some(row)) = self.shared.store.run(&Scope::Platform, planned_run.id).await else { continue };
            self.actions_taken += 1;
            let commands = self.shared.detached_commands(format!("person-{}", self.actions_taken));
            match row.status {
                Status::Paused => {
                    person.act(&commands, row.id, Command::Resume).await;
                    self.resume_nodes(&person, row.id).await;
                }
                Status::WaitingOnUser => {
                    for question in open_questions(&row) {
                        self.actions_taken += 1;
                        let text = format!("words {}", self.actions_taken);
                        person.act(&commands, row.id, Command::Answer { question: Some(question), text }).await;
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

    /// A tree whose nodes are paused only goes on when they are resumed.
    async fn resume_nodes(&mut self, person: &Person, run: RunId) {
        for node in visible_nodes(self.shared.store.as_ref(), run).await.into_iter().filter(|node| node.paused) {
            self.actions_taken += 1;
            let commands = self.shared.detached_commands(format!("person-{}", self.actions_taken));
            person.act(&commands, run, Command::Node { node: node.id, order: NodeCommand::Resume }).await;
        }
    }
}
