import type { DeployMarker } from '../../domain/deploy-marker.ts';
import type { Listed, ListPage } from '../contracts/lists.ts';
import type { MarkerFilter, MarkerStore } from '../contracts/monitors.ts';
import type { Database } from '../database.ts';
import { keyIdOf, readKeysetPage } from '../lists/keyset-page.ts';
import { toDateTime } from '../values.ts';
import { readVersionScores } from './version-scores.ts';

/**
 * Creates the store of versions: when each version of an agent or service was first seen in live scores (a view writes those),
 * or announced.
 */
export function createMarkerStore(database: Database): MarkerStore {
  return {
    record: (marker) =>
      database.insertRows('deploy_markers', [
        {
          Tenant: marker.tenant,
          ServiceName: marker.service,
          Agent: marker.agent,
          ServiceVersion: marker.serviceVersion,
          AgentVersion: marker.agentVersion,
          Origin: marker.origin,
          FirstSeen: toDateTime(marker.atMs),
        },
      ]),
    list: (filter, page) => listMarkers(database, filter, page),
    scoresAround: (deploy) => readVersionScores(database, deploy),
  };
}

function listMarkers(
  database: Database,
  { tenant, version, sinceMs = 0 }: MarkerFilter,
  page: ListPage,
): Promise<Listed<DeployMarker>> {
  const names = 'tenant, service, agent, serviceVersion, agentVersion, origin';
  const sql = `SELECT Tenant AS tenant, ServiceName AS service, Agent AS agent, ServiceVersion AS serviceVersion,
       AgentVersion AS agentVersion, Origin AS origin, toUnixTimestamp64Milli(min(FirstSeen)) AS atMs, ${keyIdOf(names)} AS keyId
     FROM deploy_markers
     WHERE ${tenant === undefined ? '1' : 'Tenant = {tenant:String}'}
       AND ${version === undefined ? '1' : '{version:String} IN (ServiceVersion, AgentVersion)'}
     GROUP BY ${names}
     HAVING atMs >= {sinceMs:Int64}`;
  const params = { tenant, version, sinceMs: Math.trunc(sinceMs) };
  const toItem = ({ atMs, keyId: _keyId, ...marker }: MarkerRow): DeployMarker => ({
    ...marker,
    atMs: Number(atMs),
  });
  return readKeysetPage(database, { sql, params, order: 'newest', toItem }, page);
}

interface MarkerRow extends Omit<DeployMarker, 'atMs'> {
  readonly atMs: string;
  readonly keyId: string;
}
