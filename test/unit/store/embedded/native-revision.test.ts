import { describe, expect, it } from 'vitest';
import { atRevision as revisedChunks } from '../../../../src/store/embedded/native-format.ts';

async function collected(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) {
    all.push(chunk);
  }
  return all;
}

/** All bytes of a reply whose bytes come in pieces of so many. */
async function atRevision(native: Buffer, revision: number, pieceBytes = native.length): Promise<Buffer> {
  async function* pieces() {
    for (let at = 0; at < native.length; at += pieceBytes) {
      yield native.subarray(at, at + pieceBytes);
    }
  }
  return Buffer.concat(await collected(revisedChunks(pieces(), revision)));
}

function text(value: string): Buffer {
  return Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/** The values of a column as they are written, by its type. */
const VALUES: readonly (readonly [type: string, values: Buffer])[] = [
  ['String', Buffer.concat([text('spanscore'), text('')])],
  ['UInt8', Buffer.alloc(2, 1)],
  ["Enum16('a' = 1)", Buffer.alloc(4, 1)],
  ['UInt32', Buffer.alloc(8, 1)],
  ["DateTime64(9, 'UTC')", Buffer.alloc(16, 1)],
  ['UUID', Buffer.alloc(32, 1)],
  ['Nullable(String)', Buffer.concat([Buffer.from([0, 1]), text('x'), text('')])],
];

function block(columns: readonly (readonly [string, Buffer])[], rows: number, mark: Buffer): Buffer {
  const parts = columns.flatMap(([type, values]) => [text('name'), text(type), mark, values]);
  return Buffer.concat([Buffer.from([columns.length, rows]), ...parts]);
}

const INFO = Buffer.from([1, 0, 2, 0xff, 0xff, 0xff, 0xff, 0]);
const NOTHING = Buffer.alloc(0);

describe('a Native reply', () => {
  it('is as in files for a client without a protocol version', async () => {
    const native = block(VALUES, 2, NOTHING);

    expect(await atRevision(native, 0)).toEqual(native);
  });

  it('has block info, and a byte behind each type, since the revision of each', async () => {
    const native = block(VALUES, 2, NOTHING);

    expect(await atRevision(native, 54_460)).toEqual(
      Buffer.concat([INFO, block(VALUES, 2, Buffer.from([0]))]),
    );
    expect(await atRevision(native, 54_453)).toEqual(Buffer.concat([INFO, native]));
  });

  it('may have several blocks, none, and blocks without rows', async () => {
    const one = block([['UInt8', Buffer.from([1, 2])]], 2, NOTHING);
    const empty = block([['String', NOTHING]], 0, NOTHING);

    const revised = await atRevision(Buffer.concat([one, empty, one]), 51_903);

    expect(revised).toEqual(Buffer.concat([INFO, one, INFO, empty, INFO, one]));
    expect(await atRevision(NOTHING, 54_460)).toHaveLength(0);
  });

  it('takes values longer than a byte can count', async () => {
    const long = Buffer.concat([Buffer.from([0xac, 0x02]), Buffer.alloc(300, 0x61)]);
    const native = block([['String', long]], 1, NOTHING);

    expect(await atRevision(native, 54_460)).toEqual(
      Buffer.concat([INFO, block([['String', long]], 1, Buffer.from([0]))]),
    );
  });

  it('has columns of nested types, whose bytes follow from these types', async () => {
    const dictionary = Buffer.concat([
      uint64(0x0600),
      uint64(1),
      text('agent'),
      uint64(2),
      Buffer.from([0, 0]),
    ]);
    const columns: readonly (readonly [string, Buffer])[] = [
      ['LowCardinality(Nullable(String))', Buffer.concat([uint64(1), dictionary])],
      ['Array(UInt16)', Buffer.concat([uint64(1), uint64(3), Buffer.alloc(6)])],
      ['Array(String)', Buffer.concat([uint64(0), uint64(0)])],
      [
        'Map(LowCardinality(String), String)',
        Buffer.concat([uint64(1), uint64(0), uint64(2), dictionary, text('a'), text('b')]),
      ],
      ["Tuple(a Decimal(18, 3), `b, )` Enum8('x, (y' = 1))", Buffer.alloc(18)],
      ['SimpleAggregateFunction(max, DateTime64(9))', Buffer.alloc(16)],
      ['Array(Array(Point))', Buffer.concat([uint64(0), uint64(1), uint64(2), Buffer.alloc(32)])],
      ['FixedString(3)', Buffer.alloc(6)],
      ['JSON', Buffer.concat([uint64(1), text('{}'), text('{"a":1}')])],
    ];
    const native = block(columns, 2, NOTHING);
    const expected = Buffer.concat([INFO, block(columns, 2, Buffer.from([0]))]);

    expect(await atRevision(native, 54_460)).toEqual(expected);
    expect(await atRevision(Buffer.concat([native, native]), 54_460, 7)).toEqual(
      Buffer.concat([expected, expected]),
    );
  });

  it.each(['Variant(String, UInt8)', 'AggregateFunction(sum, UInt8)', 'Array(Dynamic)'])(
    'is refused for %s, of which it cannot tell where it ends',
    async (type) => {
      const native = block([[type, Buffer.alloc(32, 1)]], 1, NOTHING);

      await expect(atRevision(native, 54_460)).rejects.toThrow(/sends no .*NOT_IMPLEMENTED/);
    },
  );

  it('is refused when it ends within a block', async () => {
    const native = block(VALUES, 2, NOTHING).subarray(0, -1);

    await expect(atRevision(native, 54_460)).rejects.toThrow(/ends within a block/);
  });
});
