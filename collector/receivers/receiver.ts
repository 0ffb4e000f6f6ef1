import type { IncomingHttpHeaders } from 'node:http';
import type { ServerTls } from '../../src/config/tls-files.ts';
import type { ReadinessCheck } from '../../src/domain/readiness-check.ts';
import type { DeadLetterSink } from '../../src/store/contracts/dead-letters.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Reading } from '../../src/telemetry/metrics.ts';
import type { MetricWriter } from '../../src/telemetry/metrics.ts';
import type { DropMetrics } from '../drop-metrics.ts';
import type { CollectorLimits } from '../limits.ts';
import type { TakeRequest } from '../ingest.ts';
import type { MemoryLimiter } from '../memory-limiter.ts';
import type { z } from 'zod';
import type { ReceiverOptions, ReceiverSection } from '../../src/config/schema/components.ts';
import { type AccessToken, createAccessCheck } from '../../src/config/access.ts';

/** Tenant of the sender of a request, or the reason of the refusal. */
export type Authentication =
  | { readonly tenant: string }
  | { readonly status: 401 | 403; readonly message: string };

/** Checks the headers of a request before its body is read. */
export type Authenticate = (headers: IncomingHttpHeaders) => Authentication;

export interface ReceiverDependencies {
  readonly take: TakeRequest;
  readonly dropMetrics: DropMetrics;
  readonly limiter: MemoryLimiter;
  readonly metrics: MetricWriter;
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

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export interface Receiver {
  /** Undefined for one that fetches. */
  readonly address?: ListenAddress;
  /** False once it stops, and where it listens no more. */
  isListening(): boolean;
  /** Readiness checks beside that it listens. */
  readonly checks?: readonly ReadinessCheck[];
  /** Its own metrics. */
  readings?(): readonly Reading[];
  /** Accepts no new connections, lets requests under way finish within the grace time, then closes the remaining ones. */
  stop(): Promise<void>;
}

/** A receiver of OTLP, which listens. */
export interface OtlpReceiver extends Receiver {
  readonly address: ListenAddress;
}

export interface CollectorDependencies extends ReceiverDependencies {
  /** `take` for a receiver whose sender waits as long as the store does. */
  readonly takeUntilStored: TakeRequest;
  /** Sink of records that can never be stored. */
  readonly deadLetters: DeadLetterSink;
}

/** Starts one receiver. Throws `ConfigError` when its address cannot be used. */
export type StartReceiver = (deps: CollectorDependencies) => Promise<Receiver>;

/** Receiver, defined in its own folder. `configure` loads its code. */
export interface ReceiverDefinition<
  Key extends `receivers.${string}` = `receivers.${string}`,
  Options extends z.ZodType<ReceiverOptions> = z.ZodType<ReceiverOptions>,
  AlwaysOn extends boolean = boolean,
> extends ReceiverSection<Key, Options, AlwaysOn> {
  /** Returns the function that starts it. Throws a `ConfigError` for a file that cannot be used. */
  configure(options: z.infer<Options>, log: Log): Promise<StartReceiver>;
}

/** Defines a receiver; returns the definition with the types of its key and its options. */
export function defineReceiver<
  const Key extends `receivers.${string}`,
  Options extends z.ZodType<ReceiverOptions>,
  const AlwaysOn extends boolean,
>(definition: ReceiverDefinition<Key, Options, AlwaysOn>): ReceiverDefinition<Key, Options, AlwaysOn> {
  return definition;
}

/**
 * Creates a check of senders by their tokens with the scope `ingest`. Without tokens every sender may send, with the tenant
 * ''.
 */
export function bearerTokens(tokens: readonly AccessToken[]): Authenticate {
  const check = createAccessCheck(tokens);
  return (headers) => {
    const access = check(headers.authorization, 'ingest');
    return 'status' in access ? access : { tenant: access.tenant ?? '' };
  };
}
