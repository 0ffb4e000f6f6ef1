/** A version of an agent's service came into use. */
export interface DeployMarker {
  readonly tenant: string;
  readonly service: string;
  /** '' for all agents of the service. */
  readonly agent: string;
  readonly serviceVersion: string;
  /** `seen`: first found in a live score; `api`: announced. */
  readonly origin: 'seen' | 'api';
  /** Unix milliseconds. */
  readonly atMs: number;
}
