import { formatCount } from '../../../domain/plural.ts';
import type { TrajectoryFindings } from './evaluate-trajectory.ts';

/** Describes the findings, one line for each evaluated dimension. */
export function trajectoryReason(score: number, findings: TrajectoryFindings): string {
  const { accuracy, efficiency, blacklist, toolFailures, nested = [] } = findings;
  const lines = [`The trajectory scores ${score}.`];
  if (accuracy !== undefined) {
    const { matchedSteps, totalExpectedSteps, missingSteps, extraSteps, outOfOrderSteps } = accuracy;
    lines.push(
      `Steps: ${matchedSteps} of ${totalExpectedSteps} taken as expected` +
        named('missing', missingSteps) +
        named('not expected', extraSteps) +
        named('out of order', outOfOrderSteps),
    );
  }
  if (efficiency !== undefined) {
    const over = [
      ...(efficiency.overStepBudget ? [formatCount(efficiency.totalSteps, 'step')] : []),
      ...(efficiency.overTokenBudget ? [formatCount(efficiency.totalTokens, 'token')] : []),
      ...(efficiency.overDurationBudget ? [`${efficiency.totalDurationMs} ms`] : []),
    ];
    const repeats = efficiency.redundantCalls.map(({ name }) => name);
    lines.push(
      `Efficiency ${efficiency.score}` + named('over budget', over) + named('repeated calls', repeats),
    );
  }
  if (blacklist?.score === 0) {
    const sequences = blacklist.violatedSequences.map((sequence) => sequence.join(' then '));
    lines.push(`Forbidden steps occurred${named('forbidden', [...blacklist.violatedTools, ...sequences])}`);
  }
  if (toolFailures !== undefined && toolFailures.patterns.length > 0) {
    const { totalRetries, excessiveRetryTools } = toolFailures;
    lines.push(
      `Failing tools: ${formatCount(totalRetries, 'retry', 'retries')}` +
        named('too many of', excessiveRetryTools),
    );
  }
  if (nested.length > 0) {
    const levels = nested.map(({ stepName, score: own }) => `${stepName} ${own}`);
    lines.push(`Within steps${named('scores', levels)}`);
    const forbidden = nested.filter(({ blacklist: own }) => own?.score === 0).map(({ stepName }) => stepName);
    lines.push(
      ...(forbidden.length === 0 ? [] : [`Forbidden steps occurred within ${forbidden.join(', ')}`]),
    );
  }
  return lines.join('\n');
}

function named(what: string, names: readonly string[]): string {
  return names.length === 0 ? '' : `; ${what}: ${names.join(', ')}`;
}
