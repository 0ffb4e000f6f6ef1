import type { Deploy } from '../../domain/deploy-marker.ts';
import type { VersionComparison } from '../../monitors/version-compare.ts';
import { isoTime } from './time-json.ts';

/** Formats the effect of a deploy on a series as JSON; times in ISO 8601. */
export function deployJson(
  { service, version, atMs }: Pick<Deploy, 'service' | 'version' | 'atMs'>,
  { series, effect, ...numbers }: VersionComparison,
) {
  return { service, version, deployedAt: isoTime(atMs), series, verdict: effect, ...numbers };
}
