// Formats numbers, times and statuses, the same everywhere on the page.

import type { Metrics, Run, Status, TaskState } from '../api/shapes';

export type Tone = 'active' | 'waiting' | 'blocked' | 'done' | 'failed' | 'canceled';

export interface State {
  tone: Tone;
  /** A shape that says the same as the colour. */
  mark: string;
  label: string;
}

const RUN: Record<Status, State> = {
  queued: { tone: 'waiting', mark: '○', label: 'queued' },
  running: { tone: 'active', mark: '●', label: 'running' },
  waiting_on_user: { tone: 'blocked', mark: '?', label: 'waiting on you' },
  paused: { tone: 'waiting', mark: 'Ⅱ', label: 'paused' },
  completed: { tone: 'done', mark: '✓', label: 'completed' },
  stopped: { tone: 'canceled', mark: '■', label: 'stopped' },
  canceled: { tone: 'canceled', mark: '⊘', label: 'canceled' },
  failed: { tone: 'failed', mark: '✗', label: 'failed' },
};

const NODE: Record<string, State> = {
  planning: { tone: 'active', mark: '◌', label: 'planning' },
  delegating: { tone: 'active', mark: '◌', label: 'delegating' },
  executing: { tone: 'active', mark: '●', label: 'executing' },
  aggregating: { tone: 'active', mark: '●', label: 'aggregating' },
  waiting: { tone: 'waiting', mark: '○', label: 'waiting' },
  blocked: { tone: 'blocked', mark: '?', label: 'blocked' },
  completed: { tone: 'done', mark: '✓', label: 'completed' },
  failed: { tone: 'failed', mark: '✗', label: 'failed' },
  canceled: { tone: 'canceled', mark: '⊘', label: 'canceled' },
  superseded: { tone: 'canceled', mark: '↷', label: 'superseded' },
};

const STEP: Record<string, State> = {
  pending: { tone: 'waiting', mark: '○', label: 'pending' },
  doing: { tone: 'active', mark: '●', label: 'in progress' },
  running: { tone: 'active', mark: '●', label: 'running' },
  done: { tone: 'done', mark: '✓', label: 'done' },
  completed: { tone: 'done', mark: '✓', label: 'completed' },
  blocked: { tone: 'blocked', mark: '?', label: 'blocked' },
  failed: { tone: 'failed', mark: '✗', label: 'failed' },
  canceled: { tone: 'canceled', mark: '⊘', label: 'canceled' },
  superseded: { tone: 'canceled', mark: '↷', label: 'superseded' },
  skipped: { tone: 'canceled', mark: '–', label: 'skipped' },
};

const TASK: Record<TaskState, State> = {
  todo: { tone: 'waiting', mark: '○', label: 'to do' },
  in_progress: { tone: 'active', mark: '●', label: 'in progress' },
  blocked: { tone: 'blocked', mark: '?', label: 'blocked' },
  done: { tone: 'done', mark: '✓', label: 'done' },
};

const STOPPED: Record<string, string> = {
  budget_cost: 'the cost limit was reached',
  budget_tokens: 'the token limit was reached',
  budget_wall_clock: 'the time limit was reached',
  max_iterations: 'the iteration limit was reached',
  max_steps: 'the step limit was reached',
  no_progress: 'no progress',
  provider_auth: 'the model provider refused the key',
  provider_quota: 'the model provider’s quota is used up',
  error: 'an error',
};

/** Why a run ended, with its detail. For an error the detail alone is shown, because it says more. */
export function endReason(run: Pick<Run, 'stop_reason' | 'stop_detail'>): string {
  const reason = run.stop_reason && run.stop_reason !== 'canceled' && !(run.stop_reason === 'error' && run.stop_detail) ? stopReasonText(run.stop_reason) : '';
  return [reason, run.stop_detail ?? ''].filter(Boolean).join(': ');
}

/** A status that this version of the page does not know is shown by its name. */
const unknown = (name: string): State => ({ tone: 'waiting', mark: '·', label: name.replaceAll('_', ' ') });

export const runStatus = (status: Status): State => RUN[status] ?? unknown(status);
/** The status as a person sees it who may or may not answer the run's questions. A run can ask and still work. */
export function runStatusFor(run: Run, mayAnswer: boolean): State {
  if (run.status === 'running' && openQuestions(run).length > 0) return { ...runStatus('waiting_on_user'), label: 'running, and asks' };
  return run.status === 'waiting_on_user' && !mayAnswer ? { ...runStatus(run.status), label: 'waits for an answer' } : runStatus(run.status);
}
export const nodeStatus = (status: string): State => NODE[status] ?? unknown(status);
export const stepStatus = (status: string): State => STEP[status] ?? unknown(status);
export const taskState = (state: TaskState): State => TASK[state] ?? unknown(state);
export const stopReasonText = (reason: string): string => STOPPED[reason] ?? reason.replaceAll('_', ' ');

export const ended = (status: Status): boolean => ['completed', 'stopped', 'canceled', 'failed'].includes(status);
/** Stopped and failed runs can be continued. */
export const canContinue = (run: Run): boolean => run.status === 'stopped' || run.status === 'failed';
export const openQuestions = (run: Run): Run['questions'] => (ended(run.status) ? [] : (run.questions ?? []).filter((question) => question.answer === null && question.answered_at === null));
export const rehearses = (model: string): boolean => model.startsWith('rehearsal/');

export function money(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return '–';
  if (usd === 0) return '$0.00';
  return usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

export function count(n: number | null | undefined): string {
  if (n === null || n === undefined) return '–';
  if (n < 1_000) return String(n);
  if (n < 10_000) return `${(n / 1_000).toFixed(1)}k`;
  return n < 1_000_000 ? `${Math.round(n / 1_000)}k` : `${(n / 1_000_000).toFixed(1)}M`;
}

export const plural = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;

export function duration(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1_000));
  if (s < 60) return s === 0 && ms > 0 ? `${Math.round(ms)} ms` : `${s} s`;
  if (s < 3_600) return `${Math.floor(s / 60)}m ${String(s % 60).padStart(2, '0')}s`;
  if (s < 86_400) return `${Math.floor(s / 3_600)}h ${String(Math.floor((s % 3_600) / 60)).padStart(2, '0')}m`;
  return `${Math.floor(s / 86_400)}d ${Math.floor((s % 86_400) / 3_600)}h`;
}

export function ago(then: string, now: number): string {
  const s = Math.max(0, Math.round((now - Date.parse(then)) / 1_000));
  if (s < 5) return 'just now';
  if (s < 60) return `${s} s ago`;
  if (s < 3_600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86_400) return `${Math.floor(s / 3_600)} h ago`;
  if (s < 30 * 86_400) return plural(Math.floor(s / 86_400), 'day') + ' ago';
  return new Date(then).toLocaleDateString();
}

/** The approximate time until then. */
export function within(then: string, now: number): string {
  const s = Math.max(0, Math.round((Date.parse(then) - now) / 1_000));
  if (s < 60) return `in ${s} s`;
  if (s < 3_600) return `in ${Math.round(s / 60)} min`;
  return s < 172_800 ? `in ${Math.round(s / 3_600)} h` : `in ${Math.round(s / 86_400)} days`;
}

/** Always with 24 hours, so that times sort. */
export const clock = (at: string | number): string => new Date(at).toLocaleTimeString('en-GB', { hourCycle: 'h23' });
export const moment = (at: string): string => `${new Date(at).toLocaleDateString([], { dateStyle: 'medium' })}, ${clock(at)}`;
export const tokens = (metrics: Metrics): number => metrics.tokens_in + metrics.tokens_out;

/** Replaces ids by their first eight characters: enough to tell them apart. */
export const shortIds = (text: string): string => text.replaceAll(/\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '$1…');

/** The first line of an objective, short enough for a title. */
export function headline(text: string, most = 90): string {
  const words = text.trimStart();
  let end = 0;
  while (end < words.length && words[end] !== '\n' && words[end] !== '\r') end += 1;
  const line = words.slice(0, end).trimEnd();
  return line.length > most ? `${line.slice(0, most - 1).trimEnd()}…` : line;
}
