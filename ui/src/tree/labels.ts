// The text on cards: one line each, measured and cut once at zoom 1, then scaled.

import { count, type StatusLook } from '../components/format';
import { nodeMarks, REPLACED, STALE } from '../components/node-marks';
import { NONE } from '../model/nodes';
import type { State } from '../model/state';
import { NODE_STATUSES, SUPERSEDED } from '../model/statuses';
import type { Placeholder } from './folding';

export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${String(seconds % 60).padStart(2, '0')}`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h${String(minutes % 60).padStart(2, '0')}` : `${Math.floor(hours / 24)}d`;
}

export function money(micros: number): string {
  if (micros === 0) return '';
  return micros < 10_000 ? '<$0.01' : `$${(micros / 1e6).toFixed(2)}`;
}

/** The time from the node's first call to its end, or until now. */
export function lasted(state: State, node: number, now: number): number {
  const started = state.nodes.started.get(node);
  if (Number.isNaN(started)) return 0;
  const ended = state.nodes.ended.get(node);
  return (Number.isNaN(ended) ? now : ended) - started;
}

export const WORD: readonly string[] = [...NODE_STATUSES, 'partial', 'nothing to do', 'claimed', 'verified'].map((status) => ({ completed: 'done', aggregating: 'joining' })[status] ?? status);
export const SIGN = ['', '', '', '', '', '?', '✓', '✗', '⊘', '↷', '◐', '–', '◇', '✓'];

export function statusWord(state: State, node: number): string {
  if (state.nodes.paused.get(node)) return 'paused';
  return WORD[state.nodes.look(node)];
}

/** What is said of a node besides its status. */
export function marksOf({ nodes }: State, node: number): StatusLook[] {
  const [current, stale, retry] = [nodes.isCurrent(node), nodes.stale.get(node) === 1, nodes.retryOf.get(node) !== NONE];
  return nodeMarks({ current, stale, retry, superseded: nodes.status.get(node) === SUPERSEDED });
}

/** The status in words, with what is said besides. */
export const wholeWord = (state: State, node: number): string => [statusWord(state, node), ...marksOf(state, node).map(({ label }) => label)].join(', ');

/** The one sign that there is room for on a small card: that it is replaced or stale comes before how it ended. */
export function signOf(state: State, node: number): string {
  const standing = marksOf(state, node).find((mark) => mark === REPLACED || mark === STALE);
  return standing?.mark ?? SIGN[state.nodes.look(node)];
}

/** The second line of a card: what the node does, how long, and at what cost. */
export function statusParts(state: State, node: number, now: number): string[] {
  const { nodes } = state;
  const sign = SIGN[nodes.look(node)];
  const parts = [sign ? `${sign} ${statusWord(state, node)}` : statusWord(state, node)];
  for (const { mark, label } of marksOf(state, node)) parts.push(`${mark} ${label}`);
  const time = lasted(state, node, now);
  if (time >= 1000) parts.push(duration(time));
  const cost = money(nodes.costMicros.get(node));
  if (cost) parts.push(cost);
  const made = nodes.artifacts.get(node);
  if (made > 0) parts.push(made === 1 ? '1 doc' : `${made} docs`);
  return parts;
}

/** The second line of a card that stands for a whole subtree. */
export function foldedParts(state: State, node: number, now: number): string[] {
  const { nodes } = state;
  const parts = [`▸ ${count(nodes.total.get(node))} nodes`];
  if (nodes.failed.get(node) > 0) parts.push(`✗${count(nodes.failed.get(node))}`);
  const stale = nodes.staleIn(node);
  if (!nodes.isCurrent(node)) parts.push(`${REPLACED.mark} ${REPLACED.label}`);
  else if (stale > 0) parts.push(`${STALE.mark}${count(stale)} ${STALE.label}`);
  const cost = money(nodes.costMicros.get(node));
  if (cost) parts.push(cost);
  const time = lasted(state, node, now);
  if (time >= 1000) parts.push(duration(time));
  return parts;
}

export function stubLine(state: State, stub: Placeholder): string {
  const by = new Map<string, number>();
  for (const node of stub.nodes) {
    const word = wholeWord(state, node);
    by.set(word, (by.get(word) ?? 0) + 1);
  }
  if (stub.planned > 0) by.set('planned', stub.planned);
  if (by.size === 1) return `+${stub.nodes.length + stub.planned} ${[...by.keys()][0]}`;
  return `+${stub.nodes.length + stub.planned}: ${[...by].map(([word, many]) => `${many} ${word}`).join(', ')}`;
}

/** Cuts texts to a width and caches the result. */
export class TextFitter {
  private readonly cut = new Map<string, string>();

  constructor(
    private readonly width: (text: string) => number,
    private readonly most: number,
  ) {}

  fit(text: string): string {
    const known = this.cut.get(text);
    if (known !== undefined) return known;
    // Texts come and go with their nodes. Clearing the cache is cheaper than tracking them.
    if (this.cut.size > 20_000) this.cut.clear();
    const fitted = this.measure(text);
    this.cut.set(text, fitted);
    return fitted;
  }

  /** Joins as many whole parts as fit. */
  fitParts(parts: readonly string[]): string {
    for (let many = parts.length; many > 1; many--) {
      const line = parts.slice(0, many).join(' · ');
      if (this.fit(line) === line) return line;
    }
    return this.fit(parts[0]);
  }

  private measure(text: string): string {
    if (this.width(text) <= this.most) return text;
    let [fits, over] = [1, Math.min(text.length, 80)];
    while (fits < over - 1) {
      const middle = (fits + over) >> 1;
      if (this.width(`${text.slice(0, middle).trimEnd()}…`) <= this.most) fits = middle;
      else over = middle;
    }
    return `${text.slice(0, fits).trimEnd()}…`;
  }
}
