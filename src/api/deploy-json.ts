import type { DeployMarker } from '../domain/deploy-marker.ts';
import type { VersionVerdict } from '../monitors/version-compare.ts';
import { isoTime } from './time-json.ts';

/** What a deploy did to a series, as JSON; times in ISO 8601. */
export function deployJson(
  { service, serviceVersion, atMs }: Pick<DeployMarker, 'service' | 'serviceVersion' | 'atMs'>,
  verdict: VersionVerdict,
) {
  return { service, version: serviceVersion, deployedAt: isoTime(atMs), ...verdict };
}
