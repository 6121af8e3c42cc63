//! The verifier's request: the criteria, and what is cited for them. Nothing else, whoever did the work.

use super::check::Check;
use crate::blob::BlobRef;
use crate::budget::{Admission, Reserve};
use crate::effect::ModelCall;
use crate::model::Role;
use crate::prompt::{self, Size};
use crate::run::Shared;
use crate::sections::{Quote, SHOWN_RESULT_CHARS, Sections};
use serde_json::json;

/// In tokens: verdicts are short.
const ANSWER_TOKENS: u32 = 4_096;
/// The bytes of the most characters shown of one text, where characters are longer than a byte on average.
const SHOWN_BYTES: u32 = SHOWN_RESULT_CHARS + SHOWN_RESULT_CHARS / 8;

pub(super) fn verifier_call(shared: &Shared, check: &Check) -> ModelCall {
    let ordinary = call_of(shared, check, Size::Brief(ANSWER_TOKENS));
    let reserve = Reserve::for_call(ordinary.request.bytes(), ordinary.max_tokens, ordinary.model.price);
    match shared.ledger.admit(reserve, &shared.budgets, shared.wrap_up_reserve()) {
        // What room was kept is for a call of this size.
        Admission::Never(_) => call_of(shared, check, Size::WrapUp),
        Admission::Fits | Admission::Wait => ordinary,
    }
}

fn call_of(shared: &Shared, check: &Check, size: Size) -> ModelCall {
    prompt::model_call(shared, Role::Verifier, sections(shared, check), check.rejected.as_ref(), size)
}

fn sections(shared: &Shared, check: &Check) -> Sections {
    let mut out = Sections::default();
    let mut texts = Vec::new();
    let criteria = check.batch.iter().filter_map(|id| shared.criterion(id)).map(|criterion| {
        let refs: Vec<&str> = check.readable(&criterion.id).map(|text| text.reference.as_str()).collect();
        json!({ "criterion": criterion.id, "text": criterion.text, "refs": refs })
    });
    out.share(4).records("criteria", criteria.collect::<Vec<_>>());
    for text in check.batch.iter().flat_map(|id| check.readable(id)) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let quote = |text: &crate::facts::evidence::EvidenceText| Quote {
        frame: json!({ "ref": text.reference, "title": text.title, "version": text.version }),
        field: "text",
        content: text.text,
        limit: text.text.map_or(0, |BlobRef { bytes, .. }| bytes.min(SHOWN_BYTES)),
    };
    out.share(12).quoted("evidence", texts.into_iter().map(quote).collect());
    out
}
