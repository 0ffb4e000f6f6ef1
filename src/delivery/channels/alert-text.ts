import { nameBudget } from '../../domain/money/budget.ts';
import { showUsd } from '../../domain/money/usd.ts';
import { splitTexts } from '../../domain/series-facets.ts';
import {
  type AlertBudget,
  type AlertEvent,
  type AlertIssue,
  JUDGE_DETECTOR,
  LIMIT_SIDES,
} from '../../monitors/alert-event.ts';
import { nameValues } from '../../domain/segment-name.ts';
import type { Cause } from '../../monitors/attribution/explain-change.ts';
import { formatCount } from '../../domain/plural.ts';
import type { AlertLinks } from './channel.ts';
import { MINUTE_MS } from '../../domain/durations.ts';

/** Names of detector values other than mean scores. */
const MEASURES: Readonly<Record<string, string>> = {
  rate: 'share of low scores',
  distribution: 'share of scores below a bound',
  scorer_errors: 'share of runs in which the scorer failed',
  coverage: 'share of runs that are scored',
  judge: 'mean score of the same runs',
};

/**
 * Describes the series: `faithfulness of support-agent in production`, and its split: `, model gpt-5`. Describes the judge of an alert about
 * a judge, the cap of an alert about a budget: `rule production's budget of 5 USD a UTC day`, and an issue by its id and its title.
 */
export function formatSubject({ series, budget, detector, issue, labels }: AlertEvent): string {
  if (issue !== undefined) {
    return `issue ${issue.id} of ${series.agent}, ${issue.title}`;
  }
  if (budget !== undefined) {
    return `${nameBudget(budget.scope)} of ${showUsd(budget.capUsd)} USD a UTC ${budget.period}`;
  }
  if (detector === JUDGE_DETECTOR) {
    return `judge ${labels['judge'] ?? ''} of ${series.scorer}`;
  }
  const ofAgent = series.agent === '' ? '' : ` of ${series.agent}`;
  const inEnvironment = series.environment === '' ? '' : ` in ${series.environment}`;
  return [`${series.scorer}${ofAgent}${inEnvironment}`, ...splitTexts(series)].join(', ');
}

/** Describes an event in one sentence, without a full stop. */
export function formatSummary(event: AlertEvent): string {
  const subject = formatSubject(event);
  if (event.status === 'resolved') {
    const lastedMs = (event.endsAtMs ?? event.startsAtMs) - event.startsAtMs;
    return `${subject}: over after ${durationText(lastedMs)}`;
  }
  if (event.budget !== undefined) {
    return `${subject}: ${formatSpent(event.budget)}`;
  }
  if (event.issue !== undefined) {
    return `${subject}: ${formatShare(event, event.issue)}`;
  }
  return event.detector === 'no_data'
    ? `${subject}: no scores arrive any more`
    : `${subject}: ${formatChange(event)}`;
}

function formatSpent({ percent, spentUsd }: AlertBudget): string {
  const usd = `${showUsd(spentUsd)} USD are spent`;
  return percent < 100 ? `${percent} % is reached, ${usd}` : `no further call can be paid, ${usd}`;
}

/** Describes the change of an issue: `now 3.1 % of runs, before 1 %`. */
function formatShare({ before, after }: AlertEvent, { state }: AlertIssue): string {
  const percent = (share: number | null) => (share === null ? 'some' : `${numberText(100 * share, 1)} %`);
  const now = `${percent(after)} of runs`;
  const words = { new: `new, ${now}`, escalating: `more often, ${now}`, regressed: `back, ${now}` };
  return `${words[state]}${before === null ? '' : `; before ${percent(before)}`}`;
}

/** Describes the numbers of a detector with a limit, `below 0.7: 0.42 over 31 scores`; undefined for any other detector. */
export function formatBeyond(
  { before, after, count }: Pick<AlertEvent, 'before' | 'after' | 'count'>,
  detector: string,
): string | undefined {
  const side = LIMIT_SIDES.get(detector);
  if (side === undefined || before === null || after === null) {
    return undefined;
  }
  // Enough digits that a value just beyond the limit does not look equal to it.
  const digits = [3, 4, 5].find((each) => numberText(after, each) !== numberText(before, each)) ?? 6;
  const noun = ['scorer_errors', 'coverage'].includes(detector) ? 'run' : 'score';
  return `${side} ${numberText(before, digits)}: ${numberText(after, digits)} over ${formatCount(count, noun)}`;
}

/** Returns the mean before the change where `before` is a limit on the mean; null for any other alert. */
export function findEarlier({ detector, meanBefore }: AlertEvent): number | null {
  return ['floor', 'threshold'].includes(detector) ? (meanBefore ?? null) : null;
}

function formatChange(event: AlertEvent): string {
  const { before, after, detector } = event;
  const measure = MEASURES[detector] ?? 'mean score';
  const scale = measure.startsWith('mean score') ? ' (1 is best)' : '';
  if (after === null) {
    return `${measure} changed`;
  }
  const beyond = formatBeyond(event, detector);
  if (beyond !== undefined) {
    const earlier = findEarlier(event);
    return `${measure} is ${beyond}${scale}${earlier === null ? '' : `; it was ${numberText(earlier)} before`}`;
  }
  if (before === null || before === after) {
    return `${measure} is ${numberText(after)}${scale}`;
  }
  const verb = after < before ? 'fell' : 'rose';
  return `${measure} ${verb} from ${numberText(before)} to ${numberText(after)}${scale}`;
}

/** Describes the begin of the change, the number of observations and the evidence; of a budget, the time at which it renews. */
export function formatFinding(event: AlertEvent): string {
  const { changeBeganMs, count, evidenceLog10, detector, budget, issue } = event;
  if (budget !== undefined) {
    const wait = budget.percent < 100 ? '' : ' Judge calls wait until then.';
    return `The budget renews at ${minuteText(budget.renewsAtMs)}.${wait}`;
  }
  if (issue !== undefined) {
    return `It began about ${minuteText(changeBeganMs)}. To see it: spanscore issues show ${issue.id}.`;
  }
  if (detector === 'threshold') {
    return `It was first below in the window that began about ${minuteText(changeBeganMs)}.${formatLate(event)}`;
  }
  const evidence = evidenceLog10 === null ? '' : `, evidence ${numberText(evidenceLog10, 1)} (log10)`;
  return `The change began about ${minuteText(changeBeganMs)}; ${formatCount(count, 'observation')} since then${evidence}.${formatLate(event)}`;
}

function formatLate({ lateScores }: AlertEvent): string {
  const scores = formatCount(lateScores, 'score');
  return lateScores === 0
    ? ''
    : ` Besides, ${scores} came more than an hour after the trace, too late to count.`;
}

/** Most causes in a message. */
const MAX_CAUSES = 5;

/** Lists the reason of the change in a sentence, and further causes, one text each. Nothing for a change within chance. */
export function listCauses({ cause }: AlertEvent): string[] {
  if (!cause || cause.verdict === 'none') {
    return [];
  }
  return [cause.sentence, ...cause.causes.slice(1, MAX_CAUSES).map(causeText)];
}

function causeText({ segment, before, after, n, share }: Cause): string {
  const change = [before, after].flatMap((mean) => (mean === null ? [] : [numberText(mean)])).join(' → ');
  return `${nameValues(segment)}: ${Math.round(share * 100)} % of the change (${change}, ${formatCount(n, 'score')})`;
}

/** Builds the link to the page of a trace, with its tenant: other tenants may have the same id. Undefined without a public address. */
export function traceLink(
  traceId: string,
  { series: { tenant } }: Pick<AlertEvent, 'series'>,
  links: AlertLinks,
): string | undefined {
  const query = tenant === '' ? '' : `?tenant=${encodeURIComponent(tenant)}`;
  return pageLink(`/traces/${encodeURIComponent(traceId)}${query}`, links);
}

/** Builds the link to a page of the dashboard; undefined without a public address. */
export function pageLink(path: string, { publicUrl }: AlertLinks): string | undefined {
  return publicUrl === undefined ? undefined : publicUrl + path;
}

export const ALERTS_PAGE = '/alerts';

/** Writes a number with at most this many digits after the point, without trailing zeros. */
export function numberText(value: number, digits = 3): string {
  return String(Number(value.toFixed(digits)));
}

/** Writes a time like `2026-01-20 06:40 UTC`. */
function minuteText(unixMs: number): string {
  return `${new Date(unixMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function durationText(ms: number): string {
  const minutes = Math.max(0, Math.round(ms / MINUTE_MS));
  const [days, hours] = [Math.floor(minutes / 1_440), Math.floor((minutes % 1_440) / 60)];
  const parts = [
    [days, 'd'],
    [hours, 'h'],
    [minutes % 60, 'min'],
  ] as const;
  const shown = parts.filter(([amount]) => amount > 0).slice(0, 2);
  return shown.length === 0
    ? 'less than a minute'
    : shown.map(([amount, unit]) => `${amount} ${unit}`).join(' ');
}
