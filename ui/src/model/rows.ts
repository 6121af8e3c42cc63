// Rows that the run model gives to pages, and stored events as the folds read them.

import type { EventPayloads, Event } from '../api/events';
import type { Metrics, Node, Outcome, Role, Run, Snapshot as Given, StepStatus } from '../api/shapes';

type WithoutHash<E> = E extends unknown ? Omit<E, 'hash' | 'actor'> & Partial<Pick<Event, 'hash' | 'actor'>> : never;
/** One stored event; its type says which payload it has. A log may also hold types that this page does not know: folds ignore them. */
export type StoredEvent = WithoutHash<Event>;
/** The stored event of one type. */
export type EventOf<Type extends keyof EventPayloads> = Extract<StoredEvent, { type: Type }>;

/** The run object, without `head`: nobody who looks at a run checks its hash. */
export type RunRow = Omit<Run, 'head'>;
export interface Snapshot extends Omit<Given, 'run'> {
  run: RunRow;
}

/** What a node object of the API has and the model does not fold, or keeps in another way. */
type NotFolded = 'agent' | 'metrics' | 'own_metrics' | 'reason' | 'result' | 'role_state' | 'run_id' | 'scratchpad_doc_id' | 'scratchpad_tail' | 'success_criteria' | 'updated_at';

/** One node as a page shows it; money, tokens and calls are of its whole subtree. */
export interface NodeRow extends Omit<Node, NotFolded>, Pick<Metrics, 'cost_usd' | 'tokens_in' | 'tokens_out' | 'llm_calls' | 'tool_calls'> {
  role: Role;
  question: string | null;
  artifacts: number;
  in_flight: number;
  scratchpad_doc_id: string | null;
  scratchpad_tail: string | null;
  /** The node that does its step again. */
  replaced_by: string | null;
  /** Nodes in its subtree, itself included, and how many of them are at work, blocked, failed. */
  subtree: { nodes: number; unfinished: number; blocked: number; failed: number };
}

export interface StepRow {
  id: string;
  band_index: number;
  step_index: number;
  title: string;
  status: StepStatus;
  child_node_id: string | null;
  /** What the node came to that carries it out, and whether that is stale. */
  outcome: Outcome | null;
  stale: boolean;
}

/** An artifact as it was registered. */
export interface ArtifactRow {
  artifact_id: string;
  artifact_type: string;
  document_id: string | null;
  label: string | null;
  /** Its title, when it differs from the label. */
  title: string | null;
  /** Given in an answer, not made by a tool. */
  own: boolean;
}

/** An artifact as it is seen at the shown moment. */
export interface ShownArtifact extends ArtifactRow {
  /** Nothing has replaced it. */
  current: boolean;
  /** Its node rests on a result that has been replaced. */
  stale: boolean;
}

export interface MessageRow {
  id: string;
  text: string;
  node_id: string | null;
  lane: string;
  delivered: boolean;
}
