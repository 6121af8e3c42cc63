// Words on the page about a run's plan, its events and a subagent's notes.

import { expect, test } from 'vitest';
import type { Scratchpad } from '../src/api/shapes';
import { eventText } from '../src/components/event-text';
import { origin } from '../src/pages/agents/origin';
import { withoutPlan } from '../src/pages/run/plan-text';

test('t5 a tree without a plan says why there is none', () => {
  const root = (status: string, role: 'planner' | 'executor', paused = false) => withoutPlan({ status: status as 'planning', role, paused });
  expect(withoutPlan(undefined)).toBe('No plan yet.');
  expect(root('planning', 'planner')).toBe('The root is planning.');
  expect(root('planning', 'planner', true)).toBe('The root is paused and has no plan yet.');
  expect(root('blocked', 'planner')).toBe('The root waits for an answer before it plans.');
  expect(root('failed', 'planner')).toBe('The root failed before it had a plan.');
  expect(root('canceled', 'planner')).toBe('The root was canceled before it had a plan.');
  expect(root('executing', 'executor')).toBe('The root does it without a plan.');
  expect(root('completed', 'executor')).toBe('The root did it without a plan.');
  expect(root('failed', 'executor')).toBe('The root tried to do it without a plan, and failed.');
});

test('t7 where many nodes are mixed, an event calls its node by number and title', () => {
  const nodeName = () => ({ ordinal: 4, title: 'Running costs of heat pumps in houses of the sixties' });
  const event = { type: 'tree.tool_call_result', nodeId: 'x', payload: { ok: true, tool: 'search', summary: '1 found' } };
  expect(eventText(event, nodeName)).toBe('n4: ✓ search: 1 found');
  expect(eventText(event, nodeName, true)).toBe('n4 Running costs of heat pumps in houses o…: ✓ search: 1 found');
  expect(eventText({ ...event, type: 'effect.started', payload: { attempt: 1, what: 'tree_planner', effect: 'a.n4.g1.plan' } }, nodeName, true)).toBe(
    'n4 Running costs of heat pumps in houses o…: tree_planner called (a.n4.g1.plan)',
  );
});

test('t7 a read is told of the reader', () => {
  const read = { type: 'tree.artifact_read', nodeId: 'x', payload: { artifactId: 'a', byNodeId: 'x' } };
  expect(eventText(read, () => ({ ordinal: 0, title: 'Root' }))).toBe('n0 read what another node made');
});

test('t10 a version that the subagent wrote is not by hand', () => {
  const pad = (more: Partial<Scratchpad>): Scratchpad => ({ version: 1, content: '', characters: 0, at: null, run_id: null, seq: null, step: null, ...more }) as Scratchpad;
  const runs = [{ id: 'r', objective: 'Write the hours down' }];
  expect(origin(pad({ actor: { kind: 'subagent', id: 's' } }), runs)).toBe('by itself, outside a task');
  expect(origin(pad({ actor: { kind: 'person', id: 'p' } }), runs)).toBe('by hand');
  expect(origin(pad({ actor: { kind: 'subagent', id: 's' }, run_id: 'r', step: 2 }), runs)).toBe('in step 2 of “Write the hours down”');
  expect(origin(pad({ actor: { kind: 'subagent', id: 's' }, run_id: 'r' }), runs)).toBe('after “Write the hours down”');
  expect(origin(pad({ actor: { kind: 'platform' }, run_id: 'r' }), runs)).toBe('lessons of a run that succeeded');
});
