import type { Deploy, DeployMarker } from '../../domain/deploy-marker.ts';
import { NotFoundError } from '../../domain/errors.ts';
import { compareVersions, type VersionComparison } from '../../monitors/version-compare.ts';
import type { MarkerStore } from '../../store/contracts/monitors.ts';

/** Deploy of one service, and its effect on each series of the service. */
export interface ComparedDeploy {
  readonly deploy: Deploy;
  readonly comparisons: readonly VersionComparison[];
}

/** Limit of markers read for one version. */
const MAX_MARKERS = 1_000;

/**
 * Compares scores before and after a version, for each service or agent that has it. The deploy began when the version was
 * announced or first seen, whichever was earlier. Throws a `NotFoundError` for an unknown version (in this tenant).
 */
export async function compareDeploys(
  markers: MarkerStore,
  { version, tenant }: { readonly version: string; readonly tenant?: string | undefined },
): Promise<ComparedDeploy[]> {
  const { items: found } = await markers.list({ version, tenant }, { limit: MAX_MARKERS });
  if (found.length === 0) {
    throw new NotFoundError(`version ${version} is unknown: no score has it and no deploy was announced`);
  }
  const services = Map.groupBy(found, (marker) => JSON.stringify([marker.tenant, marker.service]));
  const compared: ComparedDeploy[] = [];
  for (const members of services.values()) {
    const deploy = buildDeploy(version, members);
    const comparisons = compareVersions(await markers.scoresAround(deploy));
    compared.push({ deploy, comparisons });
  }
  return compared;
}

/**
 * Builds the deploy of a version. The version of a service covers all its agents; the version of an agent covers that
 * agent.
 */
function buildDeploy(version: string, markers: readonly DeployMarker[]): Deploy {
  const earliest = markers.reduce((first, marker) => (marker.atMs < first.atMs ? marker : first));
  const ofAll = markers.some(({ agent, serviceVersion }) => agent === '' || serviceVersion === version);
  const agents = ofAll ? [] : [...new Set(markers.map(({ agent }) => agent))];
  return { tenant: earliest.tenant, service: earliest.service, version, agents, atMs: earliest.atMs };
}
