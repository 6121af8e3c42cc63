// Parses the question that is asked before a tool call: who gets what. No part of the text is lost. A question of another form gives null
// and is shown as it is.

interface Argument {
  name: string;
  /** As JSON, the way the tool gets it. */
  value: string;
}

export interface Approval {
  title: string;
  destination: string;
  /** Whether the arguments leave this machine. They do unless the question says that they stay. */
  leaves: 'yes' | 'maybe' | 'no';
  sends: Argument[];
  /** Every other line. */
  remarks: string[];
}

const ASKS = 'May the run call ';
const GOES = 'Goes to: ';
const SENDS = 'Sends';
const STAYS = ', on this machine';
const MAY_SEND = ', which may send it anywhere';

export function approvalOf(text: string): Approval | null {
  const [title = '', goes = '', sends = '', ...rest] = text.split('\n');
  if (!title.startsWith(ASKS) || !goes.startsWith(GOES) || !sends.startsWith(SENDS)) return null;
  const destination = goes.slice(GOES.length);
  const out: Approval = { title, destination, leaves: destination.endsWith(STAYS) ? 'no' : destination.endsWith(MAY_SEND) ? 'maybe' : 'yes', sends: [], remarks: [] };
  if (!sends.endsWith(':')) out.remarks.push(sends);
  for (const line of rest) {
    const argument = argumentOf(line);
    if (argument) out.sends.push(argument);
    else if (line !== '') out.remarks.push(line);
  }
  return out;
}

/** `- "name" = value`. The name is a JSON string, so its content cannot end it. */
function argumentOf(line: string): Argument | null {
  if (!line.startsWith('- "')) return null;
  let end = 3;
  while (end < line.length && line[end] !== '"') end += line[end] === '\\' ? 2 : 1;
  if (!line.startsWith('" = ', end)) return null;
  return { name: line.slice(3, end), value: line.slice(end + 4) };
}

/** Both ends of a long value, which is folded in the middle; a click opens it. */
interface Folded {
  head: string;
  tail: string;
  between: number;
}

const HEAD = 240;
const TAIL = 120;

export function folded(value: string): Folded | null {
  if (value.length <= HEAD + TAIL + 40) return null;
  return { head: value.slice(0, HEAD), tail: value.slice(-TAIL), between: value.length - HEAD - TAIL };
}
