// The run routes of the API.

import { at, get, post, send, type Page } from './http';
import type { Budgets, Iteration, Kind, NewRun, Run, Status, Workspace } from './shapes';

interface RunQuery {
  q?: string;
  status?: Status;
  kind?: Kind;
  cursor?: string;
  limit?: number;
}

const of = (id: string, rest = ''): string => `/api/runs/${encodeURIComponent(id)}${rest}`;

export const listRuns = (query: RunQuery = {}, signal?: AbortSignal): Promise<Page<Run>> => get(at('/api/runs', { ...query }), signal);
export const getRun = (id: string, signal?: AbortSignal): Promise<Run> => get(of(id), signal);
export const startRun = (run: NewRun): Promise<Run> => post('/api/runs', run);

export const pauseRun = (id: string): Promise<Run> => post(of(id, '/pause'));
export const resumeRun = (id: string): Promise<Run> => post(of(id, '/resume'));
export const cancelRun = (id: string): Promise<Run> => post(of(id, '/cancel'));
export const setBudgets = (id: string, budgets: Budgets): Promise<Run> => send('PATCH', of(id, '/budgets'), budgets);
export const continueRun = (id: string, budgets: Budgets, message?: string): Promise<Run> => post(of(id, '/continue'), message === undefined ? { budgets } : { budgets, message });
export const answer = (id: string, question: string, text: string): Promise<Run> => post(of(id, '/respond'), { answers: [{ question_id: question, text }] });
export const say = (id: string, text: string, lane: 'steer' | 'queue', node: string | undefined, key: string): Promise<Run> =>
  post(of(id, '/messages'), node === undefined ? { text, lane } : { text, lane, node_id: node }, key);
export const settle = (id: string, effect: string, decision: 'happened' | 'did_not' | 'retry', note?: string): Promise<Run> =>
  post(of(id, `/effects/${encodeURIComponent(effect)}`), note === undefined ? { decision } : { decision, note });

export const iterations = (id: string): Promise<Iteration[]> => get(of(id, '/iterations'));
export const workspace = (id: string): Promise<Workspace> => get(of(id, '/workspace'));
export const eventsAfter = <E>(id: string, after: number, limit: number): Promise<E[]> => get<Page<E>>(at(of(id, '/events'), { after, limit })).then((page) => page.items);
export const snapshot = <S>(id: string, seq?: number): Promise<S> => get(at(of(id, '/snapshot'), { at: seq }));

export type NodeVerb = 'cancel' | 'retry' | 'pause' | 'resume';
export const tellNode = (id: string, node: string, verb: NodeVerb): Promise<Run> => post(of(id, `/nodes/${encodeURIComponent(node)}/${verb}`));
export const nodeEventsAfter = <E>(id: string, node: string, after: number, limit: number): Promise<E[]> =>
  get<Page<E>>(at(of(id, `/nodes/${encodeURIComponent(node)}/events`), { after, limit })).then((page) => page.items);
