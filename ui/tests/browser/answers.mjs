// Answers of the scripted model, by role.

const note = (text) => ({ append_markdown: `- ${text}`, tail_preview: text });

export const plan = (summary, ...bands) => ({
  mode: 'plan',
  mode_reason: 'several sides',
  plan: {
    summary,
    bands: bands.map((steps, index) => ({
      index,
      goal: `band ${index + 1}`,
      steps: steps.map((step) => ({ reason: 'it is a side of the matter', success_criteria: ['says what was found'], deliverable: 'document', leaf: true, ...(typeof step === 'string' ? { id: slug(step), title: step } : { id: slug(step.title), ...step }) })),
    })),
  },
  scratchpad: note(summary),
});

export const execute = () => ({ mode: 'execute', mode_reason: 'small', leaf_decision: 'direct', scratchpad: note('does it itself') });

export const ask = (text, options = [], fallback) => ({ mode: 'execute', mode_reason: 'must ask', question: { text, options, ...(fallback ? { default: fallback } : {}) }, scratchpad: note('asks') });

export const page = (title, markdown, summary = `${title} is written.`) => ({
  tool_calls: [],
  artifacts: [{ type: 'document', label: 'page', title, markdown, is_primary: true }],
  result: { kind: 'document', summary, success_assessment: { met: true, notes: 'read it again' }, primary_artifact_label: 'page', parent_hint: { hint_type: 'read_documents', artifact_labels: ['page'] } },
  scratchpad: note(summary),
});

export const together = (title, markdown, gaps = []) => ({
  synthesis: { summary: `${title}: brought together`, key_findings: ['the parts agree'], gaps },
  artifacts: [{ type: 'document', label: 'synthesis', title, markdown, is_primary: true }],
  result: { kind: 'document', summary: `${title}: brought together`, success_assessment: { met: gaps.length === 0 }, primary_artifact_label: 'synthesis', parent_hint: { hint_type: 'read_documents', artifact_labels: ['synthesis'] } },
  next: { should_replan: false },
  scratchpad: note('brought together'),
});

/** The verifier's answer: `judge` says of each criterion, with the references that are cited for it, which verdict it gets and by which quote. */
export const verdicts = (prompt, judge) => ({
  verdicts: [...prompt.matchAll(/^\{"criterion":.*\}$/gm)].map(([line]) => {
    const criterion = JSON.parse(line);
    const { verdict, quote, reason = 'by what is cited' } = judge(criterion.text);
    return { criterion: criterion.criterion, quotes: quote ? [{ ref: criterion.refs[0], text: quote }] : [], reason, verdict };
  }),
});

// Answers of a subagent in a task run.
const step = (more) => ({ action: 'done', path: null, action_name: null, params: null, message: null, thought: null, ...more });
export const visit = (path, thought) => step({ action: 'navigate', path, thought });
export const act = (path, name, params, thought) => step({ action: 'execute', path, action_name: name, params, thought });
export const done = (message) => step({ message });
export const giveUp = (message) => step({ action: 'error', message });
export const remember = (scratchpad) => ({ scratchpad });

/** The first page of this kind that the subagent was shown. */
export const shown = (prompt, kind) => new RegExp(`/${kind}/[0-9a-f]{8}-[0-9a-f-]{27}`).exec(prompt)?.[0] ?? '/whoami';

const slug = (title) => title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-').slice(0, 40);
