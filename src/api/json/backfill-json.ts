import type { Job } from '../../store/contracts/jobs.ts';
import { jobJson, type JobJson } from './job-json.ts';

/** Counts of a backfill before its first progress. */
const NOTHING_DONE = {
  matched: 0,
  sessions: 0,
  scored: 0,
  skipped: {},
  failed: {},
  remaining: 0,
  perSecond: null,
  etaSeconds: null,
  maxCostUsd: null,
};

/** Formats a backfill as JSON: the same for the API and the command. */
export function backfillJson(job: Job): JobJson & typeof NOTHING_DONE {
  const maxCostUsd = typeof job.spec['maxCostUsd'] === 'number' ? job.spec['maxCostUsd'] : null;
  return { ...NOTHING_DONE, maxCostUsd, ...jobJson(job) } as JobJson & typeof NOTHING_DONE;
}
