import { randomUUID } from 'node:crypto';
import type { DeadLetterSink } from '../src/store/contracts/dead-letters.ts';
import { NOTHING_PURGED, type PurgedTraces } from '../src/store/contracts/purge.ts';
import type { SpanSink } from '../src/store/spans/span-sink.ts';
import { SECOND_MS } from '../src/domain/durations.ts';
import type { AgentSignals } from '../src/domain/trace/agent-signals.ts';
import type { ReadinessCheck } from '../src/domain/readiness-check.ts';
import type { Log } from '../src/telemetry/log.ts';
import type { MetricWriter, Reading } from '../src/telemetry/metrics.ts';
import { Batcher } from './batcher.ts';
import { BlockInserter, createInsertHealth } from './block-inserter.ts';
import { type CollectorLimits, DEFAULT_COLLECTOR_LIMITS, type Keep } from './limits.ts';
import { createDropMetrics } from './drop-metrics.ts';
import { ingest, type TakeRequest } from './ingest.ts';
import { createMemoryLimiter } from './memory-limiter.ts';
import type {
  Authenticate,
  CollectorDependencies,
  ListenAddress,
  Receiver,
  StartReceiver,
} from './receivers/receiver.ts';
import { StoreUnavailableError, AppError } from '../src/domain/errors.ts';
import { signalsWith } from '../src/conventions/agent-signals.ts';
import type { Config } from '../src/config/index.ts';

export interface CollectorOptions {
  readonly sink: SpanSink;
  /** Sink of rows and records that can never be stored. */
  readonly deadLetters: DeadLetterSink;
  /** Traces of which no span is stored any more. Default: none. */
  readonly purged?: PurgedTraces;
  /** Starts of the receivers, by name. */
  readonly receivers: ReadonlyMap<string, StartReceiver>;
  readonly limits?: Partial<CollectorLimits>;
  /** Default: all. */
  readonly keep?: Keep;
  /** Signals of the spans and log records to keep. Default: the signals of every convention. */
  readonly signals?: AgentSignals | undefined;
  /** Default: every sender may send, with the tenant ''. */
  readonly authenticate?: Authenticate;
  readonly log: Log;
  readonly metrics: MetricWriter;
}

export interface CollectorStats {
  readonly heldBytes: number;
  readonly pendingRowBytes: number;
  readonly insertsRunning: number;
  /** Age in milliseconds of the oldest request without a reply, or with rows that wait for the store. */
  readonly oldestRequestMs: number;
  /** Names of receivers that no longer listen. */
  readonly notListening: readonly string[];
}

export interface Collector {
  /** Addresses of the receivers that listen, by name. */
  readonly addresses: ReadonlyMap<string, ListenAddress>;
  /** Readiness checks of the receivers, beside that they listen. */
  readonly checks: readonly ReadinessCheck[];
  /** Metrics of the receivers. */
  readings(): readonly Reading[];
  /** Accepts no new requests, finishes those under way, then resolves. A second call waits for the first. */
  stop(): Promise<void>;
  stats(): CollectorStats;
  /** Resolves while the store takes inserts; rejects with the reason while it refuses them. */
  checkInserts(): Promise<void>;
}

/** Starts receivers that answer a sender only after its rows are durable. */
export async function startCollector(options: CollectorOptions): Promise<Collector> {
  const { sink, deadLetters, log, metrics, keep = 'all', authenticate = () => ({ tenant: '' }) } = options;
  const limits = { ...DEFAULT_COLLECTOR_LIMITS, ...options.limits };
  const limiter = createMemoryLimiter(limits.maxInFlightBytes, limits.retryAfterMs);
  const health = createInsertHealth(sink);
  const inserter = new BlockInserter({
    sink,
    deadLetters,
    purged: options.purged ?? NOTHING_PURGED,
    limits,
    log,
    metrics,
    health,
    newToken: randomUUID,
  });
  const batcher = new Batcher({ inserter, limits, nowMs: () => performance.now() });
  const decode = { limits, keep, signals: options.signals };
  const take: TakeRequest = (request, lease) => ingest(request, lease, { batcher, limiter, metrics, decode });
  const receivers = await startAll(options.receivers, {
    take: answerWithin(take, limits),
    takeUntilStored: take,
    dropMetrics: createDropMetrics(limits, log),
    limiter,
    metrics,
    limits,
    authenticate,
    deadLetters,
    log,
  });

  async function stop(): Promise<void> {
    await stopAll(receivers);
    await batcher.drain();
  }

  let stopped: Promise<void> | undefined;
  return {
    addresses: new Map(
      [...receivers].flatMap(([name, { address }]) => (address === undefined ? [] : [[name, address]])),
    ),
    checks: [...receivers.values()].flatMap(({ checks = [] }) => checks),
    readings: () => [...receivers.values()].flatMap((receiver) => receiver.readings?.() ?? []),
    stop: () => (stopped ??= stop()),
    checkInserts: () => health.check(),
    stats: () => ({
      heldBytes: limiter.heldBytes,
      pendingRowBytes: batcher.pendingBytes,
      insertsRunning: batcher.insertsRunning,
      oldestRequestMs: limiter.oldestMs(),
      notListening: [...receivers].flatMap(([name, receiver]) => (receiver.isListening() ? [] : [name])),
    }),
  };
}

/** Starts one receiver after the other. Stops the started ones when the next one cannot start. */
async function startAll(
  starts: ReadonlyMap<string, StartReceiver>,
  deps: CollectorDependencies,
): Promise<ReadonlyMap<string, Receiver>> {
  const started = new Map<string, Receiver>();
  try {
    for (const [name, start] of starts) {
      started.set(name, await start(deps));
    }
    return started;
  } catch (error) {
    await stopAll(started);
    throw error;
  }
}

async function stopAll(receivers: ReadonlyMap<string, Receiver>): Promise<void> {
  await Promise.all([...receivers.values()].map((receiver) => receiver.stop()));
}

/**
 * Wraps `take` for senders that give up after a while: when the store hangs, the sender gets a retryable error before it
 * gives up. The rows stay in memory, count as waiting, and may still be stored; rows sent twice are read once.
 */
export function answerWithin(
  take: TakeRequest,
  { answerWithinMs, retryAfterMs }: Pick<CollectorLimits, 'answerWithinMs' | 'retryAfterMs'>,
): TakeRequest {
  // Called here, so that no closure below keeps the request in memory.
  return (request, lease) => orTimeout(take(request, lease), answerWithinMs, retryAfterMs);
}

async function orTimeout<T>(taking: Promise<T>, answerWithinMs: number, retryAfterMs: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message = `the store did not answer within ${answerWithinMs} ms; send again later`;
    late.reject(new StoreUnavailableError(message, { retryAfterMs }));
  }, answerWithinMs);
  try {
    return await Promise.race([taking, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Readiness checks of a collector: its receivers listen, the store takes inserts, and what each receiver checks itself. */
export function collectorChecks({
  stats,
  checkInserts,
  checks,
}: Pick<Collector, 'stats' | 'checkInserts' | 'checks'>): ReadinessCheck[] {
  const receivers: ReadinessCheck = {
    name: 'receivers',
    check: async () => {
      const { notListening } = stats();
      if (notListening.length > 0) {
        throw new AppError(`not listening: ${notListening.join(', ')}`, {
          code: 'overloaded',
          stage: 'receive',
          retryable: true,
        });
      }
    },
  };
  return [receivers, { name: 'inserts', check: checkInserts }, ...checks];
}

/** Ingest settings of a collector from the configuration. */
export function ingestOptions(
  config: Pick<Config, 'ingest'> & Partial<Pick<Config, 'conventions'>>,
): Required<Pick<CollectorOptions, 'keep' | 'limits' | 'signals'>> {
  const { limits, keep } = config.ingest;
  return {
    keep,
    signals: signalsWith(config.conventions),
    limits: {
      maxBodyBytes: limits.requestBytes,
      maxInFlightBytes: limits.inFlightBytes,
      maxConnections: limits.connections,
      maxRecords: limits.records,
      maxRowBytes: limits.spanBytes,
      maxTextBytes: limits.textBytes,
      maxAttributes: limits.attributes,
      maxEvents: limits.events,
      maxLinks: limits.links,
    },
  };
}

/** Current metrics of a collector and its receivers. */
export function collectorReadings({ stats, readings }: Pick<Collector, 'stats' | 'readings'>): Reading[] {
  const { heldBytes, pendingRowBytes, insertsRunning, oldestRequestMs } = stats();
  return [
    { name: 'spanscore.receiver.held', value: heldBytes },
    { name: 'spanscore.receiver.oldest_request.age', value: oldestRequestMs / SECOND_MS },
    { name: 'spanscore.insert.pending', value: pendingRowBytes },
    { name: 'spanscore.insert.running', value: insertsRunning },
    ...readings(),
  ];
}
