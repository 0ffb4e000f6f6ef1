import { setTimeout as sleep } from 'node:timers/promises';
import { type HttpReceiver, type ReceivedRequest, startHttpReceiver } from '../fakes/http-receiver.ts';
import { type Delivery, joinExport } from './fleet-record.ts';

const SLOW_MS = 2_000;

export type ReceiverMode = 'ok' | 'slow' | 'failing' | 'refuses one';

type Received = Omit<Delivery, 'status' | 'atMs'>;

/** Receives exported scores over a web hook and as OTLP log records, and records each delivery with its answer. */
export class ScoreReceiver {
  readonly deliveries: Delivery[] = [];
  mode: ReceiverMode = 'ok';
  readonly #port: number;
  readonly #refused = new Set<string>();
  #server: HttpReceiver | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    this.#server = await startHttpReceiver(this.#port);
    this.#server.answer((request) => this.#receive(request));
  }

  /** Refuses connections until the next `start`. */
  async stop(): Promise<void> {
    await this.#server?.close();
    this.#server = undefined;
  }

  async #receive(request: ReceivedRequest): Promise<number> {
    const received = request.path === '/v1/logs' ? readLogs(request.body) : [readWebhook(request.body)];
    const status = this.#chooseStatus(received);
    if (this.mode === 'slow') {
      await sleep(SLOW_MS);
    }
    // A batch with a refused score comes again in halves.
    if (status !== 422 || received.length === 1) {
      this.deliveries.push(...received.map((each) => ({ ...each, status, atMs: Date.now() })));
    }
    return status;
  }

  #chooseStatus(received: readonly Received[]): number {
    const keys = received.map(joinExport);
    if (this.mode === 'refuses one' && keys[0] !== undefined) {
      this.#refused.add(keys[0]);
      this.mode = 'ok';
    }
    return keys.some((key) => this.#refused.has(key)) ? 422 : this.mode === 'failing' ? 500 : 200;
  }
}

function readWebhook(body: string): Received {
  const { data } = JSON.parse(body) as { data: { scoreId: string; revision: number; score: number } };
  return { exporter: 'webhook', scoreId: data.scoreId, revision: data.revision, value: data.score };
}

interface LogRequest {
  resourceLogs: { scopeLogs: { logRecords: { attributes: { key: string; value: object }[] }[] }[] }[];
}

function readLogs(body: string): Received[] {
  const { resourceLogs } = JSON.parse(body) as LogRequest;
  const records = resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap((scope) => scope.logRecords));
  return records.map(({ attributes }) => {
    const values = new Map(attributes.map(({ key, value }) => [key, Object.values(value)[0] as unknown]));
    return {
      exporter: 'log',
      scoreId: String(values.get('spanscore.score.id')),
      revision: Number(values.get('spanscore.score.revision')),
      value: Number(values.get('gen_ai.evaluation.score.value')),
    };
  });
}
