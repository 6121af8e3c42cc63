// Pictures of every page in both themes, wide and narrow: `npm run pictures` writes them to shots/.

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { closeBrowser, openHouse } from './house.mjs';
import { company, RUNS } from './scenes.mjs';

const out = path.resolve(import.meta.dirname, '../../shots');
mkdirSync(out, { recursive: true });

const house = await openHouse(company(new Promise(() => {})));
const page = await house.page();
const runs = [];
for (const run of RUNS) runs.push(await house.api('POST', '/api/runs', run));
const [tide, stopped, asks, circles, greenhouse] = runs.map((run) => run.id);
const project = await house.api('POST', '/api/projects', { title: 'Greenhouse', description: 'Everything about the new house behind the barn' });
await page.goto(house.url);
await page.getByText('no progress').waitFor({ timeout: 60_000 });
await page.getByText('asks, and goes on').waitFor();
await page.waitForTimeout(3_000);
const events = (await house.api('GET', `/api/runs/${greenhouse}/events?limit=1000`)).items;
const node = events.find((event) => event.type === 'tree.node_created' && event.payload.title === 'Fan heater').nodeId;
const { documents } = await house.api('GET', `/api/runs/${tide}/workspace`);
const doc = documents.find((item) => item.type_key === 'document.tree_agent.artifact').id;

const PLACES = {
  runs: '/', inbox: '/questions', documents: '/documents', document: `/documents/${doc}`, projects: '/projects', project: `/projects/${project.id}`, webhooks: '/webhooks', settings: '/settings', nowhere: '/nowhere',
  'run-tree': `/runs/${greenhouse}`, 'run-outline': `/runs/${greenhouse}?view=outline`, 'run-documents': `/runs/${greenhouse}?view=documents`, 'run-events': `/runs/${greenhouse}?view=events`,
  'run-node': `/runs/${greenhouse}?node=${node}`, 'run-node-plan': `/runs/${greenhouse}?node=${node}&tab=plan`, 'run-node-children': `/runs/${greenhouse}?node=${node}&tab=children`,
  'run-past': `/runs/${greenhouse}?at=60`, 'run-report': `/runs/${tide}?view=report`, 'run-asks': `/runs/${asks}`, 'run-circles': `/runs/${circles}`, 'run-stopped': `/runs/${stopped}`,
};
const only = process.argv.slice(2);

for (const theme of ['light', 'dark']) {
  for (const [size, width, height] of [['wide', 1440, 900], ['narrow', 375, 812]]) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height });
    const shoot = async (name) => page.screenshot({ path: path.join(out, `${name}-${size}-${theme}.png`) });
    for (const [name, place] of Object.entries(PLACES)) {
      if (only.length > 0 && !only.includes(name)) continue;
      await page.goto(house.url + place);
      await page.getByRole('heading').first().waitFor();
      await page.waitForTimeout(900);
      await shoot(name);
    }
    if (only.length > 0 && !only.includes('dialogs')) continue;
    await page.goto(house.url);
    await page.getByRole('button', { name: 'New run' }).and(page.locator(':visible')).first().click();
    await page.waitForTimeout(300);
    await shoot('new-run');
    await page.goto(`${house.url}/runs/${stopped}`);
    await page.getByRole('button', { name: 'Raise limits and continue' }).click();
    await page.waitForTimeout(300);
    await shoot('raise-limits');
    await page.goto(house.url);
    await page.getByRole('button', { name: 'Answer' }).first().click();
    await page.waitForTimeout(300);
    await shoot('runs-answering');
  }
}
await house.close().catch((error) => console.error(error.message));
await closeBrowser();
