// HTTP requests to the server. A refused request throws a Problem that says what happened and what to do next.

/** An RFC 9457 problem document, or one made here when no response came. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly slug: string,
    readonly detail: string,
    /** The problem document's other members, such as the answer of a question that was answered before. */
    readonly more: Record<string, unknown> = {},
  ) {
    super(detail);
  }

  /** No response came from the server; the only thing to do is to try again later. */
  get unreachable(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
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

export interface RequestOptions {
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
    throw new Problem(0, 'unreachable', 'The server cannot be reached. This page may be out of date.');
  });
  if (response.ok) return response;
  const problem = await read(response);
  if (problem.status === 401) signedOut(problem);
  throw problem;
}

async function read(response: Response): Promise<Problem> {
  const text = await response.text().catch(() => '');
  try {
    const { type, detail, title, ...more } = JSON.parse(text) as Record<string, unknown>;
    return new Problem(response.status, String(type ?? 'unexpected'), String(detail ?? title ?? response.statusText), more);
  } catch {
    return new Problem(response.status, 'unexpected', `The server answered ${response.status} ${response.statusText}.`);
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
