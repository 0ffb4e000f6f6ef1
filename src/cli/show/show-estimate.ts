import { formatAbout, formatCount } from '../../domain/plural.ts';
import type { CallCost, CostEstimate, EstimateBasis } from '../../estimate/estimate-cost.ts';
import { showReasons } from './show-target.ts';
import { showSpell } from './show-backfill.ts';

const BASES: Readonly<Record<EstimateBasis, string>> = {
  stored_calls: 'lengths of replies from stored calls of the same scorer and judge',
  declared_lengths: 'lengths of replies as declared, as no calls of this scorer and judge are stored',
  mixed:
    'lengths of replies from stored calls of the same scorer and judge where there are some, else as declared',
  none: 'no judge is asked',
};

/** Formats an estimate, one fact a line. */
export function showEstimate(estimate: CostEstimate): string[] {
  const { scorers, seconds, prompts, unscored, unpriced, unknown, basis } = estimate;
  const asking = scorers.filter(({ judgeCalls }) => judgeCalls > 0);
  return [
    ...(basis === 'none'
      ? []
      : [
          `${showCalls(estimate)}, from ${formatCount(prompts, 'rendered prompt')}`,
          `cost: ${showCost(estimate)}; ${BASES[basis]}`,
        ]),
    ...(asking.length > 1
      ? asking.map((each) => `  ${each.scorer} of rule ${each.rule}: ${showCalls(each)}, ${showCost(each)}`)
      : []),
    `time: about ${showSpell(seconds)} at the configured limits`,
    ...showReasons('would give no score', unscored),
    ...(unpriced.length === 0 ? [] : [`no price is known for ${unpriced.join(', ')}: set judges.prices`]),
    ...(unknown.length === 0
      ? []
      : [`not in the estimate, as no judge call of them is stored: ${unknown.join(', ')}`]),
  ];
}

/** Formats an amount of money, rounded for people. */
export function showMoney(usd: number): string {
  return `${usd >= 1 ? usd.toFixed(2) : usd.toPrecision(3)} USD`;
}

function showCalls({ judgeCalls, inputTokens, outputTokens }: CallCost): string {
  // The number is rounded, and the scorer asks a judge.
  const calls = judgeCalls === 0 ? 'less than 1 judge call' : formatAbout(judgeCalls, 'judge call');
  return `${calls}, ${inputTokens} input and ${outputTokens} output tokens`;
}

function showCost({ costUsd, costLow, costHigh }: CallCost): string {
  return costUsd === null || costLow === null || costHigh === null
    ? 'unknown'
    : `about ${showMoney(costUsd)} (${showMoney(costLow)} to ${showMoney(costHigh)})`;
}
