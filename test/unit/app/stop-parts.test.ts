import { afterEach, describe, expect, it, vi } from 'vitest';
import { stopParts, type StopStage } from '../../../src/app/stop-parts.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

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

  it('goes on past a part that does not stop cleanly, tells it, and fails in the end', async () => {
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

  it('tells which parts it waits for when a stage takes long', async () => {
    vi.useFakeTimers();
    const { part, finish } = world();
    const parts = [part('receivers', 'work'), part('scorer', 'work'), part('store', 'store')];
    const told: unknown[] = [];
    const log = {
      ...silentLog,
      warn: (message: string, fields?: object) => told.push({ message, ...fields }),
    };

    const stopping = stopParts(parts, log);
    finish('scorer');
    await vi.advanceTimersByTimeAsync(8_000);
    expect(told).toEqual([{ message: 'still stopping', parts: ['receivers'], afterMs: 8_000 }]);

    finish('receivers');
    finish('store');
    await stopping;
    await vi.advanceTimersByTimeAsync(8_000);
    expect(told).toHaveLength(1);
  });
});
