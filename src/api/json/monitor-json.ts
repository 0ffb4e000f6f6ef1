import type { Finding } from '../../monitors/detector.ts';
import { isMuted } from '../../monitors/mute.ts';
import { computeSeriesId } from '../../monitors/series-key.ts';
import type { MonitorStanding, MonitorStatus } from '../../monitors/monitor-status.ts';
import type { AlertReplies } from './alert-json.ts';
import { isoTime } from './time-json.ts';

/** Returns whether the messages about a series are muted. */
export function isStatusMuted(
  { alert, incidentId, series }: MonitorStatus,
  { mutes, nowMs }: Pick<AlertReplies, 'mutes' | 'nowMs'>,
): boolean {
  return isMuted({ alert, incidentId: incidentId ?? '', series }, mutes, nowMs);
}

/** Formats the state of a rule on a series as JSON; times in ISO 8601. */
export function monitorJson(status: MonitorStanding, replies: Pick<AlertReplies, 'mutes' | 'nowMs'>) {
  const { sinceMs, finding, bucketMs, lastLateBucketMs, ...rest } = status;
  return {
    ...rest,
    seriesId: computeSeriesId(status.series),
    muted: isStatusMuted(status, replies),
    since: isoTime(sinceMs),
    finding: finding === null ? null : findingJson(finding),
    bucket: isoTime(bucketMs),
    lastLateBucket: isoTime(lastLateBucketMs),
  };
}

function findingJson({ changeBeganMs, ...rest }: Finding) {
  return { changeBegan: isoTime(changeBeganMs), ...rest };
}
