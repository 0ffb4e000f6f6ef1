import { describe, expect, it } from 'vitest';
import { createJudgeRegistry } from '../../../../src/judge/judge-registry.ts';
import { askForText } from '../../../../src/judge/judge.ts';
import { createReplyCache } from '../../../../src/judge/reply-cache.ts';
import { scoreTraces } from '../../../../src/scoring/score-traces.ts';
import { fence } from '../../../../src/scorers/shared/judged.ts';
import { readFencedPrompt } from '../../../support/builders/fenced-prompt.ts';
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

const PRICES = { 'scripted/judge-1': { input: 1, output: 1 } };

/** Scores a trace of each tenant, with a scorer that asks its judge the same question about all. */
async function scoreAlike(reuse: boolean, tenants: readonly string[] = ['', '']) {
  const model = modelObject(() => 'fine');
  const ask = async () => {
    await askForText(model, { instructions: 'Judge.', prompt: 'Does it rain?' });
    return { score: 1 };
  };
  const store = new MemoryStore();
  const mode = await buildLiveMode(store, buildRule([new CountingScorer('asking', ask, 'scripted/judge-1')]));
  const judgeScope = {
    judges: createJudgeRegistry({ prices: PRICES }),
    cache: reuse ? createReplyCache({ maxEntries: 10, maxChars: 1_000 }) : undefined,
  };
  const scoring = createTestScoring(store, {}, { judgeScope });
  const outcomes = [];
  for (const tenant of tenants) {
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'It rains.' })], { tenant });
    store.clockMs += 60_000;
    outcomes.push(...(await scoreTraces(scoring, [{ tenant, traceId }], mode)));
  }
  const last = outcomes.at(-1);
  return { model, reuses: scoring.reuses, decision: last?.decisions[0], score: last?.scores[0] };
}

/** Codes of the data that two scorers ask about in two traces of the same content, trace by trace. */
async function codesOfTwoTraces() {
  const codes: (string | undefined)[] = [];
  const model = modelObject(() => 'fine');
  const ask = async () => {
    codes.push(readFencedPrompt(`${fence({ answer: 'It rains.' })}\nJudge.`)?.code);
    await askForText(model, { instructions: 'Judge.', prompt: fence({ answer: 'It rains.' }) });
    return { score: 1 };
  };
  const store = new MemoryStore();
  const scorers = ['one', 'two'].map((name) => new CountingScorer(name, ask, 'scripted/judge-1'));
  const mode = await buildLiveMode(store, buildRule(scorers));
  const cache = createReplyCache({ maxEntries: 10, maxChars: 1_000 });
  const judgeScope = { judges: createJudgeRegistry({ prices: PRICES }), cache };
  const scoring = createTestScoring(store, {}, { judgeScope });
  for (const traceId of [newTraceId(), newTraceId()]) {
    store.ingest([agentSpan(traceId, 'a', { says: 'It rains.' })]);
    store.clockMs += 60_000;
    await scoreTraces(scoring, [{ tenant: '', traceId }], mode);
  }
  return { codes, calls: model.calls.length };
}

describe('the code around the data', () => {
  it('is one for all scorers of a target and another for another target, and does not hinder reuse', async () => {
    const { codes, calls } = await codesOfTwoTraces();
    const [one, two, three, four] = codes;
    expect([one, three]).toEqual([two, four]);
    expect(one).not.toBe(three);
    expect(calls).toBe(1);
  });
});

describe('the same question to the same judge', () => {
  it('reuses the earlier answer: the decision says so, the score names the judge and costs nothing', async () => {
    const { model, decision, score } = await scoreAlike(true);
    expect(model.calls).toHaveLength(1);
    expect(decision).toMatchObject({ status: 'scored', costUsd: 0 });
    expect(decision?.reason).toMatch(/^judge_reused: 1 of 1 answers are the judge's earlier ones/);
    expect(score).toMatchObject({ judgeModel: 'scripted/judge-1', judgeCalls: 0, costUsd: 0 });
  });

  it('is counted for the tenant of the trace that reused the answer', async () => {
    const { reuses } = await scoreAlike(true, ['a', 'a', 'b', 'b', 'b']);
    const counts = ['a', 'b', 'c', undefined].map((tenant) => reuses.count('scripted/judge-1', tenant));
    expect(counts).toEqual([1, 3, 0, 4]);
    expect(reuses.count('scripted/other')).toBe(0);
  });

  it('is asked each time when reuse is turned off', async () => {
    const { model, decision } = await scoreAlike(false);
    expect(model.calls).toHaveLength(2);
    expect(decision).toMatchObject({ status: 'scored', reason: '' });
  });
});
