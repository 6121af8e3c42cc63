// Usage: tokens, cost and calls. A charge is written once and then counted or not: undoing it subtracts what counting it
// added to the run, its model and every subtree it belongs to. Money is whole micro-dollars, so sums are exact.

import { Names, Numbers, Series } from './columns';
import type { UndoLog } from './undo-log';
import { NONE, type Nodes } from './nodes';
import type { ModelMetrics } from '../api/shapes';

interface Sums {
  tokensIn: number;
  tokensOut: number;
  tokensCached: number;
  costMicros: number;
  modelCalls: number;
}

interface Charge extends Omit<Sums, 'modelCalls'> {
  node: number;
  /** Absent for tools. */
  model: string | null;
  presumed: boolean;
  answered: boolean;
  /** Whether it was for checking criteria. */
  verifier: boolean;
}

const PRESUMED = 1;
const ANSWERED = 2;
const TOOL = 4;
const VERIFIER = 8;

class Counted extends Numbers {
  constructor(private readonly charges: Charges) {
    super();
  }

  override put(at: number, value: number): void {
    const change = value - this.get(at);
    super.put(at, value);
    if (change !== 0) this.charges.count(at, change);
  }
}

export class Charges {
  readonly whole: Sums = nothing();
  /** The part of it that checking criteria cost. */
  readonly verifier: Sums = nothing();
  tokensPresumed = 0;
  presumedMicros = 0;
  toolCalls = 0;

  private readonly models = new Names();
  private readonly byModel: Sums[] = [];
  /** Number of charges per model: a model whose calls cost nothing was still used. */
  private readonly uses: number[] = [];
  private readonly counted: Numbers = new Counted(this);
  private readonly node = new Series(Int32Array);
  private readonly model = new Series(Uint8Array);
  private readonly flags = new Series(Uint8Array);
  private readonly tokensIn = new Series(Uint32Array);
  private readonly tokensOut = new Series(Uint32Array);
  private readonly tokensCached = new Series(Uint32Array);
  private readonly costMicros = new Series(Float64Array);
  /** The step of the undo log that made each charge. */
  private readonly step = new Series(Uint32Array);
  rows = 0;

  constructor(private readonly nodes: Nodes) {}

  /** A tool call is counted and costs nothing. */
  addToolCall(undoLog: UndoLog, node: number): void {
    this.add(undoLog, { node, model: null, tokensIn: 0, tokensOut: 0, tokensCached: 0, costMicros: 0, presumed: false, answered: false, verifier: false });
  }

  add(undoLog: UndoLog, charge: Charge): void {
    const at = this.rows++;
    this.node.put(at, charge.node);
    this.step.put(at, undoLog.end + 1);
    this.model.put(at, charge.model === null ? 0 : this.modelNumber(charge.model));
    this.tokensIn.put(at, charge.tokensIn);
    this.tokensOut.put(at, charge.tokensOut);
    this.tokensCached.put(at, charge.tokensCached);
    this.costMicros.put(at, charge.costMicros);
    const tool = charge.model === null ? TOOL : 0;
    this.flags.put(at, tool | (charge.presumed ? PRESUMED : 0) | (charge.answered ? ANSWERED : 0) | (charge.verifier ? VERIFIER : 0));
    undoLog.setNumber(this.counted, at, 1);
  }

  count(at: number, change: number): void {
    const flags = this.flags.get(at);
    const node = this.node.get(at);
    if (flags & TOOL) {
      this.toolCalls += change;
      if (node !== NONE) this.nodes.addUp(this.nodes.toolCalls, node, change);
      return;
    }
    const tokensIn = this.tokensIn.get(at) * change;
    const tokensOut = this.tokensOut.get(at) * change;
    const sums: Sums = {
      tokensIn: flags & PRESUMED ? 0 : tokensIn,
      tokensOut: flags & PRESUMED ? 0 : tokensOut,
      tokensCached: flags & PRESUMED ? 0 : this.tokensCached.get(at) * change,
      costMicros: this.costMicros.get(at) * change,
      modelCalls: flags & ANSWERED ? change : 0,
    };
    if (flags & PRESUMED) {
      this.tokensPresumed += tokensIn + tokensOut;
      this.presumedMicros += sums.costMicros;
    }
    addTo(this.whole, sums);
    if (flags & VERIFIER) addTo(this.verifier, sums);
    const model = this.model.get(at);
    addTo(this.byModel[model], sums);
    this.uses[model] += change;
    if (node === NONE) return;
    this.nodes.addUp(this.nodes.costMicros, node, sums.costMicros);
    this.nodes.addUp(this.nodes.tokensIn, node, sums.tokensIn);
    this.nodes.addUp(this.nodes.tokensOut, node, sums.tokensOut);
    this.nodes.addUp(this.nodes.modelCalls, node, sums.modelCalls);
  }

  stepOf(row: number): number {
    return this.step.get(row);
  }

  costOf(row: number): number {
    return this.flags.get(row) & TOOL ? 0 : this.costMicros.get(row);
  }

  tokensOf(row: number): number {
    return this.flags.get(row) & (TOOL | PRESUMED) ? 0 : this.tokensIn.get(row) + this.tokensOut.get(row);
  }

  /** Usage by model name, for models with charges at this moment. */
  modelsUsed(): Record<string, ModelMetrics> {
    const used: Record<string, ModelMetrics> = {};
    this.byModel.forEach((sums, at) => {
      if (this.uses[at] > 0) used[this.models.list[at]] = metricsOf(sums);
    });
    return used;
  }

  /** Takes over the sums of a snapshot. */
  startFrom(model: string, sums: ModelMetrics): void {
    const number = this.modelNumber(model);
    addTo(this.byModel[number], sumsOf(sums));
    this.uses[number]++;
  }

  private modelNumber(name: string): number {
    const number = this.models.of(name);
    if (number === this.byModel.length) {
      this.byModel.push(nothing());
      this.uses.push(0);
    }
    return number;
  }
}

export function micros(usd: unknown): number {
  return typeof usd === 'number' ? Math.round(usd * 1e6) : 0;
}

export function metricsOf(sums: Sums): ModelMetrics {
  return {
    tokens_in: sums.tokensIn,
    tokens_out: sums.tokensOut,
    tokens_cached: sums.tokensCached,
    cost_usd: sums.costMicros / 1e6,
    llm_calls: sums.modelCalls,
  };
}

export function sumsOf(metrics: ModelMetrics): Sums {
  return {
    tokensIn: metrics.tokens_in,
    tokensOut: metrics.tokens_out,
    tokensCached: metrics.tokens_cached,
    costMicros: micros(metrics.cost_usd),
    modelCalls: metrics.llm_calls,
  };
}

export function addTo(sums: Sums, more: Sums): void {
  sums.tokensIn += more.tokensIn;
  sums.tokensOut += more.tokensOut;
  sums.tokensCached += more.tokensCached;
  sums.costMicros += more.costMicros;
  sums.modelCalls += more.modelCalls;
}

function nothing(): Sums {
  return { tokensIn: 0, tokensOut: 0, tokensCached: 0, costMicros: 0, modelCalls: 0 };
}
