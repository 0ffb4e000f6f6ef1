import type { Replies, Writes } from '../api-types.ts';
import { formatDuration, formatNumber, formatPercent, formatUsd } from './format.ts';

export type Preview = Writes['POST /preview']['reply'];
export type Estimate = Preview['estimate'];
type Verdict = Preview['traces'][number]['verdicts'][number];

const BASES: Readonly<Record<Estimate['basis'], string>> = {
  stored_calls: 'lengths of replies from stored calls',
  declared_lengths: 'lengths of replies as declared',
  mixed: 'lengths of replies from stored calls or as declared',
  none: 'no judge is asked',
};

/** Says what work would cost, and how long it would take. */
export function describeEstimate({ judgeCalls, seconds, basis, prompts, ...cost }: Estimate): string {
  return [
    `${formatNumber(judgeCalls)} judge calls`,
    ...(basis === 'none'
      ? []
      : [`${describeCosts(cost)} (${BASES[basis]}, ${formatNumber(prompts)} prompts rendered)`]),
    `${formatDuration(seconds * 1_000)} at the configured limits`,
  ].join(' · ');
}

/** Says an amount of money with its interval. */
function describeCosts({
  costUsd,
  costLow,
  costHigh,
}: Pick<Estimate, 'costUsd' | 'costLow' | 'costHigh'>): string {
  return costUsd === null
    ? 'an unknown cost: a judge has no price'
    : `about ${formatUsd(costUsd)} (${formatUsd(costLow)} to ${formatUsd(costHigh)})`;
}

/** Says what a rule would match. */
export function describeVolume({ rule, matched, selected, left, perWeek }: Preview): string {
  const reasons = Object.entries(left).map(([reason, count]) => `${formatNumber(count)} ${reason}`);
  const share = matched === 0 ? '' : ` (${formatPercent(selected, matched)})`;
  const others = reasons.length === 0 ? '' : `, the others not: ${reasons.join(', ')}`;
  const isFew = perWeek.traces > 0 && perWeek.traces < 1;
  const week = isFew ? 'less than 1' : `about ${formatNumber(Math.round(perWeek.traces))}`;
  return `${formatNumber(selected)} of ${formatNumber(matched)} ${nameTargets(rule)} would be scored${share}${others}. A week has ${week} of them, for ${describeCosts(perWeek)}.`;
}

/** Names what the counts of a preview are of. */
function nameTargets({ target }: Pick<Preview['rule'], 'target'>): string {
  return target === 'session' ? 'sessions' : 'traces';
}

/** Verdict of a preview, with its trace or session; the id of the other one is ''. */
export interface PreviewRow extends Verdict {
  readonly tenant: string;
  readonly traceId: string;
  readonly sessionId: string;
  /** Agent (without a name, its service) and conventions of each run, on one line. */
  readonly run: string;
}

/** Lists the verdicts of a preview, by their traces or sessions. */
export function listVerdicts({ traces }: Preview): PreviewRow[] {
  return traces.flatMap(({ tenant, traceId, sessionId, reading, verdicts }) => {
    const run = (reading?.runs ?? [])
      .map(
        ({ agent, service, conventions }) => `${agent ?? service ?? 'unnamed'} (${conventions.join(', ')})`,
      )
      .join('; ');
    return verdicts.map((verdict) => ({
      ...verdict,
      tenant,
      traceId,
      sessionId,
      run: run === '' ? 'no run' : run,
    }));
  });
}

/** Lists what was not understood, each kind of span once. */
export function listNotUnderstood({ traces }: Preview): string[] {
  const spans = traces.flatMap(({ reading }) => reading?.notUnderstood ?? []);
  return [...new Set(spans.map(({ name, scope, reason }) => `${name} of ${scope}: ${reason}`))];
}

/** Says whether a monitor would have fired. */
export function describeFirings({ scores, firedAt }: Preview['monitors'][number]): string {
  const fired = firedAt.length === 0 ? 'would not have fired' : `would have fired ${firedAt.length} times`;
  return `${fired}, on ${formatNumber(scores)} stored scores`;
}

/** Says what a dry run of a backfill found. */
export function describeDryRun({ matched, remaining, estimate }: Replies['/backfills/{id}']): string {
  const pairs = `${formatNumber(matched)} traces, ${formatNumber(remaining)} scores to make`;
  return estimate === undefined ? pairs : `${pairs} · ${describeEstimate(estimate)}`;
}
