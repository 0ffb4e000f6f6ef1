import { formatCount } from '../../../domain/plural.ts';
import { nameAfter, nameTexts } from '../shared/name-findings.ts';
import { explainSteps } from '../shared/trajectory-run.ts';
import type { TrajectoryFindings } from './evaluate-trajectory.ts';

/** Describes the findings, one line for each evaluated dimension. */
export function trajectoryReason(score: number, findings: TrajectoryFindings): string {
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
