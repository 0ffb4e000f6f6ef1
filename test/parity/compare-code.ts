import type { Scorer } from '../../src/evals/index.ts';
import * as prebuilt from '../../src/scorers/prebuilt/index.ts';
import type { Comparison } from './comparison.ts';
import { expectedRun, observeRun } from './observed-run.ts';
import { revive } from './recorded-cases.ts';
import type { RecordedCase } from './recorded-cases.ts';

type Factory = (...args: unknown[]) => Scorer;

/** The code scorers and checks by the factory's recorded name. */
const FACTORIES = new Map<string, Factory>([
  ['createKeywordCoverageScorer', prebuilt.createKeywordCoverageScorer],
  ['createContentSimilarityScorer', prebuilt.createContentSimilarityScorer as Factory],
  ['createTextualDifferenceScorer', prebuilt.createTextualDifferenceScorer as Factory],
  ['createToolCallAccuracyScorerCode', prebuilt.createToolCallAccuracyScorerCode as Factory],
  ['createCompletenessScorer', prebuilt.createCompletenessScorer as Factory],
  ['createTrajectoryAccuracyScorerCode', prebuilt.createTrajectoryAccuracyScorerCode as Factory],
  ['createTrajectoryScorerCode', prebuilt.createTrajectoryScorerCode as Factory],
  ['createToneScorer', prebuilt.createToneScorer as Factory],
  ...Object.entries(prebuilt.checks).map(([name, create]) => [`checks.${name}`, create as Factory] as const),
]);

function build({ factory, args }: RecordedCase): Scorer {
  const create = FACTORIES.get(String(factory)) as Factory;
  return create(...(revive(args) as unknown[]));
}

/** Of a sentence that the reference wrote, the recording keeps which of the caller's names it mentions. */
function comparable(
  observed: Record<string, unknown>,
  { reason }: Record<string, unknown>,
): Record<string, unknown> {
  if (typeof reason !== 'object' || reason === null || !('mentions' in reason)) {
    return observed;
  }
  const said = String(observed['reason']);
  const mentions = (reason.mentions as string[]).filter((name) => said.includes(name));
  return { ...observed, reason: { ...reason, mentions } };
}

/** What a code scorer made of a recorded run. */
export async function compareCode(recorded: RecordedCase): Promise<Comparison> {
  const expected = expectedRun(recorded['result']);
  const input = {
    input: revive(recorded['input']),
    output: revive(recorded['output']),
    expectedTrajectory: revive(recorded['expectedTrajectory'] ?? { $undefined: true }),
  };
  const observed = await observeRun(() => build(recorded), input, expected);
  return { ours: comparable(observed, expected), recorded: expected };
}
