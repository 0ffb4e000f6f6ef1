import { createRequire } from 'node:module';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pauseIdleQueues, skipHeaders } from '../../../../../collector/receivers/kafka/kafkajs.ts';

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

describe('the headers of a record', () => {
  interface Bytes {
    readonly buffer: Buffer;
    writeVarInt(value: number): Bytes;
    writeVarIntString(text: string): Bytes;
    writeVarIntBytes(bytes: Buffer | null): Bytes;
  }
  const Encoder = require('kafkajs/src/protocol/encoder') as new () => Bytes;
  const Decoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => object;
  const decodeRecord = require('kafkajs/src/protocol/recordBatch/record/v0/decoder') as (
    decoder: object,
    batch: object,
  ) => { readonly headers: unknown; readonly value: Buffer };

  it('without a meaning are passed over, by the hundred thousand, and so are values that are null', () => {
    skipHeaders();
    const headers: [string, string | null][] = [
      ['content-type', null],
      ['content-type', 'application/json'],
      ['content-type', 'text/plain'],
      ['spanscore.tenant', null],
      ...Array.from({ length: 100_000 }, (_, index) => [`x${index}`, 'y'] as [string, string]),
    ];
    const record = new Encoder().writeVarInt(0).writeVarInt(0).writeVarInt(0).writeVarIntBytes(null);
    record.writeVarIntBytes(Buffer.from('spans')).writeVarInt(headers.length);
    headers.forEach(([key, value]) =>
      record.writeVarIntString(key).writeVarIntBytes(value === null ? null : Buffer.from(value)),
    );
    const batch = { firstOffset: '0', firstTimestamp: '0' };
    const { value, headers: found } = decodeRecord(new Decoder(record.buffer), batch);
    expect([value.toString(), found]).toEqual(['spans', { 'content-type': Buffer.from('application/json') }]);
  });
});
