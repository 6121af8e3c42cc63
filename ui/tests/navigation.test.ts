import { describe, expect, it, vi } from 'vitest';
import { NONE } from '../src/model/nodes';
import { Run } from '../src/model/run';
import { FAILED, isActive } from '../src/model/statuses';
import { Camera } from '../src/tree/camera';
import { neighbour, TimeScale } from '../src/tree/timeline';
import { Tree } from '../src/tree/tree';
import { grow } from './generated-log';

const events = grow({ nodes: 300, seed: 4, parallel: 12, failures: 0.1 });
const half = () => {
  const run = new Run();
  run.applyEvents(events.slice(0, Math.floor(events.length * 0.6)));
  return new Tree(run);
};
const press = (tree: ReturnType<typeof half>, key: string) => tree.key({ key, ctrlKey: false, metaKey: false, altKey: false } as KeyboardEvent);

describe('keys of the tree', () => {
  it('lead right into the first child, left to the parent, down and up within a column', () => {
    const tree = half();
    expect(press(tree, 'Home')).toBe(true);
    expect(tree.selectedNode).toBe(0);
    press(tree, 'ArrowRight');
    const first = tree.selectedNode;
    expect(tree.nodes.parent.get(first)).toBe(0);
    press(tree, 'ArrowDown');
    expect(tree.nodes.depth.get(tree.selectedNode)).toBe(1);
    expect(tree.selectedNode).not.toBe(first);
    press(tree, 'ArrowUp');
    expect(tree.selectedNode).toBe(first);
    press(tree, 'ArrowLeft');
    expect(tree.selectedNode).toBe(0);
  });

  it('go round all failed and all working nodes, and tell the page what is selected', () => {
    const tree = half();
    const told = vi.fn();
    tree.onselect = told;
    const failed = new Set<number>();
    for (let turn = 0; turn < tree.count('failed'); turn++) {
      press(tree, 'e');
      failed.add(tree.selectedNode);
      expect(tree.nodes.status.get(tree.selectedNode)).toBe(FAILED);
    }
    expect(failed.size).toBe(tree.count('failed'));
    press(tree, 'w');
    expect(isActive(tree.nodes.status.get(tree.selectedNode))).toBe(true);
    expect(told).toHaveBeenLastCalledWith(tree.selected);
  });

  it('unsubscribe alone what belongs to the browser', () => {
    const tree = half();
    expect(tree.key({ key: 'f', ctrlKey: true } as KeyboardEvent)).toBe(false);
    expect(press(tree, 'q')).toBe(false);
  });

  it('select from outside without an echo', () => {
    const tree = half();
    const told = vi.fn();
    tree.onselect = told;
    tree.select(tree.nodes.id.get(5), { reveal: true });
    expect(tree.selectedNode).toBe(5);
    expect(told).not.toHaveBeenCalled();
  });

  it('find nodes by the words of their title', () => {
    const tree = half();
    const found = tree.find('storage');
    expect(found).toBeGreaterThan(0);
    press(tree, 'n');
    expect(tree.nodes.title.get(tree.selectedNode)).toContain('storage');
    expect(tree.find('no such words at all')).toBe(0);
    tree.find('');
    expect(tree.found.size).toBe(0);
  });

  it('a node that is selected before it exists is selected when it comes', () => {
    const run = new Run();
    const tree = new Tree(run);
    const later = events.filter((event) => event.type === 'tree.node_created')[3].nodeId!;
    tree.select(later);
    expect(tree.selectedNode).toBe(NONE);
    run.applyEvents(events.slice(0, 200));
    run.flush();
    expect(tree.nodes.id.get(tree.selectedNode)).toBe(later);
  });
});

describe('the camera', () => {
  it('keeps the point under the pointer where it is while zooming', () => {
    const camera = new Camera();
    camera.resize(1000, 600);
    camera.jumpTo(300, 200, 1);
    const [x, y] = [camera.treeX(120), camera.treeY(500)];
    camera.zoomAt(120, 500, 1.7);
    expect(camera.screenX(x)).toBeCloseTo(120);
    expect(camera.screenY(y)).toBeCloseTo(500);
  });

  it('arrives where it glides to', () => {
    const camera = new Camera();
    camera.resize(1000, 600);
    camera.glideTo(4000, -900, 0.5);
    for (let frame = 0; frame < 200 && camera.gliding; frame++) camera.step(16, false);
    expect([camera.x, camera.y, camera.zoom]).toEqual([4000, -900, 0.5]);
  });
});

describe('the time line', () => {
  const run = new Run();
  run.applyEvents(events);

  it('leads from a place to an event and back', () => {
    const line = new TimeScale(run, 100);
    for (const seq of [1, 50, 1000, run.head]) expect(line.seqAt(line.placeOf(seq))).toBeGreaterThanOrEqual(seq);
    expect(line.seqAt(1)).toBe(run.head);
    expect(line.marks.filter((mark) => mark.kind === 'failed').length).toBe(run.stats().failed);
  });

  it('squeezes a night in which nothing happened', () => {
    const night = new Run();
    const shift = 8 * 3600_000;
    night.applyEvents(events.map((event) => (event.seq <= 500 ? event : { ...event, timestamp: new Date(Date.parse(event.timestamp) + shift).toISOString() })));
    const line = new TimeScale(night, 100);
    expect(line.placeOf(501) - line.placeOf(500)).toBeLessThan(0.5);
  });

  it('steps through the events of one node', () => {
    const node = 3;
    const all = run.eventsOf(run.state.nodes.id.get(node));
    const walked: number[] = [];
    for (let seq = neighbour(run, 0, 1, node); seq < run.head; seq = neighbour(run, seq, 1, node)) walked.push(seq);
    expect(walked).toEqual(all);
  });
});
