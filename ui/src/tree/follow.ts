// Follow mode: keeps active nodes in view and moves as rarely as it can. A tree that fits is shown whole; in a larger
// one the camera stays with one active node until it is done.

import { NONE } from '../model/nodes';
import type { Box } from './camera';
import type { Tree } from './tree';

/** The whole tree is shown while its cards can still be told apart. */
const WHOLE_ZOOM = 0.55;
const WORK_ZOOM = 0.5;
const CLOSE_ZOOM = 1;
const LOOK_EVERY_MS = 400;
/** The camera stays a little longer where work was just done. */
const FRESH_MS = 2000;

export class Follower {
  private viewed = -Infinity;
  private focus = NONE;
  private lastWork = -Infinity;
  private showing: 'whole' | 'work' | 'one' = 'whole';

  constructor(private readonly tree: Tree) {}

  lookNow(): void {
    this.viewed = -Infinity;
  }

  step(now: number): void {
    const { tree } = this;
    if (now - this.viewed < LOOK_EVERY_MS || tree.nodes.count === 0) return;
    this.viewed = now;
    const { camera } = tree;
    const whole = camera.framing(tree.bounds(), 1);
    if (this.fits('whole', whole.zoom, WHOLE_ZOOM)) return this.frame(tree.bounds(), whole);
    const work = this.workBox();
    if (work === null) return;
    const view = camera.framing(work, CLOSE_ZOOM);
    if (this.fits('work', view.zoom, WORK_ZOOM)) return this.frame(work, view);
    this.showing = 'one';
    this.followOne(now);
  }

  /** The threshold differs for what is shown now and what is not, so that the camera does not go back and forth between them. */
  private fits(what: 'whole' | 'work', zoom: number, least: number): boolean {
    if (zoom < least * (this.showing === what ? 0.85 : 1.15)) return false;
    this.showing = what;
    return true;
  }

  private frame(box: Box, view: { x: number; y: number; zoom: number }): void {
    const { camera } = this.tree;
    const seen = camera.view();
    const inside = box.left >= seen.left && box.right <= seen.right && box.top >= seen.top && box.bottom <= seen.bottom;
    const tooFar = camera.zoom < view.zoom * 0.66;
    if (!inside || tooFar) camera.glideTo(view.x, view.y, view.zoom);
  }

  private workBox(): Box | null {
    const { tree } = this;
    if (tree.working.size === 0 || tree.working.size > 200) return tree.working.size === 0 ? null : tree.bounds();
    const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
    for (const node of tree.working) {
      const [x, y] = tree.centre(node);
      box.left = Math.min(box.left, x - 240);
      box.right = Math.max(box.right, x + 140);
      box.top = Math.min(box.top, y - 60);
      box.bottom = Math.max(box.bottom, y + 60);
    }
    return box;
  }

  private followOne(now: number): void {
    const { tree } = this;
    const { camera, nodes } = tree;
    const isFresh = (node: number) => node < nodes.count && (tree.working.has(node) || now - this.lastWork < FRESH_MS);
    if (this.focus === NONE || !isFresh(this.focus)) this.focus = this.nearestWork();
    if (this.focus === NONE) return;
    if (tree.working.has(this.focus)) this.lastWork = now;
    const [x, y] = tree.centre(this.focus);
    if (!camera.centred(x, y, 0.6) || camera.zoom < WORK_ZOOM) camera.glideTo(x, y, Math.max(camera.zoom, CLOSE_ZOOM));
  }

  private nearestWork(): number {
    const { tree } = this;
    let [best, distance] = [NONE, Infinity];
    for (const node of tree.working) {
      const [x, y] = tree.centre(node);
      // The deepest active node does the actual work. A planner that waits for it is rarely worth a camera move.
      const away = Math.abs(y - tree.camera.y) + Math.abs(x - tree.camera.x) * 0.5;
      if (away < distance) [best, distance] = [node, away];
    }
    return best;
  }
}
