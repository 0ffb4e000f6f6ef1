import { randomUUID } from 'node:crypto';
import type { SpanSink } from '../src/store/contracts/span-sink.ts';
import type { Log } from '../src/telemetry/log.ts';
import { Batcher } from './batcher.ts';
import { type CollectorCount, createCounter, type OnCount } from './counts.ts';
import { type CollectorLimits, DEFAULT_COLLECTOR_LIMITS } from './limits.ts';
import { createMemoryLimiter } from './memory-limiter.ts';
import { type Authenticate, startOtlpHttp } from './receivers/otlp-http.ts';

export interface CollectorOptions {
  readonly sink: SpanSink;
  readonly http: { readonly host: string; readonly port: number };
  readonly limits?: Partial<CollectorLimits>;
  /** Default: everybody may send; the tenant is ''. */
  readonly authenticate?: Authenticate;
  readonly log: Log;
  readonly onCount?: OnCount;
}

/** What a collector has done and is doing. */
interface CollectorStats {
  readonly counts: Record<CollectorCount, number>;
  readonly heldBytes: number;
  readonly pendingRowBytes: number;
  readonly insertsRunning: number;
}

export interface Collector {
  /** Where OTLP/HTTP is received. */
  readonly address: { readonly host: string; readonly port: number };
  /** Takes nothing new, finishes what was begun, then resolves. A second call waits for the first. */
  stop(): Promise<void>;
  stats(): CollectorStats;
}

/** Starts receivers that answer a sender only after its rows are durable. */
export async function startCollector(options: CollectorOptions): Promise<Collector> {
  const { sink, log, onCount, authenticate = () => ({ tenant: '' }) } = options;
  const limits = { ...DEFAULT_COLLECTOR_LIMITS, ...options.limits };
  const counter = createCounter(onCount);
  const limiter = createMemoryLimiter(limits.maxInFlightBytes, limits.retryAfterMs);
  const batcher = new Batcher({
    sink,
    limits,
    log,
    counter,
    newToken: randomUUID,
    nowMs: () => performance.now(),
  });
  const http = await startOtlpHttp(options.http, { batcher, limiter, counter, limits, authenticate, log });

  async function stop(): Promise<void> {
    await http.stop();
    await batcher.drain();
  }

  let stopped: Promise<void> | undefined;
  return {
    address: http.address,
    stop: () => (stopped ??= stop()),
    stats: () => ({
      counts: counter.totals(),
      heldBytes: limiter.heldBytes,
      pendingRowBytes: batcher.pendingBytes,
      insertsRunning: batcher.insertsRunning,
    }),
  };
}
