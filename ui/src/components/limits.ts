// The limits of a run: labels, what is used of each, and presets, so that nobody has to choose twelve numbers.

import type { Budgets, Kind, Limits, Run } from '../api/shapes';
import { count, duration, money, tokens } from './format';

export type Limit = keyof Limits;

export interface LimitField {
  key: Limit;
  label: string;
  hint: string;
  /** How many units of the API one typed unit is, such as 60,000 ms for a minute. */
  scale: number;
  unit: string;
  step: string;
  show: (value: number) => string;
  used?: (run: Run) => number;
  kinds: Kind[];
}

const ALL: Kind[] = ['homework', 'tree', 'task'];
const whole = { scale: 1, unit: '', step: '1', show: (value: number) => String(value) };

const LIMITS: LimitField[] = [
  { key: 'max_cost_usd', label: 'Cost', hint: 'US dollars, reserved before each call', scale: 1, unit: '$', step: '0.01', show: money, used: (run) => run.metrics.cost_usd, kinds: ALL },
  { key: 'max_tokens', label: 'Tokens', hint: 'in and out together', scale: 1, unit: '', step: '1000', show: count, used: (run) => tokens(run.metrics), kinds: ALL },
  { key: 'max_wall_ms', label: 'Time', hint: 'minutes of work; waiting and pauses do not count', scale: 60_000, unit: 'min', step: '1', show: duration, used: (run) => run.metrics.running_ms, kinds: ALL },
  { key: 'max_iterations', label: 'Iterations', hint: 'rounds of planning and doing', ...whole, used: (run) => run.iteration, kinds: ['homework'] },
  { key: 'max_nodes', label: 'Nodes', hint: 'in the whole tree, the root included', ...whole, kinds: ['tree'] },
  { key: 'max_depth', label: 'Depth', hint: 'how often work may be divided', ...whole, kinds: ['tree'] },
  { key: 'max_parallel', label: 'In parallel', hint: 'calls at the same time', ...whole, kinds: ['tree'] },
  { key: 'max_bands', label: 'Bands per plan', hint: 'groups of steps that follow each other', ...whole, kinds: ['tree'] },
  { key: 'max_steps_per_band', label: 'Steps per band', hint: 'steps that run side by side', ...whole, kinds: ['tree'] },
  { key: 'max_replans', label: 'Replans per node', hint: 'second thoughts', ...whole, kinds: ['tree'] },
  { key: 'no_progress_limit', label: 'Without progress', hint: 'iterations before it stops', ...whole, kinds: ['homework'] },
  { key: 'repeat_limit', label: 'Repeats', hint: 'of the same actions before it stops', ...whole, kinds: ['homework'] },
];

export const limitsOf = (kind: Kind): LimitField[] => LIMITS.filter((limit) => limit.kinds.includes(kind));

export type Preset = 'small' | 'normal' | 'large';

export const PRESETS: Record<Preset, { label: string; budgets: Limits }> = {
  small: {
    label: 'up to $0.50 and 10 minutes',
    budgets: { max_cost_usd: 0.5, max_tokens: null, max_wall_ms: 600_000, max_iterations: 6, max_depth: 2, max_nodes: 12, max_bands: 2, max_steps_per_band: 3, max_replans: 1, max_parallel: 2, no_progress_limit: 3, repeat_limit: 2 },
  },
  normal: {
    label: 'up to $5 and an hour',
    budgets: { max_cost_usd: 5, max_tokens: null, max_wall_ms: 3_600_000, max_iterations: 20, max_depth: 4, max_nodes: 100, max_bands: 3, max_steps_per_band: 4, max_replans: 1, max_parallel: 4, no_progress_limit: 3, repeat_limit: 2 },
  },
  large: {
    label: 'up to $25 and four hours',
    budgets: { max_cost_usd: 25, max_tokens: null, max_wall_ms: 14_400_000, max_iterations: 60, max_depth: 6, max_nodes: 1_000, max_bands: 4, max_steps_per_band: 6, max_replans: 2, max_parallel: 8, no_progress_limit: 3, repeat_limit: 2 },
  },
};

/** Parses a typed limit: a number to send, null if nothing was typed, undefined if it is not a number. */
function typed(limit: LimitField, text: string): number | null | undefined {
  if (text.trim() === '') return null;
  const value = Number(text);
  return Number.isFinite(value) && value >= 0 ? value * limit.scale : undefined;
}

/** The limits that were typed, without those that equal the current ones. */
export function typedBudgets(limits: readonly LimitField[], texts: Record<string, string>, current: Partial<Limits> = {}): Budgets {
  const budgets: Budgets = {};
  for (const limit of limits) {
    const value = typed(limit, texts[limit.key] ?? '');
    if (value !== null && value !== undefined && value !== current[limit.key]) budgets[limit.key] = value;
  }
  return budgets;
}

export const shown = (limit: LimitField, value: number | null | undefined): string =>
  value === null || value === undefined ? '' : String(value / limit.scale);
