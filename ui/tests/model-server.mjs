// A model server on the loopback that answers by role, as a browser test or a recording needs it: OpenAI Chat Completions, streamed when asked.
// A script is a function per role: (request) => answer; request.title is the node's, request.nth counts calls for that role and title.

import { createServer } from 'node:http';

export function modelServer(script, { latency = 0 } = {}) {
  const counts = new Map();
  const answerTo = (role, body) => {
    const text = body.messages.map((message) => (typeof message.content === 'string' ? message.content : JSON.stringify(message.content))).join('\n');
    const title = /^Node: (.*)$/m.exec(text)?.[1] ?? '';
    const key = `${role} ${title}`;
    const nth = (counts.get(key) ?? 0) + 1;
    counts.set(key, nth);
    const answer = script[role]?.({ title, nth, text });
    return answer ?? { error: `no script for ${role}` };
  };
  const server = createServer(async (request, response) => {
    let raw = '';
    for await (const chunk of request) raw += chunk;
    if (request.method === 'GET') return response.setHeader('content-type', 'application/json').end(JSON.stringify({ object: 'list', data: [{ id: 'scripted', object: 'model' }] }));
    const body = JSON.parse(raw);
    const answer = answerTo(request.headers['x-pleach-role'], body);
    await new Promise((resolve) => setTimeout(resolve, typeof latency === 'function' ? latency(answer) : latency));
    if (answer.status) return response.writeHead(answer.status).end(JSON.stringify({ error: { message: 'as scripted' } }));
    const content = typeof answer === 'string' ? answer : JSON.stringify(answer);
    const usage = { prompt_tokens: Math.ceil(raw.length / 4), completion_tokens: Math.ceil(content.length / 4), total_tokens: 0 };
    const whole = (choice) => JSON.stringify({ id: 'c', object: 'chat.completion', model: body.model, choices: [choice], usage });
    if (!body.stream) return response.setHeader('content-type', 'application/json').end(whole({ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }));
    response.setHeader('content-type', 'text/event-stream');
    for (let at = 0; at < content.length; at += 40) {
      const delta = { content: content.slice(at, at + 40) };
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`);
    }
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`);
    response.write(`data: ${JSON.stringify({ choices: [], usage })}\n\n`);
    response.end('data: [DONE]\n\n');
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve({ url: `http://127.0.0.1:${server.address().port}/v1`, close: () => server.close() }));
  });
}

const pad = (words) => ({ append_markdown: words, tail_preview: words });

export const say = {
  leaf: () => ({ mode: 'execute', mode_reason: 'small enough', leaf_decision: 'direct', scratchpad: pad('I do it myself.') }),
  ask: (text, options) => ({ mode: 'execute', mode_reason: 'not clear', question: { text, options }, scratchpad: pad('I have to ask.') }),
  /** Bands of [id, title] pairs; a title that ends with a dot is a leaf. */
  plan: (bands) => ({
    mode: 'plan',
    mode_reason: 'several parts',
    plan: {
      summary: `${bands.length} bands`,
      bands: bands.map((steps, index) => ({
        index,
        goal: `band ${index}`,
        steps: steps.map(([id, title]) => ({ id, title, reason: 'needed', success_criteria: ['it is written'], deliverable: 'document', leaf: title.endsWith('.') })),
      })),
    },
    scratchpad: pad('This is the plan.'),
  }),
  page: (title) => ({
    tool_calls: [],
    artifacts: [{ type: 'document', label: 'page', title, markdown: `# ${title}\n\nWritten.`, is_primary: true }],
    result: { kind: 'document', summary: `${title} is written`, success_assessment: { met: true }, primary_artifact_label: 'page', parent_hint: { hint_type: 'read_documents', artifact_labels: ['page'] } },
    scratchpad: pad(`Wrote ${title}`),
  }),
  look: (query) => ({ tool_calls: [{ tool: 'search_documents', arguments: { query }, purpose: 'see what is there' }], artifacts: [], scratchpad: pad('Looking first.') }),
  joined: (title, replan) => ({
    synthesis: { summary: `${title} joined`, key_findings: ['all there'], gaps: [] },
    artifacts: [{ type: 'document', label: 'whole', title, markdown: `# ${title}\n\nJoined.`, is_primary: true }],
    result: { kind: 'document', summary: `${title} is joined`, success_assessment: { met: true }, primary_artifact_label: 'whole', parent_hint: { hint_type: 'read_documents', artifact_labels: ['whole'] } },
    next: { should_replan: replan !== undefined, reason: replan ?? null },
    scratchpad: pad(`Joined ${title}`),
  }),
};
