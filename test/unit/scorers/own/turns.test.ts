import { expect, it } from 'vitest';
import { Turns } from '../../../../src/scorers/own/messages.ts';

it('gives the turn to one run after the other, to one that comes back from a judge first', async () => {
  const announced: number[] = [];
  const turns = new Turns(async (run) => void announced.push(run));
  await turns.take(1);
  const taken = [turns.take(2), turns.take(3), turns.take(4, true)];
  expect(announced).toEqual([1]);

  for (const run of [1, 4, 2]) {
    turns.release(run);
    await Promise.resolve();
  }

  await Promise.all(taken);
  expect(announced).toEqual([1, 4, 2, 3]);
});

it('keeps the turn of a run that takes it twice, and of one that another run gives away', async () => {
  const turns = new Turns(async () => undefined);
  await turns.take(1);
  await turns.take(1);
  turns.release(2);
  expect(turns.holds(1)).toBe(true);
});
