import type { DeployMarker } from '../../domain/deploy-marker.ts';
import type { MarkerStore } from '../contracts/monitors.ts';
import type { Database } from '../database.ts';
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
    list: ({ tenant, sinceMs, offset, version, limit }) =>
      listMarkers(database, { tenant, version, sinceMs: sinceMs ?? 0, offset: offset ?? 0, limit }),
    scoresAround: (deploy) => readVersionScores(database, deploy),
  };
}

async function listMarkers(
  database: Database,
  query: {
    readonly tenant: string | undefined;
    readonly version: string | undefined;
    readonly sinceMs: number;
    readonly offset: number;
    readonly limit: number;
  },
): Promise<DeployMarker[]> {
  const rows = await database.rows<Omit<DeployMarker, 'atMs'> & { atMs: string }>(
    `SELECT Tenant AS tenant, ServiceName AS service, Agent AS agent, ServiceVersion AS serviceVersion,
       AgentVersion AS agentVersion, Origin AS origin, toUnixTimestamp64Milli(min(FirstSeen)) AS atMs
     FROM deploy_markers
     WHERE ${query.tenant === undefined ? '1' : 'Tenant = {tenant:String}'}
       AND ${query.version === undefined ? '1' : '{version:String} IN (ServiceVersion, AgentVersion)'}
     GROUP BY tenant, service, agent, serviceVersion, agentVersion, origin
     HAVING min(FirstSeen) >= fromUnixTimestamp64Milli({sinceMs:Int64})
     ORDER BY atMs DESC, tenant, service, agent, serviceVersion, agentVersion, origin
     LIMIT {limit:UInt32} OFFSET {offset:UInt32}`,
    { ...query, sinceMs: Math.trunc(query.sinceMs) },
  );
  return rows.map((row) => ({ ...row, atMs: Number(row.atMs) }));
}
