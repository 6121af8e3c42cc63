// The camera: which point of the tree is in the middle of the view, and the zoom. Geometry only.

const NEAREST = 2.5;
const FARTHEST = 0.004;
const GLIDE_MS = 140;
const MARGIN = 28;
/** The height of the controls at the lower edge: nothing should hide behind them. */
const CONTROLS = 40;

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export class Camera {
  x = 0;
  y = 0;
  zoom = 1;
  width = 1;
  height = 1;
  private goal: { x: number; y: number; zoom: number } | null = null;

  get gliding(): boolean {
    return this.goal !== null;
  }

  resize(width: number, height: number): void {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
  }

  /** The part of the tree that is in view. */
  view(): Box {
    const [w, h] = [this.width / 2 / this.zoom, this.height / 2 / this.zoom];
    return { left: this.x - w, right: this.x + w, top: this.y - h, bottom: this.y + h };
  }

  screenX(x: number): number {
    return (x - this.x) * this.zoom + this.width / 2;
  }

  screenY(y: number): number {
    return (y - this.y) * this.zoom + this.height / 2;
  }

  treeX(x: number): number {
    return (x - this.width / 2) / this.zoom + this.x;
  }

  treeY(y: number): number {
    return (y - this.height / 2) / this.zoom + this.y;
  }

  pan(dx: number, dy: number): void {
    this.goal = null;
    this.x -= dx / this.zoom;
    this.y -= dy / this.zoom;
  }

  /** Zooms around a point, which stays under the pointer. */
  zoomAt(x: number, y: number, factor: number): void {
    this.goal = null;
    const [treeX, treeY] = [this.treeX(x), this.treeY(y)];
    this.zoom = Math.min(NEAREST, Math.max(FARTHEST, this.zoom * factor));
    this.x = treeX - (x - this.width / 2) / this.zoom;
    this.y = treeY - (y - this.height / 2) / this.zoom;
  }

  /** Moves with a node that the layout moved. The goal of a glide is a point of the tree, so it stays. */
  shift(dy: number): void {
    this.y += dy;
  }

  glideTo(x: number, y: number, zoom = this.goal?.zoom ?? this.zoom): void {
    this.goal = { x, y, zoom };
  }

  jumpTo(x: number, y: number, zoom = this.zoom): void {
    this.goal = null;
    [this.x, this.y, this.zoom] = [x, y, zoom];
  }

  /** The centre and zoom that show the whole box; the zoom is at most `nearest`. */
  framing(box: Box, nearest: number): { x: number; y: number; zoom: number } {
    const fits = Math.min((this.width - 2 * MARGIN) / (box.right - box.left), (this.height - 2 * MARGIN - CONTROLS) / (box.bottom - box.top));
    const zoom = Math.max(FARTHEST, Math.min(nearest, fits));
    return { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 + CONTROLS / 2 / zoom, zoom };
  }

  /** One frame of gliding. */
  step(ms: number, still: boolean): void {
    const { goal } = this;
    if (!goal) return;
    const part = still ? 1 : 1 - Math.exp(-ms / GLIDE_MS);
    this.x += (goal.x - this.x) * part;
    this.y += (goal.y - this.y) * part;
    this.zoom *= (goal.zoom / this.zoom) ** part;
    // The zoom arrives before the position: cards of one size can be copied from the cache.
    if (Math.abs(goal.zoom / this.zoom - 1) < 0.004) this.zoom = goal.zoom;
    const near = Math.abs(goal.x - this.x) + Math.abs(goal.y - this.y) < 0.5 / this.zoom && this.zoom === goal.zoom;
    if (near) this.jumpTo(goal.x, goal.y, goal.zoom);
  }

  /** Whether a point is in the middle part of the view, so that the camera need not move. */
  centred(x: number, y: number, part: number): boolean {
    const [dx, dy] = [Math.abs(this.screenX(x) - this.width / 2), Math.abs(this.screenY(y) - this.height / 2)];
    return dx <= (this.width / 2) * part && dy <= (this.height / 2) * part;
  }
}
