import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ScoreRecord } from '../../monitors/backtest.ts';
import { HOUR_MS } from '../../domain/durations.ts';
/** Bytes of a record: offset within the hour (4), series (4), score (2). */
const RECORD_BYTES = 10;
/** Bytes kept in memory; above this the scores go to disk. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;
const FIRST_BLOCK_RECORDS = 64;

/** Scores of one hour that are in memory. */
interface HeldHour {
  buffer: Buffer;
  bytes: number;
}

/**
 * Sorts scores by time with little memory. It groups them by hour, writes the groups to temporary files when they are many,
 * and reads them back hour by hour. Reading keeps the scores of one hour in memory at most.
 */
export function createScoreSpool() {
  const held = new Map<number, HeldHour>();
  const hours = new Set<number>();
  let heldBytes = 0;
  let folder: string | undefined;

  const hourFile = (hour: number): string => join(folder ?? '', String(hour));

  async function spill(): Promise<void> {
    folder ??= await mkdtemp(join(tmpdir(), 'spanscore-scores-'));
    for (const [hour, { buffer, bytes }] of held) {
      await appendFile(hourFile(hour), buffer.subarray(0, bytes), { mode: 0o600 });
    }
    held.clear();
    heldBytes = 0;
  }

  return {
    /** Adds a score. The caller must wait for the returned promise, if there is one. */
    add({ atMs, series, step }: ScoreRecord): Promise<void> | undefined {
      const hour = Math.floor(atMs / HOUR_MS);
      hours.add(hour);
      const block = held.get(hour) ?? { buffer: Buffer.alloc(FIRST_BLOCK_RECORDS * RECORD_BYTES), bytes: 0 };
      held.set(hour, block);
      if (block.bytes + RECORD_BYTES > block.buffer.length) {
        block.buffer = Buffer.concat([block.buffer, Buffer.alloc(block.buffer.length)]);
      }
      block.buffer.writeUInt32LE(Math.floor(atMs - hour * HOUR_MS), block.bytes);
      block.buffer.writeUInt32LE(series, block.bytes + 4);
      block.buffer.writeUInt16LE(step, block.bytes + 8);
      block.bytes += RECORD_BYTES;
      heldBytes += RECORD_BYTES;
      return heldBytes >= MAX_HELD_BYTES ? spill() : undefined;
    },

    /** Yields all scores in order of time. */
    async *inOrder(): AsyncGenerator<ScoreRecord> {
      if (folder !== undefined) {
        await spill();
      }
      for (const hour of [...hours].sort((a, b) => a - b)) {
        const block = held.get(hour);
        const bytes = block?.buffer.subarray(0, block.bytes) ?? (await readFile(hourFile(hour)));
        yield* hourInOrder(hour, bytes);
      }
    },

    async dispose(): Promise<void> {
      held.clear();
      if (folder !== undefined) {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

function* hourInOrder(hour: number, bytes: Buffer): Generator<ScoreRecord> {
  const count = bytes.length / RECORD_BYTES;
  // One number holds the offset and the position: sorting numbers is far faster than sorting with a function, and equal
  // times keep their order.
  const keys = new Float64Array(count);
  for (let index = 0; index < count; index += 1) {
    keys[index] = bytes.readUInt32LE(index * RECORD_BYTES) * count + index;
  }
  keys.sort();
  for (const key of keys) {
    const at = (key % count) * RECORD_BYTES;
    yield {
      atMs: hour * HOUR_MS + bytes.readUInt32LE(at),
      series: bytes.readUInt32LE(at + 4),
      step: bytes.readUInt16LE(at + 8),
    };
  }
}
