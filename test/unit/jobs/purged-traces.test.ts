import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { HashSet, watchPurgedTraces } from '../../../src/purge/purged-traces.ts';
import { createPurgeKey } from '../../../src/purge/purge-key.ts';
import type { PurgeKind, StoredTombstone } from '../../../src/store/contracts/purge.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { sha256Hex } from '../../../src/domain/identity.ts';

const key = createPurgeKey('a secret of sixteen characters');
let rows: StoredTombstone[] = [];
let failsAtEnd = false;

const bury = (kind: PurgeKind, tenant: string, id: string): void => {
  rows.push({ kind, tenant, hash: key.compute(kind, tenant, id), keyId: key.keyId, atMs: Date.now() });
};
const watch = () =>
  watchPurgedTraces({
    tombstones: {
      write: async () => undefined,
      async *read(sinceMs) {
        yield rows.filter(({ atMs }) => atMs >= sinceMs);
        if (failsAtEnd) {
          throw new Error('the store is away');
        }
      },
    },
    nowMs: async () => Date.now(),
    key,
    log: silentLog,
  });

beforeEach(() => {
  rows = [];
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a tombstone is known within seconds, and counts for its tenant alone', async () => {
  const purged = await watch();
  expect(purged.isEmpty).toBe(true);
  bury('trace', 'a', 't1');
  await vi.advanceTimersByTimeAsync(4_000);

  expect(purged.has({ tenant: 'a', traceId: 't1' })).toBe(true);
  expect(purged.has({ tenant: 'b', traceId: 't1' })).toBe(false);
  expect(purged.has({ tenant: 'a', traceId: 't2' })).toBe(false);
  purged.stop();
});

test('a write waits for a read when the last one is old', async () => {
  const purged = await watch();
  purged.stop();
  expect(purged.renew()).toBeUndefined();
  bury('trace', '', 't1');
  await vi.advanceTimersByTimeAsync(5_001);
  await purged.renew();

  expect(purged.has({ tenant: '', traceId: 't1' })).toBe(true);
});

test('a session is touched by each purge after the mark, and listeners hear of each', async () => {
  const purged = await watch();
  let heard = 0;
  purged.onPurge(() => (heard += 1));
  const session = { tenant: '', sessionId: 's' };
  const mark = purged.mark();
  bury('session', '', 's');
  await vi.advanceTimersByTimeAsync(4_000);
  expect(purged.isTouched(session, mark)).toBe(true);
  const later = purged.mark();
  expect(purged.isTouched(session, later)).toBe(false);
  rows = [];
  bury('session', '', 's');
  await vi.advanceTimersByTimeAsync(4_000);

  expect(purged.isTouched(session, later)).toBe(true);
  expect(purged.isTouched({ tenant: '', sessionId: 'other' }, mark)).toBe(false);
  expect(heard).toBe(2);
  purged.stop();
});

test('listeners hear of tombstones also when the store fails in the middle of their read', async () => {
  const purged = await watch();
  let heard = 0;
  purged.onPurge(() => (heard += 1));
  bury('trace', '', 't1');
  failsAtEnd = true;
  await vi.advanceTimersByTimeAsync(4_000);
  expect([purged.has({ tenant: '', traceId: 't1' }), heard]).toEqual([true, 0]);
  failsAtEnd = false;
  await vi.advanceTimersByTimeAsync(4_000);

  expect(heard).toBe(1);
  purged.stop();
});

test('the hash is HMAC-SHA256, also with a secret that is longer than its block', () => {
  for (const secret of ['short but not too short', 'long '.repeat(40)]) {
    const expected = createHmac('sha256', secret).update('user:1:a:ann').digest('hex');
    expect(createPurgeKey(secret).compute('user', 'a', 'ann')).toBe(expected);
  }
});

test('a set of many hashes has those that were added, and no others', () => {
  const set = new HashSet();
  const hashes = Array.from({ length: 25_000 }, (_, index) => sha256Hex(String(index)));
  expect(hashes.every((hash) => set.add(hash))).toBe(true);

  expect(set.size).toBe(25_000);
  expect(hashes.every((hash) => set.has(hash) && !set.add(hash))).toBe(true);
  expect(Array.from({ length: 1_000 }, (_, index) => set.has(sha256Hex(`x${index}`))).some(Boolean)).toBe(
    false,
  );
});
