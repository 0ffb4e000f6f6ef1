import { createRequire } from 'node:module';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pauseIdleQueues } from '../../../../../collector/receivers/kafka/kafkajs.ts';

interface Queue {
  push(request: { entry: object; expectResponse: boolean; sendRequest: () => void }): void;
  fulfillRequest(answer: { correlationId: number; payload: null; size: number }): void;
  maybeThrottle(ms: number): void;
}

const require = createRequire(import.meta.url);
const RequestQueue = require('kafkajs/src/network/requestQueue/index.js') as new (options: object) => Queue;

function open(maxInFlightRequests: number | null = null) {
  const sent: number[] = [];
  const log = { debug: () => undefined, warn: () => undefined };
  const queue = new RequestQueue({ maxInFlightRequests, requestTimeout: 1_000, logger: log });
  return {
    sent,
    queue,
    push: (correlationId: number) =>
      queue.push({
        entry: { correlationId, resolve: () => undefined, reject: () => undefined },
        expectResponse: true,
        sendRequest: () => void sent.push(correlationId),
      }),
    answer: (correlationId: number) => queue.fulfillRequest({ correlationId, payload: null, size: 0 }),
  };
}

beforeEach(() => {
  vi.useFakeTimers();
  pauseIdleQueues();
  pauseIdleQueues();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the queue of a connection to Kafka', () => {
  it('sets no timer while no request waits: Node warns of timers in the past', () => {
    const { push, answer, sent } = open();
    push(1);
    answer(1);
    expect([sent, vi.getTimerCount()]).toEqual([[1], 0]);
  });

  it('sends requests that wait for the end of a throttle', async () => {
    const { push, answer, queue, sent } = open();
    push(1);
    queue.maybeThrottle(500);
    answer(1);
    push(2);
    await vi.advanceTimersByTimeAsync(499);
    expect(sent).toEqual([1]);
    await vi.advanceTimersByTimeAsync(20);
    expect(sent).toEqual([1, 2]);
    answer(2);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('sends a request that waits for the reply to another, as soon as the reply arrives', () => {
    const { push, answer, sent } = open(1);
    push(1);
    push(2);
    expect(sent).toEqual([1]);
    answer(1);
    expect(sent).toEqual([1, 2]);
  });
});
