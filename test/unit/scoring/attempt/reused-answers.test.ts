import { describe, expect, it } from 'vitest';
import { createJudgeRegistry } from '../../../../src/judge/judge-registry.ts';
import { askForText } from '../../../../src/judge/judge.ts';
import { createReplyCache } from '../../../../src/judge/reply-cache.ts';
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
