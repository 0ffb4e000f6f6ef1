import { expect, it } from 'vitest';
import { createTurns } from '../../../../src/scorers/own/forwarded-judges.ts';

it('gives the turn to one run after the other, to one that comes back from a judge first', async () => {
  const announced: number[] = [];
  const lane = createTurns(async (run) => void announced.push(run));
  await lane.take(1);
  const turns = [lane.take(2), lane.take(3), lane.take(4, true)];
  expect(announced).toEqual([1]);

  for (const run of [1, 4, 2]) {
    lane.release(run);
    await Promise.resolve();
  }

  await Promise.all(turns);
  expect(announced).toEqual([1, 4, 2, 3]);
});

it('keeps the turn of a run that takes it twice, and of one that another run gives away', async () => {
  const lane = createTurns(async () => undefined);
  await lane.take(1);
  await lane.take(1);
  lane.release(2);
  expect(lane.holds(1)).toBe(true);
});
