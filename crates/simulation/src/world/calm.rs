//! The second half of a world, without faults: all workers run, every question is answered and every pause ended, so every
//! run must end.

use super::people::{Person, open_questions, visible_nodes};
use super::witness::Reply;
use super::{Due, World};
use crate::dice::Dice;
use engine::facts::evidence::CriterionDecision;
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
        let mut looks_again = self.setup.looks_again;
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
                if !std::mem::take(&mut looks_again) {
                    break;
                }
                self.look_again().await;
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
            if !row.status.is_terminal() || row.success_criteria.iter().any(|criterion| criterion.checking) {
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

    /// A person reads what the runs came to, decides about criteria or has them judged once more. In worlds whose processes die,
    /// the one that judges may die over it.
    async fn look_again(&mut self) {
        let person = Person { id: self.fixtures.owner, witness: self.shared.witness.clone() };
        for planned_run in self.planned_runs.clone() {
            let Ok(Some(row)) = self.shared.store.run(&Scope::Platform, planned_run.id).await else { continue };
            let decision = match Dice::about(self.setup.seed, &format!("look again {}", row.id)).below(8) {
                _ if row.success_criteria.is_empty() => continue,
                0 => CriterionDecision::Accept,
                1 => CriterionDecision::Reject,
                _ => CriterionDecision::Recheck,
            };
            let one = row.success_criteria.first().map(|criterion| criterion.id.clone());
            let criterion = one.filter(|_| decision != CriterionDecision::Recheck);
            let command = Command::Criterion { criterion, decision, note: None };
            // Said again only when there was no reply and the log does not have it.
            for _ in 0..3 {
                self.actions_taken += 1;
                let commands = self.shared.detached_commands(format!("person-{}", self.actions_taken));
                let reply = person.act(&commands, row.id, command.clone()).await;
                let now = self.shared.store.run(&Scope::Platform, row.id).await.ok().flatten();
                if reply != Reply::Nothing || now.is_some_and(|now| now.last_seq != row.last_seq) {
                    break;
                }
            }
        }
        if self.setup.fault_rates.process.crash_any_time > 0 {
            tokio::time::sleep(Duration::from_millis(self.dice.below(4_000))).await;
            let seat = self.dice.below(self.workforce.seats() as u64) as usize;
            self.workforce.kill(seat);
        }
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
