import { expect, it } from 'vitest';
import { PauseGate, PROBE_EVERY_MS } from '../../../../src/scorers/own/pool.ts';

function pausedAt(nowMs: number) {
  const gate = new PauseGate();
  const said = Array.from({ length: 5 }, () => gate.countTimeout(nowMs));
  expect(said).toEqual([false, false, false, false, true]);
  return gate;
}

it('pauses at the fifth timeout in a row, and not when a run ended in time between them', () => {
  const gate = new PauseGate();
  for (let count = 0; count < 5; count += 1) {
    const pauses = Array.from({ length: 4 }, () => gate.countTimeout(0));
    expect([...pauses, gate.countEnd()]).toEqual([false, false, false, false, false]);
  }
  expect(gate.isPaused).toBe(false);
  expect(pausedAt(0).isPaused).toBe(true);
});

it('lets one run a minute through while it pauses', () => {
  const gate = pausedAt(1_000);
  const times = [1_000, 1_000 + PROBE_EVERY_MS - 1, 1_000 + PROBE_EVERY_MS, 1_001 + PROBE_EVERY_MS];
  expect(times.map((nowMs) => gate.admits(nowMs))).toEqual([false, false, true, false]);
});

it('works again with the first run that ends in time, and says so once', () => {
  const gate = pausedAt(0);
  expect([gate.countEnd(), gate.countEnd()]).toEqual([true, false]);
  expect(gate.admits(1)).toBe(true);
});
