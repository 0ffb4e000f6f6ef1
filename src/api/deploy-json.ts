import type { Deploy } from '../domain/deploy-marker.ts';
import type { VersionVerdict } from '../monitors/version-compare.ts';
import { isoTime } from './time-json.ts';

/** Formats the effect of a deploy on a series as JSON; times in ISO 8601. */
export function deployJson(
  { service, version, atMs }: Pick<Deploy, 'service' | 'version' | 'atMs'>,
  verdict: VersionVerdict,
) {
  return { service, version, deployedAt: isoTime(atMs), ...verdict };
}
