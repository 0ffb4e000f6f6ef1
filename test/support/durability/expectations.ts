import { expect } from 'vitest';
import { until } from '../until.ts';
import type { Fleet } from './fleet.ts';
import type { Answers } from './numbered-senders.ts';
import { type RequestLedger, type Road, ROADS } from './request-ledger.ts';
import { compareStored, type StoredRequests } from './stored-requests.ts';

const MIB = 1024 * 1024;

/** Number of acknowledged requests on a road after which the road counts as working. */
const FLOWING_REQUESTS = 10;
/** Enough for an engine that restarts, a group that is joined again and a backlog, on a busy machine. */
const FLOWING_WITHIN_MS = 240_000;

/** Waits until each road has carried this number of further requests. */
export async function waitForTraffic(
  ledger: RequestLedger,
  roads: readonly Road[] = ['http', 'grpc'],
  requests = FLOWING_REQUESTS,
): Promise<void> {
  const goals = roads.map((road) => [road, ledger.acknowledged(road).size + requests] as const);
  await until(() => goals.every(([road, goal]) => ledger.acknowledged(road).size >= goal), FLOWING_WITHIN_MS);
}

/** Waits until the consumer commits. */
export async function waitForCommits(fleet: Fleet): Promise<void> {
  const sum = async () => (await fleet.committed()).reduce((total, offset) => total + offset, 0);
  const before = await sum();
  await until(async () => (await sum()) > before, FLOWING_WITHIN_MS);
}

/** Checks that every request was acknowledged and can be read back complete and once. All senders must have finished. */
export async function expectNothingLost(fleet: Fleet, ledger: RequestLedger): Promise<StoredRequests> {
  await until(() => fleet.hasCaughtUp(), FLOWING_WITHIN_MS);
  const found = await compareStored(fleet.store, ledger);
  expect(found).toMatchObject({ lost: [], wrong: [], strange: [] });
  for (const road of ROADS.filter((name) => fleet.targets[name] !== undefined)) {
    expect(ledger.begun(road), `requests over ${road}`).toBeGreaterThan(0);
    expect(ledger.acknowledged(road).size, `acknowledged over ${road}`).toBe(ledger.begun(road));
  }
  return found;
}

/** Upper bounds of the processes' memory, MiB. */
export type MemoryBounds = Readonly<Partial<Record<'receiver' | 'consumer' | 'engine', number>>>;

/** Checks that no process ever used more memory than its bound. Returns the maxima, MiB. */
export function expectBoundedMemory(fleet: Fleet, bounds: MemoryBounds): Record<string, number> {
  const peaks = Object.fromEntries(
    [...fleet.memory.peaks()].map(([name, bytes]) => [name, Math.round(bytes / MIB)]),
  );
  const above = Object.entries(bounds).filter(([name, bound]) => (peaks[name] ?? 0) > bound);
  expect(above, `bounds that were passed; the peaks were ${JSON.stringify(peaks)}`).toEqual([]);
  return peaks;
}

/** The only valid answers of a running receiver: stored, or to retry later. */
const VALID_ANSWERS = new Set([
  'http 200',
  'http 429',
  'http 503',
  'grpc 0',
  'grpc 8',
  'grpc 14',
  'kafka kept',
]);

/** Lists the answers that give a sender no result, or that keep it from a retry. */
export function listInvalidAnswers(answers: Answers): string[] {
  return [...answers.keys()].filter((answer) => !VALID_ANSWERS.has(answer));
}
