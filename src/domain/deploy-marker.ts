/** Version of an agent, or of the service that the agent runs in. */
export interface AgentVersion {
  readonly service: string;
  /** '' for all agents of the service. */
  readonly agent: string;
  /** '' where only the version of the agent is known. */
  readonly serviceVersion: string;
  /** '' where only the version of the service is known. */
  readonly agentVersion: string;
}

/** First use of a version. */
export interface DeployMarker extends AgentVersion {
  readonly tenant: string;
  /** `seen`: first found in a live score; `api`: announced through the API. */
  readonly origin: 'seen' | 'api';
  /** Unix milliseconds. */
  readonly atMs: number;
}

/** A version in one service, from its first marker on. */
export interface Deploy {
  readonly tenant: string;
  readonly service: string;
  /** Version of the service or of an agent. */
  readonly version: string;
  /** Agents that have this version; empty when the version is that of all agents of the service. */
  readonly agents: readonly string[];
  /** Unix milliseconds. */
  readonly atMs: number;
}
