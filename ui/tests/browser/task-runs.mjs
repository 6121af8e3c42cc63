// Two subagents for screenshots: one with finished task runs and a scratchpad, one whose task is running.

import { act, done, giveUp, remember, shown, visit } from './answers.mjs';

const PADS = [
  '- The house has its own project; the winter guide is the page people read.\n- Temperatures are in °C.\n- Ask before touching the guide.\n',
  '- The house has its own project; the winter guide is the page people read.\n- Temperatures are in °C; the lemons want 12 °C.\n- Project titles are not mine to change: it was refused.\n- Tasks that are done stay listed, in their own column.\n',
];

/** The model's answers for both subagents; `hold` keeps the archivist's run open. */
export function taskAnswers({ role, objective, nth, prompt }, hold) {
  if (role === 'agent_reflection') return { wait: 200, answer: remember(/vents/.test(objective) ? PADS[0] : /Tick/.test(objective) ? PADS[1] : null) };
  const project = shown(prompt, 'projects');
  if (/vents/.test(objective)) return { wait: 200, answer: [visit(project, 'The project page lists what can be done there.'), act(project, 'create_document', { title: 'Opening the vents', content: '# Opening the vents\n\nAt noon, for an hour, unless there is frost.' }, 'No document says it yet, so a new one is needed.'), done('The hours are written down in a document of their own.')][nth - 1] };
  if (/Tick/.test(objective)) return { wait: 200, answer: [visit(project, 'The tasks are listed on the project’s page.'), act(project, 'update_project', { title: 'Greenhouse (tidy)' }, 'The title could say that it is tidy.'), visit(shown(prompt, 'tasks'), 'Not allowed. The task itself, then.'), act(shown(prompt, 'tasks'), 'update_task', { state: 'in_progress' }, 'Somebody has to begin with it.'), done('One task is in progress now; the project’s title may not be changed.')][nth - 1] };
  if (/gas/.test(objective)) return { wait: 200, answer: giveUp('There is no page about gas bottles in any project I may see.') };
  return nth < 3 ? { wait: 200, answer: [visit(project, 'Begin with the project that has the notes.'), visit(shown(prompt, 'documents'), 'The winter guide is the only long text here.')][nth - 1] } : hold.then(() => done('Sorted.'));
}

/** Creates the subagents and starts four task runs: three end, one does not. */
export async function startTaskRuns(server, project) {
  await server.api('POST', '/api/agents', { handle: 'scout', identity: 'You keep the greenhouse’s pages tidy. You write short sentences and never guess a number.', actions: ['create_document', 'update_document', 'update_task'], projects: [project] });
  await server.api('POST', '/api/agents', { handle: 'archivist', identity: 'You read, and say where things are.', projects: [project] });
  await server.api('POST', '/api/agents', { handle: 'newcomer' });
  const tasks = [['scout', 'Write down when the vents are opened'], ['scout', 'Tick off what is finished'], ['scout', 'Find out what a gas bottle costs'], ['archivist', 'Sort the notes of last winter by plant']];
  const runs = [];
  for (const [agent, objective] of tasks) runs.push((await server.api('POST', '/api/runs', { kind: 'task', agent, objective })).id);
  for (const id of runs.slice(0, 3)) while (!(await server.api('GET', `/api/runs/${id}`)).ended_at) await new Promise((resolve) => setTimeout(resolve, 200));
  return { vents: runs[0], tick: runs[1], gas: runs[2], sorting: runs[3] };
}
