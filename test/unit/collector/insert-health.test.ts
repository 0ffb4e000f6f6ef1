import { describe, expect, it } from 'vitest';
import { createInsertHealth } from '../../../collector/block-inserter.ts';
import { StoreRejectedError, StoreUnavailableError } from '../../../src/domain/errors.ts';

const FULL = new StoreUnavailableError('no space left');

/** Health of a store that takes probes once `hasRoom` is set, at a time that the test says. */
function fullStore() {
  const state = { nowMs: 1_000, hasRoom: false, probes: 0 };
  const probe = async (): Promise<void> => {
    state.probes += 1;
    if (!state.hasRoom) {
      throw FULL;
    }
  };
  const readFreeBytes = () => Promise.resolve(3 * 1024 * 1024);
  return { state, health: createInsertHealth({ probe, readFreeBytes }, () => state.nowMs) };
}

describe('the health of inserts', () => {
  it('is good before the first insert, and after a row that the store refuses', async () => {
    const { health } = fullStore();
    health.recordFailure(new StoreRejectedError('a bad row'));

    await expect(health.check()).resolves.toBeUndefined();
  });

  it('is bad from a failed insert to the next one that succeeds, with the reason and the free space', async () => {
    const { health } = fullStore();
    health.recordFailure(FULL);

    await expect(health.check()).rejects.toThrow(
      'the store refuses inserts since 1970-01-01T00:00:01.000Z: no space left; 3 MiB are free on its disks',
    );
    health.recordSuccess();
    await expect(health.check()).resolves.toBeUndefined();
  });

  it('is good again after a probe, also when the clock of the machine went back', async () => {
    const { state, health } = fullStore();
    state.nowMs = 3_600_000;
    health.recordFailure(FULL);
    state.nowMs = 0;
    await expect(health.check()).rejects.toThrow('no space left');
    state.hasRoom = true;
    state.nowMs += 5_000;

    await expect(health.check()).resolves.toBeUndefined();
  });

  it('is good again after a probe, when no sender comes', async () => {
    const { state, health } = fullStore();
    health.recordFailure(FULL);
    state.nowMs += 4_999;
    await expect(health.check()).rejects.toThrow('no space left');
    expect(state.probes).toBe(0);
    state.nowMs += 1;
    await expect(health.check()).rejects.toThrow('no space left');
    state.hasRoom = true;
    state.nowMs += 5_000;

    await expect(health.check()).resolves.toBeUndefined();
    expect(state.probes).toBe(2);
  });
});
