import { describe, expect, it } from 'vitest';
import { SliceBounds } from '../../../../../collector/receivers/kafka/kafkajs-client.ts';

const MIB = 1024 * 1024;
const listRecords = (count: number, bytes: number) =>
  Array.from({ length: count }, () => ({ value: Buffer.alloc(bytes) }));

describe('a slice of a Kafka partition', () => {
  it.each([
    { title: 'has 512 records at first', records: listRecords(2_000, 10), from: 0, end: 512 },
    { title: 'ends with the batch', records: listRecords(600, 10), from: 512, end: 600 },
    { title: 'has 2 MiB at first', records: listRecords(10, MIB / 2), from: 1, end: 5 },
    { title: 'is one record that is larger than that', records: listRecords(3, 3 * MIB), from: 1, end: 2 },
  ])('$title', ({ records, from, end }) => {
    expect(new SliceBounds().findEnd(records, from)).toBe(end);
  });

  it('grows while full slices are stored in less than half a second, and shrinks while they take more than one', () => {
    const bounds = new SliceBounds();
    const records = listRecords(20_000, 1);
    const note = (tookMs: number, isFull: boolean) => {
      bounds.note(tookMs, isFull);
      return bounds.findEnd(records, 0);
    };
    expect([note(100, true), note(499, true), note(800, true), note(100, false)]).toEqual([
      1_024, 2_048, 2_048, 2_048,
    ]);
    expect([note(1_001, true), note(5_000, false), note(5_000, false)]).toEqual([1_024, 512, 512]);
    for (let turn = 0; turn < 10; turn += 1) {
      note(0, true);
    }
    expect(bounds.findEnd(records, 0)).toBe(8_192);
    expect(bounds.findEnd(listRecords(40, MIB), 0)).toBe(8);
  });
});
