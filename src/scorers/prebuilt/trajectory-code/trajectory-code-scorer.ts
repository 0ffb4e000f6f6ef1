import { createScorer } from '../../../evals/create-scorer.ts';
import type { RunnableScorer } from '../../../evals/scorer-chain.ts';
import type { TrajectoryExpectation } from '../../../evals/trajectory/trajectory.ts';
import { roundToTwoDecimals } from '../../utils/numbers.ts';
import { checkOptions } from '../shared/checked-options.ts';
import { listIgnored, warnIgnored } from '../shared/ignored-fields.ts';
import {
  readExpectation,
  readTrajectory,
  type StepsRunInput,
  explainSteps,
} from '../shared/trajectory-run.ts';
import {
  evaluateSteps,
  computeScore,
  type TrajectoryFindings,
  type TrajectoryWeights,
} from './evaluate-trajectory.ts';
import { DEFAULT_WEIGHTS, TRAJECTORY_OPTIONS } from './trajectory-code-definition.ts';
import { formatCount } from '../../../domain/plural.ts';
import { nameAfter, nameTexts } from '../shared/name-findings.ts';

const ID = 'code-trajectory-scorer';

export interface TrajectoryScorerOptions {
  /** Expectation of every run; fields of `run.expectedTrajectory` replace its fields. */
  readonly defaults?: TrajectoryExpectation;
  /** Weights, spread over the evaluated dimensions; a negative weight counts as 0. */
  readonly weights?: Partial<TrajectoryWeights>;
}

export interface TrajectoryScorerResults {
  preprocessStepResult: TrajectoryFindings & { config: TrajectoryExpectation };
}

/**
 * Scores steps, budgets, forbidden steps and repeated failures of a run together: the weighted mean of the dimensions with an
 * expectation, 0 when a forbidden step occurred, 1 without an expectation.
 */
export function createTrajectoryScorerCode(
  options: TrajectoryScorerOptions = {},
): RunnableScorer<StepsRunInput, TrajectoryScorerResults> {
  checkOptions(ID, options, TRAJECTORY_OPTIONS);
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

/** Describes the findings, one line for each evaluated dimension. */
function trajectoryReason(score: number, findings: TrajectoryFindings): string {
  const { accuracy, efficiency, blacklist, toolFailures, nested = [] } = findings;
  const lines = [`The trajectory scores ${score}.`];
  if (accuracy !== undefined) {
    lines.push(explainSteps(accuracy));
  }
  if (efficiency !== undefined) {
    const over = [
      ...(efficiency.overStepBudget ? [formatCount(efficiency.totalSteps, 'step')] : []),
      ...(efficiency.overTokenBudget ? [formatCount(efficiency.totalTokens, 'token')] : []),
      ...(efficiency.overDurationBudget ? [`${efficiency.totalDurationMs} ms`] : []),
    ];
    const repeats = efficiency.redundantCalls.map(({ name }) => name);
    lines.push(
      `Efficiency ${efficiency.score}` +
        nameAfter('over budget', over) +
        nameAfter('repeated calls', repeats),
    );
  }
  if (blacklist?.score === 0) {
    const sequences = blacklist.violatedSequences.map((sequence) => sequence.join(' then '));
    lines.push(
      `Forbidden steps occurred${nameAfter('forbidden', [...blacklist.violatedTools, ...sequences])}`,
    );
  }
  if (toolFailures !== undefined && toolFailures.patterns.length > 0) {
    const { totalRetries, excessiveRetryTools } = toolFailures;
    lines.push(
      `Failing tools: ${formatCount(totalRetries, 'retry', 'retries')}` +
        nameAfter('too many of', excessiveRetryTools),
    );
  }
  if (nested.length > 0) {
    const levels = nested.map(({ stepName, score: own }) => `${stepName} ${own}`);
    lines.push(`Within steps${nameAfter('scores', levels)}`);
    const forbidden = nested.filter(({ blacklist: own }) => own?.score === 0).map(({ stepName }) => stepName);
    lines.push(
      ...(forbidden.length === 0 ? [] : [`Forbidden steps occurred within ${nameTexts(forbidden)}`]),
    );
  }
  return lines.join('\n');
}
