import type { Trajectory, TrajectoryExpectation } from '../../../evals/trajectory/trajectory.ts';
import { compareTrajectories, matchUnordered } from '../../utils/compare-trajectories.ts';
import type { TrajectoryComparison } from '../../utils/compare-trajectories.ts';
import { roundToTwoDecimals } from '../../utils/numbers.ts';
import { analyzeToolFailures } from '../../utils/tool-failures.ts';
import type { ToolFailures } from '../../utils/tool-failures.ts';
import { checkTrajectoryBlacklist } from '../../utils/trajectory-blacklist.ts';
import type { TrajectoryBlacklist } from '../../utils/trajectory-blacklist.ts';
import { checkTrajectoryEfficiency } from '../../utils/trajectory-efficiency.ts';
import type { TrajectoryEfficiency } from '../../utils/trajectory-efficiency.ts';

/** Relative weights of the dimensions; they are spread over the dimensions that are present. */
export interface TrajectoryWeights {
  readonly accuracy: number;
  readonly efficiency: number;
  readonly toolFailures: number;
  readonly blacklist: number;
}

/** Findings of one level; a dimension without an expectation is absent. */
export interface TrajectoryFindings {
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
export function evaluateSteps(
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
export function computeScore(findings: TrajectoryFindings, weights: TrajectoryWeights): number {
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
