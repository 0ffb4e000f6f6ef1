import { expect, it } from 'vitest';
import { createScorer } from '../../../src/scorers/evals/create-scorer.ts';
import { DECLARED_FACTOR } from '../../../src/jobs/estimate.ts';
import { createJudgeRegistry } from '../../../src/judge/judge-registry.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import { dryRun } from '../../support/scoring/backfill-runs.ts';
import {
  agentSpan,
  buildRule,
  CountingScorer,
  createTestScoring,
  judged,
  newTraceId,
} from '../../support/scoring/scoring-world.ts';

const HOUR_MS = 3_600_000;
const PRICES = { 'fake/judge': { input: 1, output: 10 } };

/** Scorer that asks twice, and needs no judge for an empty answer. */
const twoSteps = createScorer({
  id: 'asking',
  judge: { model: 'fake/judge', instructions: 'Say what is claimed.' },
})
  .preprocess({
    description: 'claims',
    outputSchema: { jsonSchema: { type: 'object' }, validate: () => ({ ok: false, fault: 'no' }) } as never,
    createPrompt: ({ run }) => `Claims of: ${JSON.stringify(run.output)}`,
  })
  .generateScore({ description: 'score', createPrompt: () => 'How many of them hold?' });

/** Answers no question: a call would fail the test. */
function createScoring(store: MemoryStore) {
  const fetch = () => Promise.reject(new Error('a dry run asked a judge'));
  const judges = createJudgeRegistry(
    { providers: { fake: { baseURL: 'http://127.0.0.1:9/v1' } }, prices: PRICES },
    { fetch, now: () => store.clockMs, random: () => 0 },
  );
  return createTestScoring(store, {}, { judgeScope: { judges } });
}

function fill(store: MemoryStore, count: number, said: string | null = 'It is 18 degrees.') {
  for (let n = 0; n < count; n += 1) {
    const options = { ...(said === null ? {} : { says: said }), startMs: store.clockMs - HOUR_MS + n };
    store.ingest([agentSpan(newTraceId(), 'a', options)]);
  }
}

const ask = (store: MemoryStore, ...scorers: Parameters<typeof buildRule>[0]) => ({
  fromMs: store.clockMs - 24 * HOUR_MS,
  toMs: store.clockMs,
  rules: [buildRule(scorers)],
});

function openFilled(count: number): MemoryStore {
  const store = new MemoryStore();
  fill(store, count);
  store.clockMs += 2 * HOUR_MS;
  return store;
}

it('without stored calls the price is that of declared lengths, asks no judge and stores nothing', async () => {
  const store = openFilled(120);
  const { report, estimate } = await dryRun(createScoring(store), ask(store, twoSteps), { prices: PRICES });
  expect(report).toMatchObject({ matched: 120, remaining: 120 });
  expect(estimate).toMatchObject({
    basis: 'declared_lengths',
    judgeCalls: 240,
    outputTokens: 240 * 500,
    prompts: 50,
    unscored: {},
    isComplete: true,
    scorers: [{ rule: 'r', scorer: 'asking', judges: ['fake/judge'], targets: 120, rendered: 50 }],
  });
  const { costUsd, costLow, costHigh, inputTokens } = estimate;
  expect(costUsd).toBeCloseTo((inputTokens + 10 * 240 * 500) / 1e6, 9);
  expect((costLow ?? 0) * DECLARED_FACTOR).toBeCloseTo(costUsd ?? 0, 9);
  expect((costHigh ?? 0) / DECLARED_FACTOR).toBeCloseTo(costUsd ?? 0, 9);
  expect(
    [store.decisionLog, store.scoreLog, store.runLog, store.judgeCallRows, store.spendRows].flat(),
  ).toEqual([]);
});

it('stored calls of the scorer and its judge tell the price', async () => {
  const store = openFilled(80);
  const sizes = Array.from({ length: 10 }, (_, n) => ({
    tenant: '',
    traceId: '',
    scoreId: `s${n}`,
    scorer: 'asking',
    step: 'preprocess',
    model: 'fake/judge',
    promptBytes: 100,
    isRepeat: false,
    inputTokens: 1_000,
    outputTokens: 100,
    costUsd: 0.002,
    durationMs: 500,
    calledAtMs: 0,
  }));
  const asked = ask(store, twoSteps);
  const { estimate } = await dryRun(createScoring(store), asked, { prices: PRICES, sizes });
  expect(estimate).toMatchObject({
    basis: 'stored_calls',
    judgeCalls: 80,
    inputTokens: 80_000,
    outputTokens: 8_000,
    seconds: 3,
  });
  expect(estimate.costUsd).toBeCloseTo(80 * 0.002, 9);
});

it('pairs that give no score are no calls, and have their reasons', async () => {
  const store = new MemoryStore();
  fill(store, 10);
  fill(store, 30, null);
  store.clockMs += 2 * HOUR_MS;
  const { report, estimate } = await dryRun(createScoring(store), ask(store, twoSteps), { prices: PRICES });
  expect(report.remaining).toBe(40);
  expect(estimate).toMatchObject({ judgeCalls: 20, prompts: 10, unscored: { no_content_captured: 30 } });
});

it('a judge without a price has no cost, and is named', async () => {
  const store = openFilled(3);
  const { estimate } = await dryRun(createScoring(store), ask(store, twoSteps), { prices: {} });
  expect(estimate).toMatchObject({ costUsd: null, costLow: null, costHigh: null, unpriced: ['fake/judge'] });
});

it('code scorers do not run and cost nothing', async () => {
  const store = openFilled(3);
  const code = new CountingScorer('code');
  const { estimate } = await dryRun(createScoring(store), ask(store, code), { prices: PRICES });
  expect(estimate).toMatchObject({ basis: 'none', judgeCalls: 0, costUsd: 0, scorers: [], seconds: 1 });
  expect(code.inputs).toHaveLength(0);
});

it('own scorers that may ask a judge do not run: their stored calls tell the price, or they are named', async () => {
  const store = openFilled(3);
  const own = judged('own');
  const rule = buildRule([own]);
  const [bound] = rule.scorers;
  const slots = { pending: () => 0, low: 1, high: 2 };
  const asked = { ...ask(store, own), rules: [{ ...rule, scorers: [{ ...bound!, own: slots }] }] };
  expect((await dryRun(createScoring(store), asked, { prices: PRICES })).estimate).toMatchObject({
    unknown: ['own'],
    judgeCalls: 0,
  });
  expect(own.inputs).toHaveLength(0);
});
