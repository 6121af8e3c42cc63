// Where a version of a scratchpad came from.

import type { Run, Scratchpad } from '../../api/shapes';
import { headline } from '../../components/format';

/** The task that wrote this version, in one of its steps or in its reflection; the subagent outside a task; or a person. */
export function origin(pad: Scratchpad, runs: readonly Pick<Run, 'id' | 'objective'>[]): string {
  if (pad.run_id === null) return pad.actor?.kind === 'subagent' ? 'by itself, outside a task' : 'by hand';
  const task = runs.find((run) => run.id === pad.run_id)?.objective;
  if (pad.step === null && pad.actor?.kind === 'platform') return 'lessons of a run that succeeded';
  const moment = pad.step === null ? 'after' : `in step ${pad.step} of`;
  return `${moment} ${task ? `“${headline(task, 60)}”` : 'a task'}`;
}
