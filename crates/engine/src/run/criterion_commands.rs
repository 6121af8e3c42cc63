//! A person's word on a success criterion: accept, reject, or have it checked again.

use super::Run;
use super::commands::{Refusal, refuse};
use crate::actor::Actor;
use crate::criteria::known_texts;
use crate::facts::evidence::{Citation, CriterionDecision};
use crate::facts::run::CriterionDecided;
use crate::time::Timestamp;

/// In characters.
const MAX_NOTE_CHARS: usize = 2_000;

impl Run {
    /// Without a criterion: all of them, which only `recheck` takes.
    pub(super) fn decide_criterion(
        &mut self,
        criterion: Option<String>,
        decision: CriterionDecision,
        note: Option<String>,
        actor: Actor,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let meant = self.criteria_meant(criterion.as_deref(), decision)?;
        let note = note.map(|note| note.trim().to_owned()).filter(|note| !note.is_empty());
        if let Some(length) = note.as_ref().map(|note| note.chars().count()).filter(|length| *length > MAX_NOTE_CHARS) {
            return refuse("note_too_long", format!("the note has {length} characters; {MAX_NOTE_CHARS} is the most"));
        }
        let citations = match decision {
            CriterionDecision::Recheck => Some(self.citations_to_recheck(&meant)?),
            CriterionDecision::Accept | CriterionDecision::Reject => None,
        };
        let by = self.by(actor);
        for criterion in meant {
            let note = note.clone();
            self.emit(CriterionDecided { criterion, decision, by, note }, actor, now);
        }
        if let Some(citations) = citations {
            let known = known_texts(&citations, |reference| self.rules().known_text(reference));
            self.emit(self.shared.start_check(citations, known, true), Actor::Platform, now);
        }
        Ok(())
    }

    fn criteria_meant(&self, criterion: Option<&str>, decision: CriterionDecision) -> Result<Vec<String>, Refusal> {
        let all = || self.shared.criteria.iter().map(|known| known.id.clone());
        let run = self.shared.id;
        match criterion {
            Some(id) if self.shared.criterion(id).is_some() => Ok(vec![id.to_owned()]),
            None if decision == CriterionDecision::Recheck && !self.shared.criteria.is_empty() => Ok(all().collect()),
            _ if self.shared.criteria.is_empty() => refuse("criterion_not_found", format!("run {run} has no criteria")),
            named => {
                let valid = all().collect::<Vec<_>>().join(", ");
                let named =
                    named.map_or("no criterion is named".into(), |id| format!("run {run} has no criterion {id:?}"));
                refuse("criterion_not_found", format!("{named}; its criteria are {valid}"))
            }
        }
    }

    /// What was cited for each; without that there is nothing to check it by.
    fn citations_to_recheck(&self, criteria: &[String]) -> Result<Vec<Citation>, Refusal> {
        let (shared, run) = (&self.shared, self.shared.id);
        if !shared.status().is_terminal() {
            let status = shared.status().name();
            return refuse(
                "run_not_ended",
                format!("run {run} is {status}; its criteria are checked when it wants to end"),
            );
        }
        if shared.is_checking() {
            return refuse("already_checking", format!("the criteria of run {run} are being checked"));
        }
        let cited = criteria.iter().filter_map(|id| shared.criterion(id)).map(|known| Citation {
            criterion: known.id.clone(),
            refs: known.evidence.iter().map(|cited| cited.reference.clone()).collect(),
        });
        let cited: Vec<Citation> = cited.filter(|citation| !citation.refs.is_empty()).collect();
        if cited.is_empty() {
            let named = criteria.join(", ");
            return refuse(
                "nothing_cited",
                format!(
                    "nothing is cited for {named} of run {run}: there is nothing to check; accept or reject it yourself"
                ),
            );
        }
        Ok(cited)
    }
}
