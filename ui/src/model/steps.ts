// The steps of all node plans: their status, and which child works on which. Stored as columns, because every
// child changes the status of its step twice.

import { Numbers, Values } from './columns';
import type { UndoLog } from './undo-log';
import { NONE, type Nodes } from './nodes';
import type { StepRow } from './rows';
import { numberOf, STEP_COMPLETED, STEP_PENDING, STEP_STATUSES } from './statuses';

export interface Plan {
  id: string | null;
  version: number;
  summary: string;
  /** Numbers of its steps: finished ones of earlier versions that it does not name, then its own, band by band. */
  steps: readonly number[];
}

interface GivenBand {
  index: number;
  steps: { id: string; title: string }[];
}

const NO_PLAN: Plan = { id: null, version: 0, summary: '', steps: [] };

export class Steps {
  readonly id = new Values<string>('');
  readonly title = new Values<string>('');
  readonly node = new Numbers(NONE);
  readonly band = new Numbers();
  readonly step = new Numbers();
  readonly status = new Numbers();
  readonly child = new Numbers(NONE);
  private readonly plans = new Values<Plan>(NO_PLAN);
  /** Number of rows ever written; a row that no plan names is unused. */
  private rows = 0;

  plan(node: number): Plan {
    return this.plans.get(node);
  }

  /** The next version of a node's plan: what earlier ones finished is kept. */
  planned(undoLog: UndoLog, node: number, payload: { planId?: string; version?: number; summary?: string; bands?: GivenBand[] }): void {
    const bands = payload.bands ?? [];
    const named = new Set(bands.flatMap((band) => band.steps.map((step) => step.id)));
    const finished = this.plan(node).steps.filter((step) => this.status.get(step) === STEP_COMPLETED);
    const kept = new Map(finished.map((step) => [this.id.get(step), step]));
    const steps = finished.filter((step) => !named.has(this.id.get(step)));
    for (const band of bands) {
      band.steps.forEach((given, index) => {
        const known = kept.get(given.id);
        kept.delete(given.id);
        if (known === undefined) {
          steps.push(this.add(node, given.id, given.title, band.index, index, STEP_PENDING));
        } else {
          undoLog.setNumber(this.band, known, band.index);
          undoLog.setNumber(this.step, known, index);
          steps.push(known);
        }
      });
    }
    const plan = { id: payload.planId ?? null, version: payload.version ?? 1, summary: payload.summary ?? '', steps };
    undoLog.setValue(this.plans, node, plan);
  }

  find(node: number, id: string): number {
    return this.plan(node).steps.find((step) => this.id.get(step) === id) ?? NONE;
  }

  add(node: number, id: string, title: string, band: number, index: number, status: number): number {
    const row = this.rows++;
    this.node.put(row, node);
    this.id.put(row, id);
    this.title.put(row, title);
    this.band.put(row, band);
    this.step.put(row, index);
    this.status.put(row, status);
    return row;
  }

  /** The plan of a node as a snapshot shows it. */
  startWith(node: number, steps: readonly number[]): void {
    this.plans.put(node, { ...NO_PLAN, version: 1, steps });
  }

  setStatus(undoLog: UndoLog, node: number, id: string, status: unknown): void {
    const step = this.find(node, id);
    if (step !== NONE) undoLog.setNumber(this.status, step, numberOf(STEP_STATUSES, status, STEP_PENDING));
  }

  delegated(undoLog: UndoLog, node: number, id: string, child: number): void {
    const step = this.find(node, id);
    if (step !== NONE) undoLog.setNumber(this.child, step, child);
  }

  row(step: number, nodes: Nodes): StepRow {
    const child = this.child.get(step);
    return {
      id: this.id.get(step),
      band_index: this.band.get(step),
      step_index: this.step.get(step),
      title: this.title.get(step),
      status: STEP_STATUSES[this.status.get(step)],
      child_node_id: child === NONE ? null : nodes.id.get(child),
      outcome: child === NONE ? null : nodes.outcome.get(child),
      stale: child !== NONE && nodes.isStale(child),
    };
  }
}
