import { randomUUID } from 'node:crypto';
import type { DeadLetter } from '../../../src/store/contracts/dead-letters.ts';

/** Builds a dead letter of an unreadable Kafka record. */
export function aLetter(overrides: Partial<DeadLetter> = {}): DeadLetter {
  return {
    id: randomUUID(),
    source: 'kafka',
    topic: 'otlp_spans',
    partition: 3,
    firstOffset: 2n ** 60n,
    lastOffset: 2n ** 60n + 5n,
    tenant: 'a',
    signal: 'traces',
    encoding: 'protobuf',
    body: Buffer.from([0, 255, 10, 128, 39]),
    code: 'input_invalid',
    reason: "it's \\ no 'protobuf'",
    attempts: 1,
    ...overrides,
  };
}
