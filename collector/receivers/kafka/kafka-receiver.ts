import type { KafkaClient, KafkaConsumer, OnBatch } from './kafka-client.ts';
import { describeKafkaFault } from './kafka-fault.ts';
import { createBatchTaker, type KafkaDependencies, type KafkaSource } from './take-batch.ts';
import { sleep } from '../../../src/domain/waits.ts';

/** State of a Kafka receiver. */
export interface KafkaStatus {
  /** True while the receiver is a member of its group. */
  readonly connected: boolean;
  /** Time of the last heartbeat of the group, Unix milliseconds; null before the first. */
  readonly lastHeartbeatMs: number | null;
  /** Number of records that are not committed yet, by `topic/partition` of this member; as the brokers last said. */
  readonly lags: ReadonlyMap<string, number>;
  /** Reason why the receiver is no member now, when it is known. */
  readonly fault: string | null;
}

export interface KafkaReceiver {
  status(): KafkaStatus;
  /** Finishes the fetched batches, commits them and leaves the group. */
  stop(): Promise<void>;
}

export interface KafkaReceiverOptions {
  readonly client: KafkaClient;
  readonly source: KafkaSource;
  /** Pause before a failed consumer is replaced; doubles up to 30 s. */
  readonly restartMs?: number;
  /** Interval of the questions for the lag. */
  readonly lagEveryMs?: number;
}

const RESTART_MS = 1_000;
const MAX_RESTART_MS = 30_000;
const LAG_EVERY_MS = 15_000;
/** Lifetime of a consumer after which its replacement starts without a long pause. */
const HEALTHY_MS = 60_000;

/**
 * Reads OTLP from Kafka in the background until it is stopped. An unreachable broker or a failed consumer delays the
 * receiver but never ends it, because all records wait in the topic.
 */
export function startKafkaReceiver(options: KafkaReceiverOptions, deps: KafkaDependencies): KafkaReceiver {
  return new Reader(options, deps);
}

class Reader implements KafkaReceiver {
  readonly #options: KafkaReceiverOptions;
  readonly #deps: KafkaDependencies;
  readonly #take: OnBatch;
  readonly #stopping = new AbortController();
  readonly #reading: Promise<void>;
  #consumer: KafkaConsumer | undefined;
  #lags: ReadonlyMap<string, number> = new Map();
  #fault: string | null = null;

  constructor(options: KafkaReceiverOptions, deps: KafkaDependencies) {
    this.#options = options;
    this.#deps = deps;
    this.#take = createBatchTaker(options.source, deps);
    this.#reading = this.#readOn();
  }

  status(): KafkaStatus {
    return {
      connected: this.#consumer !== undefined,
      lastHeartbeatMs: this.#consumer?.lastHeartbeatMs() ?? null,
      lags: this.#lags,
      fault: this.#fault,
    };
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await withinGrace(this.#reading, this.#deps.limits.stopGraceMs);
  }

  async #readOn(): Promise<void> {
    const { signal } = this.#stopping;
    const { restartMs = RESTART_MS } = this.#options;
    let pauseMs = restartMs;
    while (!signal.aborted) {
      const startedMs = performance.now();
      const ended = await this.#readOnce();
      if (signal.aborted) {
        return;
      }
      pauseMs = performance.now() - startedMs > HEALTHY_MS ? restartMs : pauseMs;
      this.#deps.counter.add('kafka_restarts');
      const fault = describeKafkaFault(ended);
      this.#fault = fault.likely ?? fault.said;
      this.#deps.log.error('reading from Kafka failed; a new consumer is started', { ...fault, pauseMs });
      await sleep(pauseMs, signal);
      pauseMs = Math.min(MAX_RESTART_MS, pauseMs * 2);
    }
  }

  /** Reads with one consumer until it ends. Returns the reason. */
  async #readOnce(): Promise<unknown> {
    const { client, source } = this.#options;
    const { signal } = this.#stopping;
    const leaving = new AbortController();
    try {
      const joining = client.consume(this.#take);
      const joined = await Promise.race([joining, aborted(signal)]);
      if (joined === undefined) {
        void joining.then((late) => late.stop()).catch(() => undefined);
        return undefined;
      }
      this.#consumer = joined;
      this.#fault = null;
      this.#deps.log.info('reading from Kafka', { topics: [...source.signals.keys()] });
      void this.#watchLags(joined, leaving.signal);
      return await Promise.race([joined.ended, aborted(signal)]);
    } catch (error) {
      return error;
    } finally {
      leaving.abort();
      await withinGrace(this.#consumer?.stop(), this.#deps.limits.stopGraceMs);
      this.#consumer = undefined;
      this.#lags = new Map();
    }
  }

  /** Asks for the lags again and again, also while no batch ends: a store that hangs ends none. */
  async #watchLags(consumer: KafkaConsumer, leaving: AbortSignal): Promise<void> {
    let isKnown = true;
    while (!leaving.aborted) {
      try {
        const lags = await consumer.readLags();
        this.#lags = leaving.aborted ? this.#lags : lags;
        isKnown = true;
      } catch (error) {
        if (isKnown && !leaving.aborted) {
          this.#deps.log.warn('the lag of Kafka is not known; the last one is reported', { error });
        }
        isKnown = false;
      }
      await sleep(this.#options.lagEveryMs ?? LAG_EVERY_MS, leaving);
    }
  }
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve(undefined);
    }
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

async function withinGrace(work: Promise<void> | undefined, graceMs: number): Promise<void> {
  const timer = new AbortController();
  await Promise.race([work, sleep(graceMs, timer.signal)]);
  timer.abort();
}
