import { readBackfillReport } from '../../backfill/backfill-report.ts';
import { formatCount } from '../../domain/plural.ts';
import type { backfillJson } from '../../api/json/rows.ts';
import { OPEN_STATUSES } from '../../store/contracts/jobs.ts';
import { showReasons } from './show-target.ts';

type BackfillJson = ReturnType<typeof backfillJson>;

/** Formats the state of a backfill on one line. */
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

/** Lists the counts of a backfill for people. */
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
