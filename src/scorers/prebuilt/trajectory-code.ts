import type { Trajectory, TrajectoryExpectation } from '../evals/trajectory.ts';
import {
  compareTrajectories,
  matchUnordered,
  type TrajectoryComparison,
  analyzeToolFailures,
  type ToolFailures,
  checkTrajectoryBlacklist,
  type TrajectoryBlacklist,
  checkTrajectoryEfficiency,
  type TrajectoryEfficiency,
} from '../shared/trajectories.ts';
import { roundToTwoDecimals, nameAfter, nameTexts } from '../shared/texts.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { RunnableScorer } from '../evals/scorer.ts';
import { checkOptions } from '../shared/options.ts';
import {
  listIgnored,
  listStepFaults,
  warnIgnored,
  readExpectation,
  readTrajectory,
  type StepsRunInput,
  explainSteps,
} from '../shared/trajectory-run.ts';
import { DEFAULT_WEIGHTS, TRAJECTORY_OPTIONS } from './definitions.ts';
import { formatCount } from '../../domain/plural.ts';
import type { Verdict } from '../../domain/score.ts';

/** Relative weights of the dimensions; they are spread over the dimensions that are present. */
export interface TrajectoryWeights {
  readonly accuracy: number;
  readonly efficiency: number;
  readonly toolFailures: number;
  readonly blacklist: number;
}

/** Findings of one level; a dimension without an expectation is absent. */
interface TrajectoryFindings {
  accuracy?: TrajectoryComparison;
  efficiency?: TrajectoryEfficiency;
  blacklist?: TrajectoryBlacklist;
  toolFailures?: ToolFailures;
  /** Steps whose nested steps have an expectation too. */
  nested?: NestedFindings[];
}

interface NestedFindings extends TrajectoryFindings {
  stepName: string;
  /** Rounded to two decimals. */
  score: number;
}

/** Share of a level's own score when it has nested levels; the nested levels share the rest equally. */
const OWN_SHARE = 0.7;
/** Deepest nesting of expectations; deeper ones are refused. */
const MAX_DEPTH = 32;

/** Evaluates a trajectory and its nested levels. */
function evaluateSteps(
  trajectory: Trajectory,
  expected: TrajectoryExpectation,
  weights: TrajectoryWeights,
  depth = 0,
): TrajectoryFindings {
  const { steps } = expected;
  const findings: TrajectoryFindings = {};
  if (steps !== undefined) {
    findings.accuracy = compareTrajectories(trajectory, { steps }, expected);
  }
  const { maxSteps, maxTotalTokens, maxTotalDurationMs, noRedundantCalls } = expected;
  if ([maxSteps, maxTotalTokens, maxTotalDurationMs, noRedundantCalls].some((limit) => limit !== undefined)) {
    findings.efficiency = checkTrajectoryEfficiency(trajectory, expected);
  }
  if (expected.blacklistedTools !== undefined || expected.blacklistedSequences !== undefined) {
    findings.blacklist = checkTrajectoryBlacklist(trajectory, expected);
  }
  findings.toolFailures = analyzeToolFailures(trajectory, expected);
  const nested = evaluateNestedSteps(trajectory, expected, weights, depth + 1);
  if (nested.length > 0) {
    findings.nested = nested;
  }
  return findings;
}

function evaluateNestedSteps(
  trajectory: Trajectory,
  { steps = [] }: TrajectoryExpectation,
  weights: TrajectoryWeights,
  depth: number,
): NestedFindings[] {
  if (depth > MAX_DEPTH) {
    throw new RangeError(`expected trajectories are nested more than ${MAX_DEPTH} deep`);
  }
  const matches = matchUnordered(trajectory.steps, steps);
  return steps.flatMap((step, index): NestedFindings[] => {
    const { name: stepName, children: expected } = step;
    if (expected === undefined) {
      return [];
    }
    const taken = trajectory.steps[matches[index] ?? -1];
    if (taken === undefined) {
      const missed =
        expected.steps && compareTrajectories({ steps: [] }, { steps: expected.steps }, expected);
      return [{ stepName, score: 0, ...(missed === undefined ? {} : { accuracy: missed }) }];
    }
    const { durationMs, children = [] } = taken;
    const level: Trajectory = {
      steps: children,
      ...(durationMs === undefined ? {} : { totalDurationMs: durationMs }),
    };
    const findings = evaluateSteps(level, expected, weights, depth);
    const score = roundToTwoDecimals(computeScore(findings, weights));
    // What is below a forbidden step is not looked at.
    return [{ stepName, score, ...findings, ...(isForbidden(findings) ? { nested: [] } : {}) }];
  });
}

/** Computes the score, 0 to 1, unrounded; 0 when a forbidden step occurred on any level. */
function computeScore(findings: TrajectoryFindings, weights: TrajectoryWeights): number {
  if (isForbidden(findings) || (findings.nested ?? []).some(holdsForbidden)) {
    return 0;
  }
  const own = weightedMean(findings, weights);
  const { nested = [] } = findings;
  if (nested.length === 0) {
    return own;
  }
  const below = nested.reduce((sum, { score }) => sum + score, 0) / nested.length;
  return OWN_SHARE * own + (1 - OWN_SHARE) * below;
}

function isForbidden({ blacklist }: TrajectoryFindings): boolean {
  return blacklist?.score === 0;
}

function holdsForbidden(findings: NestedFindings): boolean {
  return isForbidden(findings) || (findings.nested ?? []).some(holdsForbidden);
}

/** Computes the weighted mean; 1 when no dimension has a weight. Tools count only when one was called again after a failure. */
function weightedMean(findings: TrajectoryFindings, weights: TrajectoryWeights): number {
  const { accuracy, efficiency, blacklist, toolFailures } = findings;
  const dimensions: [number | undefined, number][] = [
    [accuracy?.score, weights.accuracy],
    [efficiency?.score, weights.efficiency],
    [blacklist?.score, weights.blacklist],
    [toolFailures?.patterns.length === 0 ? undefined : toolFailures?.score, weights.toolFailures],
  ];
  let total = 0;
  let weightSum = 0;
  for (const [score, weight] of dimensions) {
    if (score !== undefined && weight > 0) {
      total += score * weight;
      weightSum += weight;
    }
  }
  return weightSum === 0 ? 1 : total / weightSum;
}

const ID = 'code-trajectory-scorer';

export interface TrajectoryScorerOptions {
  /** Expectation of every run; fields of `run.expectedTrajectory` replace its fields. */
  readonly defaults?: TrajectoryExpectation;
  /** Weights, spread over the evaluated dimensions; a negative weight counts as 0. */
  readonly weights?: Partial<TrajectoryWeights>;
}

interface TrajectoryScorerResults {
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
    details: ({ run, results }) => ({
      verdicts: listFaults(run as StepsRunInput, results as TrajectoryScorerResults),
    }),
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

/** Lists the faults of the steps of the run itself, and its forbidden steps. */
function listFaults(run: StepsRunInput, { preprocessStepResult }: TrajectoryScorerResults): Verdict[] {
  const { accuracy, blacklist, config } = preprocessStepResult;
  const forbidden = blacklist?.violatedTools ?? [];
  return [
    ...(accuracy === undefined
      ? []
      : listStepFaults(accuracy, {
          taken: readTrajectory(run).steps.map(({ name }) => name),
          expected: (config.steps ?? []).map(({ name }) => name),
          isStrict: config.ordering === 'strict',
        })),
    ...forbidden.map((statement) => ({ statement, verdict: 'unneeded' })),
  ];
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
