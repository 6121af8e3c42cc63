// The state of a run at one point in time. Every change goes through the undo log, so it can be undone and redone.
// The folds write the state and the selectors read it; it decides nothing itself.

import { Charges } from './charges';
import { Names, Numbers, Series, Values } from './columns';
import { UndoLog } from './undo-log';
import { Nodes } from './nodes';
import type { EndState } from '../api/events';
import type { Criterion, Iteration, Limits, Plan, Question, Report, Status, StopReason } from '../api/shapes';
import { type Check, rootLook } from './fold-criteria';
import type { ArtifactRow, MessageRow, RunRow, StoredEvent } from './rows';
import { ended } from './statuses';
import { Steps } from './steps';

export type Phase = 'starting' | 'iterating' | 'waiting' | 'reporting' | 'ended';

export interface Branch {
  id: string;
  title: string;
  document_id: string;
  entries: readonly string[];
  working: boolean;
  /** Its number among the executors of the iteration it worked in last. */
  executor: number;
  /** The subagent it was given to last. */
  agent?: string;
}

/** What a run does that waits for its paused nodes, in the server's words. */
export const PAUSED_AT_NODES = 'waiting for paused nodes';

export const IDLE = 0;
export const IN_FLIGHT = 1;
export const BACKING_OFF = 2;
export const UNKNOWN = 3;

/** Calls by effect id; a finished call is idle. Only `state` is in the undo log, because only it is shown in the past;
 * the other columns serve the fold, which runs at the end of the log. */
export class Calls {
  readonly names = new Names();
  readonly state = new Numbers();
  readonly attempt = new Numbers();
  inFlight = 0;
  /** Calls that a snapshot counts without naming them: in flight, and waiting for a retry. */
  orphansInFlight = 0;
  orphansBackingOff = 0;
  readonly what = new Values<string>('');
  readonly model = new Values<string | null>(null);
}

/** A few columns per event instead of the event: enough to draw a timeline and to fetch the event again. */
class EventIndex {
  readonly types = new Names();
  readonly type = new Series(Uint8Array);
  readonly time = new Series(Float64Array);
  readonly node = new Series(Int32Array);
  /** The status of the node after the event. */
  readonly status = new Series(Uint8Array);
  /** Milliseconds of work up to and with this event. */
  readonly running = new Series(Uint32Array);
  /** 1: this event came from a person, so it does not prove that the run worked until then. */
  readonly fromPerson = new Series(Uint8Array);
}

/** Values of the run itself, as they are before its first event. */
const INITIAL = {
  status: 'queued' as Status,
  /** `nodes`: nobody paused the run itself, but every branch that could move is paused. */
  paused: null as 'run' | 'nodes' | null,
  stopReason: null as StopReason | null,
  stopDetail: null as string | null,
  startedAt: null as string | null,
  endedAt: null as string | null,
  // A log's first event sets them all; before it there is no run to limit.
  budgets: {} as Limits,
  questions: [] as readonly Question[],
  criteria: [] as readonly Criterion[],
  check: null as Check | null,
  /** What the run left when it ended; absent in logs of versions that knew no outcome. */
  endState: null as EndState | null,
  plan: null as Plan | null,
  report: null as Report | null,
  providerWait: null as unknown,
  workspaceDocument: null as string | null,
  messages: [] as readonly MessageRow[],
  /** Numbers of calls that wait for a retry, and of those with an unknown outcome. */
  backingOff: 0,
  unknown: 0,
  phase: 'starting' as Phase,
  /** Homework: the current iteration, whether it is planned, and its executors at work. Of a task: its steps. */
  iteration: 0,
  planned: false,
  executors: 0,
  noProgress: 0,
  iterations: [] as readonly Iteration[],
  /** Homework: newest entries of the main scratchpad, branches with theirs, actions that repeat without progress. */
  entries: [] as readonly string[],
  branches: [] as readonly Branch[],
  repeated: [] as readonly string[],
};
type RunValues = typeof INITIAL;
const SLOT = Object.fromEntries(Object.keys(INITIAL).map((name, slot) => [name, slot])) as Record<keyof RunValues, number>;

export class State {
  readonly undoLog = new UndoLog();
  readonly nodes = new Nodes(() => rootLook(this));
  readonly steps = new Steps();
  readonly charges = new Charges(this.nodes);
  readonly calls = new Calls();
  readonly events = new EventIndex();
  readonly artifacts = new Values<readonly ArtifactRow[]>([]);
  brief: Brief | null = null;
  /** Whether every model of the run has a price. */
  costKnown = true;
  createdAt = 0;
  /** When a person last did something to the run. */
  lastMessageAt = NaN;
  private readonly values = new Values<unknown>(undefined);

  constructor() {
    this.init(INITIAL);
  }

  value<K extends keyof RunValues>(name: K): RunValues[K] {
    return this.values.data[SLOT[name]] as RunValues[K];
  }

  setValue<K extends keyof RunValues>(name: K, value: RunValues[K]): void {
    this.undoLog.setValue(this.values, SLOT[name], value);
  }

  /** Sets values without entries in the undo log, so it cannot be undone: only for the state to start from. */
  init(values: Partial<RunValues>): void {
    for (const [name, value] of Object.entries(values)) this.values.put(SLOT[name as keyof RunValues], value);
  }

  add(name: 'backingOff' | 'unknown' | 'iteration' | 'executors', change: number): void {
    this.setValue(name, this.value(name) + change);
  }

  node(event: StoredEvent): number {
    return this.nodes.number(event.nodeId);
  }

  /** The status people see. A pause is a flag, so that resuming knows what the run was doing. */
  status(): Status {
    const status = this.value('status');
    return this.value('paused') !== null && !ended(status) ? 'paused' : status;
  }
}

/** What a run was given at its start: the fields of the run object that never change. */
type Brief = Pick<RunRow, 'id' | 'kind' | 'objective' | 'scope' | 'project_ids' | 'model' | 'warnings' | 'owner' | 'workspace_project_id' | 'agent' | 'max_steps'>;
