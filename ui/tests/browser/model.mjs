// A model server that a test scripts: it speaks the OpenAI chat protocol over real HTTP and answers by role and node.
//
// `play(call)` gets {role, title, objective, nth, prompt}, nth counting within a run, and returns the answer as a value, or {wait, answer, status, pause}. `wait` is milliseconds or a
// promise, so that a test can hold a call until it has looked. `pause` is a promise too: the answer is streamed up to its middle before it, and on after it.

import http from 'node:http';

export async function startModel(play) {
  const counts = new Map();
  const calls = [];
  const server = http.createServer(async (request, response) => {
    if (request.method === 'GET') return json(response, 200, { object: 'list', data: [{ id: 'scripted', object: 'model' }] });
    let text = '';
    for await (const piece of request) text += piece;
    const body = JSON.parse(text);
    const role = String(request.headers['x-pleach-role']);
    const prompt = body.messages.map((message) => String(message.content)).join('\n');
    const title = /^Node: (.*)$/m.exec(prompt)?.[1] ?? '';
    const objective = /^## (?:objective|task)\n(.*)$/m.exec(prompt)?.[1] ?? '';
    const key = `${role} ${title} ${objective}`;
    const nth = (counts.get(key) ?? 0) + 1;
    counts.set(key, nth);
    const call = { role, title, objective, nth, prompt };
    calls.push(call);
    const said = await play(call);
    const reply = said && typeof said === 'object' && ('answer' in said || 'status' in said) ? said : { answer: said };
    if (typeof reply.wait === 'number') await new Promise((resolve) => setTimeout(resolve, reply.wait));
    else await reply.wait;
    if (reply.status) return json(response, reply.status, { error: { message: reply.answer ?? 'refused by the script' } });
    return answer(response, body, JSON.stringify(reply.answer), reply.pause);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    calls,
    stop: () => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); }),
  };
}

function json(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function answer(response, request, content, pause) {
  const usage = { prompt_tokens: 1_200, completion_tokens: Math.ceil(content.length / 4), total_tokens: 1_200 + Math.ceil(content.length / 4) };
  const common = { id: 'scripted', created: 0, model: request.model };
  if (!request.stream) return json(response, 200, { ...common, object: 'chat.completion', choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }], usage });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (value) => response.write(`data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', ...value })}\n\n`);
  for (let at = 0; at < content.length; at += 400) {
    if (at >= content.length / 2) await pause;
    send({ choices: [{ index: 0, delta: { content: content.slice(at, at + 400) }, finish_reason: null }] });
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  send({ choices: [], usage });
  response.end('data: [DONE]\n\n');
}
