// The renderer of the tree canvas: when to draw, pointer input, resolution. Nothing is drawn while nothing changes.

import { NONE } from '../model/nodes';
import { Motion } from './motion';
import { Painter } from './painter';
import { onPaletteChange, readPalette } from './palette';
import { heightOf, pulses, Scene } from './scene';
import { CARD_WIDTH } from './dimensions';
import type { Tree } from './tree';

/** The interval of frames for a pulse. Any other motion gets every frame. */
const PULSE_EVERY_MS = 50;
const WINDOW = 60;
const TOO_SLOW_MS = 12;

export interface ScreenBox {
  x: number;
  y: number;
  width: number;
  height: number;
}

export class Renderer {
  readonly motion: Motion;
  readonly scene: Scene;
  private readonly painter: Painter;
  private readonly context: CanvasRenderingContext2D;
  private readonly unsubscribe: (() => void)[] = [];
  private readonly reduced = matchMedia('(prefers-reduced-motion: reduce)');
  private frame: number | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private last = 0;
  private hovered = NONE;
  private pointer: { x: number; y: number } | null = null;
  private ratio = 1;
  private coarse = false;
  private viewed = false;
  private readonly costs: number[] = [];
  private state;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly tree: Tree,
  ) {
    this.state = tree.run.state;
    this.context = canvas.getContext('2d', { alpha: false })!;
    this.motion = new Motion(this.state.nodes, tree.layout);
    this.scene = new Scene(this.state, tree.folding, tree.layout, this.motion);
    this.painter = new Painter(this.context, this.state, tree.folding, readPalette(canvas));
    const resized = new ResizeObserver(() => this.resize());
    resized.observe(canvas);
    this.unsubscribe.push(
      () => resized.disconnect(),
      tree.subscribe(() => this.requestFrame()),
      onPaletteChange(() => this.repaint()),
    );
    this.resize();
  }

  destroy(): void {
    for (const unsubscribe of this.unsubscribe) unsubscribe();
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    if (this.timer !== null) clearTimeout(this.timer);
  }

  /** Requests a frame. */
  requestFrame(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.frame ??= requestAnimationFrame((now) => this.draw(now));
  }

  /** Where the cards are on the screen, by node id. */
  boxes(): Record<string, ScreenBox> {
    const { camera, nodes } = this.tree;
    const boxes: Record<string, ScreenBox> = {};
    for (const { entry, x, y } of this.scene.cards) {
      if (typeof entry !== 'number') continue;
      const height = heightOf(entry) * camera.zoom;
      boxes[nodes.id.get(entry)] = { x: camera.screenX(x), y: camera.screenY(y) - height / 2, width: CARD_WIDTH * camera.zoom, height };
    }
    return boxes;
  }

  pan(dx: number, dy: number): void {
    this.tree.camera.pan(dx, dy);
    this.tree.free();
    this.requestFrame();
  }

  zoom(x: number, y: number, factor: number): void {
    this.tree.camera.zoomAt(x, y, factor);
    this.tree.free();
    this.requestFrame();
  }

  hover(x: number, y: number): boolean {
    this.pointer = { x, y };
    const { camera } = this.tree;
    const entry = this.scene.at(camera.treeX(x), camera.treeY(y))?.entry;
    const node = typeof entry === 'number' ? entry : NONE;
    if (node !== this.hovered) this.requestFrame();
    this.hovered = node;
    return entry !== undefined;
  }

  pointerLeft(): void {
    this.pointer = null;
    if (this.hovered !== NONE) this.requestFrame();
    this.hovered = NONE;
  }

  click(x: number, y: number): void {
    const { camera } = this.tree;
    const entry = this.scene.at(camera.treeX(x), camera.treeY(y))?.entry;
    if (entry === undefined) this.tree.userSelect(NONE);
    else if (typeof entry === 'number') this.tree.userSelect(entry);
    else if (entry.kind === 'stub') this.tree.openStub(entry);
  }

  doubleClick(x: number, y: number): void {
    const { camera, folding } = this.tree;
    const entry = this.scene.at(camera.treeX(x), camera.treeY(y))?.entry;
    if (typeof entry !== 'number') return;
    if (folding.isFolded(entry)) this.tree.fold(entry, false);
    else this.tree.open(entry);
  }

  private repaint(): void {
    this.painter.setPalette(readPalette(this.canvas));
    this.requestFrame();
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas;
    if (clientWidth === 0 || clientHeight === 0) return;
    this.ratio = this.coarse ? 1 : Math.min(2, devicePixelRatio || 1);
    this.canvas.width = Math.round(clientWidth * this.ratio);
    this.canvas.height = Math.round(clientHeight * this.ratio);
    this.tree.camera.resize(clientWidth, clientHeight);
    if (!this.viewed) this.tree.initialView();
    this.viewed = true;
    this.requestFrame();
  }

  private draw(now: number): void {
    this.frame = null;
    const began = performance.now();
    const ms = Math.min(100, now - this.last);
    this.last = now;
    const { tree, motion, scene } = this;
    if (this.state !== tree.run.state) this.reset();
    const still = this.reduced.matches;
    const anchor = this.anchor();
    const before = anchor === NONE ? null : motion.lastY(anchor);
    motion.begin(ms, still);
    for (const node of tree.added.splice(0)) motion.add(node);
    this.painter.invalidate(tree.stale);
    tree.stale.clear();
    // The card that the person looks at stays in place while the tree grows around it.
    if (anchor !== NONE && before !== null) tree.camera.shift(motion.y(anchor) - before);
    tree.step(now);
    tree.camera.step(ms, still);
    scene.look(tree.camera);
    const look = { selected: tree.selectedNode, hovered: this.hovered, found: tree.found, critical: tree.critical, still, tick: now, now: this.clock() };
    this.painter.paint(scene, tree.camera, this.ratio, look);
    this.scheduleNext(still);
    this.watchCost(performance.now() - began);
  }

  /** Requests the next frame at once while something moves, later for a pulse, and not at all when nothing changes. */
  private scheduleNext(still: boolean): void {
    if (this.frame !== null) return;
    if (this.motion.moving || this.tree.camera.gliding || this.painter.late) return this.requestFrame();
    const beats = this.scene.cards.some(({ entry }) => pulses(this.state, entry));
    if (!beats && (this.tree.mode !== 'follow' || this.tree.working.size === 0)) return;
    this.timer ??= setTimeout(() => this.requestFrame(), still ? 1000 : PULSE_EVERY_MS);
  }

  /** The node that should stay in place: the selected one, else the one under the pointer, else the one in the middle of the view. */
  private anchor(): number {
    const { tree } = this;
    const onScreen = (node: number) => this.scene.cards.some(({ entry }) => entry === node);
    if (tree.selectedNode !== NONE && onScreen(tree.selectedNode)) return tree.selectedNode;
    if (this.hovered !== NONE && this.pointer !== null && onScreen(this.hovered)) return this.hovered;
    const node = this.scene.nearest(tree.camera.x, tree.camera.y);
    return node < tree.nodes.count ? node : NONE;
  }

  /** The time for durations; it does not advance while an earlier moment is shown. */
  private clock(): number {
    return this.tree.run.live ? Date.now() : this.state.events.time.get(this.state.undoLog.at);
  }

  private reset(): void {
    this.state = this.tree.run.state;
    this.motion.reset(this.state.nodes);
    this.scene.reset(this.state);
    this.painter.reset(this.state);
  }

  /** Lowers the resolution on a machine that cannot keep up, before frames are dropped. */
  private watchCost(ms: number): void {
    this.costs.push(ms);
    if (this.costs.length < WINDOW) return;
    const median = this.costs.toSorted((a, b) => a - b)[WINDOW >> 1];
    this.costs.length = 0;
    if (median <= TOO_SLOW_MS || this.coarse || this.ratio === 1) return;
    this.coarse = true;
    this.resize();
  }
}
