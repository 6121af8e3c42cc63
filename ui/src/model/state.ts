// Everything a run is at one point of time, in cells whose changes the journal remembers. The folds write it, the
// run reads it; nothing here decides anything.

import { Charges } from './charges';
import { Names, Numbers, Series, Values } from './columns';
import { Journal } from './journal';
import { Nodes } from './nodes';
import type { Kind, Limits, Plan, Report, Scope, Status, StopReason } from '../api/shapes';
import type { ArtifactRow, IterationRow, MessageRow, Question, StoredEvent } from './shapes';
import { Steps } from './steps';

/** Numbers of the run itself, by place in one column. */
export const F = {
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
export interface Words {
  status: Status;
  stopReason: StopReason | null;
  stopDetail: string | null;
  budgets: Limits;
  questions: readonly Question[];
  plan: Plan | null;
  report: Report | null;
  providerWait: unknown;
  workspaceDocument: string | null;
  iterations: readonly IterationRow[];
  messages: readonly MessageRow[];
  /** Homework: what the loop is in. */
  phase: 'starting' | 'iterating' | 'waiting' | 'reporting' | 'ended';
  /** Homework: newest entries of the main pad, branches with theirs, actions that repeat without progress. */
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

/** Calls by the place they have in the run; a call that is over is idle. Only the state is shown, so only it is remembered:
 * the rest serves the fold, which happens at the end of time alone. */
export class Calls {
  readonly names = new Names();
  readonly state = new Numbers();
  readonly attempt = new Numbers();
  inFlight = 0;
  /** Of these a snapshot said only that they are: in flight, and waiting to be tried again. */
  orphansInFlight = 0;
  orphansBackingOff = 0;
  readonly what = new Values<string>('');
  readonly model = new Values<string | null>(null);
}

/** What is known of every event without keeping it: enough to draw a time line and to find one again. */
export class EventIndex {
  readonly types = new Names();
  readonly type = new Series(Uint8Array);
  readonly time = new Series(Float64Array);
  readonly node = new Series(Int32Array);
  /** Where the event left its node. */
  readonly status = new Series(Uint8Array);
  /** Milliseconds of work up to and with this event. */
  readonly running = new Series(Uint32Array);
  /** 1: this event does not show that anybody was at work until then. */
  readonly hearsay = new Series(Uint8Array);
}

const INITIAL: Words = {
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
const WORD_NAMES = Object.keys(INITIAL) as (keyof Words)[];
const SLOT = Object.fromEntries(WORD_NAMES.map((name, slot) => [name, slot])) as Record<keyof Words, number>;

export class State {
  readonly journal = new Journal();
  readonly nodes = new Nodes();
  readonly steps = new Steps();
  readonly charges = new Charges(this.nodes);
  readonly calls = new Calls();
  readonly events = new EventIndex();
  readonly figures = new Numbers();
  readonly artifacts = new Values<readonly ArtifactRow[]>([]);
  /** The payload of `run.queued`: what never changes. */
  brief: Brief | null = null;
  createdAt = 0;
  /** When a person said something last. */
  wordAt = NaN;
  private readonly words = new Values<unknown>(undefined);

  constructor() {
    for (const name of WORD_NAMES) this.words.put(SLOT[name], INITIAL[name]);
    this.figures.put(F.started, NaN);
    this.figures.put(F.ended, NaN);
  }

  word<K extends keyof Words>(name: K): Words[K] {
    return this.words.data[SLOT[name]] as Words[K];
  }

  say<K extends keyof Words>(name: K, value: Words[K]): void {
    this.journal.setValue(this.words, SLOT[name], value);
  }

  /** Without remembering: only where a snapshot is read. */
  start<K extends keyof Words>(name: K, value: Words[K]): void {
    this.words.put(SLOT[name], value);
  }

  figure(at: number): number {
    return this.figures.get(at);
  }

  mark(at: number, value: number): void {
    this.journal.setNumber(this.figures, at, value);
  }

  count(at: number, change: number): void {
    this.mark(at, this.figure(at) + change);
  }

  node(event: StoredEvent): number {
    return this.nodes.number(event.nodeId);
  }

  /** The status people see: the pause is a flag beside what the run would be doing. */
  status(): Status {
    const status = this.word('status');
    return this.figure(F.paused) && !isOver(status) ? 'paused' : status;
  }
}

export interface Brief {
  id: string;
  kind: Kind;
  objective: string;
  scope: Scope;
  projectIds: string[];
  successCriteria: { id: string; text: string }[];
  model: string;
  costKnown: boolean;
  warnings: string[];
  owner: string;
  workspaceProject: string;
  /** Of a task: who was sent, and how far. */
  agent: { handle: string; maxSteps: number } | null;
}

export function isOver(status: string): boolean {
  return status === 'completed' || status === 'stopped' || status === 'canceled' || status === 'failed';
}
