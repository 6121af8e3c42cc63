// Subagents and what they remember.

import { at, get, post, send } from './http';
import type { Artifacts, Page, Project, Run } from './shapes';

export interface Agent {
  id: string;
  handle: string;
  name: string;
  identity: string;
  actions: string[];
  projects: Project[];
  model: string | null;
  version: number;
  scratchpad: { version: number; characters: number; limit: number; at: string | null };
  created_at: string;
  updated_at: string;
}

/** One version of a scratchpad, and where it came from: a step of a run, its reflection, or a person. */
export interface Pad {
  version: number;
  content: string;
  characters: number;
  limit: number;
  run_id: string | null;
  step: number | null;
  at: string | null;
}

export interface AgentChange {
  name?: string;
  identity?: string;
  actions?: string[];
  projects?: string[];
  model?: string;
}

/** One step of a task: what the agent chose, and what came of it. */
export interface TaskStep {
  step: number;
  action: 'navigate' | 'execute' | 'done' | 'error';
  path: string | null;
  action_name: string | null;
  params: unknown;
  message: string | null;
  thought: string | null;
  ok: boolean | null;
  summary: string | null;
  artifacts: Partial<Artifacts>;
  seq: number;
  started_at: string;
  ended_at: string | null;
}

export interface Tool {
  name: string;
  description: string;
  read: boolean;
}

const of = (handle: string, rest = ''): string => `/api/agents/${encodeURIComponent(handle)}${rest}`;

export const agents = async (): Promise<Agent[]> => (await get<Page<Agent>>('/api/agents')).items;
export const agent = (handle: string): Promise<Agent> => get(of(handle));
export const createAgent = (handle: string, change: AgentChange): Promise<Agent> => post('/api/agents', { handle, ...change });
export const changeAgent = (handle: string, version: number, change: AgentChange): Promise<Agent> =>
  send('PATCH', of(handle), change, { 'if-match': `"${version}"` });
export const scratchpad = (handle: string): Promise<Pad> => get(of(handle, '/scratchpad'));
export const padVersions = async (handle: string): Promise<Pad[]> => (await get<Page<Pad>>(at(of(handle, '/scratchpad/versions'), { limit: 100 }))).items;
export const restorePad = (handle: string, version: number): Promise<Pad> => post(of(handle, '/scratchpad/restore'), { version });
export const clearPad = (handle: string): Promise<Pad> => post(of(handle, '/scratchpad/clear'));
export const agentRuns = async (handle: string): Promise<Run[]> => (await get<Page<Run>>(at('/api/runs', { agent: handle, limit: 50 }))).items;
export const taskSteps = (run: string): Promise<TaskStep[]> => get(`/api/runs/${encodeURIComponent(run)}/steps`);
export const stepPage = (run: string, step: number): string => `/api/runs/${encodeURIComponent(run)}/steps/${step}/page`;

/** What can be granted: everything that changes something, but what is a subagent's own. */
export async function grantable(): Promise<Tool[]> {
  const tools = (await get<Page<Tool>>('/api/tools')).items;
  return tools.filter((tool) => !tool.read && tool.name !== 'update_scratchpad');
}
