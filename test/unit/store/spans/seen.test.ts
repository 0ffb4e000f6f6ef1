import { describe, expect, it } from 'vitest';
import type { TraceActivity } from '../../../../src/store/contracts/stores.ts';
import { createSeenMemory, seenParams } from '../../../../src/store/spans/span-tables.ts';
import type { Database } from '../../../../src/store/database.ts';

const SECOND_MS = 1_000;

function anActivity(traceId: string, firstArrivalMs: number, lastArrivalMs: number): TraceActivity {
  return {
    tenant: '',
    traceId,
    firstArrivalMs,
    lastArrivalMs,
    firstStartUnixNano: 0n,
    lastEndUnixNano: 0n,
    rootSeen: true,
    agentSeen: true,
    errorSeen: false,
  };
}

function buildMemory() {
  const clock = { ms: 0 };
  return { clock, memory: createSeenMemory(() => clock.ms) };
}

const buildKeys = (...ids: string[]) => ids.map((traceId) => ({ tenant: '', traceId }));

describe('the memory of arrivals', () => {
  it('finds the bounds of traces that it knows all', () => {
    const { memory } = buildMemory();
    memory.remember([anActivity('a', 5_000, 6_000), anActivity('b', 3_000, 4_000)]);

    expect(memory.find(buildKeys('a', 'b'))).toEqual({ firstMs: 3_000, lastMs: 6_000 });
    expect(memory.find(buildKeys('a', 'b', 'c'))).toBeUndefined();
    expect(memory.find([])).toBeUndefined();
    expect(memory.find([{ tenant: 'other', traceId: 'a' }])).toBeUndefined();
  });

  it('forgets a trace after ten minutes, when late spans may lie outside of its bounds', () => {
    const { memory, clock } = buildMemory();
    memory.remember([anActivity('a', 0, SECOND_MS)]);

    clock.ms = 10 * 60 * SECOND_MS - 1;
    expect(memory.find(buildKeys('a'))).toBeDefined();
    clock.ms += 1;

    expect(memory.find(buildKeys('a'))).toBeUndefined();
  });

  it('drops its oldest traces when it is full', () => {
    const { memory } = buildMemory();
    memory.remember([anActivity('old', 0, 0)]);
    memory.remember(Array.from({ length: 10_000 }, (_, index) => anActivity(`t${index}`, 0, 0)));

    expect(memory.find(buildKeys('old'))).toBeUndefined();
    expect(memory.find(buildKeys('t0', 't9999'))).toBeDefined();
  });

  it('saves the query for the bounds, in seconds', async () => {
    const { memory } = buildMemory();
    memory.remember([anActivity('a', 1_500, 2_500)]);
    let asked = 0;
    const database = {
      rows: async () => {
        asked += 1;
        return [{ seenFrom: 7, seenTo: 8 }];
      },
    } as unknown as Database;

    expect(await seenParams(database, buildKeys('a'), memory)).toMatchObject({ seenFrom: 1, seenTo: 2 });
    expect(asked).toBe(0);
    expect(await seenParams(database, buildKeys('a', 'b'), memory)).toMatchObject({ seenFrom: 7, seenTo: 8 });
    expect(asked).toBe(1);
  });
});
