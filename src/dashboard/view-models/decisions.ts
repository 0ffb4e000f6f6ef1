import type { DecisionStatus } from '../../domain/decision.ts';
import { formatPercent } from './format.ts';
import type { TraceDetail } from './waterfall.ts';

/** Decision row, or a computed line of a trace without one. */
export type Decision = TraceDetail['decisions'][number];

const OUTCOMES: Readonly<Record<DecisionStatus, { sign: string; words: string }>> = {
  scored: { sign: '✓', words: 'scored' },
  filtered: { sign: '–', words: 'left out by the conditions of the rule' },
  sampled_out: { sign: '–', words: 'not in the sample' },
  not_applicable: { sign: '–', words: 'not applicable' },
  deferred: { sign: '…', words: 'deferred' },
  failed: { sign: '✗', words: 'failed' },
};

/** Writes a decision for people. */
export function describeDecision(decision: Decision): {
  readonly sign: string;
  readonly words: string;
  readonly sampling: string;
} {
  const known = OUTCOMES[decision.status as DecisionStatus] as (typeof OUTCOMES)[DecisionStatus] | undefined;
  const { sign, words } = known ?? { sign: '…', words: decision.status };
  return { sign, words, sampling: describeSampling(decision) };
}

function describeSampling(decision: Decision): string {
  if (!('inclusionProbability' in decision)) {
    return '–';
  }
  const { inclusionProbability, stratum } = decision;
  return stratum === 'priority'
    ? 'always (priority)'
    : `${formatPercent(inclusionProbability)} of such traces`;
}
