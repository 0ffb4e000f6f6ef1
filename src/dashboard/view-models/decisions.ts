import type { DecisionStatus } from '../../domain/decision.ts';
import { formatPercent } from './format.ts';
import type { TraceDetail } from './waterfall.ts';

/** Decision row, or a computed line of a trace without one. */
export type Decision = TraceDetail['decisions'][number];

const OUTCOMES: Readonly<Record<DecisionStatus, { readonly sign: string; readonly says: string }>> = {
  scored: { sign: '✓', says: 'scored it' },
  filtered: { sign: '–', says: 'left it out, for its conditions are not met' },
  sampled_out: { sign: '–', says: 'did not draw it' },
  not_applicable: { sign: '–', says: 'could not score it' },
  deferred: { sign: '…', says: 'waits' },
  failed: { sign: '✗', says: 'failed' },
};

/** Writes a decision as a sentence: rule, scorer and why. */
export function describeDecision(decision: Decision): { readonly sign: string; readonly sentence: string } {
  const { rule, scorer, status, reason } = decision;
  const known = OUTCOMES[status as DecisionStatus] as (typeof OUTCOMES)[DecisionStatus] | undefined;
  const { sign, says } = known ?? { sign: '…', says: status.replaceAll('_', ' ') };
  const ofRule = rule === '*' ? 'every rule' : `rule ${rule}`;
  const subject = scorer === '*' ? ofRule : `${scorer} of ${ofRule}`;
  const sampling = describeSampling(decision);
  return {
    sign,
    sentence: `${capitalise(subject)} ${says}${sampling === '' ? '' : ` (${sampling})`}${why(reason)}.`,
  };
}

function describeSampling(decision: Decision): string {
  if (!('inclusionProbability' in decision)) {
    return '';
  }
  const { inclusionProbability, stratum } = decision;
  return stratum === 'priority'
    ? 'such traces are always scored'
    : inclusionProbability === 1
      ? ''
      : `${formatPercent(inclusionProbability)} of such traces are scored`;
}

/** Writes a reason: a stable code, and often a sentence. */
function why(reason: string): string {
  const [code = '', ...sentence] = reason.split(': ');
  const words = code.replaceAll('_', ' ');
  return reason === '' ? '' : `: ${[words, ...sentence].join(': ').replace(/[.]$/u, '')}`;
}

function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
