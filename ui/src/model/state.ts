// The state of a run at one point in time. Every change goes through the journal, so it can be undone and redone.
// The folds write the state and the selectors read it; it decides nothing itself.

import { Charges } from './charges';
import { Names, Numbers, Series, Values } from './columns';
import { Journal } from './journal';
import { Nodes } from './nodes';
import type { Iteration, Limits, Plan, Question, Report, Status, StopReason } from '../api/shapes';
import type { ArtifactRow, MessageRow, RunRow, StoredEvent } from './rows';
import { ended } from './statuses';
import { Steps } from './steps';

/** Where each number of the run itself is in the `figures` column. */
export const FIGURE = {
  paused: 0,
  iteration: 1,
  started: 2,
  ended: 3,
  noProgress: 4,
  backingOff: 5,
  unknown: 6,
  planned: 7,
  executors: 8,
  repeats: 9,
} as const;

/** Values of the run itself. */
interface RunValues {
  status: Status;
  stopReason: StopReason | null;
  stopDetail: string | null;
  budgets: Limits;
  questions: readonly Question[];
  plan: Plan | null;
  report: Report | null;
  providerWait: unknown;
  workspaceDocument: string | null;
  iterations: readonly Iteration[];
  messages: readonly MessageRow[];
  /** Homework: the phase of the run. */
  phase: 'starting' | 'iterating' | 'waiting' | 'reporting' | 'ended';
  /** Homework: newest entries of the main scratchpad, branches with theirs, actions that repeat without progress. */
  entries: readonly string[];
  branches: readonly Branch[];
  repeated: readonly string[];
}

export interface Branch {
  id: string;
  title: string;
  document_id: string;
  entries: readonly string[];
  working: boolean;
  /** The subagent it was given to last. */
  agent?: string;
}

export const IDLE = 0;
export const IN_FLIGHT = 1;
export const BACKING_OFF = 2;
export const UNKNOWN = 3;

/** Calls by effect id; a finished call is idle. Only `state` is journaled, because only it is shown in the past;
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

const INITIAL: RunValues = {
  status: 'queued',
  stopReason: null,
  stopDetail: null,
  // A log's first event sets them all; before it there is no run to limit.
  budgets: {} as Limits,
  questions: [],
  plan: null,
  report: null,
  providerWait: null,
  workspaceDocument: null,
  iterations: [],
  messages: [],
  phase: 'starting',
  entries: [],
  branches: [],
  repeated: [],
};
const VALUE_NAMES = Object.keys(INITIAL) as (keyof RunValues)[];
const SLOT = Object.fromEntries(VALUE_NAMES.map((name, slot) => [name, slot])) as Record<keyof RunValues, number>;

export class State {
  readonly journal = new Journal();
  readonly nodes = new Nodes();
  readonly steps = new Steps();
  readonly charges = new Charges(this.nodes);
  readonly calls = new Calls();
  readonly events = new EventIndex();
  readonly figures = new Numbers();
  readonly artifacts = new Values<readonly ArtifactRow[]>([]);
  brief: Brief | null = null;
  /** Whether every model of the run has a price. */
  costKnown = true;
  createdAt = 0;
  /** When a person last did something to the run. */
  lastMessageAt = NaN;
  private readonly values = new Values<unknown>(undefined);

  constructor() {
    for (const name of VALUE_NAMES) this.values.put(SLOT[name], INITIAL[name]);
    this.figures.put(FIGURE.started, NaN);
    this.figures.put(FIGURE.ended, NaN);
  }

  value<K extends keyof RunValues>(name: K): RunValues[K] {
    return this.values.data[SLOT[name]] as RunValues[K];
  }

  setValue<K extends keyof RunValues>(name: K, value: RunValues[K]): void {
    this.journal.setValue(this.values, SLOT[name], value);
  }

  /** Sets a value without a journal entry, so it cannot be undone: only for reading a snapshot. */
  initValue<K extends keyof RunValues>(name: K, value: RunValues[K]): void {
    this.values.put(SLOT[name], value);
  }

  figure(at: number): number {
    return this.figures.get(at);
  }

  setFigure(at: number, value: number): void {
    this.journal.setNumber(this.figures, at, value);
  }

  addToFigure(at: number, change: number): void {
    this.setFigure(at, this.figure(at) + change);
  }

  node(event: StoredEvent): number {
    return this.nodes.number(event.nodeId);
  }

  /** The status people see. A pause is a flag, so that resuming knows what the run was doing. */
  status(): Status {
    const status = this.value('status');
    return this.figure(FIGURE.paused) && !ended(status) ? 'paused' : status;
  }
}

/** What a run was given at its start: the fields of the run object that never change. */
export type Brief = Pick<RunRow, 'id' | 'kind' | 'objective' | 'scope' | 'project_ids' | 'success_criteria' | 'model' | 'warnings' | 'owner' | 'workspace_project_id' | 'agent' | 'max_steps'>;
