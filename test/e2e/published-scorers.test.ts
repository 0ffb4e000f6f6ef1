import { beforeAll, describe, expect, it } from 'vitest';
import { runEvals, type Scorer } from '../../src/scorers/evals/index.ts';
import { checks as ownChecks } from '../../src/scorers/prebuilt/checks.ts';
import { createTestMessage } from '../../src/scorers/shared/utils.ts';
import { scoreTraces } from '../../src/scoring/score-traces.ts';
import { createCountingJudge } from '../bench/scorers/counting-judge.ts';
import { isPeerInstalled, loadPeer, MISSING_PEER } from '../bench/peer-packages.ts';
import type { ScorerLibrary } from '../bench/peer-packages.ts';
import { MemoryStore } from '../support/fakes/memory-store.ts';
import { tellNotProved } from '../support/not-proved.ts';
import {
  agentSpan,
  buildLiveMode,
  newTraceId,
  createTestScoring,
  buildRule,
} from '../support/scoring/scoring-world.ts';

const QUIET_MS = 60_000;

/** Replies of the judge to the three questions of the published hallucination scorer. */
const HONEST = [
  { claims: ['It rains.', 'It snows.'] },
  {
    verdicts: [
      { statement: 'It rains.', verdict: 'no', reason: 'stated' },
      { statement: 'It snows.', verdict: 'yes', reason: 'not stated' },
    ],
  },
  'Half of it is made up.',
];

const installed = isPeerInstalled();
if (!installed) {
  tellNotProved('scorers of the published packages in a rule', MISSING_PEER);
}

describe.runIf(installed)('scorers made with the published packages', () => {
  let published: ScorerLibrary;
  beforeAll(async () => {
    published = await loadPeer();
  });

  it('score in a rule as they are', async () => {
    const createScorer = published.evals['createScorer'] as unknown as (config: object) => {
      generateScore(
        step: (context: { run: { output: { content: { content: string } }[] } }) => number,
      ): Scorer;
    };
    const { checks } = published.prebuilt as unknown as { checks: { includes(text: string): Scorer } };
    const own = createScorer({
      id: 'answer-length',
      description: 'Length of the answer',
      type: 'agent',
    }).generateScore(({ run }) => run.output[0]?.content.content.length ?? 0);
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, buildRule([own, checks.includes('rains')]));
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'It rains.' })]);
    store.clockMs += QUIET_MS;

    const [outcome] = await scoreTraces(createTestScoring(store), [{ tenant: '', traceId }], mode);

    expect(outcome?.error).toBeNull();
    const scores = store.scores().map(({ scorer, score }) => [scorer, score]);
    expect(Object.fromEntries(scores)).toEqual({ 'answer-length': 9, 'check-includes': 1 });
  });

  it('score with a judge of their own, and leave a decision where it cannot be understood', async () => {
    const create = published.prebuilt['createHallucinationScorer'] as unknown as (config: object) => Scorer;
    const options = { context: ['It rains in Paris.'] };
    const { model } = createCountingJudge([...HONEST, 'no verdict', 'none again']);
    const store = new MemoryStore();
    const mode = await buildLiveMode(store, buildRule([create({ model, options })]));
    const scoring = createTestScoring(store);
    const outcomes: unknown[] = [];
    for (const traceId of [newTraceId(), newTraceId()]) {
      store.ingest([agentSpan(traceId, 'a', { says: 'It rains. It snows.' })]);
      store.clockMs += QUIET_MS;
      const scored = await scoreTraces(scoring, [{ tenant: '', traceId }], mode);
      outcomes.push(scored[0]?.error);
    }

    expect(outcomes).toEqual([null, null]);
    expect(store.scores()).toMatchObject([
      { scorer: 'hallucination-scorer', score: 0.5, reason: 'Half of it is made up.' },
    ]);
    expect(
      store
        .decisions()
        .map(({ status }) => status)
        .sort(),
    ).toEqual(['failed', 'scored']);
  });

  it('score in an evaluation beside scorers of ours', async () => {
    const { checks } = published.prebuilt as unknown as { checks: { includes(text: string): Scorer } };
    const { scores } = await runEvals({
      target: {
        generate: async (input: string) => ({
          scoringData: { input, output: [createTestMessage({ role: 'assistant', content: 'It rains.' })] },
        }),
      },
      data: [{ input: 'How is the weather?' }],
      scorers: [checks.includes('rains'), ownChecks.excludes('snows')],
    });
    expect(scores).toEqual({ 'check-includes': 1, 'check-excludes': 1 });
  });
});
