import type { IncomingHttpHeaders } from 'node:http';
import type { ServerTls } from '../../src/config/tls-files.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Counter } from '../counts.ts';
import type { CollectorLimits } from '../limits.ts';
import type { TakeRequest } from '../ingest.ts';
import type { MemoryLimiter } from '../memory-limiter.ts';

/** Tenant of the sender of a request, or the reason of the refusal. */
export type Authentication =
  | { readonly tenant: string }
  | { readonly status: 401 | 403; readonly message: string };

/** Checks the headers of a request before its body is read. */
export type Authenticate = (headers: IncomingHttpHeaders) => Authentication;

/** Dependencies that the receivers of one collector share. */
export interface ReceiverDependencies {
  readonly take: TakeRequest;
  readonly limiter: MemoryLimiter;
  readonly counter: Counter;
  readonly limits: CollectorLimits;
  readonly authenticate: Authenticate;
  readonly log: Log;
}

/** Listener settings of a receiver. */
export interface ListenOptions {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
  /** Undefined: without TLS. */
  readonly tls?: ServerTls | undefined;
}

/** Receiver that listens. */
export interface OtlpReceiver {
  readonly address: { readonly host: string; readonly port: number };
  /** False once the receiver stops. */
  isListening(): boolean;
  /** Accepts no new connections, lets requests under way finish within the grace time, then closes the remaining ones. */
  stop(): Promise<void>;
}
