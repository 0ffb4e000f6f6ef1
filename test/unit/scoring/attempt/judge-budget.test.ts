import { describe, expect, it } from 'vitest';
import type { PriceTable } from '../../../../src/domain/money/model-prices.ts';
import { createJudgeRegistry } from '../../../../src/judge/judge-registry.ts';
import { askForText, type JudgeModel } from '../../../../src/judge/judge.ts';
import type { Rule } from '../../../../src/scoring/select/rule.ts';
import { scoreTraces } from '../../../../src/scoring/score-traces.ts';
import { MemoryStore } from '../../../support/fakes/memory-store.ts';
import { modelObject } from '../../../support/builders/model-object.ts';
import {
  agentSpan,
  CountingScorer,
  buildLiveMode,
  newTraceId,
  createTestScoring,
  buildRule,
} from '../../../support/scoring/scoring-world.ts';

const MIDNIGHT_MS = Date.UTC(2026, 10, 22);

/** A scorer that asks a judge these questions, one after the other. */
function asking(model: JudgeModel, ...questions: string[]): CountingScorer {
  const ask = async () => {
    for (const prompt of questions) {
      await askForText(model, { instructions: 'Judge.', prompt });
    }
    return { score: 1 };
  };
  return new CountingScorer('asking', ask, 'scripted/judge-1');
}

async function scoreOne(prices: PriceTable, ...rules: Rule[]) {
  const store = new MemoryStore();
  const mode = await buildLiveMode(store, ...rules);
  const traceId = newTraceId();
  store.ingest([agentSpan(traceId, 'a', { says: 'It rains.' })]);
  store.clockMs += 60_000;
  const scoring = createTestScoring(store, {}, { judgeScope: { judges: createJudgeRegistry({ prices }) } });
  await scoreTraces(scoring, [{ tenant: '', traceId }], mode);
  await scoring.budget.giveBack();
  const range = { fromMs: MIDNIGHT_MS - 86_400_000, toMs: MIDNIGHT_MS, openSinceMs: 0 };
  const { bookedUsd } = await store.stores.judgeCalls.readSpending({ kind: 'rule', name: 'r' }, range);
  return { decisions: store.decisions(), bookedUsd };
}

/** The AI SDK's error for an answer with this status, which is recognised by its shape. */
function apiFault(statusCode: number): Error {
  return Object.assign(new Error('no'), {
    [Symbol.for('vercel.ai.error.AI_APICallError')]: true,
    statusCode,
    responseBody: '{}',
  });
}

/** A million tokens in for 100 USD, as many out for 1,000 USD: 500 expected output tokens are half a dollar. */
const DEAR = { 'scripted/judge-1': { input: 100, cachedInput: 100, output: 1000 } };

describe('the budget of a rule', () => {
  it('that is below the estimate of one call allows no call, and the decision says so until midnight', async () => {
    const model = modelObject(() => 'fine');
    const rule = buildRule([asking(model, 'Does it rain?')], { budget: { perDay: 0.0001 } });
    const { decisions, bookedUsd } = await scoreOne(DEAR, rule);
    expect(model.calls).toHaveLength(0);
    expect(bookedUsd).toBe(0);
    expect(decisions).toMatchObject([{ status: 'deferred', nextAttemptAt: MIDNIGHT_MS }]);
    expect(decisions[0]?.reason).toMatch(
      /^budget_exhausted: a call to scripted\/judge-1 is estimated at 0\.50\d+ USD; of rule r's budget of 0\.0001 USD a UTC day, 0 USD are spent and 0 USD reserved/,
    );
  });

  it('is charged what the call really cost, 100 tokens in and 10 out', async () => {
    const model = modelObject(() => 'fine');
    const rule = buildRule([asking(model, 'Does it rain?')], { budget: { perDay: 5 } });
    const { decisions, bookedUsd } = await scoreOne(DEAR, rule);
    expect(decisions).toMatchObject([{ status: 'scored', costUsd: 0.02 }]);
    expect(bookedUsd).toBeCloseTo(0.02);
  });

  it('is charged the estimate when the provider reports no usage', async () => {
    const model = modelObject(() => 'fine', { usage: {} });
    const rule = buildRule([asking(model, 'Does it rain?')], { budget: { perDay: 5 } });
    const { decisions, bookedUsd } = await scoreOne(DEAR, rule);
    expect(decisions).toMatchObject([{ status: 'scored', costUsd: expect.closeTo(0.5, 1) }]);
    expect(bookedUsd).toBeGreaterThan(0.5);
  });

  it.each([
    ['nothing for a call that the provider refused', apiFault(401), 0],
    ['nothing for a call that failed on the provider', apiFault(500), 0],
    ['the estimate for a call that a gateway gave up on', apiFault(504), 0.5],
    ['the estimate for a reply that broke off', new TypeError('terminated'), 0.5],
  ])('is charged %s', async (_what, fault, leastUsd) => {
    const model = modelObject(() => Promise.reject(fault));
    const ask = async () => {
      await askForText(model, { instructions: 'Judge.', prompt: 'Why?', settings: { maxRetries: 0 } });
      return { score: 1 };
    };
    const scorer = new CountingScorer('asking', ask, 'scripted/judge-1');
    const { decisions, bookedUsd } = await scoreOne(DEAR, buildRule([scorer], { budget: { perDay: 5 } }));
    expect(decisions).toMatchObject([{ status: 'deferred' }]);
    expect(bookedUsd).toBeGreaterThanOrEqual(leastUsd);
    expect(bookedUsd).toBeLessThan(leastUsd + 0.1);
  });

  it('never defers a judge that costs nothing', async () => {
    const model = modelObject(() => 'fine');
    const rule = buildRule([asking(model, 'Does it rain?')], { budget: { perDay: 0.0001 } });
    const { decisions, bookedUsd } = await scoreOne({ 'scripted/judge-1': { input: 0, output: 0 } }, rule);
    expect(decisions).toMatchObject([{ status: 'scored', costUsd: 0 }]);
    expect(bookedUsd).toBe(0);
  });

  it('allows no call of a judge without a known price, and names the line to add', async () => {
    const model = modelObject(() => 'fine');
    const rule = buildRule([asking(model, 'Does it rain?')], { budget: { perDay: 5 } });
    const { decisions } = await scoreOne({}, rule);
    expect(model.calls).toHaveLength(0);
    expect(decisions[0]?.status).toBe('failed');
    expect(decisions[0]?.reason).toContain('prices: { scripted/judge-1: { input: 0.25, output: 2 } }');
  });

  it('stops a scorer between two questions; the first is paid', async () => {
    const model = modelObject(() => 'fine');
    const rule = buildRule([asking(model, 'Does it rain?', 'Is it cold?')], { budget: { perDay: 0.515 } });
    const { decisions, bookedUsd } = await scoreOne(DEAR, rule);
    expect(model.calls).toHaveLength(1);
    expect(decisions).toMatchObject([{ status: 'deferred', costUsd: 0.02, nextAttemptAt: MIDNIGHT_MS }]);
    expect(bookedUsd).toBeCloseTo(0.02);
  });

  it('that is spent does not defer another rule that needs the same score', async () => {
    const scorer = asking(
      modelObject(() => 'fine'),
      'Does it rain?',
    );
    const spent = buildRule([scorer], { budget: { perDay: 0.0001 } });
    const { decisions } = await scoreOne(DEAR, spent, buildRule([scorer], { name: 'free' }));
    const statuses = Object.fromEntries(decisions.map(({ rule, status }) => [rule, status]));
    expect(statuses).toEqual({ free: 'scored', r: 'deferred' });
  });
});
