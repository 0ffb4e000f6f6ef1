import { beforeAll, describe, expect, it } from 'vitest';
import type { Scorer } from '../../src/evals/index.ts';
import { scoreTraces } from '../../src/scoring/score-traces.ts';
import { isPeerInstalled, loadPeer } from '../bench/peer-packages.ts';
import type { ScorerLibrary } from '../bench/peer-packages.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { agentSpan, liveOf, newTraceId, openTestScoring, ruleOf } from '../support/scoring-world.ts';

const QUIET_MS = 60_000;

const installed = isPeerInstalled();
if (!installed) {
  process.stderr.write(
    '\nSKIPPED: scorers of the published packages in a rule; run: npm ci --prefix test/bench/peer --ignore-scripts\n\n',
  );
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
    const mode = await liveOf(store, ruleOf([own, checks.includes('rains')]));
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'It rains.' })]);
    store.clockMs += QUIET_MS;

    const [outcome] = await scoreTraces(openTestScoring(store), [{ tenant: '', traceId }], mode);

    expect(outcome?.error).toBeNull();
    const scores = store.scores().map(({ scorer, score }) => [scorer, score]);
    expect(Object.fromEntries(scores)).toEqual({ 'answer-length': 9, 'check-includes': 1 });
  });
});
