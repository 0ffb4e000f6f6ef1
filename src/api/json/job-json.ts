import type { Job } from '../../store/contracts/jobs.ts';
import { isoTime } from './time-json.ts';

/** Job as JSON. The report of its kind adds further fields. */
export type JobJson = ReturnType<typeof jobJson>;

/** Formats a job as JSON: its report stands beside the other fields. */
export function jobJson(job: Job) {
  const { id, kind, tenant, status, spec, report, owner, checkpoint, costUsd, error, left } = job;
  return {
    id,
    kind,
    tenant,
    status,
    spec,
    createdAt: isoTime(job.createdAtMs),
    startedAt: isoTime(job.startedAtMs),
    finishedAt: isoTime(job.finishedAtMs),
    ...report,
    costUsd,
    checkpoint,
    owner,
    /** Error of the end or of the last attempt; null without one. */
    error: error === '' ? null : error,
    /** Reason why a process left the job to others; null without one. */
    left: left === '' ? null : left,
  };
}
