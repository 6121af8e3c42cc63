// An event in a line of words. A type this page does not know is shown by its name; nothing is hidden.

import type { StoredEvent } from '../model/run';
import { headline, plural, stopReasonText, type Tone } from './format';

type Words = (payload: any) => string;
const quoted = (text: unknown, most = 100): string => `“${headline(String(text ?? ''), most)}”`;

const EFFECTS: [RegExp, string][] = [[/\.t\d+$/, 'the tool'], [/\.agg/, 'the aggregator'], [/\.plan/, 'the planner'], [/\.repair/, 'the repair'], [/\.report/, 'the report'], [/\.x\d*\./, 'the executor']];

/** Whose call it was, from the place it has in the run. */
function callWords(effect: string): string {
  const found = EFFECTS.find(([place]) => place.test(effect));
  return found ? found[1] : 'the call';
}

const WORDS: Record<string, Words> = {
  'run.queued': (p) => `queued: ${quoted(p.objective)}`,
  'run.paused': () => 'paused',
  'run.resumed': (p) => `goes on (${p.reason})`,
  'run.question_asked': (p) => `asks ${quoted(p.text)}`,
  'run.answered': (p) => `answered ${quoted(p.text)}`,
  'run.question_expired': (p) => `nobody answered${p.default ? `; goes on with ${quoted(p.default)}` : ''}`,
  'run.waiting_on_user': () => 'waits for an answer',
  'run.message_queued': (p) => `was told ${quoted(p.text)}`,
  'run.message_delivered': () => 'read the message',
  'run.budget_changed': () => 'limits changed',
  'run.budget_warning': (p) => `four fifths of ${String(p.budget).replace('max_', '').replaceAll('_', ' ')} are used`,
  'run.provider_waiting': (p) => `waits for ${p.provider}`,
  'run.recovered': () => 'taken up again where it was',
  'run.report_created': () => 'report written',
  'run.completed': () => 'completed',
  'run.stopped': (p) => `stopped: ${stopReasonText(p.stopReason)}`,
  'run.failed': (p) => `failed: ${headline(String(p.error ?? ''), 140)}`,
  'run.canceled': () => 'canceled',
  'effect.started': (p) => `${String(p.what).replaceAll('_', ' ')} called${p.attempt > 1 ? `, attempt ${p.attempt}` : ''}`,
  'effect.finished': (p) => `${callWords(String(p.effect))} ${p.outcome === 'ok' ? 'answered' : p.outcome}${p.error ? `: ${headline(String(typeof p.error === 'string' ? p.error : (p.error.message ?? '')), 120)}` : ''}`,
  'effect.unknown': (p) => `nobody knows whether ${p.what} happened`,
  'effect.resolved': (p) => `settled: ${String(p.decision).replace('_', ' ')}`,
  'homework.run_started': () => 'started',
  'homework.iteration_started': (p) => `iteration ${p.iteration} begins`,
  'homework.planned': (p) => `planned: ${headline(p.progressSummary ?? '', 140)}`,
  'homework.plan_updated': (p) => `plan version ${p.version}: ${p.steps.length} steps`,
  'homework.tool_call_requested': (p) => `calls ${p.tool}${p.purpose ? `: ${headline(p.purpose, 100)}` : ''}`,
  'homework.tool_call_result': (p) => `${p.tool} ${p.ok ? 'gave' : 'failed'}: ${headline(p.summary ?? '', 140)}`,
  'homework.executor_started': (p) => `branch begins: ${quoted(p.title)}`,
  'homework.executor_answered': (p) => headline(p.thought ?? '', 140),
  'homework.executor_finished': (p) => `branch ${p.ok ? 'done' : 'failed'}: ${headline(p.summary ?? p.error ?? '', 140)}`,
  'homework.scratchpad_appended': (p) => `noted in the scratchpad (iteration ${p.iteration})`,
  'homework.repeat_detected': () => 'repeats itself without progress',
  'homework.replan_forced': () => 'is made to replan',
  'homework.exit_refused': (p) => `may not finish yet: ${headline((p.reasons ?? []).join('; '), 160)}`,
  'homework.repair_attempted': (p) => `repaired ${p.corrected} of its calls`,
  'homework.answer_rejected': (p) => `answer did not fit: ${headline((p.errors ?? []).join('; '), 140)}`,
  'homework.iteration_completed': (p) => `iteration ${p.iteration} ends ${p.progress ? 'with' : 'without'} progress`,
  'task.started': (p) => `${p.handle} is sent, for at most ${p.maxSteps} steps`,
  'task.step': (p) => `step ${p.step}: ${p.action}${p.actionName ? ` ${p.actionName}` : ''}${p.path ? ` ${p.path}` : ''}${p.message ? `: ${headline(p.message, 120)}` : ''}`,
  'task.step_result': (p) => `step ${p.step} ${p.ok ? 'gave' : 'was refused'}: ${headline(p.summary ?? '', 140)}`,
  'task.answer_rejected': (p) => `answer did not fit: ${headline((p.errors ?? []).join('; '), 140)}`,
  'task.ended': (p) => `looks back (${String(p.ending).replace('_', ' ')})`,
  'task.scratchpad_read': (p) => `read its scratchpad, version ${p.version}`,
  'task.reflected': (p) => (p.scratchpad ? 'has something to remember' : 'has nothing new to remember'),
  'task.scratchpad_updated': (p) => `scratchpad version ${p.version}: ${p.characters} characters`,
  'task.scratchpad_update_failed': (p) => `nothing was learned: ${headline(p.error ?? '', 140)}`,
  'tree.run_started': () => 'started',
  'tree.tools_manifest': (p) => `may use ${plural(p.tools.length, 'tool')}`,
  'tree.node_created': (p) => `node made: ${quoted(p.title)}`,
  'tree.node_status': (p) => `${p.status}${p.message ? ` (${nodeMessageText(p.message)})` : ''}`,
  'tree.plan_created': (p) => `plan version ${p.version}${p.summary ? `: ${headline(p.summary, 140)}` : ''}`,
  'tree.plan_band_created': (p) => `band ${p.bandIndex + 1}: ${p.stepIds.length} steps`,
  'tree.step_created': (p) => `step: ${quoted(p.title)}`,
  'tree.step_status': (p) => `step ${p.stepId}: ${p.status}`,
  'tree.node_delegated': (p) => `step ${p.stepId} handed on`,
  'tree.scratchpad_linked': () => 'has a scratchpad',
  'tree.scratchpad_updated': (p) => `noted: ${headline(p.tailPreview ?? '', 120)}`,
  'tree.executor_answered': (p) => `round ${p.round}`,
  'tree.result_refused': (p) => `result did not hold: ${headline((p.errors ?? []).join('; '), 140)}`,
  'tree.tool_call_requested': (p) => `calls ${p.tool}${p.purpose ? `: ${headline(p.purpose, 100)}` : ''}`,
  'tree.tool_call_result': (p) => `${p.tool} ${p.ok ? 'gave' : 'failed'}: ${headline(p.summary ?? '', 140)}`,
  'tree.artifact_created': (p) => `made ${p.artifactType}${p.label ? ` ${quoted(p.label)}` : ''}`,
  'tree.artifact_read': () => 'was read by its parent',
  'tree.node_result': (p) => `result: ${headline(p.result?.summary ?? '', 140)}`,
  'tree.parent_hint': (p) => `parent is to ${String(p.hintType).replace('_', ' ')}`,
  'tree.node_aggregated': (p) => `put together ${p.childIds.length} results: ${headline(p.summary ?? '', 120)}`,
  'tree.replan_requested': (p) => `replans: ${headline(p.reason ?? '', 140)}`,
  'tree.node_completed': (p) => `completed (${String(p.outcome).replace('_', ' ')})`,
  'tree.node_failed': (p) => `failed: ${headline(p.error ?? '', 160)}`,
  'tree.node_canceled': (p) => `canceled (${String(p.disposition).replaceAll('_', ' ')})`,
  'tree.node_reopened': () => 'reopened',
  'tree.node_paused': () => 'paused',
  'tree.node_resumed': () => 'goes on',
  'tree.guard': (p) => `held by the limit ${String(p.guard).replace('max_', '').replaceAll('_', ' ')} (${p.limit})`,
  'tree.answer_rejected': (p) => `answer did not fit: ${headline((p.errors ?? []).join('; '), 140)}`,
};

/** Whether an event of this type is said in words. */
export const hasEventText = (type: string): boolean => type in WORDS;

export function eventText(event: StoredEvent): string {
  try {
    return WORDS[event.type]?.(event.payload) ?? event.type;
  } catch {
    // A payload from another version: its type still says what it was.
    return event.type;
  }
}

/** What a node says about itself, without the protocol's punctuation. */
export function nodeMessageText(message: string): string {
  const [head, tail] = message.split(':');
  if (head === 'leaf_decision') return tail === 'criteria_testable' ? 'does it itself: its criteria can be tested' : 'does it itself: small enough';
  if (head === 'guard') return `does it itself: limit ${String(tail).replace('max_', '').replaceAll('_', ' ')}`;
  return message;
}

export function eventTone(event: StoredEvent): Tone | null {
  const { type, payload } = event;
  if (/failed$|effect\.unknown/.test(type) || payload?.ok === false || /rejected$|refused$/.test(type)) return 'failed';
  if (type === 'effect.finished' && payload?.outcome !== 'ok') return 'failed';
  if (/question_asked|waiting_on_user/.test(type)) return 'blocked';
  if (/completed$|^run\.answered$/.test(type)) return 'done';
  return null;
}
