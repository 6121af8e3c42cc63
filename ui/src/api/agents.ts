// The subagent routes of the API.

import { get, list, post, send, withQuery } from './http';
import type { Agent, Lesson, Run, Scratchpad, TaskStep, Tool } from './shapes';

export interface AgentChange {
  identity?: string;
  actions?: string[];
  projects?: string[];
}

const agentPath = (handle: string, rest = ''): string => `/api/agents/${encodeURIComponent(handle)}${rest}`;

export const agents = (): Promise<Agent[]> => list('/api/agents');
export const agent = (handle: string): Promise<Agent> => get(agentPath(handle));
export const createAgent = (handle: string, change: AgentChange): Promise<Agent> => post('/api/agents', { handle, ...change });
export const changeAgent = (handle: string, version: number, change: AgentChange): Promise<Agent> => send('PATCH', agentPath(handle), change, { 'if-match': `"${version}"` });
export const scratchpadVersions = (handle: string): Promise<Scratchpad[]> => list(withQuery(agentPath(handle, '/scratchpad/versions'), { limit: 100 }));
export const restoreScratchpad = (handle: string, version: number): Promise<Scratchpad> => post(agentPath(handle, '/scratchpad/restore'), { version });
export const clearScratchpad = (handle: string): Promise<Scratchpad> => post(agentPath(handle, '/scratchpad/clear'));
export const lessons = (handle: string): Promise<Lesson[]> => list(withQuery(agentPath(handle, '/lessons'), { limit: 100 }));
export const settleLesson = (handle: string, lesson: string, action: 'promote' | 'dismiss'): Promise<Lesson> => post(agentPath(handle, `/lessons/${encodeURIComponent(lesson)}`), { action });
export const agentRuns = (handle: string): Promise<Run[]> => list(withQuery('/api/runs', { agent: handle, limit: 50 }));
export const taskSteps = (run: string): Promise<TaskStep[]> => get(`/api/runs/${encodeURIComponent(run)}/steps`);
export const stepPage = (run: string, step: number): string => `/api/runs/${encodeURIComponent(run)}/steps/${step}/page`;

const OWN = ['update_scratchpad', 'add_lesson'];

/** What can be granted: everything that changes something, but what is a subagent's own. */
export async function grantable(): Promise<Tool[]> {
  const tools = await list<Tool>('/api/tools');
  return tools.filter((tool) => !tool.read && !OWN.includes(tool.name));
}
