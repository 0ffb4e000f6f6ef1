import type { ClientHttp2Session } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel, type Producer } from 'kafkajs';
import { callOn, framed, type GrpcAnswer, grpcConnection } from '../collector/grpc-call.ts';
import type { Address } from '../collector/otlp-post.ts';
import { numberedRequest, type RequestLedger, type Road } from './request-ledger.ts';

/** Addresses of the receivers. They stay the same over restarts, as the addresses of a real service. */
export interface SendingTargets {
  readonly http: Address;
  readonly grpc: Address;
  /** Absent when no request goes over Kafka. */
  readonly kafka?: {
    readonly brokers: readonly string[];
    readonly topic: string;
    readonly partitions: number;
  };
}

export interface SendingLoad {
  /** Number of senders on each road. Each sender has one open request. */
  readonly senders: number;
  /** Pause of a sender between two requests, milliseconds. */
  readonly pauseMs: number;
}

/** Number of requests by answer: `http 200`, `http 503`, `grpc 14 without RetryInfo`, `http broken`, … */
export type Answers = Map<string, number>;

/** Running senders. */
export interface Sending {
  readonly answers: Answers;
  /** Sends no more new requests. Resolves when each started request is acknowledged. */
  finish(): Promise<void>;
}

/**
 * Timeout of a request, after which it is sent again. Exporters of the OpenTelemetry SDKs wait 10 s, and a collector
 * answers within 9 s. On a busy machine the answer may take more than the remaining second.
 */
const ANSWER_WITHIN_MS = 30_000;
const RETRY_MS = 100;
/** Pause of the senders to Kafka. A broker accepts records much faster than the consumer reads them. */
const KAFKA_PAUSE_MS = 50;

/** Result of sending one request once: `acknowledged`, or the kind of failure for the statistics. */
interface Attempt {
  send(body: Buffer, number: number): Promise<{ readonly acknowledged: boolean; readonly answer: string }>;
  close(): Promise<void>;
}

/** Sends numbered requests over all roads at once. Repeats each request without a change until it is acknowledged. */
export function startSenders(targets: SendingTargets, ledger: RequestLedger, load: SendingLoad): Sending {
  const stopping = new AbortController();
  const answers: Answers = new Map();
  const roads: [Road, () => Attempt][] = [
    ['http', () => overHttp(targets.http)],
    ['grpc', () => overGrpc(targets.grpc)],
  ];
  const { kafka } = targets;
  if (kafka !== undefined) {
    roads.push(['kafka', () => overKafka(kafka, ledger)]);
  }
  const running = roads.flatMap(([road, open]) =>
    Array.from({ length: load.senders }, () =>
      sendAll({
        road,
        attempt: open(),
        ledger,
        answers,
        stopping: stopping.signal,
        pauseMs: Math.max(load.pauseMs, road === 'kafka' ? KAFKA_PAUSE_MS : 0),
      }),
    ),
  );
  return {
    answers,
    finish: async () => {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

interface SendingOne {
  readonly road: Road;
  readonly attempt: Attempt;
  readonly ledger: RequestLedger;
  readonly answers: Answers;
  readonly stopping: AbortSignal;
  readonly pauseMs: number;
}

async function sendAll({ road, attempt, ledger, answers, stopping, pauseMs }: SendingOne): Promise<void> {
  while (!stopping.aborted) {
    const number = ledger.begin(road);
    const body = numberedRequest(road, number);
    for (;;) {
      const { acknowledged, answer } = await attempt.send(body, number);
      answers.set(`${road} ${answer}`, (answers.get(`${road} ${answer}`) ?? 0) + 1);
      if (acknowledged) {
        break;
      }
      await sleep(RETRY_MS);
    }
    ledger.acknowledge(road, number);
    await sleep(pauseMs);
  }
  await attempt.close();
}

function overHttp({ host, port }: Address): Attempt {
  return {
    send: async (body) => {
      try {
        const response = await fetch(`http://${host}:${port}/v1/traces`, {
          method: 'POST',
          headers: { 'content-type': 'application/x-protobuf' },
          body: new Uint8Array(body),
          signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
        });
        // A body that is not empty reports rejected spans.
        const isWhole = (await response.arrayBuffer()).byteLength === 0;
        const isRefusal = response.status === 429 || response.status === 503;
        const hint = isRefusal && response.headers.get('retry-after') === null ? ' without Retry-After' : '';
        const part = response.status === 200 && !isWhole ? ' in part' : '';
        return {
          acknowledged: response.status === 200 && isWhole,
          answer: `${response.status}${hint}${part}`,
        };
      } catch (error) {
        return { acknowledged: false, answer: isTimeout(error) ? 'silent' : 'broken' };
      }
    },
    close: () => Promise.resolve(),
  };
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}

const RETRYABLE_GRPC = new Set([8, 14]);

function overGrpc(address: Address): Attempt {
  let session: ClientHttp2Session | undefined;
  return {
    send: async (body) => {
      session ??= grpcConnection(address);
      const timer = new AbortController();
      try {
        const answer = await Promise.race([
          callOn(session, { body: framed(body) }),
          sleep(ANSWER_WITHIN_MS, undefined, { signal: timer.signal }),
        ]);
        if (answer === undefined || Number.isNaN(answer.status)) {
          session.destroy();
          session = undefined;
        }
        return grpcOutcome(answer);
      } catch {
        session?.destroy();
        session = undefined;
        return { acknowledged: false, answer: 'broken' };
      } finally {
        timer.abort();
      }
    },
    close: () => {
      session?.destroy();
      return Promise.resolve();
    },
  };
}

function grpcOutcome(answer: GrpcAnswer | undefined): { acknowledged: boolean; answer: string } {
  if (answer === undefined) {
    return { acknowledged: false, answer: 'silent' };
  }
  const { status, retry, body } = answer;
  if (Number.isNaN(status)) {
    return { acknowledged: false, answer: 'broken' };
  }
  const hint = RETRYABLE_GRPC.has(status) && retry === undefined ? ' without RetryInfo' : '';
  const part = status === 0 && body.length > 0 ? ' in part' : '';
  return { acknowledged: status === 0 && part === '', answer: `${status}${hint}${part}` };
}

function overKafka(
  { brokers, topic, partitions }: NonNullable<SendingTargets['kafka']>,
  ledger: RequestLedger,
): Attempt {
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING, retry: { retries: 2 } });
  const producer: Producer = kafka.producer({ allowAutoTopicCreation: false });
  let connected = false;
  return {
    send: async (value, number) => {
      try {
        if (!connected) {
          await producer.connect();
          connected = true;
        }
        const partition = number % partitions;
        const [metadata] = await producer.send({ topic, messages: [{ value, partition }] });
        ledger.place(number, { partition, offset: Number(metadata?.baseOffset) });
        return { acknowledged: true, answer: 'kept' };
      } catch {
        return { acknowledged: false, answer: 'broken' };
      }
    },
    close: () => producer.disconnect(),
  };
}
