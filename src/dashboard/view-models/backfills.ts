import type { Item } from '../api-types.ts';
import { formatDuration, formatNumber, formatUsd } from './format.ts';

type Backfill = Item<'/backfills'>;

/** Action that a person may ask for. */
export type BackfillAction = 'pause' | 'resume' | 'cancel';

const STATES: Readonly<Record<Backfill['status'], string>> = {
  queued: '… waits for a process',
  running: '▶ running',
  paused: '‖ paused',
  done: '✓ done',
  failed: '✗ failed',
  cancelled: '– cancelled',
};

const ACTIONS: Readonly<Record<Backfill['status'], readonly BackfillAction[]>> = {
  queued: ['pause', 'cancel'],
  running: ['pause', 'cancel'],
  paused: ['resume', 'cancel'],
  done: [],
  failed: [],
  cancelled: [],
};

/** Lists what can be done with a backfill. */
export function listActions({ status }: Backfill): readonly BackfillAction[] {
  return ACTIONS[status];
}

/** Returns true for a backfill that may still change. */
export function isOpen(backfill: Backfill): boolean {
  return listActions(backfill).length > 0;
}

/** Says the state of a backfill, and why it does not go on. */
export function describeState({ status, error, left }: Backfill): string {
  const reason = status === 'failed' || status === 'running' ? error : status === 'queued' ? left : null;
  return reason === null ? STATES[status] : `${STATES[status]}: ${reason}`;
}

/** Progress of a backfill. */
export interface BackfillProgress {
  /** Pairs that are done. */
  readonly done: number;
  /** All pairs, as far as they are known. */
  readonly all: number;
  readonly text: string;
}

/** Computes how far a backfill is. */
export function readProgress(backfill: Backfill): BackfillProgress {
  const { scored, remaining, perSecond, etaSeconds, status } = backfill;
  const [skipped, failed] = [backfill.skipped, backfill.failed].map(sum);
  const done = scored + (skipped ?? 0) + (failed ?? 0);
  const isFast = status === 'running' && perSecond !== null;
  const text = [
    `${formatNumber(scored)} scored`,
    `${formatNumber(skipped ?? 0)} skipped`,
    `${formatNumber(failed ?? 0)} failed`,
    ...(isOpen(backfill) ? [`${formatNumber(remaining)} left`] : []),
    ...(isFast ? [`${Number(perSecond.toFixed(1))} a second`] : []),
    ...(isFast && etaSeconds !== null && remaining > 0
      ? [`${formatDuration(etaSeconds * 1_000)} to go`]
      : []),
  ].join(' · ');
  return { done, all: done + remaining, text };
}

/** Says what a backfill has cost, and what it may cost. */
export function describeCost({ costUsd, maxCostUsd }: Backfill): string {
  return maxCostUsd === null ? formatUsd(costUsd) : `${formatUsd(costUsd)} of ${formatUsd(maxCostUsd)}`;
}

/** Lists reasons with their numbers, the greatest first. */
export function listReasons({ skipped, failed }: Backfill): string[] {
  return [...Object.entries(skipped), ...Object.entries(failed)]
    .toSorted(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${formatNumber(count)} ${reason}`);
}

/** Rules and scorers of a backfill: `production: hallucination, tone`. */
export function describeWork({ spec }: Backfill): string {
  const rules = Array.isArray(spec['rules']) ? (spec['rules'] as { name?: string; scorers?: object }[]) : [];
  return rules.map(({ name = '', scorers = {} }) => `${name}: ${Object.keys(scorers).join(', ')}`).join('; ');
}

function sum(reasons: Readonly<Record<string, number>>): number {
  return Object.values(reasons).reduce((total, count) => total + count, 0);
}
