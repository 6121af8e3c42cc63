// An MCP server over stdio with one tool, send_letter: `node mcp-server.mjs FILE` appends each letter to the file.

import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const TOOL = {
  name: 'send_letter',
  description: 'Sends a letter',
  inputSchema: { type: 'object', properties: { subject: { type: 'string' }, body: { type: 'string' }, to: { type: 'string' } }, required: ['to'] },
};

const ANSWERS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'post', version: '1' } }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [TOOL] }),
  'tools/call': ({ arguments: letter }) => {
    appendFileSync(process.argv[2], `${JSON.stringify(letter)}\n`);
    return { content: [{ type: 'text', text: 'sent' }] };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === '') continue;
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = ANSWERS[method];
  const body = answer ? { result: answer(params ?? {}) } : { error: { code: -32601, message: `no ${method} here` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`);
}
