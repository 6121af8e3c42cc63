// Logs recorded from the real binary (tests/record.mjs): one event per line, then the server's run object and snapshots.

import { readdirSync, readFileSync } from 'node:fs';
import type { Artifact, Node } from '../src/api/shapes';
import type { RunRow, Snapshot, StoredEvent } from '../src/model/run';

const FOLDER = new URL('./logs/', import.meta.url);

export interface Recorded {
  name: string;
  events: StoredEvent[];
  /** The run object after the last event. */
  row: RunRow & { head?: string };
  /** The nodes and artifacts after the last event, as far as they say what has been replaced. */
  nodes: Pick<Node, 'id' | 'stale' | 'current' | 'shortfall'>[];
  artifacts: Pick<Artifact, 'id' | 'title' | 'stale' | 'current'>[];
  /** The responses of `/snapshot?at=` for some moments. */
  snapshots: Snapshot[];
}

export const recorded: Recorded[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.jsonl'))
  .map((file) => {
    const lines = readFileSync(new URL(file, FOLDER), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    return {
      name: file.replace('.jsonl', ''),
      events: lines.filter((line) => line.type),
      row: lines.find((line) => line.id),
      nodes: lines.find((line) => line.node_rows).node_rows,
      artifacts: lines.find((line) => line.artifact_rows).artifact_rows,
      snapshots: lines.filter((line) => line.nodes !== undefined),
    };
  });
