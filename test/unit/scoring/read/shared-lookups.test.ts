import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { shareLookups } from '../../../../src/scoring/read/lookups.ts';
import type { Decision } from '../../../../src/domain/decision.ts';
import { joinTraceKey, type TraceKey } from '../../../../src/store/contracts/stores.ts';
import { MemoryStore } from '../../../support/fakes/memory-store.ts';

const buildKeys = (count: number, from = 0): TraceKey[] =>
  Array.from({ length: count }, (_, index) => ({ tenant: '', traceId: `trace ${from + index}` }));

/** Look-ups of decisions that end when the test says so; only the traces with an odd number have decisions. */
function buildLookups() {
  const asked: TraceKey[][] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  const { stores } = new MemoryStore();
  const decisions = {
    ...stores.decisions,
    async ofTraces(keys: readonly TraceKey[]) {
      asked.push([...keys]);
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      await gate.promise;
      const odd = keys.filter(({ traceId }) => Number(traceId.split(' ')[1]) % 2 === 1);
      return new Map(odd.map((key): [string, Decision[]] => [joinTraceKey(key), []]));
    },
  };
  const shared = shareLookups({ ...stores, decisions }).decisions;
  const end = async (index: number, error?: Error) => {
    const gate = gates[index];
    if (error === undefined) {
      gate?.resolve();
    } else {
      gate?.reject(error);
    }
    await turn();
    await turn();
  };
  return { asked, shared, end };
}

const sizes = (asked: readonly TraceKey[][]) => asked.map((keys) => keys.length);

describe('shared look-ups', () => {
  it('go together when they begin together, and each gets the rows of its own traces', async () => {
    const { asked, shared, end } = buildLookups();
    const first = shared.ofTraces(buildKeys(2));
    const second = shared.ofTraces(buildKeys(2, 1));
    await turn();
    await turn();
    await end(0);

    expect(sizes(asked)).toEqual([4]);
    expect([...(await first).keys()]).toEqual([joinTraceKey({ tenant: '', traceId: 'trace 1' })]);
    expect((await second).size).toBe(1);
  });

  it('gather while two run, so that four thousand of one trace are four statements', async () => {
    const { asked, shared, end } = buildLookups();
    const found: Promise<unknown>[] = [];
    for (const key of buildKeys(2)) {
      found.push(shared.ofTraces([key]));
      await turn();
      await turn();
    }
    for (const key of buildKeys(4_000, 2)) {
      found.push(shared.ofTraces([key]));
      await Promise.resolve();
    }
    await turn();
    expect(sizes(asked)).toEqual([1, 1]);

    for (const index of [0, 1, 2, 3]) {
      await end(index);
    }

    expect(sizes(asked)).toEqual([1, 1, 2_000, 2_000]);
    await Promise.all(found);
  });

  it('fail together, and the next ones begin', async () => {
    const { asked, shared, end } = buildLookups();
    const failing = [shared.ofTraces(buildKeys(1)), shared.ofTraces(buildKeys(1))];
    await turn();
    await turn();
    const failed = Promise.allSettled(failing);
    await end(0, new Error('away'));
    expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected']);

    const next = shared.ofTraces(buildKeys(1, 1));
    await turn();
    await turn();
    await end(1);

    expect((await next).size).toBe(1);
    expect(sizes(asked)).toEqual([2, 1]);
  });

  it('of no traces ask nothing', async () => {
    const { asked, shared } = buildLookups();

    expect((await shared.ofTraces([])).size).toBe(0);
    expect(asked).toEqual([]);
  });
});
