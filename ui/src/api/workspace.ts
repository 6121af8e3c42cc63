// The project, document and task routes of the API.

import { get, list, post, send, withQuery } from './http';
import type { Document as Doc, Entry, Hit, Project, Task, TaskState, Version } from './shapes';

const documentPath = (id: string, rest = ''): string => `/api/documents/${encodeURIComponent(id)}${rest}`;

export const projects = (): Promise<Project[]> => list('/api/projects');
export const project = (id: string): Promise<Project> => get(`/api/projects/${encodeURIComponent(id)}`);
/** Whether this describes a project that a run made for itself, because it was given none. */
export const ofRun = (description: string): boolean => /^Workspace of run \S+$/.test(description);
/** Projects to choose from. Those that runs made for themselves come last, because they are rarely wanted. */
export const ownFirst = (all: Project[]): Project[] => all.toSorted((a, b) => Number(ofRun(a.description)) - Number(ofRun(b.description)));
export const createProject = (title: string, description: string): Promise<Project> => post('/api/projects', { title, description });
export const documents = (query: { project_id?: string; limit: number }): Promise<Doc[]> => list(withQuery('/api/documents', query));
export const document = (id: string): Promise<Doc> => get(documentPath(id));
export const setDocument = (doc: Doc, change: { content: string }): Promise<Doc> => send('PATCH', documentPath(doc.id), change, { 'if-match': `"${doc.version}"` });
export const versions = (id: string): Promise<Version[]> => list(documentPath(id, '/versions'));
export const entries = (id: string, before: number | undefined, limit: number): Promise<Entry[]> => list(withQuery(documentPath(id, '/entries'), { before, limit }));
export const tasks = (query: { project_id: string }): Promise<Task[]> => list(withQuery('/api/tasks', query));
export const createTask = (body: { title: string; project_id: string }): Promise<Task> => post('/api/tasks', body);
export const setTask = (task: Task, change: { state: TaskState }): Promise<Task> => send('PATCH', `/api/tasks/${encodeURIComponent(task.id)}`, change, { 'if-match': `"${task.version}"` });
export const search = (q: string, limit: number): Promise<Hit[]> => list(withQuery('/api/search', { q, limit }));
