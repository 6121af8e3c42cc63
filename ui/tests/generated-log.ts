// Generates logs of large tree runs from a seed: the events that the engine would store. Used where a recorded
// log would be too large to keep, and where many different trees are wanted.

import type { StoredEvent } from '../src/model/run';

export function random(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const VERBS = ['Research', 'Compare', 'Draft', 'Verify', 'Summarise', 'Collect', 'Rewrite', 'Test', 'Outline', 'Measure', 'Extract', 'Check'];
const OBJECTS = [
  'pricing pages of competitors',
  'the storage layer',
  'event contract edge cases',
  'a batch of user interviews',
  'API error handling',
  'section 3 of the report',
  'the retry policy',
  'benchmarks on two cores',
  'citations and sources',
  'the onboarding flow',
  'database migrations',
  'open questions',
];

interface Grower {
  id: string;
  parent: Grower | null;
  depth: number;
  stage: Stage;
  bands: { id: string; title: string }[][];
  band: number;
  open: number;
  calls: number;
  effects: number;
}

type Stage = 'linked' | 'planning' | 'planned' | 'delegating' | 'executing' | 'writing' | 'making' | 'result' | 'ending' | 'aggregating' | 'aggregated';

const BRIEF = {
  kind: 'tree',
  objective: 'Compare vendors of storage and recommend one',
  scope: 'global',
  projectIds: [],
  successCriteria: [],
  tools: [],
  budgets: { max_cost_usd: 50, max_nodes: 10000, max_depth: 9 },
  models: Object.fromEntries(['fast', 'balanced', 'powerful'].map((profile) => [profile, { provider: 'rehearsal', model: 'default', price: { input: 1, cached: 1, output: 1 } }])),
  owner: '00000000-0000-7000-8000-00000000000a',
  workspaceProjectId: '00000000-0000-7000-8000-00000000000b',
};

export interface GrowthOptions {
  nodes: number;
  seed?: number;
  /** Nodes worked on at a time. */
  parallel?: number;
  failures?: number;
  depth?: number;
}

/** The whole log of a run that grows to so many nodes and ends. */
export function grow({ nodes, seed = 7, parallel = 48, failures = 0.03, depth: deepest = 9 }: GrowthOptions): StoredEvent[] {
  const chance = random(seed + nodes);
  const events: StoredEvent[] = [];
  const working: Grower[] = [];
  let made = 0;
  let time = Date.parse('2026-01-05T09:30:00.000Z');
  const uuid = (kind: number, number: number) => `0${kind}a1de91-${String(number % 10000).padStart(4, '0')}-7000-8000-${String(number).padStart(12, '0')}`;
  const title = () => `${VERBS[(chance() * VERBS.length) | 0]} ${OBJECTS[(chance() * OBJECTS.length) | 0]}`;
  const say = (type: string, node: Grower | null, payload: unknown) => {
    time += 1 + ((chance() * 8) | 0);
    events.push({
      runId: uuid(9, 1),
      seq: events.length + 1,
      ...(node ? { nodeId: node.id } : {}),
      ...(node?.parent ? { parentNodeId: node.parent.id } : {}),
      type,
      timestamp: new Date(time).toISOString(),
      payload,
    } as StoredEvent);
  };
  const effectOf = (node: Grower) => `tag.n${node.id.slice(-5)}.e${node.effects}`;
  const call = (node: Grower, what: string) => {
    node.effects++;
    say('effect.started', node, { effect: effectOf(node), attempt: 1, what, model: 'rehearsal/default', reserve: { tokens: 8000, costUsd: 0.02 } });
  };
  const answer = (node: Grower) => {
    const settled = { tokensIn: 800 + ((chance() * 3000) | 0), tokensOut: (chance() * 900) | 0, tokensCached: 0, costUsd: Math.round(chance() * 9000) / 1e6 };
    say('effect.finished', node, { effect: effectOf(node), attempt: 1, outcome: 'ok', settled });
  };
  const create = (parent: Grower | null, band: number, step: number, given?: { id: string; title: string }): Grower => {
    const depth = parent ? parent.depth + 1 : 0;
    const node: Grower = { id: uuid(1, made++), parent, depth, stage: 'linked', bands: [], band: -1, open: 0, calls: 0, effects: 0 };
    const payload = { title: given?.title ?? BRIEF.objective, reason: 'needed', successCriteria: ['cites a source'], depth, bandIndex: band, stepIndex: step };
    say('tree.node_created', node, { ...payload, ...(given ? { stepId: given.id } : {}), deliverable: 'document' });
    if (parent && given) {
      say('tree.node_delegated', parent, { childNodeId: node.id, stepId: given.id });
      parent.open++;
    }
    working.push(node);
    return node;
  };
  const launch = (node: Grower) => {
    node.band++;
    node.bands[node.band].forEach((step, index) => {
      if (made >= nodes) return;
      say('tree.step_status', node, { stepId: step.id, status: 'running' });
      create(node, node.band, index, step);
    });
  };
  const rest = (node: Grower) => working.splice(working.indexOf(node), 1);
  const over = (node: Grower, status: string) => {
    rest(node);
    const { parent } = node;
    if (!parent) return;
    const step = parent.bands[parent.band].find((_, index) => index === parent.bands[parent.band].length - parent.open);
    if (step) say('tree.step_status', parent, { stepId: step.id, status });
    parent.open--;
    if (parent.open > 0) return;
    if (parent.band + 1 < parent.bands.length && made < nodes) return launch(parent);
    parent.stage = 'aggregating';
    working.push(parent);
  };
  const plan = (node: Grower) => {
    const bands = 1 + ((chance() * 3) | 0);
    node.bands = Array.from({ length: bands }, (_, band) => Array.from({ length: 2 + ((chance() * (node.depth < 2 ? 6 : 4)) | 0) }, (_, step) => ({ id: `s${band}.${step}`, title: title() })));
    say('tree.plan_created', node, {
      planId: uuid(4, made),
      version: 1,
      summary: `${bands} bands`,
      bands: node.bands.map((steps, index) => ({ index, steps: steps.map((step) => ({ ...step, deliverable: 'document' })) })),
    });
  };
  const advance = (node: Grower): Stage | null => {
    switch (node.stage) {
      case 'linked':
        say('tree.scratchpad_linked', node, { scratchpadDocId: uuid(2, Number(node.id.slice(-12))) });
        return 'planning';
      case 'planning': {
        say('tree.node_status', node, { status: 'planning', role: 'planner' });
        call(node, 'tree_planner');
        const grows = made < nodes && node.depth < deepest && (node.depth < 2 || chance() < (node.depth < 5 ? 0.38 : 0.22));
        return grows ? 'planned' : 'executing';
      }
      case 'planned':
        answer(node);
        plan(node);
        return 'delegating';
      case 'delegating':
        say('tree.node_status', node, { status: 'delegating', role: 'planner' });
        rest(node);
        launch(node);
        say('tree.node_status', node, { status: 'waiting', role: 'planner' });
        if (node.open > 0) return null;
        working.push(node);
        return 'aggregating';
      case 'executing':
        answer(node);
        say('tree.node_status', node, { status: 'executing', role: 'executor', message: 'leaf_decision:direct' });
        call(node, 'tree_executor');
        return 'writing';
      case 'writing':
        say('tree.scratchpad_updated', node, {
          scratchpadDocId: uuid(2, Number(node.id.slice(-12))),
          tailPreview: `${title()}: found 3 sources, 1 contradicts.`,
          updatedAt: new Date(time).toISOString(),
          entryKey: `k${events.length}`,
          markdown: title(),
        });
        return chance() < 0.5 ? 'writing' : 'making';
      case 'making':
        answer(node);
        if (chance() < 0.4) {
          const id = Number(node.id.slice(-12));
          say('tree.artifact_created', node, { artifactId: uuid(3, id), artifactType: 'document', documentId: uuid(5, id), label: 'page' });
        }
        return 'result';
      case 'result':
        say('tree.node_result', node, { result: { kind: 'document', summary: title(), artifactIds: [], documentIds: [] } });
        return 'ending';
      case 'ending':
        if (chance() < failures) say('tree.node_failed', node, { error: 'the tool timed out', retryable: true });
        else say('tree.node_completed', node, { outcome: 'success' });
        over(node, 'completed');
        return null;
      case 'aggregating':
        say('tree.node_status', node, { status: 'aggregating', role: 'executor' });
        call(node, 'tree_aggregator');
        return 'aggregated';
      case 'aggregated':
        answer(node);
        say('tree.node_aggregated', node, { childIds: [], summary: title(), successAssessment: { met: true } });
        return 'result';
    }
  };
  say('run.queued', null, BRIEF);
  say('tree.run_started', null, { workspaceProjectId: BRIEF.workspaceProjectId, rootNodeId: uuid(1, 0) });
  const root = create(null, 0, 0);
  while (working.length > 0) {
    const node = working[(chance() * Math.min(working.length, parallel)) | 0];
    node.stage = advance(node) ?? node.stage;
    // All work is done and the tree is still too small: the root wants more.
    if (working.length === 0 && made < nodes) {
      say('tree.node_reopened', root, { generation: 2, causedBy: uuid(1, made) });
      root.bands.push(Array.from({ length: 6 }, (_, step) => ({ id: `m${made}.${step}`, title: title() })));
      root.band = root.bands.length - 2;
      launch(root);
    }
  }
  say('run.completed', null, { detail: 'the root completed' });
  return events;
}
