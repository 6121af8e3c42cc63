// Events as one line each, from the table of sentences that the terminal uses too; crates/server/src/render/event_lines.rs
// explains its syntax. A type that is not in the table is shown by its name; nothing is hidden.

import table from '../../../crates/server/src/render/event_sentences.json';
import type { StoredEvent } from '../model/run';
import type { Tone } from '../model/statuses';
import { headline } from './format';

interface Case {
  when?: Record<string, unknown>;
  has?: string;
  text: string;
}

/** What a sentence is made from; the type may be one that this page does not know. */
type TextEvent = Pick<Partial<StoredEvent>, 'nodeId'> & { type: string; payload: object };
type Payload = Record<string, unknown>;
type Field = (path: string) => string;
/** A node as people call it: by its number and title. */
export type NodeName = (id: string) => { ordinal: number; title: string } | null | undefined;

/** The characters of a title where it only says which node is meant. */
const MAX_TITLE = 40;

const SENTENCES = table as Record<string, string | Case[]>;

export const hasEventText = (type: string): boolean => type in SENTENCES;

/** `full`: where many nodes are mixed, each is called by its number and title. */
export function eventText(event: TextEvent, nodeName: NodeName, full = false): string {
  const payload = event.payload as Payload;
  const entry = SENTENCES[event.type];
  const text = typeof entry === 'string' ? entry : entry?.find((item) => holds(item, payload))?.text;
  if (text === undefined) return event.type;
  const id = event.nodeId;
  const node = id ? nodeName(id) : null;
  const number = node ? `n${node.ordinal}` : `node ${id}`;
  const name = node && full ? `${number} ${headline(line(node.title), MAX_TITLE)}` : number;
  const names: Record<string, string> = { name, node: node ? `${number} ${line(node.title)}` : number };
  return (id && !text.includes('{n') ? `${name}: ` : '') + fill(text, (path) => names[path] ?? read(payload, path));
}

const holds = ({ when = {}, has }: Case, payload: Payload): boolean => Object.entries(when).every(([field, value]) => payload[field] === value) && (has === undefined || payload[has] != null);

function fill(text: string, field: Field): string {
  const [first = '', ...parts] = text.split('[');
  const rest = parts.map((part) => {
    const [optional = '', after = ''] = part.split(']');
    const [words, whole] = expand(optional, field);
    return (whole ? words : '') + expand(after, field)[0];
  });
  return expand(first, field)[0] + rest.join('');
}

/** The text with its fields, and whether all of them had a value. */
function expand(text: string, field: Field): [string, boolean] {
  const [first = '', ...parts] = text.split('{');
  const pairs = parts.map((part) => part.split('}') as [string, string]).map(([path, after]) => [field(path), after] as const);
  return [first + pairs.map((pair) => pair.join('')).join(''), pairs.every(([value]) => value !== '')];
}

function read(payload: Payload, path: string): string {
  if (path.startsWith('#')) {
    const [counted = '', wanted] = path.slice(1).split('=');
    return String(values(payload, counted).filter((value) => wanted === undefined || value === wanted).length);
  }
  const [where = '', missing = ''] = path.split('|');
  const texts = values(payload, where)
    .filter((value) => ['string', 'number', 'boolean'].includes(typeof value))
    .map((value) => timeText(line(String(value))))
    .filter((text) => text !== '');
  return texts.length === 0 ? missing : texts.join('; ');
}

/** All values at a path. A list on the path is replaced by its items. */
const values = (payload: Payload, path: string): unknown[] => path.split('.').reduce<unknown[]>((found, key) => found.flatMap((value) => (value as Payload | null)?.[key] ?? []), [payload]);

/** A time is shown to the second. */
const timeText = (text: string): string => (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) ? `${text.slice(0, 10)} ${text.slice(11, 19)} UTC` : text);

const line = (text: string): string => text.split(/\s+/).filter(Boolean).join(' ');

/** A node's message without the punctuation of the log. */
export function nodeMessageText(message: string): string {
  const [head, tail = ''] = message.split(':');
  if (head === 'leaf_decision') return tail === 'criteria_testable' ? 'does it itself: its criteria can be tested' : 'does it itself: small enough';
  return head === 'guard' ? `does it itself: limit ${tail}` : message;
}

export function eventTone({ type, payload }: TextEvent): Tone | null {
  if (/failed$|effect\.unknown|rejected$|refused$/.test(type) || (payload as Payload).ok === false) return 'failed';
  if (type === 'effect.finished' && (payload as Payload).outcome !== 'ok') return 'failed';
  if (/question_asked|waiting_on_user/.test(type)) return 'blocked';
  const { state, outcome, progress } = payload as Payload;
  if (type === 'run.criterion_checked') return state === 'verified' ? 'done' : state === 'refuted' ? 'failed' : null;
  if (outcome === 'partial' || outcome === 'none') return 'partial';
  // A run that only says so, and an iteration that brought nothing, are no success.
  if (type === 'run.completed') return outcome === 'verified' ? 'done' : null;
  return (/completed$/.test(type) && outcome !== 'no_op' && progress !== false) || type === 'run.answered' ? 'done' : null;
}
