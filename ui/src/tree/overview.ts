// The overview of a whole run: one square per node in reading order, one block per branch of the root. Ten thousand nodes fit into a
// corner of the screen, and failed and active nodes stand out.

import { NONE, type Nodes } from '../model/nodes';
import type { Palette } from './palette';
import { preorder } from './navigation';

const LARGEST = 12;
const SMALLEST = 2;
const BLOCK_GAP = 3;

/** A colour as a pixel of `ImageData`. */
type Pixel = number;

export class Overview {
  size = LARGEST;
  private perRow = 1;
  private readonly picture: ImageData;
  private readonly pixels: Uint32Array;
  private colours = new Map<string, Pixel>();
  private x = new Float32Array(0);
  private y = new Float32Array(0);
  private count = 0;

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly width: number,
    private readonly height: number,
    /** Device pixels per CSS pixel. */
    private readonly ratio: number,
  ) {
    this.picture = context.createImageData(width * ratio, height * ratio);
    this.pixels = new Uint32Array(this.picture.data.buffer);
  }

  setPalette(): void {
    this.colours.clear();
  }

  /** Gives every node its square. The squares are as large as they can be for all blocks to fit. */
  arrange(nodes: Nodes): void {
    const blocks = this.blocks(nodes);
    for (this.size = LARGEST; this.size > SMALLEST; this.size--) if (this.heightWith(blocks, this.size) <= this.height) break;
    this.perRow = Math.max(1, Math.floor(this.width / this.size));
    this.count = nodes.count;
    if (this.x.length < nodes.count) {
      this.x = new Float32Array(nodes.count * 2);
      this.y = new Float32Array(nodes.count * 2);
    }
    let top = 0;
    for (const block of blocks) {
      block.forEach((node, at) => {
        this.x[node] = (at % this.perRow) * this.size;
        this.y[node] = top + Math.floor(at / this.perRow) * this.size;
      });
      top += Math.ceil(block.length / this.perRow) * this.size + BLOCK_GAP;
    }
  }

  /** Paints all squares in memory and copies the picture once: ten thousand squares cost as much as a few strokes on the canvas. */
  paint(nodes: Nodes, palette: Palette): void {
    this.pixels.fill(this.pixel(palette.surface));
    for (let node = 0; node < Math.min(this.count, nodes.count); node++) this.square(nodes, palette, node);
  }

  /** The status of one node changed. */
  square(nodes: Nodes, palette: Palette, node: number): void {
    if (node >= this.count || node >= nodes.count) return;
    const { ratio, pixels } = this;
    const colour = this.pixel(palette.tone[nodes.tone(node)]);
    const size = (this.size - (this.size > 4 ? 1 : 0)) * ratio;
    const row = this.width * ratio;
    const start = this.y[node] * ratio * row + this.x[node] * ratio;
    if (this.y[node] + this.size > this.height) return;
    for (let line = 0; line < size; line++) pixels.fill(colour, start + line * row, start + line * row + size);
  }

  show(palette: Palette, selected: number): void {
    this.context.putImageData(this.picture, 0, 0);
    if (selected === NONE || selected >= this.count) return;
    const { context, ratio } = this;
    context.strokeStyle = palette.ink;
    context.lineWidth = 2 * ratio;
    context.strokeRect((this.x[selected] - 1) * ratio, (this.y[selected] - 1) * ratio, (this.size + 1) * ratio, (this.size + 1) * ratio);
  }

  private pixel(colour: string): Pixel {
    const known = this.colours.get(colour);
    if (known !== undefined) return known;
    this.context.fillStyle = colour;
    this.context.fillRect(0, 0, 1, 1);
    const [pixel] = new Uint32Array(this.context.getImageData(0, 0, 1, 1).data.buffer);
    this.colours.set(colour, pixel);
    return pixel;
  }

  at(x: number, y: number): number {
    for (let node = 0; node < this.count; node++) {
      if (x >= this.x[node] && x < this.x[node] + this.size && y >= this.y[node] && y < this.y[node] + this.size) return node;
    }
    return NONE;
  }

  /** The root is in the first block, because alone it would be a block of one square. */
  private blocks(nodes: Nodes): number[][] {
    if (nodes.count === 0) return [];
    const branches = [...nodes.children(0)].map((branch) => [...preorder(nodes, branch)]);
    const [first = [], ...others] = branches;
    return [[0, ...first], ...others];
  }

  private heightWith(blocks: number[][], size: number): number {
    const perRow = Math.max(1, Math.floor(this.width / size));
    return blocks.reduce((sum, block) => sum + Math.ceil(block.length / perRow) * size + BLOCK_GAP, 0);
  }
}
