import { stopParts, type StopStage } from '../../../src/process/parts.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, it, vi } from 'vitest';

function world() {
  const events: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const part = (name: string, stage: StopStage) => {
    const gate = Promise.withResolvers<void>();
    gates.set(name, gate);
    return {
      name,
      stage,
      stop: async () => {
        events.push(`${name} stops`);
        await gate.promise;
        events.push(`${name} stopped`);
      },
    };
  };
  return { events, part, finish: (name: string) => gates.get(name)?.resolve(), gates };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('stopParts', () => {
  it('stops parts of one stage at once, and the next stage only when all of them have ended', async () => {
    const { events, part, finish } = world();
    const parts = [
      part('engine', 'engine'),
      part('store', 'store'),
      part('scorer', 'work'),
      part('receivers', 'work'),
    ];

    const stopping = stopParts(parts, silentLog);
    finish('scorer');
    await expect.poll(() => events).toEqual(['scorer stops', 'receivers stops', 'scorer stopped']);
    finish('receivers');
    finish('store');
    finish('engine');
    await stopping;

    expect(events.slice(3)).toEqual([
      'receivers stopped',
      'store stops',
      'store stopped',
      'engine stops',
      'engine stopped',
    ]);
  });

  it('continues after a part that does not stop cleanly, logs it, and fails at the end', async () => {
    const { events, part, finish, gates } = world();
    const parts = [part('engine', 'engine'), part('receivers', 'work'), part('scorer', 'work')];
    const told: unknown[] = [];
    const log = { ...silentLog, error: (_message: string, fields?: object) => told.push(fields) };
    gates.get('receivers')?.reject(new Error('stuck'));
    finish('scorer');
    finish('engine');

    await expect(stopParts(parts, log)).rejects.toMatchObject({ code: 'bug' });

    expect(events).toContain('scorer stopped');
    expect(events.at(-1)).toBe('engine stopped');
    expect(told).toEqual([{ part: 'receivers', error: new Error('stuck') }]);
  });

  it('leaves a part behind that is not through in the time of its stage, tells it, and fails in the end', async () => {
    vi.useFakeTimers();
    const { events, part, finish } = world();
    const parts = [part('scorer', 'work'), part('receivers', 'work'), part('engine', 'engine')];
    const told: unknown[] = [];
    const log = { ...silentLog, error: (_message: string, fields?: object) => told.push(fields) };
    finish('scorer');
    finish('engine');

    const outcome = stopParts(parts, log).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(14_999);
    expect(events).not.toContain('engine stops');
    await vi.advanceTimersByTimeAsync(1);

    expect(await outcome).toMatchObject({ code: 'bug' });
    expect(events).toContain('engine stopped');
    expect(told).toEqual([
      {
        part: 'receivers',
        error: expect.objectContaining({ message: 'did not stop within 15000 ms' }),
      },
    ]);
  });
});

const MIB = 1024 * 1024;

/** Makes garbage, of which much lives for a while, in a process of its own. Returns the growth of its young generation, bytes. */
function measureGrowth(prelude: string): number {
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8';
    ${prelude}
    const readSize = () => getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size;
    const startSize = readSize();
    let living = [];
    for (let count = 0; count < 3_000_000; count += 1) {
      living.push({ count, text: 'row ' + count });
      if (living.length > 200_000) living = [];
      if (count % 20_000 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    console.log(readSize() - startSize);`;
  return Number(
    execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }),
  );
}

describe('the young generation of a process', () => {
  it('stays small in a process for the API alone, and is limited in one with another role', () => {
    const module = new URL('../../../src/process/parts.ts', import.meta.url).href;
    const limit = (roles: string) => `const { limitHeap } = await import('${module}'); limitHeap(${roles});`;

    const free = measureGrowth('');
    expect(free).toBeGreaterThan(64 * MIB);
    expect(measureGrowth(limit("['api', 'scorer']"))).toBeLessThan((3 * free) / 4);
    // A collection under way has more pages for a moment: more than 20 MiB beside other work.
    expect(measureGrowth(limit("['api']"))).toBeLessThan(48 * MIB);
  });
});
