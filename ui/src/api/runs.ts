// The run routes of the API.

import type { CriterionDecision, Decision, Event as LogEvent } from './events';
import { get, list, type Page, post, send, withQuery } from './http';
import type { Budgets, Iteration, NewRun, Run, Snapshot, Workspace } from './shapes';

const runPath = (id: string, rest = ''): string => `/api/runs/${encodeURIComponent(id)}${rest}`;

export const listRuns = (query: { q?: string; cursor?: string; limit: number }, signal?: AbortSignal): Promise<Page<Run>> => get(withQuery('/api/runs', query), signal);
export const getRun = (id: string): Promise<Run> => get(runPath(id));
export const startRun = (run: NewRun): Promise<Run> => post('/api/runs', run);

export const pauseRun = (id: string): Promise<Run> => post(runPath(id, '/pause'));
export const resumeRun = (id: string): Promise<Run> => post(runPath(id, '/resume'));
export const cancelRun = (id: string): Promise<Run> => post(runPath(id, '/cancel'));
export const setBudgets = (id: string, budgets: Budgets): Promise<Run> => send('PATCH', runPath(id, '/budgets'), budgets);
export const continueRun = (id: string, budgets: Budgets, message?: string): Promise<Run> => post(runPath(id, '/continue'), message === undefined ? { budgets } : { budgets, message });
export const answer = (id: string, question: string, text: string): Promise<Run> => post(runPath(id, '/respond'), { answers: [{ question_id: question, text }] });
export const say = (id: string, text: string, lane: 'steer' | 'queue', node: string | undefined, key: string): Promise<Run> =>
  post(runPath(id, '/messages'), node === undefined ? { text, lane } : { text, lane, node_id: node }, key);
/** Says what came of a call whose outcome is unknown. */
export const resolve = (id: string, effect: string, decision: Decision): Promise<Run> => post(runPath(id, `/effects/${encodeURIComponent(effect)}`), { decision });

/** The iterations after the one with this number. */
export const iterationsAfter = (id: string, after: number): Promise<Iteration[]> => get(withQuery(runPath(id, '/iterations'), { after }));
/** A person's word on a success criterion. */
export const decideCriterion = (id: string, criterion: string, decision: CriterionDecision, note?: string): Promise<Run> =>
  send('PATCH', runPath(id, `/criteria/${encodeURIComponent(criterion)}`), note ? { decision, note } : { decision });

export const workspace = (id: string): Promise<Workspace> => get(runPath(id, '/workspace'));
export const eventsAfter = (id: string, after: number, limit: number): Promise<LogEvent[]> => list(withQuery(runPath(id, '/events'), { after, limit }));
export const snapshot = (id: string): Promise<Snapshot> => get(runPath(id, '/snapshot'));

export type NodeVerb = 'cancel' | 'pause' | 'resume';
/** Does a step again with a new node; with `dependents`, also what rested on its result in later bands. */
export const retryNode = (id: string, node: string, dependents: boolean): Promise<Run> => post(runPath(id, `/nodes/${encodeURIComponent(node)}/retry`), { dependents });
export const tellNode = (id: string, node: string, verb: NodeVerb): Promise<Run> => post(runPath(id, `/nodes/${encodeURIComponent(node)}/${verb}`));
export const nodeEventsAfter = (id: string, node: string, after: number, limit: number): Promise<LogEvent[]> =>
  list(withQuery(runPath(id, `/nodes/${encodeURIComponent(node)}/events`), { after, limit }));
