// The fold of events that every kind of run has: questions, messages, limits, calls, cost, working time, the end.

import { micros } from './charges';
import { checking, foldCriteria, openCriterion } from './fold-criteria';
import { NONE } from './nodes';
import type { Question, Report, Status, StopReason } from '../api/shapes';
import type { EventOf, StoredEvent } from './rows';
import { BACKING_OFF, IDLE, IN_FLIGHT, type State, UNKNOWN } from './state';
import { ended } from './statuses';

const KEPT_MESSAGES = 20;
const KEPT_QUESTIONS = 200;

export function foldRun(state: State, event: StoredEvent): void {
  switch (event.type) {
    case 'run.queued':
      return queued(state, event);
    case 'run.paused':
      return state.setValue('paused', event.payload.branches ? 'nodes' : 'run');
    case 'run.resumed':
      return resumed(state, event.payload.reason);
    case 'run.question_asked':
      return asked(state, event);
    case 'run.answered':
      return answered(state, event.payload.questionId, { answer: event.payload.text }, event);
    case 'run.question_expired':
      return answered(state, event.payload.questionId, expired(event.payload), event);
    case 'run.waiting_on_user':
      state.setValue('status', 'waiting_on_user');
      state.setValue('stopReason', 'user_input');
      return state.setValue('phase', 'waiting');
    case 'run.message_queued':
      return messageQueued(state, event.payload);
    case 'run.message_delivered':
      return state.setValue(
        'messages',
        state.value('messages').map((message) => (message.id === event.payload.messageId ? { ...message, delivered: true } : message)),
      );
    case 'run.budget_changed':
      return state.setValue('budgets', event.payload.budgets);
    case 'run.provider_waiting':
      return state.setValue('providerWait', event.payload);
    case 'run.report_created':
      // The engine does not describe the report, because it only passes it on; the API does.
      return state.setValue('report', event.payload.report as Report);
    case 'run.completed':
      return end(state, 'completed', 'completed', event.payload.detail, event);
    case 'run.stopped':
      return end(state, 'stopped', event.payload.stopReason, event.payload.detail, event);
    case 'run.failed':
      return end(state, 'failed', event.payload.stopReason, event.payload.error, event);
    case 'run.canceled':
      return end(state, 'canceled', 'canceled', event.payload.detail, event);
    case 'effect.started':
      return callStarted(state, event);
    case 'effect.finished':
      return callFinished(state, event);
    case 'effect.unknown':
      return callUnknown(state, event);
    case 'effect.resolved':
      return setCallState(state, state.calls.names.of(event.payload.effect), IDLE);
    default:
      return foldCriteria(state, event);
  }
}

/** The first event of its kind makes a queued run a running one. */
export function running(state: State, event: StoredEvent): void {
  state.setValue('status', 'running');
  state.setValue('startedAt', event.timestamp);
}

function queued(state: State, event: EventOf<'run.queued'>): void {
  const { payload } = event;
  const models = payload.models ?? {};
  const balanced = models.balanced ?? {};
  const prices = [models.fast, models.balanced, models.powerful].map((model) => model?.price);
  state.createdAt = Date.parse(event.timestamp);
  state.brief = {
    id: event.runId,
    kind: payload.kind,
    objective: payload.objective,
    scope: payload.scope,
    project_ids: payload.projectIds ?? [],
    model: `${balanced.provider}/${balanced.model}`,
    warnings: payload.warnings ?? [],
    owner: payload.owner,
    workspace_project_id: payload.projectIds?.length === 1 && !payload.ownWorkspace ? payload.projectIds[0] : payload.workspaceProjectId,
    ...(payload.agent ? { agent: payload.agent.handle, max_steps: payload.agent.maxSteps ?? 30 } : {}),
  };
  state.costKnown = prices.every((price) => price != null);
  state.setValue('budgets', payload.budgets);
  state.setValue('criteria', (payload.successCriteria ?? []).map(openCriterion));
}

function resumed(state: State, reason: string): void {
  if (reason === 'unpaused') return state.setValue('paused', null);
  if (reason === 'continued') {
    state.setValue('noProgress', 0);
    state.setValue('repeated', []);
  }
  state.setValue('status', state.value('startedAt') === null ? 'queued' : 'running');
  state.setValue('stopReason', null);
  state.setValue('stopDetail', null);
  state.setValue('endedAt', null);
}

function asked(state: State, event: EventOf<'run.question_asked'>): void {
  const { payload } = event;
  const question: Question = {
    id: payload.questionId,
    ...(payload.nodeId ? { node_id: payload.nodeId } : {}),
    text: payload.text,
    options: payload.options ?? [],
    deadline_at: payload.deadlineAt ?? null,
    default: payload.default ?? null,
    answer: null,
    asked_at: event.timestamp,
    answered_at: null,
  };
  state.setValue(
    'questions',
    keep([...state.value('questions'), question], KEPT_QUESTIONS, (old) => old.answer !== null),
  );
  const node = state.node(event);
  if (node !== NONE) state.undoLog.setValue(state.nodes.question, node, question.id);
}

/** How a question without an answer was closed, and the text shown in place of the answer. */
function expired(payload: EventOf<'run.question_expired'>['payload']): Pick<Question, 'answer' | 'closed'> {
  if (payload.withdrawn) return { answer: '(withdrawn: the node that asked has ended)', closed: 'withdrawn' };
  if (payload.default) return { answer: payload.default, closed: 'default' };
  return { answer: '(no answer came in time)', closed: 'unanswered' };
}

function answered(state: State, id: string, how: Pick<Question, 'answer' | 'closed'>, event: StoredEvent): void {
  const close = (question: Question) => ({ ...question, ...how, answered_at: event.timestamp });
  state.setValue(
    'questions',
    state.value('questions').map((question) => (question.id === id ? close(question) : question)),
  );
  const asker = state.nodes.number(state.value('questions').find((question) => question.id === id)?.node_id);
  if (asker !== NONE && state.nodes.question.get(asker) === id) state.undoLog.setValue(state.nodes.question, asker, null);
}

function messageQueued(state: State, payload: EventOf<'run.message_queued'>['payload']): void {
  const message = {
    id: payload.messageId,
    text: payload.text,
    node_id: payload.nodeId ?? null,
    lane: payload.lane,
    delivered: false,
  };
  state.setValue(
    'messages',
    keep([...state.value('messages'), message], KEPT_MESSAGES, (old) => old.delivered),
  );
}

/** Limits a list: the oldest settled item goes first, open items are never dropped. */
function keep<T>(list: T[], most: number, settled: (item: T) => boolean): T[] {
  const old = list.length > most ? list.findIndex(settled) : -1;
  return old < 0 ? list : list.toSpliced(old, 1);
}

type EndEvent = EventOf<'run.completed' | 'run.stopped' | 'run.failed' | 'run.canceled'>;

function end(state: State, status: Status, reason: StopReason, detail: string | undefined, event: EndEvent): void {
  checking(state, null);
  state.setValue('endState', event.payload.endState ?? null);
  state.setValue('status', status);
  state.setValue('paused', null);
  state.setValue('stopReason', reason);
  state.setValue('stopDetail', detail ?? null);
  state.setValue('endedAt', event.timestamp);
  state.setValue('providerWait', null);
  if (status !== 'failed') state.setValue('phase', 'ended');
}

function callStarted(state: State, event: EventOf<'effect.started'>): void {
  const { payload } = event;
  const { calls, undoLog } = state;
  const call = calls.names.of(payload.effect);
  if (payload.attempt > 1 && calls.orphansBackingOff > 0 && calls.state.get(call) === IDLE) {
    calls.orphansBackingOff--;
    state.add('backingOff', -1);
  }
  setCallState(state, call, IN_FLIGHT);
  calls.attempt.put(call, payload.attempt);
  calls.what.put(call, payload.what);
  calls.model.put(call, payload.model ?? null);
  state.setValue('providerWait', null);
  const node = state.node(event);
  if (node === NONE) return;
  undoLog.setNumber(state.nodes.inFlight, node, state.nodes.inFlight.get(node) + 1);
  state.nodes.restated.add(node);
  if (Number.isNaN(state.nodes.started.get(node))) undoLog.setNumber(state.nodes.started, node, Date.parse(event.timestamp));
}

function callFinished(state: State, event: EventOf<'effect.finished'>): void {
  const { payload } = event;
  const { calls, undoLog } = state;
  const call = calls.names.of(payload.effect);
  adoptOrphan(state, call, payload.attempt);
  const inFlight = calls.state.get(call) === IN_FLIGHT && calls.attempt.get(call) === payload.attempt;
  if (!inFlight) {
    if (payload.outcome === 'canceled') setCallState(state, call, IDLE);
    return;
  }
  const node = state.node(event);
  const model = calls.model.get(call);
  const settled = payload.settled ?? {};
  if (model !== null) {
    state.charges.add(undoLog, {
      node,
      model,
      tokensIn: settled.tokensIn ?? 0,
      tokensOut: settled.tokensOut ?? 0,
      tokensCached: settled.tokensCached ?? 0,
      costMicros: micros(settled.costUsd),
      presumed: settled.presumed === true,
      answered: payload.outcome === 'ok',
      verifier: calls.what.get(call) === 'verifier',
    });
  }
  setCallState(state, call, payload.outcome === 'transient' || payload.outcome === 'lost' ? BACKING_OFF : IDLE);
  callEnded(state, node);
}

/** A call that was in flight when the snapshot was taken. The snapshot does not name its model, so the run's is assumed. */
function adoptOrphan(state: State, call: number, attempt: number): void {
  const { calls } = state;
  if (calls.orphansInFlight === 0 || calls.state.get(call) !== IDLE) return;
  calls.orphansInFlight--;
  calls.inFlight--;
  setCallState(state, call, IN_FLIGHT);
  calls.attempt.put(call, attempt);
  calls.model.put(call, state.brief?.model ?? null);
}

function callUnknown(state: State, event: EventOf<'effect.unknown'>): void {
  const call = state.calls.names.of(event.payload.effect);
  if (state.calls.state.get(call) !== IN_FLIGHT) return;
  setCallState(state, call, UNKNOWN);
  callEnded(state, state.node(event));
}

function callEnded(state: State, node: number): void {
  if (node === NONE) return;
  state.undoLog.setNumber(state.nodes.inFlight, node, Math.max(0, state.nodes.inFlight.get(node) - 1));
  state.nodes.restated.add(node);
}

function setCallState(state: State, call: number, now: number): void {
  const was = state.calls.state.get(call);
  if (was === now) return;
  addToCount(state, was, -1);
  addToCount(state, now, 1);
  state.undoLog.setNumber(state.calls.state, call, now);
}

function addToCount(state: State, which: number, change: number): void {
  if (which === IN_FLIGHT) state.calls.inFlight += change;
  else if (which === BACKING_OFF) state.add('backingOff', change);
  else if (which === UNKNOWN) state.add('unknown', change);
}

/** The clock runs while anything is in flight or ready: not while queued, paused, waiting, backing off or parked. */
function isWorking(state: State): boolean {
  const heldUp = state.value('providerWait') !== null || state.value('backingOff') > 0 || state.value('unknown') > 0;
  return state.status() === 'running' && !ended(state.value('status')) && (state.calls.inFlight > 0 || !heldUp);
}

/** After these events the run rests, so the working time before them must be counted now. */
const RESTS = new Set(['run.paused', 'run.waiting_on_user', 'run.completed', 'run.stopped', 'run.failed', 'run.canceled']);

/** Adds the working time up to this event. A takeover event says how long the last driver really worked. Called before the fold. */
export function clock(state: State, event: StoredEvent, at: number, time: number): void {
  const { events } = state;
  if (event.actor !== undefined && event.actor.kind !== 'platform') state.lastMessageAt = time;
  const working = isWorking(state);
  const recovered = event.type === 'run.recovered';
  // A person's event, and what follows from it at once, does not prove that the run worked until now.
  const fromPerson = working && !recovered && state.lastMessageAt === time && !RESTS.has(event.type);
  let running = events.running.get(at - 1);
  if (working && !fromPerson) {
    const until = recovered ? Math.min(Date.parse(event.payload.activeUntil), time) : time;
    running += Math.max(0, until - countedUntil(state, at - 1));
  }
  events.running.put(at, running);
  events.fromPerson.put(at, fromPerson ? 1 : 0);
}

function countedUntil(state: State, at: number): number {
  let counted = at;
  while (counted > 0 && state.events.fromPerson.get(counted) === 1) counted--;
  return state.events.time.get(counted);
}
