/** A version of an agent, or of the service that it runs in, came into use. */
export interface DeployMarker {
  readonly tenant: string;
  readonly service: string;
  /** '' for all agents of the service. */
  readonly agent: string;
  /** '' where only the agent's is known. */
  readonly serviceVersion: string;
  /** '' where only the service's is known. */
  readonly agentVersion: string;
  /** `seen`: first found in a live score; `api`: announced. */
  readonly origin: 'seen' | 'api';
  /** Unix milliseconds. */
  readonly atMs: number;
}

/** A version in one service, since its first marker. */
export interface Deploy {
  readonly tenant: string;
  readonly service: string;
  /** Of the service or of an agent. */
  readonly version: string;
  /** Whose version it is; none: that of all agents of the service. */
  readonly agents: readonly string[];
  /** Unix milliseconds. */
  readonly atMs: number;
}
