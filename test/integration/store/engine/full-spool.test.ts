import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openSpool } from '../../../../src/store/embedded/spool.ts';
import { mountSmallDisk } from '../../../support/durability/small-disk.ts';

const MIB = 1024 * 1024;
const LIMITS = { maxFileBytes: 64 * MIB, maxTotalBytes: 64 * MIB };

const disk = await mountSmallDisk(8);
afterAll(() => disk?.unmount());

async function* blocks(count: number): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < count; n += 1) {
    yield Buffer.alloc(MIB);
  }
}

it.skipIf(disk === undefined)(
  'insert data that finds no room is refused as for a full disk, leaves nothing, and is taken once there is room',
  async () => {
    const path = disk?.path ?? '';
    const spool = await openSpool(path, LIMITS, join(path, 'no memory disk here'));

    await expect(spool.write(blocks(20))).rejects.toThrow(/^Code: 243\..*\(NOT_ENOUGH_SPACE\)$/u);

    const [folder = ''] = await readdir(path);
    expect(await readdir(join(path, folder))).toEqual([]);
    disk?.fill();
    await expect(spool.write(blocks(1))).rejects.toThrow('NOT_ENOUGH_SPACE');
    disk?.free();
    expect(await spool.write(blocks(1))).toContain(path);
    await spool.close();
  },
);
