import { Readable } from 'node:stream';
import { zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decompressedBlocks, plainBlocks } from '../../../../src/store/embedded/native/compressed-blocks.ts';
import { wireError } from '../../../../src/store/embedded/engine-error.ts';
import { MAX_BLOCK_BYTES } from '../../../../src/store/embedded/limits.ts';
import { buildBlock, compressedBlock } from '../../../support/builders/compressed-block.ts';
import { fc } from '../../../support/fast-check.ts';

const TEXT = Buffer.from('a Native block, or anything else '.repeat(40));

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    yield bytes.subarray(at, at + size);
  }
}

async function decompressed(bytes: Uint8Array, size: number = bytes.length): Promise<Buffer> {
  return Buffer.concat(await Readable.from(decompressedBlocks(pieces(bytes, size))).toArray());
}

describe('compressed blocks of an insert', () => {
  it.each(['none', 'lz4', 'zstd'] as const)('are read when the method is %s', async (method) => {
    expect(await decompressed(compressedBlock(method, TEXT))).toEqual(TEXT);
  });

  it.each([1, 7, 24, 25, 26, 1000])('are read in pieces of %i bytes', async (size) => {
    const blocks = Buffer.concat([
      compressedBlock('lz4', TEXT),
      compressedBlock('none', Buffer.from('x')),
      compressedBlock('zstd', TEXT),
    ]);

    expect(await decompressed(blocks, size)).toEqual(Buffer.concat([TEXT, Buffer.from('x'), TEXT]));
  });

  it('may hold nothing', async () => {
    expect(await decompressed(Buffer.alloc(0), 1)).toHaveLength(0);
    expect(await decompressed(compressedBlock('zstd', Buffer.alloc(0)))).toHaveLength(0);
  });

  it('are read when their data was compressed well', async () => {
    // "abc", then 297 bytes more of it from three bytes back, then "!".
    const block = Buffer.from([0x3f, 0x61, 0x62, 0x63, 3, 0, 255, 23, 0x10, 0x21]);

    expect((await decompressed(buildBlock(0x82, block, 301))).toString()).toBe(`${'abc'.repeat(100)}!`);
  });

  const damaged = compressedBlock('lz4', TEXT);
  damaged[40] = (damaged[40] ?? 0) ^ 1;

  it.each([
    ['a wrong hash', damaged, /does not match its hash/, 400],
    ['half a header', compressedBlock('lz4', TEXT).subarray(0, 20), /ends within a block/, 400],
    ['half a block', compressedBlock('lz4', TEXT).subarray(0, -1), /ends within a block/, 400],
    ['an unknown method', buildBlock(0x91, TEXT, TEXT.length), /method 0x91/, 400],
    [
      'a size below that of its own header',
      buildBlock(0x02, TEXT, TEXT.length, 8),
      /cannot have 8 bytes/,
      400,
    ],
    ['more than 128 MiB compressed', buildBlock(0x02, TEXT, 1, MAX_BLOCK_BYTES + 1), /are allowed/, 413],
    ['a bomb that says what it is', buildBlock(0x90, TEXT, 0xffff_ffff), /4294967295 when decompressed/, 413],
    [
      'a zstd bomb that says less than it holds',
      buildBlock(0x90, zstdCompressSync(Buffer.alloc(64 * 1024 * 1024)), 1000),
      /cannot be read/,
      400,
    ],
    [
      'an LZ4 bomb',
      buildBlock(0x82, Buffer.from([0x1f, 0, 1, 0, 255, 255, 255, 0]), 100),
      /more than 100/,
      400,
    ],
    ['less than it says', buildBlock(0x82, Buffer.from([0x10, 0x61]), 2), /holds 2 bytes, and holds 1/, 400],
    [
      'an LZ4 repeat from before its beginning',
      buildBlock(0x82, Buffer.from([0x10, 0x61, 9, 0]), 9),
      /before/,
      400,
    ],
    ['what is no zstd', buildBlock(0x90, TEXT, TEXT.length), /cannot be read/, 400],
    ['plain bytes', Buffer.from('INSERT INTO t FORMAT Native and more'), /are allowed/, 413],
  ])('are refused: %s', async (_, bytes, message, status) => {
    const refused = await decompressed(bytes).catch((error: unknown) => wireError(error));

    expect(refused).toMatchObject({ status, body: expect.stringMatching(message) });
  });
});

describe('compressed blocks of anybody', () => {
  it('are read, or refused as the sender’s fault, for any content', async () => {
    const methods = fc.constantFrom(0x02, 0x82, 0x90);
    const data = fc.uint8Array({ maxLength: 200 });
    const sizes = fc.nat({ max: 5_000 });

    await fc.assert(
      fc.asyncProperty(methods, data, sizes, async (method, bytes, size) => {
        const outcome = await decompressed(buildBlock(method, bytes, size)).then(
          ({ length }) => length === size,
          (error: unknown) => wireError(error).status === 400,
        );
        expect(outcome).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe('compressed blocks of a reply', () => {
  it('hold the reply, in blocks of at most 1 MiB', async () => {
    const reply = Buffer.from('0123456789'.repeat(250_000));

    const blocks = [...plainBlocks(reply)];

    expect(blocks).toHaveLength(3);
    expect((await decompressed(Buffer.concat(blocks))).equals(reply)).toBe(true);
  });

  it('are none for an empty reply', () => {
    expect([...plainBlocks(Buffer.alloc(0))]).toEqual([]);
  });
});
