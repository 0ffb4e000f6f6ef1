import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { installCodecs } from '../../../../../collector/receivers/kafka/kafkajs.ts';
import { readPoison } from '../../../../../collector/receivers/kafka/poison-records.ts';

interface DecodedBatch {
  readonly records: readonly { readonly offset: string; readonly value: Buffer }[];
}

/** The client's own decoder: what it makes of our stand-ins is what counts. */
const require = createRequire(import.meta.url);
const Decoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => object;
const decodeBatch = require('kafkajs/src/protocol/recordBatch/v0/decoder') as (
  decoder: object,
) => Promise<DecodedBatch>;

const GZIP = 1;

/** A record batch, magic 2, as a broker sends it. */
function batch(records: number, data: Buffer, firstOffset = 1_000n): Buffer {
  const bytes = Buffer.alloc(61 + data.length);
  bytes.writeBigInt64BE(firstOffset, 0);
  bytes.writeInt32BE(49 + data.length, 8);
  bytes.writeInt8(2, 16);
  bytes.writeInt16BE(GZIP, 21);
  bytes.writeInt32BE(records - 1, 23);
  bytes.writeInt32BE(records, 57);
  data.copy(bytes, 61);
  return bytes;
}

const UNREADABLE = Buffer.from('this is no gzip at all');

beforeAll(() => installCodecs(1024 * 1024));

describe('a batch that cannot be decompressed', () => {
  it.each([1, 3, 150_000])(
    'becomes as many stand-ins as it has records, with its bytes: %i',
    async (count) => {
      const { records } = await decodeBatch(new Decoder(batch(count, UNREADABLE)));
      expect(records).toHaveLength(count);
      expect([records[0]?.offset, records.at(-1)?.offset]).toEqual(['1000', String(999 + count)]);
      const poison = records.map(({ value }) => readPoison(value));
      expect(new Set(poison).size).toBe(1);
      expect(poison[0]).toMatchObject({
        bytes: UNREADABLE,
        reason: expect.stringContaining('the batch cannot be decompressed'),
      });
    },
  );

  it('above the limit is one, for any stated size', async () => {
    const bomb = gzipSync(Buffer.alloc(2 * 1024 * 1024));
    const { records } = await decodeBatch(new Decoder(batch(2, bomb)));
    expect(records.map(({ value }) => readPoison(value)?.bytes)).toEqual([bomb, bomb]);
  });

  it('with more records than are stood in for ends the client, saying where it lies', async () => {
    await expect(decodeBatch(new Decoder(batch(1_000_001, UNREADABLE)))).rejects.toThrow(
      'it begins at offset 1000 and has 1000001 records, more than the 1000000 that can be skipped',
    );
  });
});
