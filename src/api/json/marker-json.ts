import type { DeployMarker } from '../../domain/deploy-marker.ts';
import { isoTime } from './time-json.ts';

/** Formats a deploy marker as JSON; times in ISO 8601. */
export function markerJson({ atMs, serviceVersion, ...rest }: DeployMarker) {
  return { ...rest, version: serviceVersion, at: isoTime(atMs) };
}
