// Formats numbers, times and statuses, the same everywhere on the page.

import type { Metrics, NodeStatus, Outcome, PlanStep, Run, RunOutcome, Status, StepStatus, TaskState } from '../api/shapes';
import { ended, type Tone } from '../model/statuses';

export { ended };

export interface StatusLook {
  tone: Tone;
  /** A shape that says the same as the colour. */
  mark: string;
  label: string;
}

/** Of runs, nodes, steps of both kinds of plan, and tasks: an equal name looks the same everywhere. */
type AnyStatus = Status | NodeStatus | StepStatus | PlanStep['status'] | TaskState;

/** The label is the name unless another is given. */
const LOOKS: Record<AnyStatus, [tone: Tone, mark: string, label?: string]> = {
  queued: ['waiting', '○'],
  pending: ['waiting', '○'],
  waiting: ['waiting', '○'],
  todo: ['waiting', '○', 'to do'],
  paused: ['waiting', 'Ⅱ'],
  planning: ['active', '◌'],
  delegating: ['active', '◌'],
  running: ['active', '●'],
  executing: ['active', '●'],
  aggregating: ['active', '●'],
  doing: ['active', '●', 'in progress'],
  in_progress: ['active', '●'],
  blocked: ['blocked', '?'],
  waiting_on_user: ['blocked', '?', 'waiting on you'],
  done: ['done', '✓'],
  completed: ['done', '✓'],
  failed: ['failed', '✗'],
  stopped: ['canceled', '■'],
  canceled: ['canceled', '⊘'],
  superseded: ['canceled', '↷'],
  skipped: ['canceled', '–'],
};

/** A status that this version of the page does not know is shown by its name. */
export function statusLook(name: string): StatusLook {
  const [tone, mark, label = name.replaceAll('_', ' ')] = LOOKS[name as AnyStatus] ?? ['waiting', '·'];
  return { tone, mark, label };
}

/** A completed run by what it came to. Only a verified one looks like success. */
const CAME_TO: Record<RunOutcome, StatusLook> = {
  verified: { tone: 'done', mark: '✓', label: 'completed, verified' },
  claimed: { tone: 'neutral', mark: '◇', label: 'completed, claimed' },
  partial: { tone: 'partial', mark: '◐', label: 'completed in part' },
  none: { tone: 'partial', mark: '◐', label: 'completed, nothing made' },
};

/** Without a known outcome nothing more is said than that it is over. */
export const completedLook = (outcome: RunOutcome | null | undefined): StatusLook => (outcome ? CAME_TO[outcome] : { ...CAME_TO.claimed, label: 'completed' });

/** Of a node, or of the step that it carries out. */
export function nodeLook({ status, outcome }: { status: NodeStatus | StepStatus; outcome: Outcome | null }): StatusLook {
  if (status !== 'completed' || outcome === null || outcome === 'success') return statusLook(status);
  return outcome === 'partial' ? { tone: 'partial', mark: '◐', label: 'partial' } : { tone: 'neutral', mark: '–', label: 'nothing to do' };
}

const STOPPED: Record<string, string> = {
  budget_cost: 'the cost limit was reached',
  budget_tokens: 'the token limit was reached',
  budget_wall_clock: 'the time limit was reached',
  max_iterations: 'the iteration limit was reached',
  max_steps: 'the step limit was reached',
  no_progress: 'no progress',
  cannot_be_done: 'it cannot be done',
  provider_auth: 'the model provider refused the key',
  provider_quota: 'the model provider’s quota is used up',
  error: 'an error',
};

/** Why a run ended, with its detail. For an error the detail alone is shown, because it says more. */
export function endReason(run: Pick<Run, 'stop_reason' | 'stop_detail'>): string {
  const reason = run.stop_reason && run.stop_reason !== 'canceled' && !(run.stop_reason === 'error' && run.stop_detail) ? stopReasonText(run.stop_reason) : '';
  return [reason, run.stop_detail ?? ''].filter(Boolean).join(': ');
}

/** The status as a person sees it who may or may not answer the run's questions. A run can ask and still work. */
export function runStatusLook(run: Run, mayAnswer = true): StatusLook {
  if (run.status === 'completed') return completedLook(run.outcome);
  if (run.status === 'running' && openQuestions(run).length > 0) return { ...statusLook('waiting_on_user'), label: 'running, and asks' };
  return run.status === 'waiting_on_user' && !mayAnswer ? { ...statusLook(run.status), label: 'waits for an answer' } : statusLook(run.status);
}
export const stopReasonText = (reason: string): string => STOPPED[reason] ?? reason.replaceAll('_', ' ');

/** Stopped and failed runs can be continued. */
export const canContinue = (run: Run): boolean => run.status === 'stopped' || run.status === 'failed';
export const openQuestions = (run: Run): Run['questions'] => (ended(run.status) ? [] : (run.questions ?? []).filter((question) => question.answer === null && question.answered_at === null));
export const rehearses = (model: string): boolean => model.startsWith('rehearsal/');

export function money(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return '–';
  if (usd === 0) return '$0.00';
  return usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

/** Money that is still being spent, with as many digits as it takes to see it move. */
export const aboutMoney = (usd: number): string => `about ${usd < 1 ? `$${usd.toFixed(4)}` : money(usd)}`;

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
