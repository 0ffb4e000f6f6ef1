import { column, named, wordOf, type RowOf, type Table } from './table.ts';

/** Definition of `deploy_markers`: first uses of versions. */
export const DEPLOY_MARKERS = {
  name: 'deploy_markers',
  columns: {
    tenant: column('LowCardinality(String)'),
    service: named('ServiceName', column('LowCardinality(String)')),
    /** '' for all agents of the service. */
    agent: column('LowCardinality(String)'),
    /** '' where only the version of the agent is known. */
    serviceVersion: column('String'),
    /** '' where only the version of the service is known. */
    agentVersion: column('String'),
    /** `seen`: first found in a live score; `api`: announced through the API. */
    origin: wordOf(['seen', 'api']),
    atMs: named('FirstSeen', column("SimpleAggregateFunction(min, DateTime64(3, 'UTC'))")),
  },
  ofStore: {},
} satisfies Table;

export type DeployMarker = RowOf<typeof DEPLOY_MARKERS>;

/** Version of an agent, or of the service that the agent runs in. */
export type AgentVersion = Pick<DeployMarker, 'service' | 'agent' | 'serviceVersion' | 'agentVersion'>;

/** A version in one service, from its first marker on. */
export interface Deploy {
  readonly tenant: string;
  readonly service: string;
  readonly version: string;
  /** Agents that have this version; empty when the version is that of all agents of the service. */
  readonly agents: readonly string[];
  /** Unix milliseconds. */
  readonly atMs: number;
}
