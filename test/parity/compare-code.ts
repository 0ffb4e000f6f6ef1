import type { Scorer } from '../../src/scorers/evals/index.ts';
import * as prebuilt from '../../src/scorers/prebuilt/index.ts';
import type { Comparison } from './comparison.ts';
import { expectedRun, observeRun } from './observed-run.ts';
import { revive } from './recorded-cases.ts';
import type { RecordedCase } from './recorded-cases.ts';

type Factory = (...args: unknown[]) => Scorer;

/** The code scorers and checks by the factory's recorded name. */
const FACTORIES = new Map<string, unknown>([
  ['createKeywordCoverageScorer', prebuilt.createKeywordCoverageScorer],
  ['createContentSimilarityScorer', prebuilt.createContentSimilarityScorer],
  ['createTextualDifferenceScorer', prebuilt.createTextualDifferenceScorer],
  ['createToolCallAccuracyScorerCode', prebuilt.createToolCallAccuracyScorerCode],
  ['createCompletenessScorer', prebuilt.createCompletenessScorer],
  ['createTrajectoryAccuracyScorerCode', prebuilt.createTrajectoryAccuracyScorerCode],
  ['createTrajectoryScorerCode', prebuilt.createTrajectoryScorerCode],
  ['createToneScorer', prebuilt.createToneScorer],
  ...Object.entries(prebuilt.checks).map(([name, create]) => [`checks.${name}`, create] as const),
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
    // The recorded scorer explains nothing.
    const { reason: _reason, ...rest } = observed;
    return rest;
  }
  const said = String(observed['reason']);
  const mentions = (reason.mentions as string[]).filter((name) => said.includes(name));
  return { ...observed, reason: { ...reason, mentions } };
}

/** Result of a code scorer on a recorded run. */
export async function compareCode(recorded: RecordedCase): Promise<Comparison> {
  const expected = expectedRun(recorded['result']);
  const input = {
    input: revive(recorded['input']),
    output: revive(recorded['output']),
    expectedTrajectory: revive(recorded['expectedTrajectory'] ?? { $undefined: true }),
  };
  const scorer = memoized(() => build(recorded));
  const { repeat = 1 } = recorded as { repeat?: number };
  const scores: unknown[] = [];
  let observed: Record<string, unknown> = {};
  for (let run = 0; run < repeat; run += 1) {
    observed = comparable(await observeRun(scorer, input, expected), expected);
    scores.push(observed['score']);
  }
  return {
    ours: repeat === 1 ? observed : { ...observed, scoresOfRepeatedRuns: scores },
    recorded: expected,
  };
}

function memoized(create: () => Scorer): () => Scorer {
  let made: Scorer | undefined;
  return () => (made ??= create());
}
