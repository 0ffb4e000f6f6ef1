import { afterEach, describe, expect, it, vi } from 'vitest';
import { stopParts, type StopStage } from '../../../src/process/parts.ts';
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
