import { describe, expect, it } from 'vitest';
import { atRevision } from '../../../../src/store/embedded/native-revision.ts';

function text(value: string): Buffer {
  return Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
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
  it('is as in files for a client without a protocol version', () => {
    const native = block(VALUES, 2, NOTHING);

    expect(atRevision(native, 0)).toEqual(native);
  });

  it('has block info, and a byte behind each type, since the revision of each', () => {
    const native = block(VALUES, 2, NOTHING);

    expect(atRevision(native, 54_460)).toEqual(Buffer.concat([INFO, block(VALUES, 2, Buffer.from([0]))]));
    expect(atRevision(native, 54_453)).toEqual(Buffer.concat([INFO, native]));
  });

  it('may have several blocks, none, and blocks without rows', () => {
    const one = block([['UInt8', Buffer.from([1, 2])]], 2, NOTHING);
    const empty = block([['String', NOTHING]], 0, NOTHING);

    const revised = atRevision(Buffer.concat([one, empty, one]), 51_903);

    expect(revised).toEqual(Buffer.concat([INFO, one, INFO, empty, INFO, one]));
    expect(atRevision(NOTHING, 54_460)).toHaveLength(0);
  });

  it('takes values longer than a byte can count', () => {
    const long = Buffer.concat([Buffer.from([0xac, 0x02]), Buffer.alloc(300, 0x61)]);
    const native = block([['String', long]], 1, NOTHING);

    expect(atRevision(native, 54_460)).toEqual(
      Buffer.concat([INFO, block([['String', long]], 1, Buffer.from([0]))]),
    );
  });

  it('is refused for types of which it cannot tell where they end', () => {
    const native = block([['Map(String, String)', Buffer.alloc(8)]], 1, NOTHING);

    expect(() => atRevision(native, 54_460)).toThrow(/NOT_IMPLEMENTED/);
    expect(() => atRevision(native, 54_460)).toThrow(/sends no Map\(String, String\)/);
  });
});
