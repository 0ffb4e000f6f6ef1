import { afterAll, beforeAll, expect, test } from 'vitest';
import { chooseRange } from '../../../src/domain/behaviour/measures.ts';
import { DAY_MS } from '../../../src/domain/durations.ts';
import type { Score } from '../../../src/domain/score.ts';
import { createBehaviourScorer, type BehaviourRunInput } from '../../../src/scorers/prebuilt/behaviour.ts';
import { createAgentPasts } from '../../../src/scoring/attempt/agent-pasts.ts';
import { joinAgentKey, type AgentKey } from '../../../src/store/contracts/agent-pasts.ts';
import { openStore } from '../../../src/store/store.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { buildRun } from '../../support/builders/judged-cases.ts';
import { buildScore, testStore, type TestStore } from '../../support/store/store-rows.ts';

const PATH = 'weather → answer';

let it: TestStore;

beforeAll(async () => {
  it = await testStore();
});
afterAll(() => it.stop());

/** Stores what the scorer writes for runs of an agent: the steps with their path, and the tokens. */
async function writeRuns(agent: string, runs: number, more: Partial<Score> = {}): Promise<void> {
  const nowMs = more.scoredAt ?? Date.now();
  const row = { agent, scoredAt: nowMs, day: new Date(nowMs).toISOString().slice(0, 10), ...more };
  const ofRun = (_: unknown, index: number) => [
    buildScore({ ...row, scorer: 'behaviour-steps', score: 2, scoreMin: 0, scoreMax: 10, reason: PATH }),
    buildScore({
      ...row,
      scorer: 'behaviour-tokens',
      score: 1_000 * (index + 1),
      scoreMin: 0,
      scoreMax: 20_000,
    }),
  ];
  await it.store.scores.write(Array.from({ length: runs }, ofRun).flat());
}

function keyOf(agent: string): AgentKey {
  return { tenant: '', target: 'trace', agent };
}

/** Returns the rows that a run of this agent gets, with their ranges. */
async function scoreRun(past: BehaviourRunInput['past']) {
  const input = { ...buildRun(), usage: { totalTokens: 900 }, ...(past === undefined ? {} : { past }) };
  const { scores = [] } = await createBehaviourScorer().run(input as BehaviourRunInput);
  return new Map(scores.map((row) => [row.name, row]));
}

test('a run has a path from 20 stored runs of its agent on, and the range of their tokens', async () => {
  await writeRuns('young', 19);
  await writeRuns('grown', 20);
  const pasts = await it.store.agentPasts.read((name) => name);
  const young = await scoreRun(pasts.get(joinAgentKey(keyOf('young'))));
  const grown = await scoreRun(pasts.get(joinAgentKey(keyOf('grown'))));
  expect([young.has('behaviour-path'), grown.has('behaviour-path')]).toEqual([false, true]);
  expect(grown.get('behaviour-path')?.score).toBeLessThan(0.2);
  expect(young.get('behaviour-tokens')?.range).toEqual([0, 20_000]);
  expect(grown.get('behaviour-tokens')?.range?.[1]).toBeGreaterThan(40_000);
});

test('only live rows of the same tenant, kind and week are the past of an agent', async () => {
  await writeRuns('mixed', 3);
  await writeRuns('mixed', 5, { scoredAt: Date.now() - 9 * DAY_MS });
  await writeRuns('mixed', 5, { tenant: 'b' });
  await writeRuns('mixed', 5, { target: 'agent' });
  await writeRuns('mixed', 5, { scoredBy: 'reviewer' });
  await writeRuns('mixed', 5, { isDeleted: true });
  await writeRuns('', 4, { serviceName: 'nameless' });
  const pasts = await it.store.agentPasts.read((name) => name);
  const countRuns = (key: AgentKey) => pasts.get(joinAgentKey(key))?.transitions.runs;
  expect([
    countRuns(keyOf('mixed')),
    countRuns({ ...keyOf('mixed'), tenant: 'b' }),
    countRuns(keyOf('nameless')),
  ]).toEqual([3, 5, 4]);
});

test('two processes, and one after a restart, choose the same ranges', async () => {
  await writeRuns('shared', 60);
  const other = await openStore(it.options);
  try {
    const clock = { monotonicMs: () => 0, log: silentLog };
    const processes = [it.store, other, it.store].map((store) => createAgentPasts(store.agentPasts, clock));
    const found = await Promise.all(processes.map((pasts) => pasts.find('behaviour', keyOf('shared'))));
    const ranges = found.map((past) => chooseRange('tokens', past?.measures.get('tokens')));
    expect(new Set(ranges).size).toBe(1);
    expect(ranges[0]).toBeGreaterThan(120_000);
  } finally {
    await other.close();
  }
});

test('a process reads the past again while it scores, and not for each run', async () => {
  let nowMs = 0;
  let reads = 0;
  const counted: typeof it.store.agentPasts = {
    read: (nameRow) => {
      reads += 1;
      return it.store.agentPasts.read(nameRow);
    },
  };
  const pasts = createAgentPasts(counted, { monotonicMs: () => nowMs, log: silentLog });
  const countRuns = async () => (await pasts.find('behaviour', keyOf('new')))?.transitions.runs;
  expect(await countRuns()).toBeUndefined();
  await writeRuns('new', 20);
  nowMs = 4_999;
  expect([await countRuns(), reads]).toEqual([undefined, 1]);
  nowMs = 5_000;
  await expect.poll(countRuns).toBe(20);
  expect(reads).toBe(2);
});
