// The fold of task events: the number of steps, and the phase.

import { running } from './fold-run';
import { NONE } from './nodes';
import type { StoredEvent } from './rows';
import type { State } from './state';

export function foldTask(state: State, event: StoredEvent): void {
  switch (event.type) {
    case 'task.started':
      return running(state, event);
    case 'task.step':
      if (event.payload.step > 0 && (event.payload.action === 'navigate' || event.payload.action === 'execute')) state.add('iteration', 1);
      return;
    case 'task.step_result':
      return state.charges.addToolCall(state.undoLog, NONE);
    case 'task.ended':
      return state.setValue('phase', 'reporting');
  }
}
