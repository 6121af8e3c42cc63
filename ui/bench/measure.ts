// What is measured inside the page: a frame's worth of events per frame, whatever the clock says, so that a busy machine changes how long it
// takes but not what is done. The harness reads CPU time between the marks from the browser's trace.

import { Run, type Snapshot, type StoredEvent } from '../src/model/run';
import type { Tree } from '../src/tree/tree';

const FRAMES_PER_SECOND = 60;

/** Feed so many events per second for so many seconds of frames, then keep status changes coming. */
export async function measure(rate: number, seconds: number): Promise<{ frames: number; events: number }> {
  const { run, rest } = window.bench;
  let fed = 0;
  const frames = FRAMES_PER_SECOND * seconds;
  for (let frame = 1; frame <= frames; frame++) {
    await new Promise(requestAnimationFrame);
    performance.mark('frame');
    const due = Math.floor((frame * rate) / FRAMES_PER_SECOND);
    for (; fed < due; fed++) run.applyEvent(rest[fed] ?? churn(run, fed));
  }
  window.bench.rest = [];
  return { frames, events: fed };
}

/** When growth has ended, nodes change their status all the same. */
function churn(run: Run, turn: number): StoredEvent {
  const { nodes } = run.state;
  const nodeId = nodes.id.get((turn * 7919) % nodes.count);
  const event = { runId: 'r', seq: run.head + 1, nodeId, timestamp: '2026-01-05T12:00:00.000Z' };
  if (turn % 3 === 0) return { ...event, type: 'tree.node_status', payload: { status: 'executing', role: 'executor' } };
  if (turn % 3 === 1) return { ...event, type: 'tree.scratchpad_updated', payload: { tailPreview: 'x'.repeat(60), entryKey: '', markdown: '', scratchpadDocId: '', updatedAt: event.timestamp } };
  return { ...event, type: 'tree.node_completed', payload: { outcome: 'success' } };
}

/** Back to the beginning, between two marks. */
export function rewind(): void {
  const { run } = window.bench;
  performance.mark('frame');
  run.rewind(run.base);
  performance.mark('frame');
  run.toLive();
}

/** Everything that a replay needs on the page, at the middle of the run. */
export async function replay(): Promise<void> {
  const { run, show } = window.bench;
  show(run, 'replay');
  run.rewind(run.base + Math.floor((run.head - run.base) / 2));
  for (let frame = 0; frame < 10; frame++) await new Promise(requestAnimationFrame);
}

/** An empty canvas of the same size, cleared every frame: what any drawing at all costs here. */
export async function blank(seconds: number): Promise<{ frames: number }> {
  const canvas = document.createElement('canvas');
  canvas.width = innerWidth;
  canvas.height = innerHeight;
  canvas.style.cssText = 'position:fixed;inset:0;z-index:9';
  document.body.append(canvas);
  const context = canvas.getContext('2d', { alpha: false })!;
  const frames = FRAMES_PER_SECOND * seconds;
  for (let frame = 0; frame < frames; frame++) {
    await new Promise(requestAnimationFrame);
    performance.mark('frame');
    context.fillStyle = frame % 2 ? '#101010' : '#111111';
    context.fillRect(0, 0, canvas.width, canvas.height);
  }
  canvas.remove();
  return { frames };
}

/** Open a finished run from its snapshot and paint it once. */
export async function openFinished(url: string, show: (run: Run) => Tree): Promise<number> {
  const snapshot = (await (await fetch(url)).json()) as Snapshot;
  const tree = show(new Run(snapshot));
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return tree.nodes.count;
}
