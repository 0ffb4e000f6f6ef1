import { readBackfillReport } from '../../jobs/stored-job.ts';
import { formatCount, formatAbout } from '../../domain/plural.ts';
import type { backfillJson } from '../../api/json/rows.ts';
import { OPEN_STATUSES } from '../../store/contracts/jobs.ts';
import { showReasons } from './show-target.ts';
import type { CallCost, CostEstimate, EstimateBasis } from '../../jobs/estimate.ts';

type BackfillJson = ReturnType<typeof backfillJson>;

export function showBackfill(job: BackfillJson): string {
  return `backfill ${job.id}: ${showState(job)}`;
}

function showState(job: BackfillJson): string {
  const { status, checkpoint, left, error, costUsd } = job;
  if (status === 'queued' && checkpoint === null) {
    return `waits for a process that runs it${left === null ? '' : ` (${left})`}`;
  }
  const isOpen = OPEN_STATUSES.includes(status);
  return [
    ...(status === 'running' || status === 'done' ? [] : [status]),
    ...showCounts(job),
    ...(isOpen ? showRest(job) : []),
    ...(costUsd > 0 ? [`${costUsd.toFixed(4)} USD`] : []),
    ...(isOpen && error !== null ? [`waits: ${error}`] : []),
  ].join(' · ');
}

/** Lists what is left, and how fast a running backfill is. */
function showRest(job: BackfillJson): string[] {
  const { perSecond, etaSeconds, remaining } = readBackfillReport(job);
  if (remaining === 0) {
    return [];
  }
  const isFast = job.status === 'running' && perSecond !== null && etaSeconds !== null;
  return [
    `${remaining} left`,
    ...(isFast ? [`${perSecond.toFixed(1)}/s`, `${showSpell(etaSeconds)} to go`] : []),
  ];
}

export function showCounts(report: unknown): string[] {
  const { matched, sessions, scored, skipped, failed } = readBackfillReport(report);
  return [
    formatCount(matched, 'trace'),
    ...(sessions > 0 ? [formatCount(sessions, 'session')] : []),
    `${scored} scored`,
    ...showReasons('skipped', skipped),
    ...showReasons('failed', failed),
  ];
}

/** Formats a time like `40 s`, `12 min` or `3.5 h`. */
export function showSpell(seconds: number): string {
  const minutes = seconds / 60;
  return minutes < 2
    ? `${seconds} s`
    : minutes < 120
      ? `${Math.round(minutes)} min`
      : `${(minutes / 60).toFixed(1)} h`;
}

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
