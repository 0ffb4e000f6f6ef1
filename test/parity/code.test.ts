import { describe, expect, it } from 'vitest';
import type { Scorer } from '../../src/evals/index.ts';
import * as prebuilt from '../../src/scorers/prebuilt/index.ts';
import { againstRecording } from './against-recording.ts';
import { expectedRun, observeRun } from './observed-run.ts';
import { recordedCases, revive } from './recorded-cases.ts';
import type { RecordedCase } from './recorded-cases.ts';

type Factory = (...args: unknown[]) => Scorer;

/** The code scorers and checks that exist, by the factory's recorded name. */
const FACTORIES = new Map<string, Factory>([
  ['createKeywordCoverageScorer', prebuilt.createKeywordCoverageScorer],
  ['createContentSimilarityScorer', prebuilt.createContentSimilarityScorer as Factory],
  ['createTextualDifferenceScorer', prebuilt.createTextualDifferenceScorer],
  ['createToolCallAccuracyScorerCode', prebuilt.createToolCallAccuracyScorerCode as Factory],
  ['createCompletenessScorer', prebuilt.createCompletenessScorer],
  ['createToneScorer', prebuilt.createToneScorer as Factory],
  ...Object.entries(prebuilt.checks).map(([name, create]) => [`checks.${name}`, create as Factory] as const),
]);

const cases = recordedCases('code').filter(({ factory }) => FACTORIES.has(String(factory)));

function build({ factory, args }: RecordedCase): Scorer {
  const create = FACTORIES.get(String(factory)) as Factory;
  return create(...(revive(args) as unknown[]));
}

describe('code scorers score as the reference scored', () => {
  it.each(cases)('$id', async (recorded) => {
    const expected = expectedRun(recorded['result']);
    const input = { input: revive(recorded['input']), output: revive(recorded['output']) };
    const observed = await observeRun(() => build(recorded), input, expected);
    const outcome = againstRecording(recorded.id, observed, expected);
    expect(outcome.actual).toEqual(outcome.expected);
  });
});
