// The fold of a task's own events: how many steps were taken, and what is going on.

import { running } from './fold-run';
import { NONE } from './nodes';
import type { StoredEvent } from './shapes';
import { F, type State } from './state';

export function foldTask(state: State, event: StoredEvent): void {
  const { payload } = event;
  switch (event.type) {
    case 'task.started':
      return running(state, event);
    case 'task.step':
      if (payload.step > 0 && (payload.action === 'navigate' || payload.action === 'execute')) {
        state.mark(F.iteration, state.figure(F.iteration) + 1);
      }
      return;
    case 'task.step_result':
      return state.charges.addToolCall(state.journal, NONE);
    case 'task.ended':
      return state.say('phase', 'reporting');
  }
}
