import type { Finding } from '../monitors/detector.ts';
import type { MonitorStatus } from '../monitors/monitor-status.ts';
import { isoTime } from './time-json.ts';

/** Formats the state of a rule on a series as JSON; times in ISO 8601. */
export function monitorJson({ sinceMs, finding, bucketMs, ...rest }: MonitorStatus) {
  return {
    ...rest,
    since: isoTime(sinceMs),
    finding: finding === null ? null : findingJson(finding),
    bucket: isoTime(bucketMs),
  };
}

function findingJson({ changeBeganMs, ...rest }: Finding) {
  return { changeBegan: isoTime(changeBeganMs), ...rest };
}
