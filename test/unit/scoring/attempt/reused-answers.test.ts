import { describe, expect, it } from 'vitest';
import { createJudgeRegistry } from '../../../../src/judge/judge-registry.ts';
import { askForText } from '../../../../src/judge/judge.ts';
import { createReplyCache } from '../../../../src/judge/reply-cache.ts';
import { scoreTraces } from '../../../../src/scoring/score-traces.ts';
import { fence } from '../../../../src/scorers/prebuilt/shared/fence.ts';
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

/** Two traces whose scorer asks its judge the same question. */
async function scoreTwice(reuse: boolean) {
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
  const score = async () => {
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'It rains.' })]);
    store.clockMs += 60_000;
    const [outcome] = await scoreTraces(scoring, [{ tenant: '', traceId }], mode);
    return { decision: outcome?.decisions[0], score: outcome?.scores[0] };
  };
  await score();
  return { model, ...(await score()) };
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
    const { model, decision, score } = await scoreTwice(true);
    expect(model.calls).toHaveLength(1);
    expect(decision).toMatchObject({ status: 'scored', costUsd: 0 });
    expect(decision?.reason).toMatch(/^judge_reused: 1 of 1 answers are the judge's earlier ones/);
    expect(score).toMatchObject({ judgeModel: 'scripted/judge-1', judgeCalls: 0, costUsd: 0 });
  });

  it('is asked each time when reuse is turned off', async () => {
    const { model, decision } = await scoreTwice(false);
    expect(model.calls).toHaveLength(2);
    expect(decision).toMatchObject({ status: 'scored', reason: '' });
  });
});
