import {
  type KafkaClient,
  type KafkaConsumer,
  type OnBatch,
  createBatchTaker,
  type KafkaDependencies,
  type KafkaSource,
} from './take-batch.ts';
import { sleep } from '../../../src/domain/waits.ts';
import { readErrorMessage, listCauses, AppError } from '../../../src/domain/errors.ts';
import type { Reading } from '../../../src/telemetry/metrics.ts';
import type { Receiver } from '../receiver.ts';

/** Likely causes by message of the Kafka client or its sockets; the first match counts. */
const LIKELY_CAUSES: readonly (readonly [RegExp, string])[] = [
  [
    /SASL .*(mechanism|SCRAM).*not (enabled|supported)|UNSUPPORTED_SASL_MECHANISM|requested SASL mechanism/i,
    'the broker does not support this mechanism: set receivers.kafka.sasl.mechanism to one that it supports',
  ],
  [
    /SASL.*authentication failed|SASLAuthentication|Authentication failed/i,
    'the broker does not know this user or password: check receivers.kafka.sasl',
  ],
  [
    /self-signed|self signed|unable to (verify|get local issuer)|UNABLE_TO_/i,
    "no known authority signed the broker's certificate: set its authority in receivers.kafka.tls.ca",
  ],
  [
    /altnames|ERR_TLS_CERT_ALTNAME_INVALID|does not match certificate/i,
    "the broker's certificate is for another name: use that name in receivers.kafka.brokers or in receivers.kafka.tls.serverName",
  ],
  [
    /wrong version number|EPROTO|before secure TLS|packet length too long|record layer/i,
    'the port has no TLS: remove receivers.kafka.tls, or use the TLS port',
  ],
  [/ECONNREFUSED/, 'nothing listens at this address: check receivers.kafka.brokers and that the broker runs'],
  [
    /ENOTFOUND|EAI_AGAIN/,
    'the name cannot be resolved: check receivers.kafka.brokers (and what the broker advertises)',
  ],
  [/ETIMEDOUT|Connection timeout/i, 'no answer: check receivers.kafka.brokers and the firewalls'],
  [
    /Closed connection|ECONNRESET|socket hang up/i,
    'the broker closed the connection: the port may need TLS or a login (receivers.kafka.tls, receivers.kafka.sasl)',
  ],
  [
    /TOPIC_AUTHORIZATION_FAILED|Not authorized to access topics/i,
    'this user has no right to a topic of receivers.kafka: grant it READ',
  ],
  [
    /GROUP_AUTHORIZATION_FAILED|Not authorized to access group/i,
    'this user has no right to the group receivers.kafka.groupId: grant it READ on the group',
  ],
  [
    /UNKNOWN_TOPIC_OR_PARTITION|does not host this topic/i,
    'a topic of receivers.kafka does not exist: create it, or correct its name',
  ],
];

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
      this.#deps.metrics.add('spanscore.kafka.restarts', 1);
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

/** Describes a failure of Kafka for the log: the message and its likely cause. Never contains a password. */
export function describeKafkaFault(error: unknown): { readonly said: string; readonly likely?: string } {
  const said = [...new Set(listCauses(error).map(readErrorMessage))].join(': ');
  const names = listCauses(error).map((cause) => (cause instanceof Error ? cause.name : ''));
  const likely = LIKELY_CAUSES.find(([pattern]) => pattern.test(`${said} ${names.join(' ')}`))?.[1];
  return likely === undefined ? { said } : { said, likely };
}

/** Time without a heartbeat after which the group has given the partitions of this member to others. */
const MAX_SILENCE_MS = 60_000;

/** A reader as a receiver of its collector: with its readiness check and its metrics. */
export function describeReader(reader: KafkaReceiver, nowMs: () => number = Date.now): Receiver {
  return {
    isListening: () => true,
    checks: [{ name: 'kafka', check: () => rejectFault(findFault(reader.status(), nowMs())) }],
    readings: () => listReadings(reader.status()),
    stop: () => reader.stop(),
  };
}

function findFault({ connected, fault, lastHeartbeatMs }: KafkaStatus, nowMs: number): string | undefined {
  if (!connected) {
    return `not in its consumer group: ${fault ?? 'it is joining'}`;
  }
  const silenceMs = nowMs - (lastHeartbeatMs ?? nowMs);
  return silenceMs > MAX_SILENCE_MS
    ? `no heartbeat of the consumer group for ${Math.round(silenceMs / 1_000)} s`
    : undefined;
}

function rejectFault(fault: string | undefined): Promise<void> {
  return fault === undefined
    ? Promise.resolve()
    : Promise.reject(new AppError(fault, { code: 'overloaded', stage: 'receive', retryable: true }));
}

function listReadings({ connected, lags }: KafkaStatus): Reading[] {
  return [
    { name: 'spanscore.kafka.connected', value: Number(connected) },
    ...[...lags].map(
      ([partition, value]) => ({ name: 'spanscore.kafka.lag', value, labels: { partition } }) as const,
    ),
  ];
}
