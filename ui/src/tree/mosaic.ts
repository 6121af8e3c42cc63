// The whole run at a glance: one square per node in the order of reading, one block per branch of the root. Ten thousand nodes fit into a
// corner of the screen, and what fails or works is seen at once.

import { NONE, type Nodes } from '../model/nodes';
import { moodOf } from '../model/words';
import type { Palette } from './palette';
import { preorder } from './paths';

const LARGEST = 12;
const SMALLEST = 2;
const BLOCK_GAP = 3;

export class Mosaic {
  size = LARGEST;
  private perRow = 1;
  private x = new Float32Array(0);
  private y = new Float32Array(0);
  private count = 0;

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private width: number,
    private height: number,
  ) {}

  resize(width: number, height: number): void {
    [this.width, this.height] = [width, height];
  }

  /** Give every node its square: the largest squares with which all blocks fit. */
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

  paint(nodes: Nodes, palette: Palette, selected: number): void {
    this.context.fillStyle = palette.surface;
    this.context.fillRect(0, 0, this.width, this.height);
    for (let node = 0; node < Math.min(this.count, nodes.count); node++) this.square(nodes, palette, node);
    if (selected === NONE || selected >= this.count) return;
    this.context.strokeStyle = palette.ink;
    this.context.lineWidth = 2;
    this.context.strokeRect(this.x[selected] - 1, this.y[selected] - 1, this.size + 1, this.size + 1);
  }

  /** One node changed what it does. */
  square(nodes: Nodes, palette: Palette, node: number): void {
    if (node >= this.count || node >= nodes.count) return;
    const gap = this.size > 4 ? 1 : 0;
    this.context.fillStyle = palette.mood[moodOf(nodes.status.get(node))];
    this.context.fillRect(this.x[node], this.y[node], this.size - gap, this.size - gap);
  }

  at(x: number, y: number): number {
    for (let node = 0; node < this.count; node++) {
      if (x >= this.x[node] && x < this.x[node] + this.size && y >= this.y[node] && y < this.y[node] + this.size) return node;
    }
    return NONE;
  }

  /** The root heads the first block: alone it would be a block of one square. */
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
