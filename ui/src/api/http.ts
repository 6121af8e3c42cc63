// HTTP requests to the server. A refused request throws a Problem that says what happened and what to do next.

import type { Problem as ProblemDocument } from './shapes';

/** The status and the sentence of an RFC 9457 problem document. The status is 0 when no response came. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }

  get notFound(): boolean {
    return this.status === 404;
  }
}

type Listener = (problem: Problem) => void;
let signedOut: Listener = () => {};

/** Called once per refused request when the session is over. */
export function onSignedOut(listener: Listener): void {
  signedOut = listener;
}

interface RequestOptions {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export async function sendRequest(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
  const headers: Record<string, string> = { accept: 'application/json', ...options.headers };
  const init: RequestInit = { method, headers, credentials: 'same-origin' };
  if (options.signal) init.signal = options.signal;
  if (options.body !== undefined) {
    headers['content-type'] = 'application/json';
    init.body = JSON.stringify(options.body);
  }
  const response = await fetch(path, init).catch((error: unknown) => {
    if (options.signal?.aborted) throw error;
    throw new Problem(0, 'The server cannot be reached. This page may be out of date.');
  });
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.status === 401) signedOut(problem);
  throw problem;
}

async function problemOf(response: Response): Promise<Problem> {
  const text = await response.text().catch(() => '');
  try {
    const { detail, title } = JSON.parse(text) as Partial<ProblemDocument>;
    return new Problem(response.status, detail ?? title ?? response.statusText);
  } catch {
    return new Problem(response.status, `The server answered ${response.status} ${response.statusText}.`);
  }
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await sendRequest('GET', path, signal ? { signal } : {})).json() as Promise<T>;
}

/** The idempotency key makes a retry after a lost response act once. A caller that retries passes the same key again. */
export async function post<T>(path: string, body: unknown = {}, key: string = crypto.randomUUID()): Promise<T> {
  return send<T>('POST', path, body, { 'idempotency-key': key });
}

export async function send<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
  const response = await sendRequest(method, path, body === undefined ? { headers } : { body, headers });
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Builds an address such as `/api/runs?q=a%20b`; empty parameters are left out. */
export function withQuery(path: string, query: Record<string, string | number | boolean | null | undefined>): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const search = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]));
  return pairs.length === 0 ? path : `${path}?${search}`;
}

/** One page of a list, and the cursor of the next. */
export interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

export const list = async <T>(path: string): Promise<T[]> => (await get<Page<T>>(path)).items;
