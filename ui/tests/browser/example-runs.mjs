// Example runs in every state, for screenshots.

import { taskAnswers } from './task-runs.mjs';
import { ask, execute, page, plan, together, verdicts } from './answers.mjs';

const long = (topic) => `# ${topic}

${topic} was looked at from three sides: what it costs, what it needs, and what can go wrong.

## In short

- The first winter decides: **insulation** comes before any heater.
- A fan heater is cheap to buy and dear to run; a heat pump is the other way round.
- Whatever is chosen, a *thermometer with an alarm* pays for itself.

| option | price | per year | risk |
|---|---:|---:|---|
| Fan heater | $60 | $240 | power cut |
| Gas | $180 | $160 | fumes, refills |
| Heat pump | $900 | $70 | frost below −15 °C |

## What was measured

1. Heat loss of a 6 m² house with single glass: about 450 W at 0 °C.
2. The same with bubble wrap: about 280 W.

> The numbers come from the data sheet, not from the server itself.

\`\`\`
loss = area × U × ΔT
\`\`\`
`;

const BRANCHES = {
  'Fan heater': ['Running cost', 'Safety near water', 'Noise'],
  'Paraffin and gas': ['Fuel price over ten years', 'Ventilation', 'Refills'],
  'Heat pump': ['Sizing', 'Winter efficiency', 'Installation', 'Grants'],
};

/** Answers for the objective it is asked about; `hold` keeps some calls open so that a picture shows them working. */
export function exampleAnswers(hold) {
  const failed = new Set();
  return async (call) => {
    const { role, title, nth, prompt } = call;
    if (role.startsWith('homework')) return homework(role, nth, prompt, hold);
    if (role.startsWith('agent')) return taskAnswers(call, hold);
    if (role === 'verifier') return verdicts(prompt, judged);
    if (/allotment|^Bed \d/.test(title)) return allotment(role, title, hold);
    if (role === 'tree_planner') {
      if (title in BRANCHES) return title === 'Heat pump' && nth === 1 ? { wait: 300, answer: ask('Which winter should the sizing assume?', ['An average one', 'The coldest in ten years'], 'An average one') } : { wait: 400, answer: plan(`Three sides of ${title}`, BRANCHES[title]) };
      if (/greenhouse/.test(title)) return { wait: 500, answer: plan('One branch per way to heat, then a comparison, then the recommendation', Object.keys(BRANCHES).map((name) => ({ title: name, leaf: false })), ['Compare the three'], ['Write the recommendation']) };
      if (/lighthouse/.test(title)) return { wait: 200, answer: plan('Four sides of the tower', ['The lamp', 'The stairs', 'The keeper', 'The fog horn']) };
      if (/tide/.test(title)) return { wait: 300, answer: plan('Two notes and a synthesis', ['How tides are made', 'Reading a tide table']) };
      return { wait: 200, answer: execute() };
    }
    if (role === 'tree_executor') {
      if (title === 'Noise' && !failed.has(title)) {
        failed.add(title);
        return { wait: 300, status: 400, answer: 'the measurement file is not readable' };
      }
      if (/keeper|fog horn/.test(title)) return { wait: 200, status: 400, answer: 'the archive has no such page' };
      if (['Ventilation', 'Refills', 'Compare the three'].includes(title)) await hold;
      return { wait: 500, answer: page(title, long(title), `${title}: written up with a table and its sources.`) };
    }
    return { wait: 400, answer: together(title, long(title), title === 'Fan heater' ? ['Noise was not measured'] : []) };
  };
}

/** One criterion of each state that a check can leave. */
function judged(text) {
  if (/source/.test(text)) return { verdict: 'not_met', reason: 'The table has four prices and names a source for none of them.' };
  if (/years/.test(text)) return { verdict: 'cannot_tell', reason: 'Nothing that is cited goes back ten years.' };
  return { verdict: 'met', quote: '| option | price | per year | risk |\n|---|---:|---:|---|\n| Fan heater | $60 | $240 | power cut |', reason: 'The table compares three options by price, cost per year and risk.' };
}

/** Large enough for the overview: eight beds of nine rows. */
async function allotment(role, title, hold) {
  const many = (name, n) => Array.from({ length: n }, (_, index) => `${name} ${index + 1}`);
  if (role === 'tree_planner') return plan('One branch per bed', ...(/allotment/.test(title) ? [many('Bed', 8).map((bed) => ({ title: bed, leaf: false }))] : [many(`${title}, row`, 9)]));
  if (role === 'tree_executor' && /Bed [78], row [89]/.test(title)) await hold;
  if (role === 'tree_executor' && /Bed [25], row 4/.test(title)) return { status: 400, answer: 'the row is not on the map' };
  return role === 'tree_executor' ? { wait: 100, answer: page(title, `# ${title}\n\nBeans.`) } : together(title, `# ${title}\n\nPlanted.`);
}

function homework(role, nth, prompt, hold) {
  if (role === 'homework_report') return { title: 'What was found', summary: 'Two pages were written before the limit was reached.', findings: ['The archive has no index'], not_done: ['The third vendor'] };
  if (role === 'homework_executor') return { thought: 'write it down', tool_calls: [], done: true, summary: 'A page on the archive is there.', result_snippet: 'The archive has no index.' };
  const steps = [{ id: 's1', title: 'Find the price lists', status: nth > 1 ? 'done' : 'doing', owner: 'planner' }, { id: 's2', title: 'Compare like with like', status: 'pending', owner: 'executor' }, { id: 's3', title: 'Write the recommendation', status: 'pending', owner: 'planner' }];
  const base = { progress_summary: 'The price lists are being collected.', plan: { steps }, tool_calls: [], executor_tasks: [], remaining_work: [`compare, round ${nth}`], completion_evidence: [], exit_signal: false, needs_user_input: false, blocking_questions: [], next_action_hint: 'execute', confidence: 'medium' };
  const search = { tool: 'search_documents', arguments: { query: 'pricing page' }, purpose: 'find the pricing page' };
  const write = { tool: 'create_document', arguments: { title: `Price list ${nth}`, content: `# Price list ${nth}\n\n- basic: $${9 + nth}\n- team: $${29 + nth}` }, purpose: 'keep what was found' };
  if (/circles/.test(prompt)) return { wait: nth > 4 ? hold : 200, answer: nth === 1 ? { ...base, tool_calls: [write] } : { ...base, remaining_work: ['search the pricing page again'], tool_calls: [search] } };
  if (/currency/.test(prompt)) return { wait: 200, answer: nth === 1 ? { ...base, tool_calls: [write], executor_tasks: [{ branch_id: 'vendor-a', step_id: 's2', title: 'Read the archive of vendor A', objective: 'Find last year’s prices', tools: [] }] } : { ...base, needs_user_input: true, blocking_questions: ['Which currency should the totals use?'], next_action_hint: 'ask_user' } };
  return { wait: 150, answer: { ...base, tool_calls: [write] } };
}

export const RUNS = [
  { kind: 'tree', objective: 'Explain how to read a tide table to somebody who walks on mud flats' },
  { kind: 'homework', objective: 'Collect the price lists of three vendors', budgets: { max_iterations: 2 } },
  { kind: 'homework', objective: 'Compare vendor pricing for a team of ten, in one currency', success_criteria: ['Every price has a source'] },
  { kind: 'homework', objective: 'Find the pricing page of a vendor that sends everybody in circles', budgets: { no_progress_limit: 6, repeat_limit: 5 } },
  { kind: 'tree', objective: 'Plan an allotment of eight beds with nine rows each', budgets: { max_nodes: 200, max_parallel: 8, max_steps_per_band: 10 } },
  { kind: 'tree', objective: 'Describe the old lighthouse for the visitors’ centre', success_criteria: ['A table compares the options', 'Every price has a source', 'The figures cover ten years'], budgets: { max_replans: 0 } },
  { kind: 'tree', objective: 'Compare three ways to heat a small greenhouse through the winter and recommend one', success_criteria: ['Every option has a yearly cost', 'The recommendation names its risks'] },
];

/** What people created: a project with tasks and a document in two versions, and webhooks. */
export async function createExamples(server, hook) {
  const project = await server.api('POST', '/api/projects', { title: 'Greenhouse', description: 'Everything about the new house behind the barn' });
  await server.api('POST', '/api/projects', { title: 'Tide walks', description: 'Texts for the visitors’ centre' });
  const tasks = [['Measure the glass', 'done'], ['Ask the neighbour about his heat pump', 'in_progress'], ['Order a thermometer with an alarm', 'todo'], ['Permit for the gas bottle', 'blocked']];
  for (const [title, state] of tasks) await server.api('POST', '/api/tasks', { title, state, project_id: project.id, description: state === 'blocked' ? 'The office is closed until Monday.' : '' });
  const guide = await server.api('POST', '/api/documents', { title: 'Winter guide', project_id: project.id, content: '# Winter guide\n\nKeep it above 5 °C.\n\n- open the vents at noon\n- water once a week\n\nThe heater stands by the door.\n' });
  await server.api('PATCH', `/api/documents/${guide.id}`, { content: '# Winter guide\n\nKeep it above 7 °C, and above 12 °C for the lemons.\n\n- open the vents at noon\n- water every ten days\n- read the thermometer before bed\n\nThe heater stands by the door.\n' }, { 'if-match': `"${guide.version}"` });
  await server.api('POST', '/api/webhooks', { url: `${hook}/pleach`, kinds: ['question', 'completed', 'failed'] });
  await server.api('POST', '/api/webhooks', { url: `${hook}/gone`, template: 'slack' });
  return { project: project.id, guide: guide.id };
}
