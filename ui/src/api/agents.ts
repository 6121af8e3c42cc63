// The subagent routes of the API.

import { at, get, post, send, type Page } from './http';
import type { Agent, Lesson, Run, Scratchpad, TaskStep, Tool } from './shapes';

export interface AgentChange {
  name?: string;
  identity?: string;
  actions?: string[];
  projects?: string[];
  model?: string;
}

const of = (handle: string, rest = ''): string => `/api/agents/${encodeURIComponent(handle)}${rest}`;

export const agents = async (): Promise<Agent[]> => (await get<Page<Agent>>('/api/agents')).items;
export const agent = (handle: string): Promise<Agent> => get(of(handle));
export const createAgent = (handle: string, change: AgentChange): Promise<Agent> => post('/api/agents', { handle, ...change });
export const changeAgent = (handle: string, version: number, change: AgentChange): Promise<Agent> => send('PATCH', of(handle), change, { 'if-match': `"${version}"` });
export const scratchpad = (handle: string): Promise<Scratchpad> => get(of(handle, '/scratchpad'));
export const padVersions = async (handle: string): Promise<Scratchpad[]> => (await get<Page<Scratchpad>>(at(of(handle, '/scratchpad/versions'), { limit: 100 }))).items;
export const restorePad = (handle: string, version: number): Promise<Scratchpad> => post(of(handle, '/scratchpad/restore'), { version });
export const clearPad = (handle: string): Promise<Scratchpad> => post(of(handle, '/scratchpad/clear'));
export const lessons = async (handle: string): Promise<Lesson[]> => (await get<Page<Lesson>>(at(of(handle, '/lessons'), { limit: 100 }))).items;
export const settleLesson = (handle: string, lesson: string, action: 'promote' | 'dismiss'): Promise<Lesson> => post(of(handle, `/lessons/${encodeURIComponent(lesson)}`), { action });
export const agentRuns = async (handle: string): Promise<Run[]> => (await get<Page<Run>>(at('/api/runs', { agent: handle, limit: 50 }))).items;
export const taskSteps = (run: string): Promise<TaskStep[]> => get(`/api/runs/${encodeURIComponent(run)}/steps`);
export const stepPage = (run: string, step: number): string => `/api/runs/${encodeURIComponent(run)}/steps/${step}/page`;

const OWN = ['update_scratchpad', 'add_lesson'];

/** What can be granted: everything that changes something, but what is a subagent's own. */
export async function grantable(): Promise<Tool[]> {
  const tools = (await get<Page<Tool>>('/api/tools')).items;
  return tools.filter((tool) => !tool.read && !OWN.includes(tool.name));
}
