import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { aLateToolSpan, anAgentTrace, exportRequest, type OtlpSpan } from '../builders/agent-trace.ts';
import { sendTraces } from '../processes/serve-process.ts';

/** Less than the 10 s of the OpenTelemetry SDKs, so that a stalled receiver does not stop all senders for long. */
const ANSWER_WITHIN_MS = 5_000;
const RETRY_MS = 200;
const SENDERS = 4;
const PAUSE_MS = 300;

/** Numbers begin here, so that no other number in a question is taken for one. */
const FIRST = 100_000;

/** Finds the number of a trace in a question to the judge; undefined without one. */
export function findNumber(text: string): string | undefined {
  return /It is (\d{6}) degrees/.exec(text)?.[1];
}

/** Sends numbered agent traces to several receivers. Repeats each request, at the next receiver, until it is acknowledged. */
export class NumberedTraces {
  /** Span ids of the acknowledged traces. */
  readonly acknowledged = new Map<string, string[]>();
  readonly #receivers: readonly string[];
  readonly #seed: number;
  readonly #finishing = new AbortController();
  #running: Promise<void>[] = [];
  #begun = 0;
  #turn = 0;

  /** The same seed gives the same trace ids. */
  constructor(receivers: readonly string[], seed: number) {
    this.#seed = seed;
    this.#receivers = receivers;
  }

  start(): void {
    this.#running = Array.from({ length: SENDERS }, () => this.#sendAll());
  }

  /** Begins no more traces. Resolves when each begun trace is acknowledged. */
  async finish(): Promise<void> {
    this.#finishing.abort();
    await Promise.all(this.#running);
  }

  /** Sends one more span of an acknowledged trace. `choice` in [0, 1) chooses the trace. */
  async sendLateSpan(choice: number): Promise<void> {
    const traceIds = [...this.acknowledged.keys()];
    const traceId = traceIds[Math.floor(choice * traceIds.length)];
    if (traceId !== undefined) {
      await this.#send(traceId, [aLateToolSpan(traceId)]);
    }
  }

  async #sendAll(): Promise<void> {
    while (!this.#finishing.signal.aborted) {
      const number = FIRST + this.#begun++;
      const traceId = createHash('sha256').update(`${this.#seed} ${number}`).digest('hex').slice(0, 32);
      const trace = anAgentTrace(traceId).answering(`It is ${number} degrees in Paris.`);
      await this.#send(trace.traceId, trace.spans().reverse());
      await sleep(PAUSE_MS);
    }
  }

  async #send(traceId: string, spans: OtlpSpan[]): Promise<void> {
    const request = exportRequest(spans);
    for (;;) {
      const receiver = this.#receivers[this.#turn++ % this.#receivers.length] ?? '';
      if ((await sendTraces(receiver, request, AbortSignal.timeout(ANSWER_WITHIN_MS))) === 200) {
        break;
      }
      await sleep(RETRY_MS);
    }
    const known = this.acknowledged.get(traceId) ?? [];
    this.acknowledged.set(traceId, [...known, ...spans.map(({ spanId }) => spanId)]);
  }
}
