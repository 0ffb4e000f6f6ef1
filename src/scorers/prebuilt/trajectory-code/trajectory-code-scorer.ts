import { createScorer } from '../../../evals/create-scorer.ts';
import type { RunnableScorer } from '../../../evals/scorer-chain.ts';
import type { TrajectoryExpectation } from '../../../evals/trajectory/trajectory.ts';
import { isRecord } from '../../utils/is-record.ts';
import { roundToTwoDecimals } from '../../utils/numbers.ts';
import { checkOptions } from '../shared/checked-options.ts';
import { EXPECTATION_RULES } from '../shared/expectation-options.ts';
import { FORMER_OPTIONS, listIgnored, warnIgnored } from '../shared/ignored-fields.ts';
import { readExpectation, readTrajectory } from '../shared/trajectory-run.ts';
import type { StepsRunInput } from '../shared/trajectory-run.ts';
import { evaluateSteps, computeScore } from './evaluate-trajectory.ts';
import type { TrajectoryFindings, TrajectoryWeights } from './evaluate-trajectory.ts';
import { trajectoryReason } from './trajectory-reason.ts';

const ID = 'code-trajectory-scorer';
const DEFAULT_WEIGHTS: TrajectoryWeights = {
  accuracy: 0.4,
  efficiency: 0.3,
  toolFailures: 0.2,
  blacklist: 0.1,
};

export interface TrajectoryScorerOptions {
  /** Expectation of every run; fields of `run.expectedTrajectory` replace its fields. */
  readonly defaults?: TrajectoryExpectation;
  /** Weights, spread over the evaluated dimensions; a negative weight counts as 0. */
  readonly weights?: Partial<TrajectoryWeights>;
}

export interface TrajectoryScorerResults {
  preprocessStepResult: TrajectoryFindings & { config: TrajectoryExpectation };
}

const isExpectation = { fits: isRecord, is: 'an object of expectations' };
const isWeights = {
  fits: (value: unknown) =>
    isRecord(value) &&
    Object.entries(value).every(
      ([name, weight]) => Object.hasOwn(DEFAULT_WEIGHTS, name) && Number.isFinite(weight),
    ),
  is: `numbers for ${Object.keys(DEFAULT_WEIGHTS).join(', ')}`,
};

/**
 * Scores steps, budgets, forbidden steps and repeated failures of a run together: the weighted mean of the dimensions with an
 * expectation, 0 when a forbidden step occurred, 1 without an expectation.
 */
export function createTrajectoryScorerCode(
  options: TrajectoryScorerOptions = {},
): RunnableScorer<StepsRunInput, TrajectoryScorerResults> {
  checkOptions(ID, options, { defaults: isExpectation, weights: isWeights });
  checkOptions(ID, options.defaults ?? {}, EXPECTATION_RULES, FORMER_OPTIONS);
  warnIgnored(ID, listIgnored(options.defaults ?? {}));
  const weights = { ...DEFAULT_WEIGHTS, ...options.weights };
  return createScorer({
    id: ID,
    name: 'Trajectory Scorer',
    description: 'How a run went about its work: its steps, budgets, forbidden steps and failing tools',
    type: 'trajectory',
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'astray', below: 0.5 }, { label: 'on track' }],
    version: '1',
    options: { defaults: options.defaults, weights },
  })
    .preprocess(({ run }): TrajectoryScorerResults['preprocessStepResult'] => {
      const config = { ...options.defaults, ...readExpectation(ID, run) };
      return { ...evaluateSteps(readTrajectory(run), config, weights), config };
    })
    .generateScore(
      ({ results }) =>
        // Plain rounding, as the recorded scores were rounded.
        Math.round(computeScore(results.preprocessStepResult, weights) * 100) / 100,
    )
    .generateReason(({ results, score }) =>
      trajectoryReason(roundToTwoDecimals(score), results.preprocessStepResult),
    );
}
