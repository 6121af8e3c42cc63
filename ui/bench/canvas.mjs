// npm run canvas: promises of the canvas that only a real browser can show. Each is a few lines; all run on one page each.

import assert from 'node:assert/strict';
import { browser, site } from './browser.mjs';

const [served, chromium] = [await site(), await browser()];

async function open(query, options = {}) {
  const context = await chromium.newContext({ viewport: { width: 1280, height: 720 }, ...options });
  const page = await context.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  await page.goto(`${served.url}?${query}`);
  await page.evaluate(() => window.ready);
  await page.waitForTimeout(900);
  return { page, errors, close: () => context.close() };
}

const boxes = (page) => page.evaluate(() => window.__tree.boxes());
const feed = (page, count) =>
  page.evaluate((many) => {
    const { run, rest } = window.bench;
    run.applyEvents(rest.splice(0, many));
  }, count);

/** What is drawn at a point, as r, g, b. */
const pixel = (page, x, y) =>
  page.evaluate(([left, top]) => [...document.querySelector('canvas').getContext('2d').getImageData(left, top, 1, 1).data].slice(0, 3), [Math.round(x), Math.round(y)]);
const token = (page, name) =>
  page.evaluate((property) => {
    const probe = document.createElement('i');
    probe.style.color = `var(--${property})`;
    document.body.append(probe);
    const colour = getComputedStyle(probe).color.match(/\d+/g).map(Number);
    probe.remove();
    return colour;
  }, name);

const promises = {
  'cards at rest do not overlap on the screen': async () => {
    const { page, errors, close } = await open('nodes=400&part=0.6');
    await page.evaluate(() => window.bench.tree.fit());
    await page.waitForTimeout(1500);
    const all = Object.values(await boxes(page));
    assert.ok(all.length > 20, `${all.length} cards`);
    for (const [at, a] of all.entries()) {
      for (const b of all.slice(at + 1)) {
        const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
        assert.ok(apart, `${JSON.stringify(a)} over ${JSON.stringify(b)}`);
      }
    }
    assert.deepEqual(errors, []);
    await close();
  },

  'the selected card stays where it is while the tree grows around it': async () => {
    const { page, close } = await open('nodes=600&part=0.5');
    const [id, before] = Object.entries(await boxes(page)).find(([, box]) => box.y > 250 && box.y < 450 && box.x > 200);
    await page.evaluate((node) => (window.bench.tree.select(node), window.bench.tree.free()), id);
    for (let turn = 0; turn < 8; turn++) {
      await feed(page, 60);
      await page.waitForTimeout(120);
    }
    await page.waitForTimeout(600);
    const after = (await boxes(page))[id];
    assert.ok(Math.abs(after.y - before.y) < 2 && Math.abs(after.x - before.x) < 2, `moved from ${before.y} to ${after.y}`);
    await close();
  },

  'a click selects, in both themes the border has the colour of the status': async () => {
    for (const theme of ['light', 'dark']) {
      const { page, close } = await open(`log=logs/rehearsed-tree.jsonl&theme=${theme}`);
      const done = await page.evaluate(() => [...window.bench.run.nodes()].find((node) => node.status === 'completed' && node.depth === 1).id);
      const box = (await boxes(page))[done];
      const [drawn, wanted] = [await pixel(page, box.x + box.width / 2, box.y), await token(page, 'done')];
      assert.ok(drawn.every((part, at) => Math.abs(part - wanted[at]) < 60), `${theme}: ${drawn} is not ${wanted}`);
      await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
      assert.equal(await page.evaluate(() => window.bench.tree.selected), done);
      await close();
    }
  },

  'nothing is drawn while nothing happens': async () => {
    const { page, close } = await open('nodes=60');
    await page.waitForTimeout(1500);
    const frames = await page.evaluate(async () => {
      let drawn = 0;
      const real = CanvasRenderingContext2D.prototype.setTransform;
      CanvasRenderingContext2D.prototype.setTransform = function (...matrix) {
        drawn++;
        return real.apply(this, matrix);
      };
      await new Promise((resolve) => setTimeout(resolve, 1500));
      return drawn;
    });
    assert.equal(frames, 0);
    await close();
  },

  'with reduced motion nothing glides: cards are where they belong in the next frame': async () => {
    const { page, close } = await open('nodes=30&part=0.3', { reducedMotion: 'reduce' });
    await feed(page, 400);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));
    await page.waitForTimeout(450);
    const first = await boxes(page);
    await page.waitForTimeout(700);
    assert.deepEqual(await boxes(page), first);
    await close();
  },

  'the keys work on the canvas: arrows move, Space folds, e finds a failure': async () => {
    const { page, close } = await open('nodes=400&part=0.7');
    await page.focus('[role=application]');
    await page.keyboard.press('Home');
    assert.equal(await page.evaluate(() => window.bench.tree.selectedNode), 0);
    await page.keyboard.press('ArrowRight');
    const child = await page.evaluate(() => window.bench.tree.selectedNode);
    assert.notEqual(child, 0);
    await page.keyboard.press('Space');
    const folded = await page.evaluate((node) => !window.bench.tree.folding.hasChildren(node) || window.bench.tree.folding.isFolded(node), child);
    assert.ok(folded);
    await page.keyboard.press('e');
    await page.waitForTimeout(900);
    const failed = await page.evaluate(() => window.bench.run.node(window.bench.tree.selected));
    assert.equal(failed.status, 'failed');
    const box = (await boxes(page))[failed.id];
    assert.ok(box.x > 0 && box.x + box.width < 1280 && box.y > 0 && box.y + box.height < 720, JSON.stringify(box));
    await close();
  },
};

let failures = 0;
for (const [promise, check] of Object.entries(promises)) {
  try {
    await check();
    console.log(`ok   ${promise}`);
  } catch (error) {
    failures++;
    console.log(`FAIL ${promise}\n     ${error.message.split('\n').slice(0, 4).join('\n     ')}`);
  }
}
await chromium.close();
await served.close();
process.exit(failures === 0 ? 0 : 1);
