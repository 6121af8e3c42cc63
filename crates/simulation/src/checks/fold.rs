//! The only fold in this crate; it calls the engine's own.

use engine::event::Event;
use engine::run::Run;

/// The run after every event of its log; `visit` sees each state with the event that led to it.
pub fn replay(events: &[Event], mut visit: impl FnMut(&Run, &Event)) -> Option<Run> {
    let (first, rest) = events.split_first()?;
    let mut run = Run::from_first_event(first)?;
    visit(&run, first);
    for event in rest {
        run.apply(event);
        visit(&run, event);
    }
    Some(run)
}
